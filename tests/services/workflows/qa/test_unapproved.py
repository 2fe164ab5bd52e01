"""The law of the gate: unapproved text is in no prompt, answer or source, whatever the scores, faults and settings.

Every passage carries a canary of its own. The index of this test lies: it also finds what belongs to other groups and
what is not published. The model of this test repeats everything that it was shown and cites every possible number.
"""

import itertools
import math
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from langchain_core.messages import BaseMessage
from sqlalchemy import delete, select

from services.database import open_database, sqlite_url
from services.errors import SearchIndexError
from services.faq.service import FaqService
from services.grounding.models import Answer
from services.index.models import Hit, IndexedChunk, SearchRequest, SearchResult
from services.knowledge.catalogue import Catalogue
from services.memory.order import SessionOrder
from services.memory.service import MemoryService
from services.memory.turns import Turns
from services.prompts import load_prompts
from services.rag import RagChain
from services.records.conversations import ConversationRecords
from services.records.faq import FaqRecords
from services.records.tables import TraceRecord
from services.records.traces import TraceRecords
from services.retrieval.models import Question, Strictness
from services.session import KnowledgeCollection
from services.settings import MemorySettings, RetrievalSettings, TraceSettings
from services.tracing.service import TraceService
from services.workflows.qa.about_files import AboutFiles
from services.workflows.qa.analysis import QuestionAnalyser
from services.workflows.qa.service import QuestionAnswering
from tests.fakes.chat import ScriptedChatModel, chat_model
from tests.fakes.index import MemoryIndex
from tests.fakes.reranker import ScriptedReranker
from tests.services.retrieval.library import Library

GROUP, OTHER = KnowledgeCollection("group_1"), "group_2"
QUESTION = Question("住宿标准为每晚多少元")
TOPICS = ["差旅处", "学生公寓", "培训中心", "招待所", "外宾楼", "实习基地"]
# Text of a passage of the asking group -> its canary. All other passages must never be seen at all.
OURS = {
    f"{topic}的住宿标准为每晚 {number}37 元，{topic}登记，{topic}缴费，口令 canary{number}x。": f"canary{number}x"
    for number, topic in enumerate(TOPICS, start=1)
}
HIDDEN = "未发布的住宿标准为每晚 888 元，口令 canaryhidden。"
FOREIGN = "别群的住宿标准为每晚 999 元，口令 canaryforeign。"


class LyingIndex(MemoryIndex):
    """An index that also finds the content of others in every collection. The methods named in `broken` fail."""

    def __init__(self) -> None:
        super().__init__()
        self.broken: set[str] = set()
        self.foreign: list[IndexedChunk] = []
        self.own: set[str] = set()

    async def add_words(self, collection: str, chunks: Sequence[IndexedChunk]) -> None:
        """Store the chunks, and remember what to lie about."""
        await super().add_words(collection, chunks)
        for chunk in chunks:
            if chunk.text in (HIDDEN, FOREIGN):
                self.foreign.append(chunk)
            else:
                self.own.add(chunk.build_id)

    async def search(self, request: SearchRequest) -> SearchResult:
        """Return the true result and the lies, which match best of all."""
        self._break("search")
        found = await super().search(request)
        lies = tuple(Hit(chunk, 1.0, 99.0, frozenset(found.document_frequency)) for chunk in self.foreign)
        return replace(found, hits=(*lies, *found.hits))

    async def chunks(self, collection: str, build_id: str, start: int = 0, limit: int = 20) -> list[IndexedChunk]:
        """Return the true chunks, or fail if broken."""
        self._break("chunks")
        return await super().chunks(collection, build_id, start, limit)

    async def around(self, *arguments: Any, **named: Any) -> Any:
        """Return the true neighbours, or fail if broken."""
        self._break("around")
        return await super().around(*arguments, **named)

    async def aliases(self, *arguments: Any, **named: Any) -> Any:
        """Return the true aliases, or fail if broken."""
        self._break("aliases")
        return await super().aliases(*arguments, **named)

    def _break(self, method: str) -> None:
        if method in self.broken:
            raise SearchIndexError("资料索引出错了，请稍后再试。")


