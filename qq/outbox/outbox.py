"""The outbox, which sends everything the bot says: in order, at an acceptable pace, in a form that QQ accepts."""

from collections.abc import Callable

from qq.chat import Chat
from qq.outbox.delivery import Delivery, NotSent, Posted
from qq.outbox.formats import Draw, Formats
from qq.outbox.queue import RECONNECT_S, Account, Queue, connected_account
from qq.outbox.replies import Reply
from qq.outbox.send_queue import Priority
from qq.outbox.wire import Wire
from qq.recalls import Recalls
from services.settings import SendSettings


class Outbox:
    """Sends messages one at a time in each chat. Messages that exceed the pace wait, and none is dropped because of it.

    Answers go before notices, both in a chat and within the account's limit per minute. Among answers, those to the
    people who received the fewest within the last minute go first; messages to one person keep their order. A message
    that quotes a recalled message is not sent. `draw` returns a drawing as PNG, or None if it cannot.
    """

    def __init__(
        self,
        pace: SendSettings,
        recalls: Recalls,
        draw: Draw,
        account: Callable[[str], Account | None] = connected_account,
        reconnect_s: float = RECONNECT_S,
    ) -> None:
        self._queue = Queue(pace, recalls, account, reconnect_s)
        self._formats = Formats(Wire(self._queue), draw)

    @property
    def waiting(self) -> int:
        """The number of messages that are on their way."""
        return self._queue.waiting

    def account_connected(self, self_id: str) -> None:
        """Send the messages that waited for an account to come back."""
        self._queue.account_connected(self_id)

    def close(self) -> None:
        """End all waiting. Nothing is sent from then on."""
        self._queue.close()

    async def send(
        self,
        chat: Chat,
        reply: Reply,
        reply_to: int | None = None,
        priority: Priority = Priority.ANSWER,
        *,
        asker: int | None = None,
    ) -> Delivery:
        """Send `reply` to `chat`, quoting the message `reply_to`. Return when it was sent or is given up.

        `asker` is the QQ number of the person whom an answer is for. If the account is not connected, the message waits
        for up to ten minutes.
        """
        return (await self.post(chat, reply, reply_to, priority, asker=asker)).delivery

    async def post(
        self,
        chat: Chat,
        reply: Reply,
        reply_to: int | None = None,
        priority: Priority = Priority.ANSWER,
        *,
        asker: int | None = None,
    ) -> Posted:
        """Send `reply` as `send` does, and also return the ids of the messages that it became."""
        async with self._queue.outgoing(chat, reply_to, priority, asker) as message:
            try:
                delivery = await self._formats.deliver(message, reply)
            except NotSent as not_sent:
                delivery = not_sent.delivery
            return Posted(delivery, tuple(message.message_ids))
