"""Traces of the latest answers for people who want to know the reasons, kept in memory only."""

from collections import deque
from dataclasses import dataclass

from services.answering.models import Answer
from services.retrieval.models import Question, Retrieval
from services.tracing.stages import StageTime

KEPT_TRACES = 64


@dataclass(frozen=True, slots=True)
class AnswerTrace:
    """One answer with everything it is based on.

    `session_id` is empty for an answer that the bot gave unasked. `retrieval` is None if the search failed. `model` is
    the name of the model that wrote the answer, or empty if the answer is a quotation. `times` ends with the stage
    "total".
    """

    session_id: str
    collection: str
    question: Question
    retrieval: Retrieval | None
    answer: Answer
    model: str
    times: tuple[StageTime, ...]


class AnswerTraces:
    """The last 64 answers of all sessions."""

    def __init__(self) -> None:
        self._traces: deque[AnswerTrace] = deque(maxlen=KEPT_TRACES)

    def keep(self, trace: AnswerTrace) -> None:
        """Store a trace."""
        self._traces.append(trace)

    def of_session(self, session_id: str) -> list[AnswerTrace]:
        """Return the traces of one session, oldest first."""
        return [trace for trace in self._traces if trace.session_id == session_id]

    def unasked(self, collection: str) -> list[AnswerTrace]:
        """Return the traces of unasked answers from one collection, oldest first."""
        return [trace for trace in self._traces if not trace.session_id and trace.collection == collection]
