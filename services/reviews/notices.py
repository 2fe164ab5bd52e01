"""Messages that tell the admins of a group about open reviews, few of them however many reviews there are."""

import asyncio
import logging

from services.records.reviews import ReviewRecords
from services.reviews.models import ReviewMessenger

log = logging.getLogger(__name__)

# The asker reads their own answer first.
FIRST_S = 3.0
# Whatever is opened in a group within ten minutes is told in one message.
TOGETHER_S = 600.0


class Notices:
    """Tells about each open review once. The first one of a group is told at once, further ones together."""

    def __init__(
        self, records: ReviewRecords, *, is_on: bool, first_s: float = FIRST_S, together_s: float = TOGETHER_S
    ) -> None:
        self._records = records
        self._is_on = is_on
        self._first_s = first_s
        self._together_s = together_s
        self._messenger: ReviewMessenger | None = None
        self._told_at: dict[tuple[str, int], float] = {}
        self._tasks: dict[tuple[str, int], asyncio.Task[None]] = {}

    def attach(self, messenger: ReviewMessenger) -> None:
        """Use a chat program from now on."""
        self._messenger = messenger

    def schedule(self, account: str, group_id: int) -> None:
        """Tell the admins of a group about its open reviews soon. A notice that is due already tells about them too."""
        key = account, group_id
        if self._messenger is None or not self._is_on or key in self._tasks:
            return
        task = asyncio.create_task(self._tell(self._messenger, account, group_id), name="review-notice")
        self._tasks[key] = task
        task.add_done_callback(lambda _: self._tasks.pop(key, None))

    async def close(self) -> None:
        """Stop telling. Whatever was not told is told after the next start."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _tell(self, messenger: ReviewMessenger, account: str, group_id: int) -> None:
        key, loop = (account, group_id), asyncio.get_running_loop()
        due = max(loop.time() + self._first_s, self._told_at.get(key, float("-inf")) + self._together_s)
        try:
            await asyncio.sleep(due - loop.time())
            waiting = await self._records.unannounced(account)
            reviews = [review for review in waiting if review.request.group_id == group_id]
            if not reviews:
                return
            notices = await messenger.announce(reviews)
            if notices is None:
                return
            self._told_at[key] = loop.time()
            await self._records.announced(reviews, notices)
        except Exception:
            # They stay in the list of reviews, and are told after the next start.
            log.exception("the admins of group %s could not be told about reviews", group_id)
