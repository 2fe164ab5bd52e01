"""The differences between OneBot v11 implementations that a bot can notice on the wire."""

from dataclasses import dataclass
from typing import Any, Literal

from simulator.world import Member, Segment, SimulatedFile


@dataclass(frozen=True, slots=True)
class Dialect:
    """The behavior of one implementation. `dataclasses.replace` makes a variant, for example with string messages."""

    name: str
    app_name: str
    app_version: str
    # Message ids are signed 32-bit numbers, so every second one is negative here. NapCat's are never negative.
    signed_message_ids: bool = False
    # The sender's role is omitted if the implementation does not know the member (NapCat).
    omits_unknown_role: bool = False
    sender_level: bool = True
    at_name: bool = False
    file_segment: Literal["napcat", "llonebot", "lagrange", "go-cqhttp"] = "napcat"
    # The file segment of a message carries a download link.
    segment_url: bool = False
    # The group_upload notice carries a different id than the segment (both resolve), and a download link.
    notice_id_differs: bool = False
    notice_url: bool = False
    # For a group file, the notice comes before the message. In reality the order is not guaranteed.
    notice_first: bool = True
    # A private file is announced by a message with a file segment, by an offline_file notice, or by both.
    private_file: Literal["message", "notice", "both"] = "message"
    private_file_url: bool = True
    # get_group_file_url leaves `?fname=` without the file name.
    nameless_url: bool = True
    reaction: Literal["set_msg_emoji_like", "set_group_reaction"] | None = "set_msg_emoji_like"
    reaction_groups_only: bool = False
    get_file: bool = True
    # The lists of a group's files: whether there are any, null for an empty list, and `busid` 0 for every file.
    lists_files: bool = True
    null_for_empty_list: bool = False
    listed_busid: bool = True
    input_status: bool = True
    # send_forward_msg uploads the forward but sends nothing (Lagrange).
    forward_only_uploads: bool = False
    # upload_*_file accepts only a path on the implementation's own host.
    uploads_paths_only: bool = False
    upload_name_required: bool = False
    # A failed upload is reported in `status`, which the adapter takes for success (Lagrange).
    upload_error_as_status: bool = False
    # messagePostFormat: events carry strings with CQ codes instead of arrays.
    string_messages: bool = False

    def at(self, member: Member) -> Segment:
        """Return the segment of an @ in a message event."""
        return {"type": "at", "data": {"qq": str(member.user_id)} | ({"name": member.nickname} if self.at_name else {})}

    def sender(self, member: Member, *, in_group: bool) -> dict[str, Any]:
        """Return the `sender` of a message event."""
        sender: dict[str, Any] = {"user_id": member.user_id, "nickname": member.nickname, "card": member.card}
        if in_group and (member.known or not self.omits_unknown_role):
            sender["role"] = member.role
        if in_group and self.sender_level:
            sender |= {"level": "1", "title": ""}
        return sender

    def file(self, file: SimulatedFile) -> Segment:
        """Return the file segment of a message event."""
        size = str(len(file.content))
        link = file.url if self.segment_url and file.url else ""
        match self.file_segment:
            case "napcat":
                data = {"file": file.name, "file_id": file.segment_id, "file_size": size} | (
                    {"url": link} if link else {}
                )
            case "llonebot":
                data = {"file": file.name, "file_id": file.segment_id, "file_size": size, "url": link, "path": ""}
            case "lagrange":
                data = {"file_name": file.name, "file_hash": file.notice_id, "file_id": file.segment_id, "url": link}
            case "go-cqhttp":
                data = {"name": file.name, "path": file.segment_id, "size": size, "busid": str(file.busid)}
        return {"type": "file", "data": data}

    def upload_notice(self, file: SimulatedFile) -> dict[str, Any]:
        """Return the `file` of a group_upload notice."""
        size = len(file.content)
        data: dict[str, Any] = {"id": file.notice_id, "name": file.name, "size": size, "busid": file.busid}
        return data | ({"url": file.url} if self.notice_url and file.url else {})


NAPCAT = Dialect(
    name="napcat",
    app_name="NapCat.Onebot",
    app_version="4.8.0",
    omits_unknown_role=True,
    sender_level=False,
    notice_id_differs=True,
    segment_url=True,
    upload_name_required=True,
)
LLONEBOT = Dialect(
    name="llonebot",
    app_name="LLOneBot",
    app_version="8.1.7",
    signed_message_ids=True,
    at_name=True,
    file_segment="llonebot",
    notice_first=False,
    nameless_url=False,
    reaction_groups_only=True,
)
LAGRANGE = Dialect(
    name="lagrange",
    app_name="Lagrange.OneBot",
    app_version="0.0.3",
    signed_message_ids=True,
    at_name=True,
    file_segment="lagrange",
    segment_url=True,
    notice_url=True,
    private_file="both",
    reaction="set_group_reaction",
    get_file=False,
    listed_busid=False,
    input_status=False,
    forward_only_uploads=True,
    uploads_paths_only=True,
    upload_error_as_status=True,
)
GO_CQHTTP = Dialect(
    name="go-cqhttp",
    app_name="go-cqhttp",
    app_version="v1.2.0",
    signed_message_ids=True,
    file_segment="go-cqhttp",
    notice_url=True,
    private_file="notice",
    private_file_url=False,
    reaction=None,
    get_file=False,
    null_for_empty_list=True,
    input_status=False,
    uploads_paths_only=True,
)
DIALECTS = (NAPCAT, LLONEBOT, LAGRANGE, GO_CQHTTP)
