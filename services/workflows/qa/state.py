"""What one turn carries through the graph: the state that a checkpoint keeps, and what lives in memory only."""

from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

from langchain_core.documents import Document
from langchain_core.messages import AnyMessage
from langgraph.graph.message import add_messages

from services.faq.models import FaqEntry
from services.grounding.models import Answer
from services.memory.turns import Turn
from services.retrieval.models import Question, Retrieval
from services.roles import Role
from services.workflows.qa.about_files import FileReply, UploaderNames, by_number
from services.workflows.qa.models import QuestionAnalysis, TechnicalAnswer, UserQuery


class ConversationState(TypedDict, total=False):
    """The state of the specification, in values that survive JSON, and four fields of ours.

    `turn_count` counts the turns that the working history holds, and `conversation_summary` is that of earlier ones.
    `retrieved_documents` are the approved passages. `question_category` is a `MainCategory`, `generated_answer` an
    answer as `answers.as_state` writes it. `thread_id` names the turn: each has a thread of its own. `user_feedback`
    stays empty, because feedback comes after the turn has ended and is kept in the records.

    `classification` is a whole `QuestionCategory`; `rounds` counts the searches; `confidence` is the probability that
    the answer is right; `decision` is what a person said about it.
    """

    messages: Annotated[list[AnyMessage], add_messages]
    retrieved_documents: list[Document]
    current_question: str
    rewritten_question: str | None
    question_category: str | None
    generated_answer: dict[str, Any] | None
    thread_id: str
    turn_count: int
    last_updated: str
    conversation_summary: str | None
    user_feedback: dict[str, Any] | None
    error: str | None
    classification: dict[str, Any] | None
    rounds: int
    confidence: float | None
    decision: dict[str, Any] | None


@dataclass(slots=True)
class TurnWork:
    """What the nodes of one turn hand to each other and no checkpoint keeps: it is needed only until the answer stands.

    `query` is the question with the preferences of its session, or None if it has no content. `question` is what is
    searched and answered: the member's own, or the `whole` one that it stands for; `alone` is then the member's own, if
    it may be a new one after all. `words` are added to it for a second search. `choices` are approved questions that
    may be the same one, unless it `is_chosen` that none is. With `can_wait` a person may be asked before the answer is
    sent. `answer` is None until something answers; after a review it is rebuilt from the state.
    """

    collection: str
    question: Question
    turn: Turn
    query: UserQuery | None
    names: UploaderNames = by_number
    role: Role = Role.MEMBER
    can_wait: bool = False
    whole: Question | None = None
    alone: Question | None = None
    file_reply: FileReply | None = None
    analysis: QuestionAnalysis | None = None
    words: tuple[str, ...] = ()
    choices: tuple[FaqEntry, ...] = ()
    is_chosen: bool = False
    retrieval: Retrieval | None = None
    answer: Answer | None = None
    technical: TechnicalAnswer | None = None
