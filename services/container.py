"""Open and close the whole product: the only module that knows all dependencies."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from services.access import Access
from services.agent.layer import AgentLayer
from services.budgets.fair_queue import FairQueue
from services.budgets.model import ModelBudget, require_prices
from services.budgets.questions import QuestionBudget
from services.database import Database, open_database, sqlite_url
from services.embeddings.models import EmbeddingModel
from services.embeddings.selection import open_embeddings
from services.evaluation.service import Evaluations
from services.export.conversations import ConversationExport
from services.export.faq import FaqExport
from services.export.reviews import ReviewExport
from services.export.service import ExportService, Section
from services.faq.service import FaqService
from services.feedback.service import FeedbackService
from services.index.process import IndexProcess
from services.knowledge.builder import IndexBuilder
from services.knowledge.catalogue import Catalogue
from services.knowledge.intake import Intake
from services.knowledge.parsing import ParseLimits
from services.knowledge.pulls import Pulls
from services.knowledge.service import KnowledgeService
from services.knowledge.storage import FileStore
from services.llm import Models, open_models
from services.memory.dialogues import Dialogues, SentAnswers
from services.memory.order import SessionOrder
from services.memory.service import MemoryService
from services.memory.turns import Turns
from services.pictures.ocr import is_installed
from services.pictures.reader import PictureReader
from services.pictures.service import Pictures
from services.pictures.worker import PictureWorker
from services.proactive.service import ProactiveService
from services.prompts import Prompts, load_prompts
from services.rag import RagChain
from services.reading.embedded import open_reader
from services.reading.models import Reader
from services.records.conversations import ConversationRecords
from services.records.dialogues import DialogueRecords
from services.records.documents import DocumentRecords
from services.records.exports import ExportRecords
from services.records.faq import FaqRecords
from services.records.feedback import FeedbackRecords
from services.records.groups import GateFeedbackRecords, GroupRecords
from services.records.pulls import PullRecords
from services.records.reviews import ReviewRecords
from services.records.sent_answers import SentAnswerRecords
from services.records.statistics import StatisticsRecords
from services.records.traces import TraceRecords
from services.records.unanswered import UnansweredRecords
from services.records.uploads import UploadRecords
from services.records.usage import UsageRecords
from services.reranking import RerankService
from services.retrieval.models import Strictness
from services.retrieval.rerank import EmbeddedReranker, Reranker, ServiceReranker, load_coefficients
from services.retrieval.retriever import Retriever
from services.reviews.notices import Notices
from services.reviews.queue import ReviewQueue
from services.reviews.sent import SentReviews
from services.reviews.suggestions import Suggestions
from services.reviews.unanswered import Unanswered
from services.session import SessionScope
from services.settings import Settings
from services.statistics.service import StatisticsService
from services.tracing.service import TraceService
from services.workflows.qa.about_files import AboutFiles
from services.workflows.qa.analysis import QuestionAnalyser
from services.workflows.qa.checkpoints import open_checkpoints
from services.workflows.qa.service import QuestionAnswering, Reviewing
from services.workflows.qa.teaching import Teaching

# The number of questions of one group that are processed at a time, each of another member. It equals the number of
# simultaneous model calls, and is small enough that the index is soon free for another group.
_QUESTIONS_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class Services:
    """The services that plugins may use."""

    settings: Settings
    access: Access
    knowledge: KnowledgeService
    catalogue: Catalogue
    intake: Intake
    pulls: Pulls
    retriever: Retriever
    memory: MemoryService
    dialogues: Dialogues
    sent_answers: SentAnswers
    feedback: FeedbackService
    statistics: StatisticsService
    export: ExportService
    answering: QuestionAnswering
    reviews: ReviewQueue
    sent_reviews: SentReviews
    suggestions: Suggestions
    unanswered: Unanswered
    pictures: Pictures
    questions: QuestionBudget
    proactive: ProactiveService
    evaluations: Evaluations
    faq: FaqService
    conversations: ConversationRecords
    traces: TraceService
    model_budget: ModelBudget
    embedding: EmbeddingModel
    model_name: str
    reranker_name: str


@asynccontextmanager
async def open_services(settings: Settings) -> AsyncGenerator[Services]:
    """Open everything in order and close it in reverse. Resume work that a former process left.

    Raise `ServiceError` with a sentence for the operator if something cannot be opened.
    """
    async with AsyncExitStack() as stack:
        prompts = load_prompts(summary_text=settings.memory.summary_prompt)
        database = await open_database(sqlite_url(settings.data_dir / "app.sqlite3"))
        stack.push_async_callback(database.close)
        embedding = await _open_embeddings(settings)
        stack.push_async_callback(embedding.close)
        reader = await _open_reader(settings, stack)
        index = IndexProcess(settings.data_dir)
        await index.open()
        stack.push_async_callback(index.close)

        documents, conversations, dialogues = (
            DocumentRecords(database),
            ConversationRecords(database, settings.session.silence),
            Dialogues(DialogueRecords(database), settings.session.silence),
        )
        usage = UsageRecords(database)
        model_budget = ModelBudget(usage, settings.budget)
        await model_budget.resume()
        models = _open_models(settings, model_budget, prompts, stack)
        model, fast_model = (models.answers, models.small_tasks) if models else (None, None)
        ocr = _open_ocr(stack)
        reranker = await _open_reranker(settings, embedding, stack)
        feedback = GateFeedbackRecords(database)
        order = SessionOrder()
        turns = Turns(conversations, order)
        memory = MemoryService(conversations, settings.memory, fast_model, prompts.summary, order)
        traces = TraceService(TraceRecords(database), settings.trace, settings.secrets)
        stack.push_async_callback(traces.close)
        stack.push_async_callback(memory.close)
        builder = IndexBuilder(
            index=index,
            embedding=embedding,
            limits=ParseLimits(),
            chunk_chars=settings.knowledge.chunk_chars,
            overlap_chars=settings.knowledge.chunk_overlap_chars,
            ocr=ocr,
        )
        knowledge = KnowledgeService(documents, FileStore(settings.data_dir), index, builder, settings.knowledge)
        stack.push_async_callback(knowledge.close)
        retriever = Retriever(
            documents, index, embedding, reader, reranker, feedback, settings.retrieval, knowledge.mend
        )
        catalogue = Catalogue(documents, index)

        proactive = ProactiveService(
            GroupRecords(database),
            feedback,
            retriever,
            settings.proactive,
            settings.knowledge.scope,
        )

        superusers = {int(number) for number in settings.superusers}
        access = Access(conversations, settings.knowledge, superusers)
        questions = await _open_questions(settings, superusers, usage)

        await turns.restore()
        answers = await _open_answering(
            settings,
            database,
            documents,
            conversations,
            embedding,
            models,
            prompts,
            model_budget,
            turns,
            stack,
            retriever=retriever,
            catalogue=catalogue,
            memory=memory,
            traces=traces,
        )
        await dialogues.settle()
        traces.resume()
        await memory.resume()
        await knowledge.resume()
        await proactive.resume()
        scope = settings.knowledge.scope
        intake = Intake(knowledge, UploadRecords(database), access, scope)
        pulls = Pulls(PullRecords(database), documents, knowledge, intake, scope)
        stack.push_async_callback(pulls.close)
        yield Services(
            settings=settings,
            access=access,
            knowledge=knowledge,
            catalogue=catalogue,
            intake=intake,
            pulls=pulls,
            retriever=retriever,
            memory=memory,
            dialogues=dialogues,
            sent_answers=SentAnswers(SentAnswerRecords(database)),
            answering=answers.service,
            reviews=answers.reviews,
            sent_reviews=answers.sent_reviews,
            suggestions=answers.suggestions,
            unanswered=Unanswered(UnansweredRecords(database)),
            feedback=FeedbackService(
                FeedbackRecords(database),
                feedback,
                retriever.threshold(answers.strictness),
                lambda low: answers.sent_reviews.doubt(low.turn_id, low.user_id, low.rating.comment),
            ),
            statistics=StatisticsService(StatisticsRecords(database)),
            export=_export(database, dialogues),
            pictures=Pictures(_picture_reader(settings, models, prompts, ocr), index, documents),
            questions=questions,
            proactive=proactive,
            evaluations=Evaluations(retriever, answers.strictness),
            faq=answers.faq,
            conversations=conversations,
            traces=traces,
            model_budget=model_budget,
            embedding=embedding,
            model_name=model.name if model else "",
            reranker_name=reranker.name,
        )


def _export(database: Database, dialogues: Dialogues) -> ExportService:
    conversations = ConversationExport(dialogues, DialogueRecords(database), ExportRecords(database))
    return ExportService(
        (
            Section("sessions", conversations.sessions),
            Section("messages", conversations.messages),
            Section("feedback", conversations.feedback),
            Section("reviews", ReviewExport(ReviewRecords(database)).reviews),
            Section("faq", FaqExport(FaqRecords(database)).entries),
        )
    )


def _open_models(settings: Settings, budget: ModelBudget, prompts: Prompts, stack: AsyncExitStack) -> Models | None:
    models = open_models(settings.llm, budget, prompts.repair) if settings.llm.enabled else None
    for opened in models.all if models else ():
        stack.push_async_callback(opened.aclose)
    require_prices(settings.budget, models.all if models else ())
    return models


@dataclass(frozen=True, slots=True)
class _Answers:
    """What answers questions, and what people do about its answers."""

    service: QuestionAnswering
    strictness: Strictness
    faq: FaqService
    reviews: ReviewQueue
    sent_reviews: SentReviews
    suggestions: Suggestions


async def _open_answering(
    settings: Settings,
    database: Database,
    documents: DocumentRecords,
    conversations: ConversationRecords,
    embedding: EmbeddingModel,
    models: Models | None,
    prompts: Prompts,
    budget: ModelBudget,
    turns: Turns,
    stack: AsyncExitStack,
    *,
    retriever: Retriever,
    catalogue: Catalogue,
    memory: MemoryService,
    traces: TraceService,
) -> _Answers:
    general = settings.answer.general_knowledge
    chain = RagChain(models.answers, prompts, general_knowledge=general) if models else None
    faq = FaqService(FaqRecords(database), documents, embedding)
    stack.push_async_callback(faq.close)
    records = ReviewRecords(database)
    reviews = ReviewQueue(records, turns, Notices(records, is_on=settings.review.notify != "off"))
    stack.push_async_callback(reviews.close)
    checkpoints = await stack.enter_async_context(open_checkpoints(settings.data_dir))
    await checkpoints.keep_only(await turns.checkpoints())
    service = QuestionAnswering(
        retriever,
        chain,
        QuestionAnalyser(models.small_tasks, prompts.analyse) if models else None,
        turns,
        memory,
        traces,
        AboutFiles(catalogue, retriever, memory),
        faq,
        budget,
        Reviewing(reviews, checkpoints, settings.review.below, settings.review.show_draft),
        AgentLayer(models.answers, prompts, retriever, settings.agent) if models and settings.agent.enabled else None,
    )
    reviews.continue_with(service.resume)
    reviews.teach(Teaching(faq).learn)
    scope = settings.knowledge.scope
    return _Answers(
        service,
        chain.strictness if chain else Strictness.ASKED,
        faq,
        reviews,
        SentReviews(reviews, records, conversations, SentAnswerRecords(database), scope),
        Suggestions(reviews, records, conversations, scope),
    )


async def _open_questions(settings: Settings, superusers: set[int], usage: UsageRecords) -> QuestionBudget:
    # A memory that a whole group shares handles one question at a time.
    shared = settings.session.scope is SessionScope.GROUP
    questions = QuestionBudget(settings.budget, superusers, FairQueue(1 if shared else _QUESTIONS_AT_ONCE))
    await questions.resume(usage)
    return questions


def _open_ocr(stack: AsyncExitStack) -> PictureWorker | None:
    if not is_installed():
        return None
    ocr = PictureWorker()
    stack.push_async_callback(ocr.aclose)
    return ocr


def _picture_reader(
    settings: Settings, models: Models | None, prompts: Prompts, ocr: PictureWorker | None
) -> PictureReader:
    # Other models may see pictures too, but only this setting says that they are to be paid for it.
    vision = models.images if models and settings.llm.vision_model else None
    return PictureReader(vision, prompts.picture, ocr)


async def _open_reader(settings: Settings, stack: AsyncExitStack) -> Reader | None:
    reader = await open_reader(settings.data_dir)
    if reader is not None:
        stack.push_async_callback(reader.aclose)
    return reader


async def _open_embeddings(settings: Settings) -> EmbeddingModel:
    chosen = settings.embedding
    return await open_embeddings(
        chosen.provider,
        data_dir=settings.data_dir,
        base_url=chosen.base_url,
        api_key=chosen.api_key.get_secret_value(),
        model=chosen.model,
        timeout_s=settings.llm.timeout_s,
        max_retries=settings.llm.max_retries,
    )


async def _open_reranker(settings: Settings, embedding: EmbeddingModel, stack: AsyncExitStack) -> Reranker:
    if settings.rerank.provider == "local":
        return EmbeddedReranker(embedding.scale, await asyncio.to_thread(load_coefficients))
    service = RerankService(settings.rerank)
    stack.push_async_callback(service.aclose)
    return ServiceReranker(service)
