"""A sign that the bot is working, for tasks that take longer than people wait without wondering."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

from nonebot import logger
from nonebot.adapters.onebot.v11 import Bot
from nonebot.adapters.onebot.v11.exception import ActionFailed, ApiNotAvailable, NetworkError

from services.roles import Place

SHOW_AFTER_S = 2.0
# Face 424, 续标识 ("to be continued"). Lagrange takes the same code in another call.
_REACTION = 424


@asynccontextmanager
async def working(show: Callable[[], Awaitable[None]]) -> AsyncGenerator[None]:
    """Call `show` if the block takes longer than two seconds. A failure of `show` does not affect the block."""

    async def later() -> None:
        await asyncio.sleep(SHOW_AFTER_S)
        try:
            await show()
        except (ActionFailed, ApiNotAvailable, NetworkError) as error:
            logger.debug(f"no sign of work shown: {error!r}")

    task = asyncio.create_task(later())
    try:
        yield
    finally:
        task.cancel()


async def show_reaction(bot: Bot, place: Place, user_id: int, group_id: int | None, message_id: int) -> None:
    """React to the question, or show "typing" in a private chat, with whichever call this client supports."""
    if place is Place.PRIVATE:
        await bot.call_api("set_input_status", user_id=user_id, event_type=1)
        return
    try:
        await bot.call_api("set_msg_emoji_like", message_id=message_id, emoji_id=_REACTION, set=True)
    except ActionFailed:
        await bot.call_api(
            "set_group_reaction", group_id=group_id, message_id=message_id, code=str(_REACTION), is_add=True
        )
