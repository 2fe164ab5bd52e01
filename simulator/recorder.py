"""The recorder of a conversation, bounded in memory."""

import time
from collections import deque
from typing import Any

from simulator.recording import Person, RecordedGroup, Recording, Step
from simulator.world import Group, SimulatedFile, World

# The total size of file contents. The oldest files are dropped first, together with their steps.
_KEPT_BYTES = 256 << 20
_KEPT_STEPS = 20_000


class Recorder:
    """Keeps the steps of a conversation with their times, and the files that people and the bot sent."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._steps: deque[Step] = deque(maxlen=_KEPT_STEPS)
        self._files: deque[SimulatedFile] = deque()
        self._began: float | None = None

    def record(self, kind: type[Step], **fields: Any) -> None:
        """Record a step that happens now. Its time is in seconds since the first step."""
        present = time.monotonic()
        if self._began is None:
            self._began = present
        self._steps.append(kind(at=round(present - self._began, 3), **fields))

    def keep(self, file: SimulatedFile) -> None:
        """Keep a file. While the files are too large in total, drop the oldest one with its steps.

        A dropped file is removed from the world too, so that its link cannot be requested any more.
        """
        self._files.append(file)
        while sum(len(kept.content) for kept in self._files) > _KEPT_BYTES:
            oldest = self._files.popleft()
            self._world.remove_file(oldest)
            steps = [step for step in self._steps if getattr(step, "content", None) is not oldest.content]
            self._steps = deque(steps, maxlen=_KEPT_STEPS)

    def recording(self) -> Recording:
        """Return the recorded steps with all groups and people."""
        world = self._world
        friends = [Person(id=friend.user_id, name=friend.nickname, role="member") for friend in world.friends.values()]
        groups = [_recorded(group, world.self_id) for group in world.groups.values()]
        return Recording(groups=groups, friends=friends, steps=list(self._steps))


def _recorded(group: Group, self_id: int) -> RecordedGroup:
    people = [member for member in group.members.values() if member.user_id != self_id]
    members = [Person(id=member.user_id, name=member.card or member.nickname, role=member.role) for member in people]
    return RecordedGroup(id=group.group_id, name=group.name, members=members)
