"""Evaluation of questions and test sets by retrieval and gate. It reports what would happen and writes no replies."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Protocol

from services.budgets.charge import Charge, charged
from services.errors import RerankError, SearchIndexError, code_suffix
from services.evaluation.models import Evaluation, Sample, SampleOutcome
from services.records.tables import ModelFeature
from services.retrieval.models import Question, Retrieval, RetrievalStatus, Strictness

log = logging.getLogger(__name__)

# The pause after a question is as long as the question took, but at least this long, so that the event loop gets to run
# other work.
_LEAST_PAUSE_S = 0.02
_PROGRESS_S = 30.0
# This many failures in a row are not a coincidence: the index or the rerank service is down.
_MOST_FAILURES = 5
_NOT_RERANKED = f"重排失败了，请稍后再试。{code_suffix(RerankError.code)}"


class Retrieves(Protocol):
    """Interface of the tested retriever, `services.retrieval.retriever.Retriever`."""

    async def retrieve_twice(self, collection: str, question: Question, *, strictness: Strictness) -> Retrieval:
        """Return the approved passages for a question. Raise `SearchIndexError` if the index fails."""
        ...


class Evaluations:
    """Evaluates knowledge bases for chats, which pay for the model calls that this takes.

    `chat` is the key of a group or private chat, see `Session.chat`. `strictness` is that of a real question, so that
    the reports show the same bar.
    """

    def __init__(self, retriever: Retrieves, strictness: Strictness = Strictness.ASKED) -> None:
        self._retriever = retriever
        self._strictness = strictness
        self._chats: set[str] = set()
        # One run uses half of the time that the machine has for searching. Several runs at once would leave none for
        # the questions of people.
        self._turn = asyncio.Lock()

    async def explain(self, chat: str, collection: str, question: Sample, quoted: str = "") -> SampleOutcome:
        """Return what would happen if somebody asked this question now, quoting the message `quoted`."""
        with charged(Charge(chat, feature=ModelFeature.TRIAL)):
            return await try_question(self._retriever, collection, question, quoted, self._strictness)

    def is_busy(self, chat: str) -> bool:
        """Return whether a chat has a test set in hand."""
        return chat in self._chats

    @contextmanager
    def taken(self, chat: str) -> Generator[bool]:
        """Take a test set in hand while the block runs. Yield False, and do nothing, if the chat already has one."""
        if chat in self._chats:
            yield False
            return
        self._chats.add(chat)
        try:
            yield True
        finally:
            self._chats.discard(chat)

    async def run(
        self, chat: str, collection: str, questions: Sequence[Sample], progress: Callable[[int], Awaitable[None]]
    ) -> Evaluation:
        """Wait until no other test set is running, and test the questions as `evaluate` does."""
        async with self._turn:
            with charged(Charge(chat, feature=ModelFeature.TRIAL)):
                return await evaluate(self._retriever, collection, questions, progress, strictness=self._strictness)


async def try_question(
    retriever: Retrieves,
    collection: str,
    question: Sample,
    quoted: str = "",
    strictness: Strictness = Strictness.ASKED,
) -> SampleOutcome:
    """Return what would happen if somebody asked this question now, quoting the message `quoted`."""
    begun = time.perf_counter()
    try:
        retrieval = await retriever.retrieve_twice(collection, Question(question.text, quoted), strictness=strictness)
    except SearchIndexError as error:
        log.warning("a test question failed: %s", error)
        return SampleOutcome(question, None, error.told(), time.perf_counter() - begun)
    failure = ""
    if retrieval.status is RetrievalStatus.RERANK_FAILED:
        failure = retrieval.warning or _NOT_RERANKED
    return SampleOutcome(question, retrieval, failure, time.perf_counter() - begun)


async def evaluate(
    retriever: Retrieves,
    collection: str,
    questions: Sequence[Sample],
    progress: Callable[[int], Awaitable[None]],
    *,
    strictness: Strictness = Strictness.ASKED,
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> Evaluation:
    """Test the questions one at a time with pauses in between, so that answers to people are not delayed.

    `progress` is called every thirty seconds with the number of questions done. Five failures in a row end the run.
    """
    outcomes: list[SampleOutcome] = []
    failures = 0
    told_at = clock()
    for question in questions:
        outcome = await try_question(retriever, collection, question, strictness=strictness)
        outcomes.append(_slim(outcome))
        failures = failures + 1 if outcome.answered is None else 0
        if failures == _MOST_FAILURES:
            break
        if len(outcomes) < len(questions) and clock() - told_at >= _PROGRESS_S:
            told_at = clock()
            await progress(len(outcomes))
        await pause(max(_LEAST_PAUSE_S, outcome.seconds))
    return Evaluation(outcomes, len(questions))


def _slim(outcome: SampleOutcome) -> SampleOutcome:
    """Keep only the best candidate: the texts of all candidates of 500 questions would be tens of megabytes."""
    if outcome.retrieval is None:
        return outcome
    kept = () if outcome.best is None else (outcome.best,)
    return replace(outcome, retrieval=replace(outcome.retrieval, candidates=kept))
