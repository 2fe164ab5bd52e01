"""Answers that members give each other: what others agree with is suggested to the admins, never learnt by itself."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from cachetools import TTLCache

from services.index.tokens import normalise
from services.records.conversations import ConversationRecords
from services.records.reviews import Review, ReviewReason, ReviewRecords, ReviewRequest
from services.retrieval.wording import asks_something
from services.reviews.queue import ReviewQueue
from services.session import KnowledgeCollection, KnowledgeScope, Session
from services.text.cleaning import clean

# People answer each other within a day; a restart forgets what nobody has agreed with yet.
_KEPT_S = 24 * 3600.0
_MOST_KEPT = 2000
# Two others, or the person who asked.
_SUPPORTERS = 2
_LEAST_CHARS, _MOST_CHARS = 8, 2000
# No alternative is a sequence of others, so that a long run is read in one way only.
_AGREES = re.compile(
    r"(?:是|对|嗯|哦|确实|没错|正解|正确|同意|赞同|可以|好|明白|懂|知道|解决|搞定|学到|原来如此|谢|感谢|多谢|太好|厉害|牛"
    r"|\+1|ok|thanks?|thx|👍|🙏|[的了啦呀啊哈滴你您大佬哥姐!！。.~～,，\s])+",
    re.IGNORECASE,
)
_AGREEMENT_CHARS = 30
_NO_ANSWER = re.compile(
    r".{0,6}(?:不知道|不清楚|不确定|不太清楚|好像|可能|应该是吧|大概|也想知道|同问|蹲|问问|问一下|等等|看群文件|自己看|百度).*",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class _Question:
    session: Session
    self_id: str
    message_id: int
    turn_id: int


@dataclass(slots=True)
class _Answer:
    question: _Question
    message_id: int
    user_id: int
    text: str
    supporters: set[int] = field(default_factory=set[int])


class Suggestions:
    """Listens to what members reply to questions that the bot could not answer."""

    def __init__(
        self,
        queue: ReviewQueue,
        records: ReviewRecords,
        conversations: ConversationRecords,
        scope: KnowledgeScope,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._queue = queue
        self._records = records
        self._conversations = conversations
        self._scope = scope
        self._questions: TTLCache[tuple[int, int], _Question] = TTLCache(_MOST_KEPT, _KEPT_S, timer=clock)
        self._answers: TTLCache[tuple[int, int], _Answer] = TTLCache(_MOST_KEPT, _KEPT_S, timer=clock)

    def note_question(self, session: Session, self_id: str, message_id: int, turn_id: int | None) -> None:
        """Remember a question of a group that nothing was found for."""
        if session.group_id is not None and turn_id is not None:
            key = session.group_id, message_id
            self._questions[key] = _Question(session, self_id, message_id, turn_id)

    def concerns(self, group_id: int, message_id: int) -> bool:
        """Return whether a reply to this message may be an answer, or may agree with one."""
        key = group_id, message_id
        return key in self._questions or key in self._answers

    async def hear(self, group_id: int, user_id: int, message_id: int, reply_to: int, text: str) -> Review | None:
        """Hear a member's reply. Return the suggestion to the admins that it leads to, if any."""
        question = self._questions.get((group_id, reply_to))
        if question is not None:
            said = clean(text).strip()
            if user_id != question.session.user_id and is_complete(said):
                self._answers[group_id, message_id] = _Answer(question, message_id, user_id, said)
            return None
        return await self.support(group_id, reply_to, user_id) if agrees(text) else None

    async def support(self, group_id: int, message_id: int, user_id: int) -> Review | None:
        """Count a member who likes an answer. Return the suggestion to the admins that this leads to, if any."""
        answer = self._answers.get((group_id, message_id))
        if answer is None or user_id in (0, answer.user_id):
            return None
        answer.supporters.add(user_id)
        if answer.question.session.user_id not in answer.supporters and len(answer.supporters) < _SUPPORTERS:
            return None
        del self._answers[group_id, message_id]
        return await self._suggest(group_id, answer)

    def forget(self, group_id: int, message_id: int) -> None:
        """Forget a message that was recalled."""
        self._questions.pop((group_id, message_id), None)
        self._answers.pop((group_id, message_id), None)

    async def _suggest(self, group_id: int, answer: _Answer) -> Review | None:
        question = answer.question
        turn = await self._conversations.turn(question.turn_id)
        if turn is None or not turn.question:
            return None
        chat = question.session.chat
        pair = normalise(turn.question), normalise(answer.text)
        for suggested in await self._records.suggested(chat):
            if (normalise(suggested.request.question), normalise(suggested.request.draft)) == pair:
                return None
        return await self._queue.open(
            ReviewRequest(
                chat=chat,
                collection=KnowledgeCollection.of_group(group_id, self._scope).name,
                self_id=question.self_id,
                group_id=group_id,
                session_id=turn.session_id,
                asker_id=turn.user_id,
                question=turn.question,
                draft=answer.text,
                reason=ReviewReason.SUGGESTED,
                question_id=question.message_id,
                answer_id=answer.message_id,
                turn_id=turn.id,
                note=f"{answer.user_id} 在群里答的",
                requested_by=answer.user_id,
            )
        )


def is_complete(text: str) -> bool:
    """Return whether a reply answers a question by itself, and is no guess, question or thanks.

    >>> is_complete("在行政楼 203 办，周一到周五"), is_complete("同问"), is_complete("你问问辅导员？")
    (True, False, False)
    """
    if not _LEAST_CHARS <= len(text) <= _MOST_CHARS or _NO_ANSWER.fullmatch(text) or agrees(text):
        return False
    return not asks_something(text)


def agrees(text: str) -> bool:
    """Return whether a reply says nothing but that another message is right or helped.

    >>> agrees("对的，谢谢大佬！"), agrees("+1"), agrees("对吗"), agrees("不对")
    (True, True, False, False)
    """
    said = clean(text).strip()
    return len(said) <= _AGREEMENT_CHARS and _AGREES.fullmatch(said) is not None
