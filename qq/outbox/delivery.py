"""The outcome of a message, and the two ways in which a call for it can fail."""

from dataclasses import dataclass
from enum import Enum, auto


class Delivery(Enum):
    """The outcome of a message. SENT includes a send that QQ did not confirm, because it may have arrived."""

    SENT = auto()
    REFUSED = auto()
    AWAY = auto()
    RECALLED = auto()


@dataclass(frozen=True, slots=True)
class Posted:
    """The outcome of a message, and the ids of the messages in QQ that it became.

    A file and a send that QQ did not confirm have no id.
    """

    delivery: Delivery
    message_ids: tuple[int, ...] = ()


class NotSent(Exception):
    """Signals that the queue decided not to send a message. It will not be sent later either."""

    def __init__(self, delivery: Delivery) -> None:
        super().__init__(delivery)
        self.delivery = delivery


class Refused(Exception):
    """Signals that QQ did not accept this form of a message."""
