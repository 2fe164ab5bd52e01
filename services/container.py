"""Open and close the whole product: the only module that knows all dependencies."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from services.access import Access
from services.budgets.fair_queue import FairQueue
from services.budgets.model import ModelBudget, require_prices
from services.budgets.questions import QuestionBudget
from services.database import open_database, sqlite_url
from services.embeddings.models import EmbeddingModel
from services.embeddings.selection import open_embeddings
from services.evaluation.service import Evaluations
from services.index.process import IndexProcess
from services.knowledge.builder import IndexBuilder
from services.knowledge.catalogue import Catalogue
from services.knowledge.intake import Intake
from services.knowledge.parsing import ParseLimits
from services.knowledge.pulls import Pulls
from services.knowledge.service import KnowledgeService
from services.knowledge.storage import FileStore
from services.llm import Models, open_models
from services.memory.order import SessionOrder
from services.memory.service import MemoryService
from services.memory.turns import Turns
from services.proactive.service import ProactiveService
from services.prompts import Prompts, load_prompts
from services.rag import RagChain
from services.reading.embedded import open_reader
from services.reading.models import Reader
from services.records.conversations import ConversationRecords
from services.records.documents import DocumentRecords
from services.records.groups import GateFeedbackRecords, GroupRecords
from services.records.pulls import PullRecords
from services.records.traces import TraceRecords
from services.records.uploads import UploadRecords
from services.records.usage import UsageRecords
from services.reranking import RerankService
from services.retrieval.expansion import QueryExpansion
from services.retrieval.models import Strictness
from services.retrieval.rerank import EmbeddedReranker, Reranker, ServiceReranker, load_coefficients
from services.retrieval.retriever import Retriever
from services.session import SessionScope
from services.settings import Settings
from services.tracing.service import TraceService
from services.workflows.qa.about_files import AboutFiles
from services.workflows.qa.service import QuestionAnswering

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
    answering: QuestionAnswering
    questions: QuestionBudget
    proactive: ProactiveService
    evaluations: Evaluations
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

        documents, conversations = DocumentRecords(database), ConversationRecords(database)
        usage = UsageRecords(database)
        model_budget = ModelBudget(usage, settings.budget)
        await model_budget.resume()
        models = _open_models(settings, model_budget, prompts, stack)
        model, fast_model = (models.answers, models.small_tasks) if models else (None, None)
        reranker = await _open_reranker(settings, embedding, stack)
        expansion = QueryExpansion(index, fast_model, prompts.expand)
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
        )
        knowledge = KnowledgeService(documents, FileStore(settings.data_dir), index, builder, settings.knowledge)
        stack.push_async_callback(knowledge.close)
        retriever = Retriever(
            documents, index, embedding, reader, reranker, expansion, feedback, settings.retrieval, knowledge.mend
        )
        catalogue = Catalogue(documents, index)
        general = settings.answer.general_knowledge
        chain = RagChain(model, prompts, general_knowledge=general) if model else None

        proactive = ProactiveService(
            GroupRecords(database),
            feedback,
            retriever,
            settings.proactive,
            settings.knowledge.scope,
        )

        superusers = {int(number) for number in settings.superusers}
        access = Access(conversations, settings.knowledge, superusers)
        # A memory that a whole group shares handles one question at a time.
        shared = settings.session.scope is SessionScope.GROUP
        questions = QuestionBudget(
            settings.budget,
            superusers,
            FairQueue(1 if shared else _QUESTIONS_AT_ONCE),
        )
        await questions.resume(usage)

        await turns.restore()
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
            answering=QuestionAnswering(
                retriever,
                chain,
                turns,
                memory,
                traces,
                AboutFiles(catalogue, retriever, memory),
                model_budget,
            ),
            questions=questions,
            proactive=proactive,
            evaluations=Evaluations(retriever, chain.strictness if chain else Strictness.ASKED),
            conversations=conversations,
            traces=traces,
            model_budget=model_budget,
            embedding=embedding,
            model_name=model.name if model else "",
            reranker_name=reranker.name,
        )


def _open_models(settings: Settings, budget: ModelBudget, prompts: Prompts, stack: AsyncExitStack) -> Models | None:
    models = open_models(settings.llm, budget, prompts.repair) if settings.llm.enabled else None
    for opened in models.all if models else ():
        stack.push_async_callback(opened.aclose)
    require_prices(settings.budget, models.all if models else ())
    return models


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
