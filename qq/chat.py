"""The destinations of messages."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Chat:
    """A destination. `group_id` together with `user_id` is a temporary private chat that was opened through a group."""

    self_id: str
    group_id: int | None
    user_id: int | None = None

    @property
    def is_group(self) -> bool:
        """Whether the messages go to a group."""
        return self.user_id is None

    def target(self) -> dict[str, int]:
        """Return the parameters that identify this chat in an API call."""
        target: dict[str, int] = {}
        if self.group_id is not None:
            target["group_id"] = self.group_id
        if self.user_id is not None:
            target["user_id"] = self.user_id
        return target
