"""Benchmark of the workflow of questions: `python -m benchmarks.question_workflow`.

It prints the time that the graph itself takes as a ratio to the same steps called one after another, with and without a
checkpoint; the milliseconds, model calls and tokens of each kind of turn; and how the database and the checkpoints grow
over a thousand turns. Retrieval, records and checkpoints are real, the language model answers at once.
"""

import asyncio
import json
import statistics
import tempfile
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from langchain_core.messages import HumanMessage
from langgraph.runtime import Runtime

from benchmarks.measurement import machine, row
from services.container import Services, open_services
from services.grounding.models import Answer, AnswerKind
from services.knowledge.models import IncomingFile
from services.records.tables import now
from services.retrieval.models import Question, Retrieval, RetrievalStatus
from services.session import KnowledgeCollection
from services.settings import Settings
from services.workflows.qa.checkpoints import FILE_NAME, open_checkpoints
from services.workflows.qa.graph import STEPS, Node, QAGraph, build_graph, thread_config
from services.workflows.qa.models import MainCategory, QuestionCategory
from services.workflows.qa.nodes import QAContext, QAServices
from services.workflows.qa.service import QuestionPlace
from services.workflows.qa.state import ConversationState, TurnWork
from tests.e2e.model_server import ModelServer

_ROUNDS = 200
_TURNS = 1000
_GROUP = KnowledgeCollection("group_1")
_FILE = """# 宿舍管理

宿舍每晚十一点熄灯，周末推迟到十二点。晚归须在门卫处登记。

# 部署

容器启动报 ERR-4032 时，先停掉旧容器，再把端口改成 18080 后重启。配置文件在 /etc/bot.yaml。
"""
_STRUCTURE = {
    "problem_analysis": "端口被占用[1]。",
    "solutions": ["停掉旧容器[1]", "把端口改成 18080 后重启[1]"],
}
# One question of each kind; the second of a pair is asked after the first one.
_KINDS: dict[str, tuple[str, ...]] = {
    "small talk": ("谢谢",),
    "clarified": ("这个怎么弄",),
    "about files": ("有哪些文件",),
    "answered": ("宿舍几点熄灯",),
    "refused": ("食堂的营业执照编号是多少",),
    "follow-up": ("宿舍几点熄灯", "那周末呢"),
    "technical": ("容器启动报 ERR-4032 怎么办",),
}


@dataclass(frozen=True, slots=True)
class _StepsOnly:
    """What a turn needs if its steps do nothing."""

    id = 1
    session_id = "group_1_2"


async def _nothing(state: ConversationState, runtime: Runtime[QAContext]) -> dict[str, Any]:
    return {}


async def _classified(state: ConversationState, runtime: Runtime[QAContext]) -> dict[str, Any]:
    category = QuestionCategory(main_category=MainCategory.OTHER, confidence=0.5)
    return {"question_category": "other", "classification": category.model_dump(mode="json")}


async def _retrieved(state: ConversationState, runtime: Runtime[QAContext]) -> dict[str, Any]:
    runtime.context.work.retrieval = Retrieval(RetrievalStatus.USABLE)
    return {"rounds": 1}


async def _generated(state: ConversationState, runtime: Runtime[QAContext]) -> dict[str, Any]:
    runtime.context.work.answer = Answer(AnswerKind.EXCERPT, "答")
    return {"confidence": 0.9}


def _idle_steps() -> dict[str, Node]:
    steps: dict[str, Node] = dict.fromkeys(STEPS, _nothing)
    return steps | {"classify": _classified, "retrieve": _retrieved, "generate": _generated}


def _idle_context() -> QAContext:
    services = cast("QAServices", type("Idle", (), {"review_below": 0.0})())
    turn: Any = _StepsOnly()
    return QAContext(services, TurnWork("group_1", Question("宿舍几点熄灯"), turn, None))


def _state() -> ConversationState:
    return ConversationState(messages=[HumanMessage("宿舍几点熄灯")], current_question="宿舍几点熄灯", rounds=0)


async def _graph_times(graph: QAGraph, **options: Any) -> list[float]:
    times: list[float] = []
    for number in range(_ROUNDS):
        begun = time.perf_counter()
        await graph.ainvoke(_state(), thread_config(f"thread-{number}"), context=_idle_context(), **options)
        times.append(time.perf_counter() - begun)
    return times


