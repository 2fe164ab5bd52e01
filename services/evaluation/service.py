"""Running a test set through retrieval and gate: no reply is written, only what would happen is told."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Protocol

from services.errors import SearchIndexError
from services.evaluation.models import Evaluation, Outcome, Sample
from services.retrieval.models import Question, Retrieval, RetrievalStatus

log = logging.getLogger(__name__)

# As long as a question took, others have the machine; at least this, so that the event loop gets to them.
_LEAST_PAUSE_S = 0.02
_PROGRESS_S = 30.0
# So many in a row are no accident: the index or the rerank service is down.
_MOST_FAILURES = 5
_NOT_RERANKED = "重排失败了，请稍后再试。"


class Retrieves(Protocol):
    """What is tried: `services.retrieval.retriever.Retriever`."""

    async def retrieve(self, collection: str, question: Question) -> Retrieval:
        """The approved passages for a question. Raises `SearchIndexError`."""
        ...


async def try_question(retriever: Retrieves, collection: str, question: Sample, quoted: str = "") -> Outcome:
    """What would happen if somebody asked this now, with the message `quoted`."""
    begun = time.perf_counter()
    try:
        retrieval = await retriever.retrieve(collection, Question(question.text, quoted))
    except SearchIndexError as error:
        log.warning("a test question failed: %s", error)
        return Outcome(question, None, error.user_message, time.perf_counter() - begun)
    failure = ""
    if retrieval.status is RetrievalStatus.RERANK_FAILED:
        failure = retrieval.warning or _NOT_RERANKED
    return Outcome(question, retrieval, failure, time.perf_counter() - begun)


async def evaluate(
    retriever: Retrieves,
    collection: str,
    questions: Sequence[Sample],
    progress: Callable[[int], Awaitable[None]],
    *,
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> Evaluation:
    """Try every question, one at a time and with pauses, so that answers to people are not held up.

    `progress` is called with the number of questions done, every thirty seconds. Five failures in a row end the run.
    """
    outcomes: list[Outcome] = []
    failures = 0
    told_at = clock()
    for question in questions:
        outcome = await try_question(retriever, collection, question)
        outcomes.append(_slim(outcome))
        failures = failures + 1 if outcome.answered is None else 0
        if failures == _MOST_FAILURES:
            break
        if len(outcomes) < len(questions) and clock() - told_at >= _PROGRESS_S:
            told_at = clock()
            await progress(len(outcomes))
        await pause(max(_LEAST_PAUSE_S, outcome.seconds))
    return Evaluation(outcomes, len(questions))


def _slim(outcome: Outcome) -> Outcome:
    """With the best candidate only: the texts of all of 500 questions' would be tens of megabytes."""
    if outcome.retrieval is None:
        return outcome
    kept = () if outcome.best is None else (outcome.best,)
    return replace(outcome, retrieval=replace(outcome.retrieval, candidates=kept))
