"""The services that answering depends on, as the container builds them, with a scripted model and scores."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from services.database import Database, open_database, sqlite_url
from services.faq.service import FaqService
from services.knowledge.catalogue import Catalogue
from services.memory.order import SessionOrder
from services.memory.service import MemoryService
from services.memory.turns import Turns
from services.prompts import load_prompts
from services.rag import RagChain
from services.records.conversations import ConversationRecords
from services.records.faq import FaqRecords
from services.records.traces import TraceRecords
from services.retrieval.models import Question
from services.retrieval.retriever import Retriever
from services.session import KnowledgeCollection
from services.settings import MemorySettings, RetrievalSettings, TraceSettings
from services.tracing.service import TraceService
from services.workflows.qa.about_files import AboutFiles
from services.workflows.qa.analysis import QuestionAnalyser
from services.workflows.qa.service import QuestionAnswering, Reviewing
from tests.fakes.chat import ScriptedChatModel, chat_model
from tests.fakes.reranker import ScriptedReranker
from tests.services.retrieval.library import Library

GROUP, OTHER, SESSION = KnowledgeCollection("group_1"), KnowledgeCollection("group_2"), "group_1_2"
QUESTION = Question("住宿标准为每晚多少元")
PASSAGE = "住宿标准为每晚三百五十元，超出自理。"
PLACE = "差旅制度.pdf 第3页"


@dataclass
class World:
    """The services that answering depends on."""

    database: Database
    library: Library
    conversations: ConversationRecords
    traces: TraceService
    model: ScriptedChatModel
    reranker: ScriptedReranker = field(default_factory=ScriptedReranker)
    settings: dict[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        # One for all, because it keeps the entries in memory.
        self.faq = FaqService(FaqRecords(self.database), self.library.records, self.library.model)

    @property
    def retriever(self) -> Retriever:
        """The retriever as the container builds it, with scores that the test sets."""
        settings = RetrievalSettings.model_validate(self.settings)
        return self.library.retriever_with(reranker=self.reranker, settings=settings)

    def answering(
        self, *, with_model: bool = True, general: bool = False, reviewing: Reviewing | None = None
    ) -> QuestionAnswering:
        """Return the service as the container builds it."""
        model = chat_model(self.model) if with_model else None
        prompts = load_prompts()
        order = SessionOrder()
        memory = MemoryService(self.conversations, MemorySettings.model_validate({}), model, prompts.summary, order)
        retriever = self.retriever
        chain = RagChain(model, prompts, general_knowledge=general) if model else None
        about_files = AboutFiles(Catalogue(self.library.records, self.library.index), retriever, memory)
        analyser = QuestionAnalyser(model, prompts.analyse) if model else None
        turns = Turns(self.conversations, order)
        return QuestionAnswering(
            retriever, chain, analyser, turns, memory, self.traces, about_files, self.faq, reviewing=reviewing
        )

    async def stored(self) -> list[str]:
        """Return the working history."""
        return [record.message.text for record in await self.conversations.history(SESSION)]


@asynccontextmanager
async def open_world(directory: Path) -> AsyncGenerator[World]:
    """Open a world whose group has one document, and which answers with its only passage."""
    database = await open_database(sqlite_url(directory / "app.sqlite3"))
    library = Library(database)
    await library.add(GROUP.name, "差旅制度.pdf", [PASSAGE], page=3)
    traces = TraceService(TraceRecords(database), TraceSettings.model_construct())
    yield World(database, library, ConversationRecords(database), traces, ScriptedChatModel(reply="三百五十元[1]。"))
    await database.close()
