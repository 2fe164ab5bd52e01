"""Uploaded files as the various OneBot clients describe them, and every way to get their bytes."""

import asyncio
import base64
import binascii
import shutil
from collections.abc import AsyncIterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from nonebot import logger
from nonebot.adapters.onebot.v11 import Bot, MessageSegment
from nonebot.adapters.onebot.v11.exception import ActionFailed, ApiNotAvailable, NetworkError

from services.errors import DownloadFailed
from services.knowledge.download import download, too_large
from services.knowledge.service import clean_name

_API_ERRORS = (ActionFailed, NetworkError, ApiNotAvailable)


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """What an event says of a file. `size` in bytes, 0 where unknown; `url` only when it can be fetched over HTTP."""

    name: str
    file_id: str
    size: int
    busid: int
    url: str

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> "UploadedFile":
        """From a notice's file object or a file segment, of any client."""
        url = str(data.get("url") or "")
        return cls(
            name=clean_name(str(data.get("name") or data.get("file_name") or data.get("file") or "")),
            file_id=str(data.get("id") or data.get("file_id") or data.get("path") or ""),
            size=_integer(data.get("size") or data.get("file_size")),
            busid=_integer(data.get("busid")),
            url=url if url.startswith(("http://", "https://")) else "",
        )

    @classmethod
    def in_message(cls, message: list[MessageSegment]) -> "UploadedFile | None":
        """The file of a message; QQ sends a file as the only element."""
        segment = next((segment for segment in message if segment.type == "file"), None)
        return None if segment is None else cls.read(segment.data)

    def source(self) -> dict[str, Any]:
        """As JSON, for `UploadRecord.source`."""
        return asdict(self)


def _integer(value: object) -> int:
    try:
        return int(str(value or 0))
    except ValueError:
        return 0


async def fetch(
    bot: Bot,
    file: UploadedFile,
    group_id: int | None,
    user_id: int,
    target: Path,
    max_bytes: int,
    min_bytes_per_s: int,
) -> None:
    """Get the bytes of `file` into `target`, by the first way that works.

    Raises `DownloadFailed` when none does, with the sentence of the last failure; `DocumentRejected` when too large.
    """
    failure = DownloadFailed("没能从 QQ 拿到这个文件，请重新发一次。")
    async for url in _addresses(bot, file, group_id, user_id):
        try:
            await download(url, target, max_bytes=max_bytes, min_bytes_per_s=min_bytes_per_s)
        except DownloadFailed as error:
            logger.warning(f"downloading {file.name!r} failed: {error}")
            failure = error
        else:
            return
    if not await _from_client(bot, file, target, max_bytes):
        raise failure


async def _addresses(bot: Bot, file: UploadedFile, group_id: int | None, user_id: int) -> AsyncIterator[str]:
    """Addresses to try, each looked up only when the one before it failed: links live for minutes."""
    if file.url:
        yield file.url
    if url := await _link(bot, file, group_id, user_id, file.file_id):
        yield url
    # After a restart NapCat no longer knows the ids it gave out; the group's list gives new ones.
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
    except _API_ERRORS as error:
        logger.warning(f"no link for {file.name!r}: {error!r}")
        return ""
    url = str((data or {}).get("url") or "")
    if not url.startswith(("http://", "https://")):
        return ""
    return url + quote(file.name) if url.endswith("fname=") else url


async def _fresh_id(bot: Bot, file: UploadedFile, group_id: int) -> str:
    try:
        data = await bot.call_api("get_group_root_files", group_id=group_id)
    except _API_ERRORS as error:
        logger.warning(f"the files of group {group_id} cannot be listed: {error!r}")
        return ""
    for entry in (data or {}).get("files") or []:
        same = (
            clean_name(str(entry.get("file_name") or "")) == file.name
            and _integer(entry.get("file_size") or entry.get("size")) == file.size
        )
        if same and entry.get("file_id") != file.file_id:
            return str(entry.get("file_id") or "")
    return ""


async def _from_client(bot: Bot, file: UploadedFile, target: Path, max_bytes: int) -> bool:
    """The client's own copy: sent along as base64, or a path if the client runs on this machine."""
    try:
        data = await bot.call_api("get_file", file_id=file.file_id, _timeout=120) or {}
    except _API_ERRORS as error:
        logger.warning(f"the client has no copy of {file.name!r}: {error!r}")
        return False
    if encoded := data.get("base64"):
        try:
            content = await asyncio.to_thread(base64.b64decode, encoded, validate=True)
        except (binascii.Error, ValueError):
            return False
        if len(content) > max_bytes:
            raise too_large(max_bytes)
        await asyncio.to_thread(target.write_bytes, content)
        return True
    path = str(data.get("file") or "").removeprefix("file://")
    return bool(path) and await asyncio.to_thread(_copy_if_same, Path(path), file.size, target, max_bytes)


def _copy_if_same(path: Path, size: int, target: Path, max_bytes: int) -> bool:
    # In a container the client's path may name nothing here, or something else: the size must agree.
    if not path.is_absolute() or not path.is_file() or path.stat().st_size != size or size > max_bytes:
        return False
    shutil.copyfile(path, target)
    return True