@dataclass
class World:
    """The library with its canaries; every example has a session of its own."""

    library: Library
    index: LyingIndex
    conversations: ConversationRecords
    traces: TraceService
    builds: set[str]
    sessions: "itertools.count[int]" = field(default_factory=itertools.count)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    database = await open_database(sqlite_url(tmp_path / "app.sqlite3"))
    index = LyingIndex()
    library = Library(database, index=index)
    for number, text in enumerate(OURS):
        await library.add(GROUP.name, f"文件{number}.txt", [text])
    await library.add(GROUP.name, "canaryhidden.txt", [HIDDEN], visible=False)
    await library.add(OTHER, "canaryforeign.txt", [FOREIGN])
    traces = TraceService(TraceRecords(database), TraceSettings.model_construct())
    yield World(library, index, ConversationRecords(database), traces, index.own)
    await database.close()


@dataclass(frozen=True)
class Case:
    """One set of circumstances."""

    scores: Mapping[str, float]
    settings: Mapping[str, Any]
    unasked: bool
    broken: frozenset[str]
    rerank_fails: bool
    embedding_fails: bool
    model: str
    general: bool

    @property
    def strictness(self) -> Strictness:
        """The gate of the product: lenient before a model that may only use the passages."""
        if self.unasked:
            return Strictness.UNASKED
        return Strictness.ASKED if self.model == "none" or self.general else Strictness.WRITTEN

    def approved(self) -> set[str]:
        """Return the canaries that the gate may let through at most."""
        threshold = self.settings["min_rerank_score"]
        own = ScriptedReranker.thresholds[self.strictness]
        if threshold is None or (self.unasked and own > threshold):
            threshold = own
        passed = {OURS[text] for text, score in self.scores.items() if score >= threshold}
        if self.rerank_fails or len(passed) < self.settings["min_qualified_count"]:
            return set()
        return passed


SCORES = st.floats(0, 1) | st.sampled_from([0.0, 0.29, 0.3, 0.6, 1.0, math.nan])
CASES = st.builds(
    Case,
    scores=st.fixed_dictionaries(dict.fromkeys(OURS, SCORES)),
    settings=st.fixed_dictionaries(
        {
            "recall_top_k": st.integers(10, 50),
            "rerank_top_k": st.integers(8, 10),
            "submit_top_k": st.integers(1, 8),
            "min_rerank_score": st.none() | st.floats(0, 1),
            "min_vector_similarity": st.none() | st.floats(-1, 1),
            "min_qualified_count": st.integers(1, 4),
            "max_reference_chars": st.integers(500, 4000),
        }
    ),
    unasked=st.booleans(),
    broken=st.sampled_from(
        [*[frozenset[str]()] * 4, *map(frozenset, (["search"], ["around"], ["aliases"], ["chunks"]))]
    ),
    rerank_fails=st.sampled_from([False, False, False, True]),
    embedding_fails=st.booleans(),
    model=st.sampled_from(["repeats", "repeats", "cites", "fails", "none"]),
    general=st.booleans(),
)


def model_of(case: Case) -> ScriptedChatModel:
    def repeats(messages: list[BaseMessage]) -> str:
        # Repeated instructions would be detected, so only the fenced text and the conversation are repeated.
        data = "".join(re.split(r"====资料边界 [0-9a-f]{16}====", messages[0].text)[2:])
        shown = "\n".join((data, *(message.text for message in messages[1:])))
        return shown + "".join(f"第 {number} 条[{number}]。" for number in range(1, 12))

    replies = {"repeats": repeats, "cites": "每晚 137 元〔1〕〔2〕〔9〕。", "fails": RuntimeError("down"), "none": ""}
    return ScriptedChatModel(reply=replies[case.model])


