"""All the ways to fetch the bytes of an uploaded file from the various OneBot clients."""

import asyncio
import base64
import binascii
import os
import shutil
import stat
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

from nonebot import logger
from nonebot.adapters.onebot.v11 import Bot
from nonebot.adapters.onebot.v11.exception import ActionFailed, ApiNotAvailable, NetworkError

from qq.group_files import list_group_files
from qq.uploaded_file import UploadedFile
from services.errors import DownloadFailed
from services.knowledge.download import download, too_large

_PATH_NOT_ALLOWED = (
    "QQ 客户端只给了文件在本机的路径，机器人没有读：请管理员把客户端存文件的目录填进 KNOWLEDGE__CLIENT_FILE_DIRS，"
    "再重新发一次。"
)
API_ERRORS = (ActionFailed, NetworkError, ApiNotAvailable)


def fields(data: object) -> dict[str, Any]:
    """Return the response of a client as a dictionary, which is empty if the response is of any other type."""
    return cast("dict[str, Any]", data) if isinstance(data, dict) else {}


async def fetch(
    bot: Bot,
    file: UploadedFile,
    group_id: int | None,
    user_id: int,
    target: Path,
    max_bytes: int,
    min_bytes_per_s: int,
    client_dirs: Sequence[str],
) -> None:
    """Fetch the bytes of `file` into `target` by the first way that works.

    A path on this machine that the client names is only read if it is inside one of `client_dirs`, which are absolute.
    Raise `DownloadFailed` if no way works, with the sentence for the last link that failed, or else for the client's
    own copy. Raise `DocumentRejected` if the file is too large.
    """
    failure: DownloadFailed | None = None
    async for url in _addresses(bot, file, group_id, user_id):
        try:
            await download(url, target, max_bytes=max_bytes, min_bytes_per_s=min_bytes_per_s)
        except DownloadFailed as error:
            logger.warning(f"downloading {file.name!r} failed: {error}")
            failure = error
        else:
            return
    try:
        if await _from_client(bot, file, target, max_bytes, client_dirs):
            return
    except DownloadFailed as error:
        failure = failure or error
    raise failure or DownloadFailed("没能从 QQ 拿到这个文件，请重新发一次。")


async def _addresses(bot: Bot, file: UploadedFile, group_id: int | None, user_id: int) -> AsyncIterator[str]:
    """Yield the addresses to try.

    Each is only looked up after the previous one failed, because links live for minutes.
    """
    if file.url:
        yield file.url
    if url := await _link(bot, file, group_id, user_id, file.file_id):
        yield url
    # After a restart NapCat no longer knows the ids that it issued before. The file list of the group has new ones.
    fresh = await _fresh_id(bot, file, group_id) if group_id is not None else ""
    if fresh and (url := await _link(bot, file, group_id, user_id, fresh)):
        yield url


async def _link(bot: Bot, file: UploadedFile, group_id: int | None, user_id: int, file_id: str) -> str:
    if not file_id:
        return ""
    try:
        if group_id is not None:
            data = await bot.call_api("get_group_file_url", group_id=group_id, file_id=file_id, busid=file.busid)
        else:
            data = await bot.call_api("get_private_file_url", user_id=user_id, file_id=file_id)
    except API_ERRORS as error:
        logger.warning(f"no link for {file.name!r}: {error!r}")
        return ""
    url = str(fields(data).get("url") or "")
    if not url.startswith(("http://", "https://")):
        return ""
    return url + quote(file.name) if url.endswith("fname=") else url


async def _fresh_id(bot: Bot, file: UploadedFile, group_id: int) -> str:
    listing = await list_group_files(bot, group_id)
    if isinstance(listing, str):
        return ""
    for listed in listing.files:
        if (listed.name, listed.size) == (file.name, file.size) and listed.source.file_id != file.file_id:
            return listed.source.file_id
    return ""


async def _from_client(bot: Bot, file: UploadedFile, target: Path, max_bytes: int, client_dirs: Sequence[str]) -> bool:
    """Fetch the client's own copy.

    Return False if there is none. Raise `DownloadFailed` if its path may not be read.
    """
    if not file.file_id:
        return False
    try:
        data = fields(await bot.call_api("get_file", file_id=file.file_id, _timeout=120))
    except API_ERRORS as error:
        logger.warning(f"the client has no copy of {file.name!r}: {error!r}")
        return False
    return await save_copy(data, file.size, target, max_bytes, client_dirs)


async def save_copy(data: dict[str, Any], size: int, target: Path, max_bytes: int, client_dirs: Sequence[str]) -> bool:
    """Save the client's own copy of a file, which it sends as base64, or as a path if it runs on this machine.

    `data` is its response. Return False if it has none. Raise `DownloadFailed` if the path may not be read, and
    `DocumentRejected` if the copy is too large.
    """
    if isinstance(encoded := data.get("base64"), str) and encoded:
        try:
            content = await asyncio.to_thread(base64.b64decode, encoded, validate=True)
        except (binascii.Error, ValueError):
            return False
        if len(content) > max_bytes:
            raise too_large(max_bytes)
        await asyncio.to_thread(target.write_bytes, content)
        return True
    path = data.get("file")
    if not isinstance(path, str) or not path:
        return False
    path = path.removeprefix("file://")
    return await asyncio.to_thread(_copy_from_client, Path(path), client_dirs, size, target, max_bytes)


def _copy_from_client(path: Path, client_dirs: Sequence[str], size: int, target: Path, max_bytes: int) -> bool:
    """Copy a file that the client names. Return False if it does not exist or is not the file that was sent."""
    allowed = _readable_path(path, client_dirs)
    if allowed is None:
        raise DownloadFailed(_PATH_NOT_ALLOWED, f"{path} is in none of KNOWLEDGE__CLIENT_FILE_DIRS")
    try:
        # The path contains no symbolic link now. Opening one that appeared in between fails, and a pipe does not block.
        source = os.open(allowed, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        logger.warning(f"the client's copy {path} cannot be read: {error}")
        return False
    try:
        status = os.fstat(source)
        # In a container, the client's path may lead nowhere or to another file here, so the size must match.
        if not stat.S_ISREG(status.st_mode) or status.st_size != size or size > max_bytes:
            return False
        with os.fdopen(source, "rb", closefd=False) as reader, target.open("wb") as writer:
            shutil.copyfileobj(reader, writer)
    finally:
        os.close(source)
    return True


def _readable_path(path: Path, directories: Sequence[str]) -> Path | None:
    """Return `path` without symbolic links if it is inside one of `directories`, which may be links, or else None.

    A path that contains `..` is refused, wherever it leads. The file need not exist.
    """
    if not path.is_absolute() or ".." in path.parts or "\0" in str(path):
        return None
    resolved = path.resolve()
    return resolved if any(resolved.is_relative_to(Path(directory).resolve()) for directory in directories) else None
