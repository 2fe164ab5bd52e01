"""The actions that find, link, copy, list and upload files."""

import asyncio
import base64
import hashlib
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import httpx

from simulator.dialects import Dialect
from simulator.parameters import (
    BAD_PARAMETERS,
    EXECUTION_FAILED,
    ActionRefused,
    InvalidParameters,
    integer,
    string,
)
from simulator.world import Segment, SimulatedFile, World

_IMAGE_SIGNATURES = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"RIFF")


class Files:
    """The file actions of one account.

    `shared_directory` is a directory that both the bot and the implementation can access: get_file writes its copies
    there, and uploads by path are read from it. None means separate hosts, as with Docker. `get_file_base64` is whether
    get_file also returns the content.
    """

    def __init__(self, world: World, dialect: Dialect) -> None:
        self._world = world
        self._dialect = dialect
        self.shared_directory: Path | None = None
        self.get_file_base64 = False

    def _find(self, params: dict[str, Any], *keys: str) -> SimulatedFile:
        key = next((key for key in keys if params.get(key)), None)
        if key is None:
            raise InvalidParameters(f"{keys[0]} is required")
        file = self._world.file(str(params[key]))
        if file is None:
            raise ActionRefused(EXECUTION_FAILED, "real fileUUID not found!")
        return file

    def _link(self, file: SimulatedFile) -> str:
        if file.url is None:
            raise ActionRefused(BAD_PARAMETERS, "packetBackend不可用，请检查配置")
        return file.url

    def group_url(self, params: dict[str, Any]) -> dict[str, str]:
        """Perform get_group_file_url."""
        file = self._find(params, "file_id")
        return {"url": self._link(file) + ("" if self._dialect.nameless_url else quote(file.name))}

    def private_url(self, params: dict[str, Any]) -> dict[str, str]:
        """Perform get_private_file_url."""
        if self._dialect.file_segment == "lagrange":
            integer(params, "user_id")
            string(params, "file_hash")
        return {"url": self._link(self._find(params, "file_id")) + "&isthumb=0"}

    async def copy(self, params: dict[str, Any]) -> dict[str, Any]:
        """Perform get_file."""
        file = self._find(params, "file_id", "file")
        directory = self.shared_directory or Path("/app/.config/QQ/NapCat/temp")
        path = directory / Path(file.name).name
        if self.shared_directory is not None:
            await asyncio.to_thread(path.write_bytes, file.content)
        data: dict[str, Any] = {
            "file": str(path),
            "url": str(path) if self._dialect.file_segment == "napcat" else "",
            "file_size": str(len(file.content)),
            "file_name": file.name,
        }
        return data | ({"base64": base64.b64encode(file.content).decode()} if self.get_file_base64 else {})

    def image(self, params: dict[str, Any]) -> dict[str, Any]:
        """Perform get_image."""
        file = self._find(params, "file", "file_id")
        size = str(len(file.content))
        return {"file": file.name, "url": self._link(file), "file_size": size, "file_name": file.name}

    def sent_image(self, segment: Segment) -> SimulatedFile:
        """Store and return the image of an image segment that the bot sends. Only base64 is understood."""
        source = str(segment["data"]["file"])
        try:
            content = base64.b64decode(source.removeprefix("base64://"), validate=True)
        except ValueError:
            content = b""
        if not source.startswith("base64://") or not content.startswith(_IMAGE_SIGNATURES):
            raise ActionRefused(EXECUTION_FAILED, "图片解析失败")
        name = f"{hashlib.md5(content, usedforsecurity=False).hexdigest().upper()}.png"
        file_id = self._world.new_file_id("image")
        file = SimulatedFile(name, content, None, self._world.self_id, file_id, file_id)
        self._world.add_file(file, file_id, name)
        return file

    def listing(self, params: dict[str, Any], group_id: int, folder_id: str) -> dict[str, Any]:
        """Perform get_group_root_files or get_group_files_by_folder."""
        here = [file for file in self._world.files if file.group_id == group_id and file.folder_id == folder_id]
        is_limited = self._dialect.file_segment == "napcat"
        limit = int(params.get("file_count") or 50) if is_limited else len(here)
        files: list[dict[str, Any]] = []
        for file in here[:limit]:
            # NapCat returns new ids that are valid for the session. The old ones stay valid too.
            fresh = self._world.new_file_id("listing") if self._dialect.notice_id_differs else file.segment_id
            self._world.add_file(file, fresh)
            files.append(
                {
                    "group_id": group_id,
                    "file_id": fresh,
                    "file_name": file.name,
                    "busid": file.busid if self._dialect.listed_busid else 0,
                    "file_size": len(file.content),
                    "upload_time": file.uploaded,
                    "dead_time": 0,
                    "modify_time": file.uploaded,
                    "download_times": 0,
                    "uploader": file.user_id,
                    "uploader_name": str(file.user_id),
                }
            )
        below = self._world.folders.get(group_id, {}) if folder_id == "/" else {}
        folders = [{"group_id": group_id, "folder_id": key, "folder_name": name} for key, name in below.items()]
        if is_limited:
            # NapCat's limit counts folders, too.
            folders = folders[: max(0, limit - len(files))]
        if self._dialect.null_for_empty_list:
            return {"files": files or None, "folders": folders or None}
        return {"files": files, "folders": folders}

    async def uploaded(self, params: dict[str, Any], group_id: int | None) -> SimulatedFile:
        """Store and return the file of an upload_group_file or upload_private_file call."""
        source = string(params, "file")
        name = string(params, "name") if params.get("name") or self._dialect.upload_name_required else ""
        content = await self._read(source)
        name = name or Path(urlsplit(source).path).name or "file"
        if "/" in name or "\\" in name:
            raise InvalidParameters(f"name must not contain a path: {name!r}")
        file_id = self._world.new_file_id("upload")
        file = SimulatedFile(name, content, group_id, self._world.self_id, file_id, file_id)
        self._world.add_file(file, file_id)
        return file

    async def _read(self, source: str) -> bytes:
        if source.startswith(("base64://", "http://", "https://")) and self._dialect.uploads_paths_only:
            raise ActionRefused(EXECUTION_FAILED, "文件不存在")
        if source.startswith("base64://"):
            try:
                return base64.b64decode(source.removeprefix("base64://"), validate=True)
            except ValueError as error:
                raise ActionRefused(EXECUTION_FAILED, f"识别URL失败: {error}") from error
        if source.startswith(("http://", "https://")):
            async with httpx.AsyncClient(trust_env=False) as client:
                try:
                    return (await client.get(source)).raise_for_status().content
                except httpx.HTTPError as error:
                    raise ActionRefused(EXECUTION_FAILED, f"识别URL失败: {error}") from error
        path = Path(unquote(urlsplit(source).path) if source.startswith("file://") else source)
        shared = self.shared_directory
        if shared is None or not path.is_relative_to(shared) or not await asyncio.to_thread(path.is_file):
            raise ActionRefused(EXECUTION_FAILED, f"识别URL失败: ENOENT: no such file or directory, stat '{path}'")
        return await asyncio.to_thread(path.read_bytes)
