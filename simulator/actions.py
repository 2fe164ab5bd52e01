"""The actions of an OneBot v11 implementation: validate the parameters as NapCat does, change the world, respond."""

from collections.abc import Awaitable, Callable
from inspect import isawaitable
from typing import Any

from simulator import cq_code
from simulator.dialects import Dialect
from simulator.files import Files
from simulator.observer import EmojiReaction, Observer, Sent
from simulator.parameters import (
    EXECUTION_FAILED,
    UNKNOWN_ACTION,
    ActionRefused,
    InvalidParameters,
    integer,
    read_segments,
    string,
)
from simulator.world import ForwardNode, Group, Member, Message, Segment, SimulatedFile, World, text_of

Handler = Callable[[dict[str, Any]], Any | Awaitable[Any]]


class Actions:
    """All actions of one account in one dialect. They report to `observer`."""

    def __init__(self, world: World, dialect: Dialect, observer: Observer) -> None:
        self.world = world
        self.dialect = dialect
        self.files = Files(world, dialect)
        self._observer = observer
        self._handlers = self._table()

    async def perform(self, action: str, params: dict[str, Any]) -> Any:
        """Perform an action and return the data of the response. Raise `ActionRefused` if the action fails."""
        handler = self._handlers.get(action)
        if handler is None:
            raise ActionRefused(UNKNOWN_ACTION, f"不支持的Api {action}")
        try:
            result = handler(params)
            return await result if isawaitable(result) else result
        except InvalidParameters as invalid:
            self._observer.violated(f"{action}: {invalid.message}")
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
            "get_group_msg_history": self._history,
            "upload_group_file": lambda params: self._upload(params, in_group=True),
            "upload_private_file": lambda params: self._upload(params, in_group=False),
            "get_group_file_url": self._group_file_url,
            "get_image": self.files.image,
            "get_group_info": lambda params: self._group_info(self._group(params)),
            "get_group_list": lambda _: [self._group_info(group) for group in self.world.groups.values()],
            "get_group_member_info": self._member_info,
            "get_group_member_list": self._member_list,
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
        if dialect.lists_files:
            table["get_group_root_files"] = lambda params: self._listing(params, "/")
            table["get_group_files_by_folder"] = lambda params: self._listing(params, string(params, "folder_id"))
        if dialect.private_file_url:
            table["get_private_file_url"] = self.files.private_url
        if dialect.get_file:
            table["get_file"] = self.files.copy
        if dialect.input_status:
            table["set_input_status"] = self._input_status
        if dialect.reaction is not None:
            table[dialect.reaction] = self._react
        return table

    # -- sending ------------------------------------------------------------------------------------------------------

    def _send(self, action: str, params: dict[str, Any]) -> dict[str, Any]:
        segments = read_segments(params, "message", self._observer.violated)
        if any(segment["type"] == "node" for segment in segments):
            if not all(segment["type"] == "node" for segment in segments):
                raise ActionRefused(EXECUTION_FAILED, "合并转发的节点不能和普通消息混用")
            return self._forward(action, {**params, "messages": segments})
        group_id, user_id = self._target(action, params)
        reply = next((segment["data"]["id"] for segment in segments if segment["type"] == "reply"), None)
        images: list[SimulatedFile] = []
        for segment in segments:
            if segment["type"] == "image":
                images.append(image := self.files.sent_image(segment))
                size = str(len(image.content))
                segment["data"] = {**segment["data"], "file": image.name, "url": "", "file_size": size}
        message = self._store(group_id, user_id, segments)
        self._observer.sent(
            Sent(
                "message",
                action,
                group_id,
                user_id,
                message.message_id,
                text_of(segments),
                tuple(segments),
                None if reply is None else int(reply),
                images=tuple(images),
            )
        )
        return {"message_id": message.message_id}

    def _forward(self, action: str, params: dict[str, Any]) -> dict[str, Any]:
        nodes = tuple(self._node(node) for node in read_segments(params, "messages", self._observer.violated))
        resource = self.world.add_forward(nodes)
        if action == "send_forward_msg" and self.dialect.forward_only_uploads:
            return {"message_id": 0, "forward_id": resource}
        group_id, user_id = self._target(action, params)
        segment = {"type": "forward", "data": {"id": resource}}
        message = self._store(group_id, user_id, [segment])
        text = "\n".join(node.text for node in nodes)
        self._observer.sent(
            Sent("forward", action, group_id, user_id, message.message_id, text, (segment,), None, nodes)
        )
        return {"message_id": message.message_id, "res_id": resource, "forward_id": resource}

    def _target(self, action: str, params: dict[str, Any]) -> tuple[int | None, int | None]:
        kind = "group" if "group" in action else "private" if "private" in action else params.get("message_type")
        if kind not in {"group", "private", None}:
            raise InvalidParameters(f"message_type is {kind!r}")
        if kind != "private" and params.get("group_id"):
            return self._group(params).group_id, None
        if kind == "group":
            raise InvalidParameters("group_id is required")
        user_id = integer(params, "user_id")
        if not self.world.reachable(user_id):
            raise ActionRefused(EXECUTION_FAILED, f"无法获取用户 {user_id} 的信息")
        return (integer(params, "group_id") if params.get("group_id") else None), user_id

    def _node(self, segment: Segment) -> ForwardNode:
        if segment["type"] != "node":
            raise InvalidParameters(f"not a node: {segment!r}")
        data = segment["data"]
        if (known := data.get("id")) is not None:
            message = self._find_message({"message_id": known})
            return ForwardNode(message.user_id, message.sender["nickname"], tuple(message.segments))
        user_id, nickname = data.get("user_id", data.get("uin")), data.get("nickname", data.get("name"))
        # go-cqhttp silently skips a node without a user id or a nickname.
        if not str(user_id or "").isdigit() or not nickname:
            raise InvalidParameters(f"node without user_id or nickname: {segment!r}")
        return ForwardNode(int(user_id), nickname, tuple(read_segments(data, "content", self._observer.violated)))

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

    # -- messages -----------------------------------------------------------------------------------------------------

    def _find_message(self, params: dict[str, Any]) -> Message:
        message_id = integer(params, "message_id")
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

    def _history(self, params: dict[str, Any]) -> dict[str, Any]:
        group_id = self._group(params).group_id
        told = [number for number, message in self.world.messages.items() if message.group_id == group_id]
        count = integer(params, "count") if "count" in params else 20
        return {"messages": [self._get_msg({"message_id": number}) for number in told[-count:]]}

    def _get_forward(self, params: dict[str, Any]) -> dict[str, Any]:
        resource = string(params, "id") if "id" in params else string(params, "message_id")
        if resource not in self.world.forwards:
            raise ActionRefused(EXECUTION_FAILED, "找不到合并转发")
        return {
            "messages": [
                {"sender": {"user_id": node.user_id, "nickname": node.nickname}, "message": list(node.segments)}
                for node in self.world.forwards[resource]
            ]
        }

    def _delete(self, params: dict[str, Any]) -> None:
        message_id = integer(params, "message_id")
        message = self.world.messages.pop(message_id, None)
        if message is None:
            raise ActionRefused(EXECUTION_FAILED, "Recall failed")
        self._observer.recalled(message)

    def _react(self, params: dict[str, Any]) -> dict[str, Any] | None:
        key, on = ("code", "is_add") if self.dialect.reaction == "set_group_reaction" else ("emoji_id", "set")
        message = self._find_message(params)
        if message.group_id is None and (self.dialect.reaction_groups_only or key == "code"):
            raise ActionRefused(EXECUTION_FAILED, "只支持群消息")
        self._observer.reacted(EmojiReaction(message.message_id, string(params, key), bool(params.get(on, True))))
        return {"result": 0, "errMsg": ""} if key == "emoji_id" else None

    def _input_status(self, params: dict[str, Any]) -> dict[str, Any]:
        integer(params, "event_type")
        self._observer.typed(integer(params, "user_id"))
        return {"result": 0, "errMsg": ""}

    # -- groups -------------------------------------------------------------------------------------------------------

    def _group(self, params: dict[str, Any]) -> Group:
        group_id = integer(params, "group_id")
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
        group, user_id = self._group(params), integer(params, "user_id")
        if user_id not in group.members:
            raise ActionRefused(EXECUTION_FAILED, f"群({group.group_id})成员{user_id}不存在")
        return _member_info(group, group.members[user_id])

    def _member_list(self, params: dict[str, Any]) -> list[dict[str, Any]]:
        group = self._group(params)
        return [_member_info(group, member) for member in group.members.values()]

    # -- files --------------------------------------------------------------------------------------------------------

    def _group_file_url(self, params: dict[str, Any]) -> dict[str, str]:
        self._group(params)
        return self.files.group_url(params)

    def _listing(self, params: dict[str, Any], folder_id: str) -> dict[str, Any]:
        return self.files.listing(params, self._group(params).group_id, folder_id)

    async def _upload(self, params: dict[str, Any], *, in_group: bool) -> dict[str, Any] | None:
        group_id, user_id = self._target("send_group_file" if in_group else "send_private_file", params)
        file = await self.files.uploaded(params, group_id)
        message = self._store(group_id, user_id, [self.dialect.file(file)])
        file.message_id = message.message_id
        action = "upload_group_file" if in_group else "upload_private_file"
        self._observer.sent(
            Sent("file", action, group_id, user_id, message.message_id, file.name, content=file.content)
        )
        return {"file_id": file.segment_id} if self.dialect.file_segment in {"napcat", "llonebot"} else None


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