async def _direct_times() -> list[float]:
    path = ("classify", "look_up", "retrieve", "generate", "answer", "collect_feedback")
    steps = _idle_steps()
    times: list[float] = []
    for _ in range(_ROUNDS):
        begun = time.perf_counter()
        state, runtime = _state(), Runtime(context=_idle_context())
        for name in path:
            state |= cast("ConversationState", await steps[name](state, runtime))
        times.append(time.perf_counter() - begun)
    return times


async def overhead(directory: Path) -> None:
    """Print what the graph costs beside its steps."""
    direct = await _direct_times()
    plain = await _graph_times(build_graph(steps=_idle_steps()))
    async with open_checkpoints(directory) as checkpoints:
        kept = await _graph_times(build_graph(checkpoints.saver, _idle_steps()), durability="exit")
    print("\n== the graph itself, six idle steps")
    base = statistics.median(plain)
    print(row("steps called one after another", direct))
    print(row("graph", plain))
    print(row("graph with a checkpoint at the end", kept), f"ratio {statistics.median(kept) / base:.2f}")


async def _filled(services: Services, directory: Path) -> None:
    path = directory / "宿舍.md"
    path.write_text(_FILE, encoding="utf-8")
    await services.knowledge.ingest(IncomingFile(_GROUP.name, path, "宿舍.md", 1, 2, now()))


async def _ask(services: Services, session: int, texts: Sequence[str]) -> tuple[float, int, int]:
    """Return the seconds, the model calls and the tokens of the last of some questions of one member."""
    seconds = 0.0
    for text in texts:
        begun = time.perf_counter()
        place = QuestionPlace("1", 1, session, session)
        await services.answering.ask(f"group_1_{session}", session, _GROUP, Question(text), place=place)
        seconds = time.perf_counter() - begun
    await services.traces.flush()
    (record, *_) = await services.traces.latest("group_1", 1)
    calls = record.trace.model_calls
    return seconds, len(calls), sum(call.prompt_tokens + call.completion_tokens for call in calls)


async def kinds(directory: Path, settings: Settings, title: str) -> None:
    """Print what each kind of turn costs."""
    print(f"\n== {title}")
    async with open_services(settings) as services:
        await _filled(services, directory)
        for name, texts in _KINDS.items():
            found = [await _ask(services, 1000 * len(name) + number, texts) for number in range(20)]
            calls, tokens = found[-1][1:]
            print(row(name, [seconds for seconds, _, _ in found]), f"model calls {calls}  tokens {tokens}")


async def growth(directory: Path, settings: Settings) -> None:
    """Print how large the records and the checkpoints are after many turns, with reviews switched on."""
    async with open_services(settings) as services:
        await _filled(services, directory)
        sizes: list[int] = []
        for number in range(_TURNS + 1):
            if number % (_TURNS // 2) == 0:
                sizes.append(_size(settings.data_dir / "app.sqlite3"))
            await _ask(services, number % 20, ("宿舍几点熄灯",))
        waiting = _size(settings.data_dir / FILE_NAME)
    print(f"\n== growth over {_TURNS} turns")
    print("records  ", " → ".join(f"{size / 2**20:.1f} MB" for size in sizes))
    print(f"checkpoints  {waiting / 2**20:.2f} MB")


def _size(path: Path) -> int:
    return sum(file.stat().st_size for file in path.parent.glob(f"{path.name}*"))


async def main() -> None:
    """Print everything."""
    print(machine())
    async with AsyncExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        for name in ("embedded", "written", "growth"):
            (directory / name).mkdir()
        await overhead(directory)
        embedded = Settings.model_validate({"data_dir": directory / "embedded"})
        await kinds(directory, embedded, "without a model")
        model = await stack.enter_async_context(ModelServer())
        model.when("standalone_question", json.dumps({"main_category": "other", "confidence": 0.5}))
        model.when("problem_analysis", json.dumps(_STRUCTURE, ensure_ascii=False))
        llm = {"base_url": model.base_url, "api_key": "key", "model": "test-model"}
        await kinds(directory, Settings.model_validate({"data_dir": directory / "written", "llm": llm}), "with a model")
        review = {"below": 0.01}
        await growth(directory, Settings.model_validate({"data_dir": directory / "growth", "review": review}))


if __name__ == "__main__":
    asyncio.run(main())
