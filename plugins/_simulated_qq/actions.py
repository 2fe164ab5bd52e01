"""What an OneBot v11 implementation does when it is called: validates as NapCat does, acts on the world, answers."""

import asyncio
import base64
import itertools
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from inspect import isawaitable
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote, unquote, urlsplit

import httpx

from tests.e2e import cq_code
from tests.e2e.dialects import Dialect, Segment
from tests.e2e.world import Group, Member, Message, UploadedFile, World

BAD_PARAMETERS = 1400
EXECUTION_FAILED = 1200
UNKNOWN_ACTION = 1404

# Required data of each segment type that QQ can send; NapCat refuses any other type.
_SEGMENT_DATA: dict[str, str | None] = {
    "text": "text",
    "at": "qq",
    "reply": "id",
    "face": "id",
    "image": "file",
    "record": "file",
    "video": "file",
    "file": "file",
    "json": "data",
    "forward": "id",
    "node": None,
    "markdown": "content",
    "poke": "type",
    "dice": None,
    "rps": None,
    "music": "type",
    "contact": "id",
}


class ActionRefused(Exception):
    """A failed envelope."""

    def __init__(self, retcode: int, message: str) -> None:
        super().__init__(message)
        self.retcode = retcode
        self.message = message


@dataclass(frozen=True, slots=True)
class ForwardNode:
    """One message of a merged forward."""

    user_id: int
    nickname: str
    segments: tuple[Segment, ...]

    @property
    def text(self) -> str:
        """Its text segments joined."""
        return text_of(self.segments)


@dataclass(frozen=True, slots=True)
class Sent:
    """Something that the bot made visible in QQ.

    `group_id` is None in a private chat; both are set in a temporary chat that came through a group. `text` joins the
    text segments, of all nodes for a forward, and is the file's name for a file. `reply_id` is the quoted message.
    `time` is `time.perf_counter()` in seconds.
    """

    kind: Literal["message", "forward", "file"]
    action: str
    group_id: int | None
    user_id: int | None
    message_id: int
    text: str
    segments: tuple[Segment, ...] = ()
    reply_id: int | None = None
    nodes: tuple[ForwardNode, ...] = ()
    content: bytes | None = None
    time: float = dataclass_field(default_factory=time.perf_counter)

    @property
    def ats(self) -> tuple[str, ...]:
        """Who was @-ed, as QQ numbers or "all"."""
        return tuple(str(segment["data"]["qq"]) for segment in self.segments if segment["type"] == "at")


@dataclass(frozen=True, slots=True)
class Reaction:
    """An emoji put on, or with `on` False taken from, a message."""

    message_id: int
    emoji_id: str
    on: bool


def text_of(segments: tuple[Segment, ...] | list[Segment]) -> str:
    """The text segments joined."""
    return "".join(segment["data"]["text"] for segment in segments if segment["type"] == "text")


class InvalidParameters(ActionRefused):
    """A failed envelope because the call itself is wrong: no correct bot makes it."""

    def __init__(self, message: str) -> None:
        super().__init__(BAD_PARAMETERS, message)


Handler = Callable[[dict[str, Any]], Any | Awaitable[Any]]


