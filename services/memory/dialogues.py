"""The dialogues of each session: how one ends, and what is known about the last one."""

import logging
import re
from collections.abc import Sequence
from datetime import timedelta

from services.errors import RecordsError
from services.records.dialogues import Dialogue, DialogueRecords
from services.records.sent_answers import SentAnswer, SentAnswerRecords
from services.records.tables import now

log = logging.getLogger(__name__)

# Only words that mean nothing else: 晚安 and 先走了 are also said in the middle of a conversation, 88 is a number.
_FAREWELL = re.compile(
    r"(?:(?:好的?|谢谢|多谢|感谢|谢了|thanks|thx)[你您啦了]*)*(?:再见|拜拜|(?:good)?bye(?:bye)?|👋)+[啦了哦]*",
    re.IGNORECASE,
)
_MARKS = re.compile(r"[\s,.!~，。！～、…\ufe0f\U0001f3fb-\U0001f3ff]+")
_LONGEST_FAREWELL = 20


def is_farewell(text: str) -> bool:
    """Return whether a message ends the dialogue, and says nothing else.

    >>> is_farewell("谢谢，再见！"), is_farewell("👋🏻"), is_farewell("再见面要带什么")
    (True, True, False)
    """
    return len(text) <= _LONGEST_FAREWELL and _FAREWELL.fullmatch(_MARKS.sub("", text)) is not None


class Dialogues:
    """The dialogues of all sessions. One in which nothing was said for longer than `silence` is abandoned."""

    def __init__(self, records: DialogueRecords, silence: timedelta) -> None:
        self._records = records
        self._silence = silence

    async def settle(self) -> None:
        """End the dialogues that nobody continued. Call this at start and before dialogues are listed."""
        await self._records.abandon(now() - self._silence)

    async def last(self, session_id: str) -> Dialogue | None:
        """Return the last dialogue of a session."""
        await self.settle()
        return await self._records.last(session_id)

    async def end(self, session_id: str) -> bool:
        """Complete the active dialogue of a session at its speaker's wish. Return False if there is none."""
        await self.settle()
        return await self._records.end(session_id)


class SentAnswers:
    """The messages that answers were sent as."""

    def __init__(self, records: SentAnswerRecords) -> None:
        self._records = records

    async def note(self, self_id: str, chat: str, message_ids: Sequence[int], turn_id: int | None) -> None:
        """Write down the messages of an answer. A failure is only logged, because the answer is already there."""
        if turn_id is None or not message_ids:
            return
        try:
            await self._records.add(self_id, chat, message_ids, turn_id)
        except RecordsError:
            log.exception("the messages of turn %s could not be written down", turn_id)

    async def find(self, self_id: str, chat: str, message_id: int) -> SentAnswer | None:
        """Return the answer that a message of `chat` (`Session.chat`) is, or None. Raise `RecordsError`."""
        return await self._records.find(self_id, chat, message_id)

    async def last_to(self, session_id: str, user_id: int) -> SentAnswer | None:
        """Return the last message that answered a question of this member, or None. Raise `RecordsError`."""
        return await self._records.last_to(session_id, user_id)
