"""The working history in LangChain's interface, as one turn reads it."""

import re
from collections.abc import Sequence

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from services.errors import HistoryError
from services.prompts import new_fence
from services.records.conversations import ConversationRecords
from services.records.stored_values import StoredMessage

# How much of the history a prompt may contain, in characters; about 8,000 tokens of Chinese. Nothing is deleted to meet
# it.
_PROMPT_BUDGET = 8_000
_MESSAGES = {"human": HumanMessage, "ai": AIMessage, "system": SystemMessage}
# Of the arguments that LangChain keeps with a message; no service is sent one of this name.
_DOUBTFUL = "qunzhi_doubtful"
_MARK = re.compile(r"[〔【\[]\d{1,2}[〕】\]]")


class TurnHistory(BaseChatMessageHistory):
    """The history of one session as one turn sees it.

    It is read once. RunnableWithMessageHistory hands over the exchange with the model; it is not stored here, because
    `Turn.complete` stores the text that is sent, which is known only after its review.
    """

    def __init__(self, records: ConversationRecords, session_id: str) -> None:
        self._records = records
        self._session_id = session_id
        self._shown: list[BaseMessage] | None = None

    async def aget_messages(self) -> list[BaseMessage]:
        """Return what the model is shown: the summaries, and as many of the latest messages as the budget holds.

        The summaries are one system message at the beginning. They hold people's own words: code that fills a prompt
        must show them as data, never as a system message.
        """
        if self._shown is None:
            records = await self._records.history(self._session_id)
            self._shown = within_budget([_shown(record.message) for record in records])
        return list(self._shown)

    async def last_questions(self, count: int) -> list[str]:
        """Return the earlier questions of this session, the latest first."""
        spoken = [str(message.text) for message in await self.aget_messages() if message.type == "human"]
        return spoken[::-1][:count]

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Accept the exchange with the model without storing it."""

    @property
    def messages(self) -> list[BaseMessage]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Not available: the database is asynchronous."""
        raise HistoryError("对话记忆只能异步读取。")

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Raise `HistoryError`: the database is asynchronous."""
        raise HistoryError("对话记忆只能异步写入。")

    def clear(self) -> None:
        """Raise `HistoryError`: a turn does not clear its session."""
        raise HistoryError("对话记忆不能在一轮对话中清空。")


def within_budget(messages: Sequence[BaseMessage], budget: int = _PROMPT_BUDGET) -> list[BaseMessage]:
    """Return the summaries as one message, then the latest messages that fit into `budget` characters.

    The last exchange is always kept; a summary longer than half the budget keeps its end, which holds the verbatim
    facts.
    """
    summaries = [message for message in messages if isinstance(message, SystemMessage)]
    spoken = [message for message in messages if not isinstance(message, SystemMessage)]
    kept: list[BaseMessage] = []
    if summaries:
        text = "\n".join(message.text for message in summaries)[-budget // 2 :]
        kept.append(SystemMessage(text))
        budget -= len(text)
    start = len(spoken)
    while start > 0:
        budget -= len(spoken[start - 1].text)
        if budget < 0 and len(spoken) - start >= 2:
            break
        start -= 1
    # After a cut by the budget, no answer stands without its question. After a summary one may: the summary contains
    # the question.
    while 0 < start < len(spoken) and spoken[start].type != "human":
        start += 1
    return [*kept, *spoken[start:]]


def is_doubtful(message: BaseMessage) -> bool:
    """Return whether a message of the history is an answer that nothing confirmed."""
    return bool(message.additional_kwargs.get(_DOUBTFUL))


def _shown(message: StoredMessage) -> BaseMessage:
    notes = {_DOUBTFUL: True} if message.doubtful else {}
    return _MESSAGES[message.type](_without_marks(message), additional_kwargs=notes)


def _without_marks(message: StoredMessage) -> str:
    # Every question numbers its references from 1: a number of an earlier answer would now name another passage.
    return _MARK.sub("", message.text) if message.type == "ai" else message.text


def fenced(texts: Sequence[str]) -> str:
    """Return the texts of `as_text` between two lines that none of them can contain.

    Text after a line break is indented, so that nobody can forge a line of another speaker.
    """
    fence = new_fence()
    return "\n".join((fence, *("\n　".join(text.splitlines()) for text in texts), fence))


def as_text(messages: Sequence[StoredMessage]) -> list[str]:
    """Return one text for each message, with its speaker, for a summary."""
    roles = {"human": "用户", "ai": "助手", "system": "此前摘要"}
    return [f"{roles[message.type]}：{_without_marks(message)}" for message in messages]
