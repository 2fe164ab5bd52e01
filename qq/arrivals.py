"""Files from QQ as the intake receives them: who sent them where, how their bytes are fetched, where outcomes go."""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from nonebot import get_bots
from nonebot.adapters.onebot.v11 import Bot

from qq.chat import Chat
from qq.depends import outbox, receipts, settings
from qq.files import fetch
from qq.messages import pull_text
from qq.outbox.delivery import Delivery
from qq.outbox.send_queue import Priority
from qq.speaker import member_lookup
from qq.uploaded_file import UploadedFile
from services.access import MemberLookup
from services.knowledge.intake import Arrival, Connection
from services.knowledge.models import IngestResult
from services.knowledge.pulls import PullReport
from services.session import Session


def arrival_in(chat: Chat, session: Session, file: UploadedFile) -> Arrival:
    """Return a file as the intake receives it, with all that a restart needs to continue it."""
    return Arrival(chat.self_id, session, file.name, file.size, file.source(chat.group_id))


def _chat(arrival: Arrival) -> Chat:
    """Return the chat in which to report. A temporary chat was opened through the group `via`."""
    if arrival.session.group_id is not None:
        return Chat(arrival.account, arrival.session.group_id)
    return Chat(arrival.account, arrival.source.via, arrival.session.user_id)


@dataclass(frozen=True, slots=True)
class _Account:
    """A connected account of the bot."""

    bot: Bot

    @property
    def members(self) -> MemberLookup:
        return member_lookup(self.bot)

    async def fetch(self, arrival: Arrival, target: Path, *, max_bytes: int, min_bytes_per_s: int) -> None:
        file = UploadedFile.of(arrival.name, arrival.size, arrival.source)
        session, client_dirs = arrival.session, settings().knowledge.client_file_dirs
        await fetch(self.bot, file, session.group_id, session.user_id, target, max_bytes, min_bytes_per_s, client_dirs)


class QQMessenger:
    """QQ as the intake uses it."""

    def connection(self, account: str) -> Connection | None:
        """Return the present connection of an account, or None while it is away."""
        bot = get_bots().get(account)
        return _Account(bot) if isinstance(bot, Bot) else None

    def reading(self, arrival: Arrival, *, is_announced: bool) -> AbstractContextManager[None]:
        """Count a file as in progress in its chat while the block runs."""
        return receipts.reading(_chat(arrival), arrival.name, is_announced=is_announced)

    async def tell(self, arrival: Arrival, result: IngestResult) -> bool:
        """Report an outcome in the chat that the file came from. Return whether it was sent."""
        return await receipts.tell(_chat(arrival), result) is Delivery.SENT

    async def report(self, account: str, group_id: int, report: PullReport) -> bool:
        """Report in its group what became of files that the group already had. Return whether it was sent."""
        delivery = await outbox.send(Chat(account, group_id), pull_text(report), priority=Priority.NOTICE)
        return delivery is Delivery.SENT


messenger = QQMessenger()
