"""The pictures of a question: which segments of a message count, and how their bytes are fetched."""

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from nonebot import logger
from nonebot.adapters.onebot.v11 import Bot, Message

from qq.files import API_ERRORS, fields, save_copy
from qq.uploaded_file import whole_number
from services.errors import DocumentRejected, ServiceError
from services.knowledge.download import download
from services.pictures.models import MAX_BYTES, Unread

# QQ's servers send a screenshot within a second.
_LIMIT_S = 30.0


def pictures_in(*messages: Message) -> list[dict[str, Any]]:
    """Return the data of the pictures in messages, in order. Stickers, which people send for fun, are left out."""
    return [segment.data for message in messages for segment in message if _is_picture(segment.type, segment.data)]


def _is_picture(kind: str, data: dict[str, Any]) -> bool:
    return kind == "image" and not whole_number(data.get("sub_type") or data.get("subType"))


async def fetch_picture(bot: Bot, picture: dict[str, Any], client_dirs: Sequence[str]) -> bytes | Unread:
    """Return the bytes of a picture that the client reported, or why there are none.

    The address in the message is tried first, then what the client says when it is asked. `client_dirs` as in `fetch`.
    """
    with tempfile.TemporaryDirectory(prefix="qunzhi-picture-") as directory:
        target = Path(directory) / "picture"
        try:
            async with asyncio.timeout(_LIMIT_S):
                if await _fetched(bot, picture, target, client_dirs):
                    return await asyncio.to_thread(target.read_bytes)
        except DocumentRejected:
            return Unread.TOO_LARGE
        except (TimeoutError, ServiceError) as error:
            logger.warning(f"a picture could not be fetched: {error!r}")
    return Unread.UNREADABLE


async def _fetched(bot: Bot, picture: dict[str, Any], target: Path, client_dirs: Sequence[str]) -> bool:
    if await _downloaded(picture.get("url"), target):
        return True
    name = str(picture.get("file") or "")
    if not name:
        return False
    try:
        data = fields(await bot.call_api("get_image", file=name))
    except API_ERRORS as error:
        logger.warning(f"the client has no picture {name[:80]!r}: {error!r}")
        return False
    if data.get("url") != picture.get("url") and await _downloaded(data.get("url"), target):
        return True
    size = whole_number(data.get("file_size") or picture.get("file_size"))
    return await save_copy(data, size, target, MAX_BYTES, client_dirs)


async def _downloaded(address: object, target: Path) -> bool:
    if not isinstance(address, str) or not address.startswith(("http://", "https://")):
        return False
    # Clients put the server's name before what the sender's program wrote: no such text may name another host.
    if "@" in urlsplit(address).netloc:
        return False
    try:
        await download(address, target, max_bytes=MAX_BYTES, timeout_s=_LIMIT_S)
    except DocumentRejected:
        raise
    except ServiceError as error:
        logger.warning(f"downloading a picture failed: {error}")
        return False
    return True