async def answers(world: World, case: Case, model: ScriptedChatModel, session_id: str) -> list[Answer]:
    """Return the answers to a direct question and to an unasked one; a failing search gives none to the latter."""
    reranker = ScriptedReranker(case.scores)
    reranker.fail = case.rerank_fails
    world.index.broken = set(case.broken)
    world.library.embeddings.fail = case.embedding_fails
    rules = RetrievalSettings.model_validate(case.settings)
    retriever = world.library.retriever_with(reranker=reranker, settings=rules)
    prompts = load_prompts()
    chat = None if case.model == "none" else chat_model(model)
    order = SessionOrder()
    memory = MemoryService(world.conversations, MemorySettings.model_validate({}), chat, prompts.summary, order)
    chain = RagChain(chat, prompts, general_knowledge=case.general) if chat else None
    about_files = AboutFiles(Catalogue(world.library.records, world.library.index), retriever, memory)
    answering = QuestionAnswering(
        retriever,
        chain,
        QuestionAnalyser(chat, prompts.analyse) if chat else None,
        Turns(world.conversations, order),
        memory,
        world.traces,
        about_files,
        FaqService(FaqRecords(world.library.database), world.library.records, world.library.model),
    )
    if not case.unasked:
        return [await answering.ask(session_id, 2, GROUP, QUESTION) for _ in range(2)]
    try:
        retrieval = await retriever.retrieve(GROUP.name, QUESTION, strictness=case.strictness)
    except SearchIndexError:
        return []
    answer = await answering.answer_unasked(GROUP, QUESTION, retrieval)
    return [answer] if answer else []


async def new_traces(world: World) -> list[str]:
    """Return what is stored of the requests since the last call, and then delete it."""
    await world.traces.flush()
    async with world.library.database.writing() as session:
        found = [f"{row.record}{row.texts}" for row in await session.scalars(select(TraceRecord))]
        await session.execute(delete(TraceRecord))
    return found


@given(CASES)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_nothing_unapproved_is_ever_seen(world: World, case: Case) -> None:
    model, session_id = model_of(case), f"group_1_{next(world.sessions)}"
    given_answers = await answers(world, case, model, session_id)
    records = await world.conversations.history(session_id)
    seen = "\n".join(
        [
            *(message.text for prompt in model.prompts for message in prompt),
            *(answer.text + answer.notice for answer in given_answers),
            *(source.place for answer in given_answers for source in answer.sources),
            *(record.message.text for record in records),
            repr(await world.conversations.sources(session_id)),
            *await new_traces(world),
        ]
    )
    found = set(re.findall(r"canary\w+", seen))
    event("something approved was seen" if found else "nothing was seen")
    assert found <= case.approved()
    for answer in given_answers:
        numbers = [int(number) for number in re.findall(r"〔(\d{1,3})〕", answer.text)]
        assert list(dict.fromkeys(numbers)) == [source.number for source in answer.sources]
        assert {source.build_id for source in answer.sources} <= world.builds


async def test_the_law_is_not_empty(world: World) -> None:
    """With good scores the canaries appear, and the lies of the index do not."""
    case = Case(
        scores=dict.fromkeys(OURS, 0.9),
        settings=RetrievalSettings.model_validate({}).model_dump(),
        unasked=False,
        broken=frozenset(),
        rerank_fails=False,
        embedding_fails=False,
        model="repeats",
        general=False,
    )
    model = model_of(case)
    answer, _ = await answers(world, case, model, "group_1_2")
    assert len(set(re.findall(r"canary\w+", model.prompts[0][0].text))) == 5
    assert len(answer.sources) == 5
    hidden = {chunk.build_id for chunk in world.index.foreign}
    assert len(hidden) == 2
    found = await world.index.search(SearchRequest(GROUP.name, QUESTION.text, "bigram", None, 10))
    assert {hit.chunk.build_id for hit in found.hits} >= hidden
