"""Writes down what happens, as far back as memory allows."""

import time
from collections import deque
from typing import Any

from simulator.recording import Person, RecordedGroup, Recording, Step
from simulator.world import Group, UploadedFile, World

# Of the contents of files; the oldest are forgotten first, with the steps that they stand in.
_KEPT_BYTES = 256 << 20
_KEPT_STEPS = 20_000


class Recorder:
    """The steps since the beginning, each with its time, and the files that people and the bot sent."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._steps: deque[Step] = deque(maxlen=_KEPT_STEPS)
        self._files: deque[UploadedFile] = deque()
        self._began: float | None = None

    def record(self, kind: type[Step], **fields: Any) -> None:
        """Something happened now. The step's time counts from the first one."""
        present = time.monotonic()
        if self._began is None:
            self._began = present
        self._steps.append(kind(at=round(present - self._began, 3), **fields))

    def keep(self, file: UploadedFile) -> None:
        """A file came. Where there are too many, the oldest is gone: from the chats' links, too."""
        self._files.append(file)
        while sum(len(kept.content) for kept in self._files) > _KEPT_BYTES:
            oldest = self._files.popleft()
            self._world.remove_file(oldest)
            steps = [step for step in self._steps if getattr(step, "content", None) is not oldest.content]
            self._steps = deque(steps, maxlen=_KEPT_STEPS)

    def recording(self) -> Recording:
        """What was noted, with everybody who was there."""
        world = self._world
        friends = [Person(id=friend.user_id, name=friend.nickname, role="member") for friend in world.friends.values()]
        groups = [_recorded(group, world.self_id) for group in world.groups.values()]
        return Recording(groups=groups, friends=friends, steps=list(self._steps))


def _recorded(group: Group, self_id: int) -> RecordedGroup:
    people = [member for member in group.members.values() if member.user_id != self_id]
    members = [Person(id=member.user_id, name=member.card or member.nickname, role=member.role) for member in people]
    return RecordedGroup(id=group.group_id, name=group.name, members=members)
