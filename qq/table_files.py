"""Tables that people send with a command: fetched, read and not kept."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from nonebot.adapters.onebot.v11 import Bot

from qq.depends import services, settings
from qq.files import fetch
from qq.speaker import Speaker
from qq.uploaded_file import UploadedFile

_Content = TypeVar("_Content")


async def read_fetched(
    speaker: Speaker, bot: Bot, file: UploadedFile, max_bytes: int, read: Callable[[Path], _Content]
) -> _Content:
    """Fetch a file of at most `max_bytes` and return what `read` makes of it, in a thread.

    Raise as `fetch` and `read` do. The fetched copy is removed in every case.
    """
    knowledge, session = services().knowledge, speaker.session
    path = knowledge.new_incoming()
    try:
        await fetch(
            bot,
            file,
            session.group_id,
            session.user_id,
            path,
            max_bytes,
            knowledge.min_bytes_per_s,
            settings().knowledge.client_file_dirs,
        )
        return await asyncio.to_thread(read, path)
    finally:
        path.unlink(missing_ok=True)
