"""How the latest answers came about, for people who want to know why; kept in memory only."""

from collections import deque
from dataclasses import dataclass

from services.answering.models import Answer
from services.retrieval.models import Question, Retrieval
from services.retrieval.timing import StageTime

KEPT_TRACES = 64


@dataclass(frozen=True, slots=True)
class AnswerTrace:
    """One answer with all that it rests on.

    `session_id` is empty for an answer to what nobody asked the bot. `retrieval` is None when searching failed. `model`
    names the model that wrote the answer, empty where it was quoted. `times` ends with the stage "total".
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
        """Note one."""
        self._traces.append(trace)

    def of_session(self, session_id: str) -> list[AnswerTrace]:
        """Those of one session, oldest first."""
        return [trace for trace in self._traces if trace.session_id == session_id]

    def unasked(self, collection: str) -> list[AnswerTrace]:
        """The answers from one collection that nobody asked for, oldest first."""
        return [trace for trace in self._traces if not trace.session_id and trace.collection == collection]