class Actions:
    """All actions of one account. What the bot did is in `sent` and `reactions`.

    `violations` lists what a correct bot never does: parameters that fail validation, and messages given as a string,
    which the implementation reads for CQ codes. `shared_directory`: a directory that bot and implementation both see,
    where get_file puts its copies and uploads by path are read; None means separate hosts, as with Docker.
    """

    def __init__(self, world: World, dialect: Dialect, on_sent: Callable[[Sent], None]) -> None:
        self.world = world
        self.dialect = dialect
        self.sent: list[Sent] = []
        self.reactions: list[Reaction] = []
        self.typing: list[int] = []
        self.violations: list[str] = []
        self.shared_directory: Path | None = None
        self.get_file_base64 = False
        self._on_sent = on_sent
        self._forwards: dict[str, tuple[ForwardNode, ...]] = {}
        self._resources = itertools.count(1)
        self._handlers = self._table()

    async def perform(self, action: str, params: dict[str, Any]) -> Any:
        """Do it and give the response's data. Raises `ActionRefused`."""
        handler = self._handlers.get(action)
        if handler is None:
            raise ActionRefused(UNKNOWN_ACTION, f"不支持的Api {action}")
        try:
            result = handler(params)
            return await result if isawaitable(result) else result
        except InvalidParameters as invalid:
            self.violations.append(f"{action}: {invalid.message}")
            raise

    def _table(self) -> dict[str, Handler]:
        dialect = self.dialect
        table: dict[str, Handler] = {
            "send_msg": lambda params: self._send("send_msg", params),
            "send_group_msg": lambda params: self._send("send_group_msg", params),
            "send_private_msg": lambda params: self._send("send_private_msg", params),
            "send_forward_msg": lambda params: self._forward("send_forward_msg", params),
            "send_group_forward_msg": lambda params: self._forward("send_group_forward_msg", params),
            "send_private_forward_msg": lambda params: self._forward("send_private_forward_msg", params),
            "get_forward_msg": self._get_forward,
            "delete_msg": self._delete,
            "get_msg": self._get_msg,
            "upload_group_file": lambda params: self._upload(params, in_group=True),
            "upload_private_file": lambda params: self._upload(params, in_group=False),
            "get_group_file_url": self._group_file_url,
            "get_image": self._get_image,
            "get_group_info": lambda params: self._group_info(self._group(params)),
            "get_group_list": lambda _: [self._group_info(group) for group in self.world.groups.values()],
            "get_group_member_info": self._member_info,
            "get_group_member_list": self._member_list,
            "get_group_root_files": lambda params: self._list_files(params, "/"),
            "get_group_files_by_folder": lambda params: self._list_files(params, _string(params, "folder_id")),
            "get_friend_list": lambda _: [
                {"user_id": friend.user_id, "nickname": friend.nickname, "remark": ""}
                for friend in self.world.friends.values()
            ],
            "get_login_info": lambda _: {"user_id": self.world.self_id, "nickname": self.world.bot.nickname},
            "get_status": lambda _: {"online": True, "good": True, "stat": {}},
            "get_version_info": lambda _: {
                "app_name": dialect.app_name,
                "protocol_version": "v11",
                "app_version": dialect.app_version,
            },
        }
        if dialect.private_file_url:
            table["get_private_file_url"] = self._private_file_url
        if dialect.get_file:
            table["get_file"] = self._get_file
        if dialect.input_status:
            table["set_input_status"] = self._input_status
        if dialect.reaction is not None:
            table[dialect.reaction] = self._react
        return table

    # -- sending ------------------------------------------------------------------------------------------------------

    def _send(self, action: str, params: dict[str, Any]) -> dict[str, Any]:
        segments = self._message(params, "message")
        if any(segment["type"] == "node" for segment in segments):
            if not all(segment["type"] == "node" for segment in segments):
                raise ActionRefused(EXECUTION_FAILED, "合并转发的节点不能和普通消息混用")
            return self._forward(action, {**params, "messages": segments})
        group_id, user_id = self._target(action, params)
        reply = next((segment["data"]["id"] for segment in segments if segment["type"] == "reply"), None)
        message = self._store(group_id, user_id, segments)
        self._record(
            Sent(
                "message",
                action,
                group_id,
                user_id,
                message.message_id,
                text_of(segments),
                tuple(segments),
                None if reply is None else int(reply),
            )
        )
        return {"message_id": message.message_id}

    def _forward(self, action: str, params: dict[str, Any]) -> dict[str, Any]:
        nodes = tuple(self._node(node) for node in self._message(params, "messages"))
        resource = f"res-{next(self._resources)}"
        self._forwards[resource] = nodes
        if action == "send_forward_msg" and self.dialect.forward_only_uploads:
            return {"message_id": 0, "forward_id": resource}
        group_id, user_id = self._target(action, params)
        segment = {"type": "forward", "data": {"id": resource}}
        message = self._store(group_id, user_id, [segment])
        text = "\n".join(node.text for node in nodes)
        self._record(Sent("forward", action, group_id, user_id, message.message_id, text, (segment,), None, nodes))
        return {"message_id": message.message_id, "res_id": resource, "forward_id": resource}

    def _target(self, action: str, params: dict[str, Any]) -> tuple[int | None, int | None]:
        kind = "group" if "group" in action else "private" if "private" in action else params.get("message_type")
        if kind not in {"group", "private", None}:
            raise InvalidParameters(f"message_type is {kind!r}")
        if kind != "private" and params.get("group_id"):
            return self._group(params).group_id, None
        if kind == "group":
            raise InvalidParameters("group_id is required")
        user_id = _integer(params, "user_id")
        if not self.world.reachable(user_id):
            raise ActionRefused(EXECUTION_FAILED, f"无法获取用户 {user_id} 的信息")
        return (_integer(params, "group_id") if params.get("group_id") else None), user_id

    def _message(self, params: dict[str, Any], key: str) -> list[Segment]:
        value: Any = params.get(key)
        if isinstance(value, str):
            self.violations.append(f"{key} is a string and was read for CQ codes: {value[:200]!r}")
            value = cq_code.decode(value)
        segments: Any = [value] if isinstance(value, dict) else value
        if not isinstance(segments, list):
            raise InvalidParameters(f"{key} must be a list of segments, got {value!r}")
        if not segments:
            raise ActionRefused(EXECUTION_FAILED, "消息体无法解析，没有可发送的内容")
        for segment in segments:
            self._check_segment(segment)
        return segments

    def _check_segment(self, segment: Any) -> None:
        data = segment.get("data") if isinstance(segment, dict) else None
        if not isinstance(data, dict) or segment.get("type") not in _SEGMENT_DATA:
            raise InvalidParameters(f"not a segment: {segment!r}")
        required = _SEGMENT_DATA[segment["type"]]
        if required is not None and data.get(required) is None:
            raise InvalidParameters(f"{segment['type']} without {required}: {segment!r}")
        if segment["type"] == "text" and not isinstance(data["text"], str):
            raise InvalidParameters(f"text must be a string: {segment!r}")
        if segment["type"] == "reply" and not str(data["id"]).removeprefix("-").isdigit():
            raise InvalidParameters(f"reply to {data['id']!r}")

    def _node(self, segment: Segment) -> ForwardNode:
        if segment["type"] != "node":
            raise InvalidParameters(f"not a node: {segment!r}")
        data = segment["data"]
        if (known := data.get("id")) is not None:
            message = self._find_message({"message_id": known})
            return ForwardNode(message.user_id, message.sender["nickname"], tuple(message.segments))
        user_id, nickname = data.get("user_id", data.get("uin")), data.get("nickname", data.get("name"))
        # go-cqhttp silently skips a node without them.
        if not str(user_id or "").isdigit() or not nickname:
            raise InvalidParameters(f"node without user_id or nickname: {segment!r}")
        return ForwardNode(int(user_id), nickname, tuple(self._message(data, "content")))

    def _store(self, group_id: int | None, user_id: int | None, segments: list[Segment]) -> Message:
        in_group = user_id is None
        bot = self.world.groups[group_id].members[self.world.self_id] if in_group and group_id else self.world.bot
        message = Message(
            self.world.new_message_id(),
            group_id if in_group else None,
            self.world.self_id,
            user_id or 0,
            segments,
            self.dialect.sender(bot, in_group=in_group),
        )
        self.world.messages[message.message_id] = message
        return message

    def _record(self, sent: Sent) -> None:
        self.sent.append(sent)
        self._on_sent(sent)

    # -- messages -----------------------------------------------------------------------------------------------------

    def _find_message(self, params: dict[str, Any]) -> Message:
        message_id = _integer(params, "message_id")
        if message_id not in self.world.messages:
            raise ActionRefused(EXECUTION_FAILED, f"消息 {message_id} 不存在")
        return self.world.messages[message_id]

    def _get_msg(self, params: dict[str, Any]) -> dict[str, Any]:
        message = self._find_message(params)
        in_group = message.group_id is not None
        return {
            "self_id": self.world.self_id,
            "user_id": message.user_id,
            "time": message.time,
            "message_id": message.message_id,
            "message_seq": message.message_id,
            "real_id": message.message_id,
            "message_type": "group" if in_group else "private",
            "sender": message.sender,
            "raw_message": cq_code.encode(message.segments),
            "font": 14,
            "sub_type": "normal" if in_group else "friend",
            "message": cq_code.encode(message.segments) if self.dialect.string_messages else message.segments,
            "message_format": "string" if self.dialect.string_messages else "array",
            "post_type": "message",
        } | ({"group_id": message.group_id} if in_group else {"target_id": message.peer})

    def _get_forward(self, params: dict[str, Any]) -> dict[str, Any]:
        resource = _string(params, "id") if "id" in params else _string(params, "message_id")
        if resource not in self._forwards:
            raise ActionRefused(EXECUTION_FAILED, "找不到合并转发")
        return {
            "messages": [
                {"sender": {"user_id": node.user_id, "nickname": node.nickname}, "message": list(node.segments)}
                for node in self._forwards[resource]
            ]
        }

    def _delete(self, params: dict[str, Any]) -> None:
        message_id = _integer(params, "message_id")
        if self.world.messages.pop(message_id, None) is None:
            raise ActionRefused(EXECUTION_FAILED, "Recall failed")

    def _react(self, params: dict[str, Any]) -> dict[str, Any] | None:
        key, on = ("code", "is_add") if self.dialect.reaction == "set_group_reaction" else ("emoji_id", "set")
        message = self._find_message(params)
        if message.group_id is None and (self.dialect.reaction_groups_only or key == "code"):
            raise ActionRefused(EXECUTION_FAILED, "只支持群消息")
        self.reactions.append(Reaction(message.message_id, _string(params, key), bool(params.get(on, True))))
        return {"result": 0, "errMsg": ""} if key == "emoji_id" else None

    def _input_status(self, params: dict[str, Any]) -> dict[str, Any]:
        _integer(params, "event_type")
        self.typing.append(_integer(params, "user_id"))
        return {"result": 0, "errMsg": ""}

    # -- groups -------------------------------------------------------------------------------------------------------

    def _group(self, params: dict[str, Any]) -> Group:
        group_id = _integer(params, "group_id")
        if group_id not in self.world.groups:
            raise ActionRefused(EXECUTION_FAILED, f"群 {group_id} 不存在")
        return self.world.groups[group_id]

    def _group_info(self, group: Group) -> dict[str, Any]:
        count = len(group.members)
        return {
            "group_id": group.group_id,
            "group_name": group.name,
            "member_count": count,
            "max_member_count": 500,
            "group_all_shut": 0,
            "group_remark": "",
        }

    def _member_info(self, params: dict[str, Any]) -> dict[str, Any]:
        group, user_id = self._group(params), _integer(params, "user_id")
        if user_id not in group.members:
            raise ActionRefused(EXECUTION_FAILED, f"群({group.group_id})成员{user_id}不存在")
        return _member_info(group, group.members[user_id])

    def _member_list(self, params: dict[str, Any]) -> list[dict[str, Any]]:
        group = self._group(params)
        return [_member_info(group, member) for member in group.members.values()]

    # -- files --------------------------------------------------------------------------------------------------------

    def _find_file(self, params: dict[str, Any], *keys: str) -> UploadedFile:
        key = next((key for key in keys if params.get(key)), None)
        if key is None:
            raise InvalidParameters(f"{keys[0]} is required")
        file = self.world.file(str(params[key]))
        if file is None:
            raise ActionRefused(EXECUTION_FAILED, "real fileUUID not found!")
        return file

    def _link(self, file: UploadedFile) -> str:
        if file.url is None:
            raise ActionRefused(BAD_PARAMETERS, "packetBackend不可用，请检查配置")
        return file.url

    def _group_file_url(self, params: dict[str, Any]) -> dict[str, str]:
        self._group(params)
        file = self._find_file(params, "file_id")
        return {"url": self._link(file) + ("" if self.dialect.nameless_url else quote(file.name))}

    def _private_file_url(self, params: dict[str, Any]) -> dict[str, str]:
        if self.dialect.file_segment == "lagrange":
            _integer(params, "user_id")
            _string(params, "file_hash")
        return {"url": self._link(self._find_file(params, "file_id")) + "&isthumb=0"}

    async def _get_file(self, params: dict[str, Any]) -> dict[str, Any]:
        file = self._find_file(params, "file_id", "file")
        directory = self.shared_directory or Path("/app/.config/QQ/NapCat/temp")
        path = directory / Path(file.name).name
        if self.shared_directory is not None:
            await asyncio.to_thread(path.write_bytes, file.content)
        data: dict[str, Any] = {
            "file": str(path),
            "url": str(path) if self.dialect.file_segment == "napcat" else "",
            "file_size": str(len(file.content)),
            "file_name": file.name,
        }
        return data | ({"base64": base64.b64encode(file.content).decode()} if self.get_file_base64 else {})

    def _get_image(self, params: dict[str, Any]) -> dict[str, Any]:
        file = self._find_file(params, "file", "file_id")
        size = str(len(file.content))
        return {"file": file.name, "url": self._link(file), "file_size": size, "file_name": file.name}

    def _list_files(self, params: dict[str, Any], folder_id: str) -> dict[str, Any]:
        group = self._group(params)
        here = [file for file in self.world.files if file.group_id == group.group_id and file.folder_id == folder_id]
        limit = int(params.get("file_count") or 50) if self.dialect.file_segment == "napcat" else len(here)
        files: list[dict[str, Any]] = []
        for file in here[:limit]:
            # NapCat gives fresh ids that live for the session; the old ones stay valid too.
            fresh = self.world.new_file_id("listing") if self.dialect.notice_id_differs else file.segment_id
            self.world.keep_file(file, fresh)
            files.append(
                {
                    "group_id": group.group_id,
                    "file_id": fresh,
                    "file_name": file.name,
                    "busid": file.busid,
                    "file_size": len(file.content),
                    "upload_time": file.uploaded,
                    "dead_time": 0,
                    "modify_time": file.uploaded,
                    "download_times": 0,
                    "uploader": file.user_id,
                    "uploader_name": str(file.user_id),
                }
            )
        folders = self.world.folders.get(group.group_id, {}) if folder_id == "/" else {}
        return {
            "files": files,
            "folders": [
                {"group_id": group.group_id, "folder_id": key, "folder_name": name} for key, name in folders.items()
            ],
        }

    async def _upload(self, params: dict[str, Any], *, in_group: bool) -> dict[str, Any] | None:
        target = "send_group_file" if in_group else "send_private_file"
        group_id, user_id = self._target(target, params)
        source = _string(params, "file")
        name = _string(params, "name") if params.get("name") or self.dialect.upload_name_required else ""
        content = await self._read(source)
        name = name or Path(urlsplit(source).path).name or "file"
        if "/" in name or "\\" in name:
            raise InvalidParameters(f"name must not contain a path: {name!r}")
        kind = self.dialect.file_segment
        file_id = self.world.new_file_id("upload")
        file = UploadedFile(name, content, group_id, self.world.self_id, file_id, file_id)
        self.world.keep_file(file, file_id)
        message = self._store(group_id, user_id, [self.dialect.file(file)])
        action = "upload_group_file" if in_group else "upload_private_file"
        self._record(Sent("file", action, group_id, user_id, message.message_id, name, content=content))
        return {"file_id": file_id} if kind in {"napcat", "llonebot"} else None

    async def _read(self, source: str) -> bytes:
        if source.startswith(("base64://", "http://", "https://")) and self.dialect.uploads_paths_only:
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


def _member_info(group: Group, member: Member) -> dict[str, Any]:
    return {
        "group_id": group.group_id,
        "user_id": member.user_id,
        "nickname": member.nickname,
        "card": member.card,
        "sex": "unknown",
        "age": 0,
        "level": "1",
        "role": member.role,
        "title": "",
        "join_time": 0,
        "last_sent_time": 0,
    }


def _integer(params: dict[str, Any], key: str) -> int:
    value = params.get(key)
    if isinstance(value, bool) or not str(value).removeprefix("-").isdigit():
        raise InvalidParameters(f"{key} must be a number, got {value!r}")
    return int(str(value))


def _string(params: dict[str, Any], key: str) -> str:
    value = params.get(key)
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        raise InvalidParameters(f"{key} must be a string, got {value!r}")
    return str(value)
