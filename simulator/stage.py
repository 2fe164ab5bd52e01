"""A simulated QQ to watch and to act in: groups, people, their chats, and the troubles of a real QQ."""

import asyncio
import logging
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from websockets.exceptions import InvalidHandshake

from simulator import troubles
from simulator.client import FileHost, HandshakeRefused, NotConnected, OneBotClient
from simulator.dialects import DIALECTS
from simulator.observer import Call, EmojiReaction, Sent
from simulator.recorder import Recorder
from simulator.recording import (
    Answered,
    ConnectionCut,
    DialectChanged,
    Picture,
    Reacted,
    Recalled,
    Recording,
    Said,
    SentFile,
    StormStarted,
    TroubleSwitched,
)
from simulator.transcript import Entry, StageChat, Transcript
from simulator.troubles import Trouble
from simulator.world import Member, Message, Segment, SimulatedFile

log = logging.getLogger(__name__)

Frame = dict[str, Any]

_RECONNECT_S = 5.0
_HEARTBEAT_S = 30.0
_STORM_MESSAGES = 200
_STORM_S = 10.0
_CHATTER = (
    "哈哈哈哈",
    "收到",
    "今天食堂排队好长",
    "+1",
    "谁有空帮忙占个座",
    "这个周末去爬山吗",
    "好的好的",
    "刚下课，累死了",
    "有人看昨晚的球赛没",
    "外面下雨了，记得带伞",
    "我先撤了",
    "表情包已保存",
    "明天见",
    "懂了懂了",
    "等等我马上到",
)


class Rejected(Exception):
    """An action of a person cannot be performed. `code` is for the page, which has a text for each code."""

    def __init__(self, code: str, detail: str = "") -> None:
        super().__init__(f"{code} {detail}".strip())
        self.code = code
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Cast:
    """The people and groups of a new stage: the bot's account, people who are in every group and friends, the groups.

    People and groups with a number below `lowest_id` are never admitted, because they may be real.
    """

    lowest_id: int
    bot: Member
    people: Sequence[Member]
    groups: Sequence[tuple[int, str]]


class Stage:
    """Runs the client of one account and keeps what people see. It is the client's observer.

    `listeners` receive everything as frames (see `docs/architecture.md`), in order. `expire_links` is called with
    whether the links of the file host are expired.
    """

    def __init__(
        self,
        url: str,
        cast: Cast,
        *,
        token: str | None,
        file_host: FileHost,
        expire_links: Callable[[bool], None],
    ) -> None:
        self.client = OneBotClient(
            url,
            self,
            self_id=cast.bot.user_id,
            token=token,
            file_host=file_host,
            heartbeat=_HEARTBEAT_S,
        )
        self.people = list(cast.people)
        self._lowest_id = cast.lowest_id
        self.troubles: set[Trouble] = set()
        self.listeners: set[Callable[[Frame], None]] = set()
        self._file_host = file_host
        self._expire_links = expire_links
        world = self.client.world
        world.bot = cast.bot
        self.transcript = Transcript(world)
        for group_id, name in cast.groups:
            self._add_group(group_id, name, self.people)
        for person in self.people:
            world.add_friend(person.user_id, person.nickname)
        self._recorder = Recorder(world)
        self._pause_s = _RECONNECT_S
        self._tasks: set[asyncio.Task[None]] = set()

    # -- connection ---------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Keep the client connected until cancelled, reconnecting after every cut."""
        try:
            while True:
                try:
                    await self.client.reconnect()
                    self._publish(self.bot_frame())
                    await self.client.wait_closed()
                except (OSError, HandshakeRefused, InvalidHandshake, NotConnected) as error:
                    log.warning("the simulated QQ could not connect: %s", error)
                self._publish(self.bot_frame())
                await asyncio.sleep(self._pause_s)
                self._pause_s = _RECONNECT_S
        finally:
            for task in self._tasks:
                task.cancel()
            await self.client.close()

    # -- what people do -----------------------------------------------------------------------------------------------

    async def say(
        self,
        chat: StageChat,
        speaker: int,
        text: str,
        *,
        at_bot: bool = False,
        reply_to: int | None = None,
        image: tuple[str, bytes] | None = None,
    ) -> int:
        """Send a person's message and return its id. Raise `Rejected` if it cannot be sent."""
        self._check(chat, speaker)
        if not text and image is None:
            raise Rejected("empty_message")
        if reply_to is not None and not self._is_in(reply_to, chat):
            raise Rejected("unknown_message")
        segments: list[Segment] = [{"type": "text", "data": {"text": text}}] if text else []
        with self._connection():
            if image is not None:
                segments.insert(0, self.client.image(*image))
                self._recorder.keep(self.client.world.files[-1])
            if chat.is_group:
                message_id = await self.client.group_message(
                    chat.number, speaker, segments, at_bot=at_bot, reply_to=reply_to
                )
            else:
                message_id = await self.client.private_message(speaker, segments, reply_to=reply_to)
        picture = None if image is None else Picture(name=image[0], content=image[1])
        self._recorder.record(
            Said,
            chat=chat.id,
            speaker=speaker,
            text=text,
            at_bot=at_bot,
            reply_to=reply_to,
            image=picture,
            message=message_id,
        )
        self._show(self.client.world.messages[message_id])
        return message_id

    async def send_file(self, chat: StageChat, speaker: int, name: str, content: bytes) -> int:
        """Send a person's file and return the id of its message. Raise `Rejected` if it cannot be sent."""
        self._check(chat, speaker)
        with self._connection():
            if chat.is_group:
                file = await self.client.upload_group_file(chat.number, speaker, name, content)
            else:
                file = await self.client.upload_private_file(speaker, name, content)
        message_id = file.message_id or 0
        self._recorder.keep(file)
        self._recorder.record(SentFile, chat=chat.id, speaker=speaker, name=name, content=content, message=message_id)
        self._show(self.client.world.messages[message_id], file)
        return message_id

    async def recall(self, message_id: int, operator: int) -> None:
        """Recall a message as its author or as a member of higher rank. Raise `Rejected` if that is not possible."""
        entry = self._entry(message_id)
        if entry.recalled:
            raise Rejected("unknown_message")
        if not self._may_recall(entry, operator):
            raise Rejected("recall_not_allowed")
        with self._connection():
            await self.client.recall(message_id, operator)
        self._recorder.record(Recalled, chat=entry.chat.id, message=message_id, operator=operator)
        self._hide(entry, operator)

    async def react(self, message_id: int, speaker: int, emoji: str, *, on: bool) -> None:
        """Add a person's emoji to a message or remove it. Raise `Rejected` if that is not possible."""
        entry = self._entry(message_id)
        if entry.recalled:
            raise Rejected("unknown_message")
        self._check(entry.chat, speaker)
        if entry.chat.is_group:
            with self._connection():
                await self.client.react(speaker, message_id, emoji, on=on)
        self._recorder.record(Reacted, chat=entry.chat.id, message=message_id, speaker=speaker, emoji=emoji, on=on)
        self._set_reaction(entry, speaker, emoji, on=on)

    # -- troubles -----------------------------------------------------------------------------------------------------

    def set_trouble(self, name: Trouble, *, on: bool) -> None:
        """Switch a trouble on or off."""
        (self.troubles.add if on else self.troubles.discard)(name)
        troubles.apply(self.troubles, self.client.faults)
        self._expire_links("expired" in self.troubles)
        self._recorder.record(TroubleSwitched, name=name, on=on)
        self._publish(self.troubles_frame())

    async def change_dialect(self, name: str) -> None:
        """Simulate another implementation on a new connection. Raise `Rejected` if no dialect has this name."""
        dialect = next((dialect for dialect in DIALECTS if dialect.name == name), None)
        if dialect is None:
            raise Rejected("bad_request", name)
        self._recorder.record(DialectChanged, name=name)
        self.client.set_dialect(dialect)
        # `run` reconnects.
        self._pause_s = 0.0
        await self.client.close()

    async def cut_connection(self) -> None:
        """Cut the connection. `run` reconnects after five seconds. Raise `Rejected` if there is no connection."""
        with self._connection():
            await self.client.drop()
        self._recorder.record(ConnectionCut)

    def start_storm(self, chat: StageChat) -> None:
        """Start a storm: 200 messages of all people in ten seconds. Raise `Rejected` unless the chat is a group."""
        if not chat.is_group:
            raise Rejected("bad_request", chat.id)
        self._check(chat, self.people[0].user_id)
        self._recorder.record(StormStarted, chat=chat.id)
        task = asyncio.create_task(self._send_storm(chat), name="storm")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _send_storm(self, chat: StageChat) -> None:
        with suppress(NotConnected):
            for number in range(_STORM_MESSAGES):
                speaker = self.people[number % len(self.people)].user_id
                text = f"{_CHATTER[number % len(_CHATTER)]} {number + 1}"
                message_id = await self.client.group_message(chat.number, speaker, text)
                self._show(self.client.world.messages[message_id])
                await asyncio.sleep(_STORM_S / _STORM_MESSAGES)

    # -- recordings ---------------------------------------------------------------------------------------------------

    def recording(self) -> Recording:
        """Return the recording of everything that happened, as far back as it is kept."""
        return self._recorder.recording()

    def admit(self, recording: Recording) -> None:
        """Add the groups and people of a recording. Raise `Rejected` if one of them may be real."""
        people = [person for group in recording.groups for person in group.members]
        numbers = [one.id for one in (*recording.groups, *people, *recording.friends)]
        if strange := [number for number in numbers if number < self._lowest_id]:
            raise Rejected("bad_recording", f"{strange[0]} < {self._lowest_id}")
        for group in recording.groups:
            self._add_group(group.id, group.name, [Member(one.id, one.name, role=one.role) for one in group.members])
        for friend in recording.friends:
            self.client.world.add_friend(friend.id, friend.name)

    def has(self, chat: StageChat) -> bool:
        """Return whether the chat is on this stage. Any other may be real, and pages must learn nothing about it."""
        world = self.client.world
        return chat.number in (world.groups if chat.is_group else world.friends)

    # -- frames -------------------------------------------------------------------------------------------------------

    def stage_frame(self) -> Frame:
        """Return the whole stage, for a page that has just been opened."""
        world = self.client.world
        chats = [
            {
                "id": StageChat(True, group.group_id).id,
                "kind": "group",
                "name": group.name,
                "members": [self._person(member) for member in group.members.values()],
            }
            for group in world.groups.values()
        ]
        chats += [
            {
                "id": StageChat(False, friend.user_id).id,
                "kind": "private",
                "name": friend.nickname,
                "members": [self._person(friend), self._person(world.bot)],
            }
            for friend in world.friends.values()
        ]
        for chat in chats:
            entries = self.transcript.entries(StageChat.parse(str(chat["id"])))
            chat["messages"] = [self.transcript.frame(entry) for entry in entries]
        return {
            **self.bot_frame(),
            "type": "stage",
            "dialects": [dialect.name for dialect in DIALECTS],
            "trouble_names": list(troubles.TROUBLE_NAMES),
            "troubles": sorted(self.troubles),
            "people": [self._person(person) for person in self.people],
            "chats": chats,
        }

    def bot_frame(self) -> Frame:
        """Return the bot's account and the state of its connection."""
        bot = self.client.world.bot
        return {
            "type": "bot",
            "bot": {
                "id": str(bot.user_id),
                "name": bot.nickname,
                "connected": self.client.connected,
                "dialect": self.client.dialect.name,
            },
        }

    def troubles_frame(self) -> Frame:
        """Return the troubles that are on."""
        return {"type": "troubles", "troubles": sorted(self.troubles)}

    # -- what the bot does (Observer) ---------------------------------------------------------------------------------

    def called(self, call: Call) -> None:
        """Show a call at once if it is ignored, because it will never be answered."""
        if self.client.faults.is_ignored(call.action):
            self._publish(self._call_frame(call, "ignored"))

    def answered(self, call: Call) -> None:
        """Show an answered call."""
        self._publish(self._call_frame(call, "ok" if (call.response or {}).get("status") == "ok" else "failed"))

    def sent(self, sent: Sent) -> None:
        """Record and show what the bot sent."""
        message = self.client.world.messages[sent.message_id]
        file = None
        if sent.content is not None:
            file = self.client.world.files[-1]
            file.url = self._file_host.host(file.name, file.content).url
            self._recorder.keep(file)
        places = (segment for segment in sent.segments if segment["type"] == "image")
        for segment, image in zip(places, sent.images, strict=True):
            image.url = segment["data"]["url"] = self._file_host.host(image.name, image.content).url
            self._recorder.keep(image)
        self._recorder.record(
            Answered,
            chat=StageChat.of(message).id,
            text=sent.text,
            reply_to=sent.reply_id,
            message=sent.message_id,
        )
        self._show(message, file)

    def reacted(self, reaction: EmojiReaction) -> None:
        """Show an emoji that the bot added or removed."""
        if entry := self.transcript.find(reaction.message_id):
            self._set_reaction(entry, self.client.self_id, reaction.emoji_id, on=reaction.on)

    def typed(self, user_id: int) -> None:
        """Show that the bot is typing."""
        self._publish({"type": "typing", "chat": StageChat(False, user_id).id})

    def recalled(self, message: Message) -> None:
        """Hide a message that the bot recalled."""
        if entry := self.transcript.find(message.message_id):
            self._hide(entry, self.client.self_id)

    def violated(self, rule: str) -> None:
        """Log a violation of the protocol: nobody at the page can fix it."""
        log.error("the bot broke the protocol: %s", rule)

    def failed(self, error: BaseException) -> None:
        """Log an error of the client."""
        log.error("the simulated QQ failed", exc_info=error)

    # -- internals ----------------------------------------------------------------------------------------------------

    def _publish(self, frame: Frame) -> None:
        for listener in list(self.listeners):
            listener(frame)

    def _show(self, message: Message, file: SimulatedFile | None = None) -> None:
        entry = self.transcript.add(message, file)
        self._publish({"type": "message", "message": self.transcript.frame(entry)})

    def _hide(self, entry: Entry, operator: int) -> None:
        entry.recalled_by = operator
        self._publish({"type": "message", "message": self.transcript.frame(entry)})

    def _set_reaction(self, entry: Entry, person: int, emoji: str, *, on: bool) -> None:
        people = entry.reactions.setdefault(emoji, set())
        (people.add if on else people.discard)(person)
        self._publish({"type": "message", "message": self.transcript.frame(entry)})

    @contextmanager
    def _connection(self) -> Generator[None]:
        """Require a connection in the block. Raise `Rejected` without one.

        The connection is checked first, because a message or file that was not sent must not stay in the world.
        """
        if not self.client.connected:
            raise Rejected("not_connected")
        try:
            yield
        except NotConnected as error:
            raise Rejected("not_connected") from error

    def _check(self, chat: StageChat, speaker: int) -> None:
        world = self.client.world
        if chat.is_group:
            known = chat.number in world.groups and speaker in world.groups[chat.number].members
        else:
            known = chat.number == speaker and speaker in world.friends
        if not known or speaker == world.self_id:
            raise Rejected("bad_request", chat.id)

    def _entry(self, message_id: int) -> Entry:
        entry = self.transcript.find(message_id)
        if entry is None:
            raise Rejected("unknown_message")
        return entry

    def _is_in(self, message_id: int, chat: StageChat) -> bool:
        entry = self.transcript.find(message_id)
        return entry is not None and entry.chat == chat

    def _may_recall(self, entry: Entry, operator: int) -> bool:
        if operator == entry.message.user_id:
            return operator != self.client.self_id
        if not entry.chat.is_group:
            return False
        members = self.client.world.groups[entry.chat.number].members
        rank = {"member": 0, "admin": 1, "owner": 2}
        author = members.get(entry.message.user_id)
        return operator in members and rank[members[operator].role] > (rank[author.role] if author else 0)

    def _add_group(self, group_id: int, name: str, people: Sequence[Member]) -> None:
        self.client.world.add_group(group_id, name)
        for person in people:
            if person.user_id != self.client.self_id:
                self.client.world.add_member(group_id, person.user_id, person.nickname, role=person.role)

    def _person(self, member: Member) -> dict[str, str]:
        role = "bot" if member.user_id == self.client.self_id else member.role
        return {"id": str(member.user_id), "name": member.card or member.nickname, "role": role}

    def _call_frame(self, call: Call, status: str) -> Frame:
        response = call.response or {}
        return {
            "type": "call",
            "call": {
                "action": call.action,
                "chat": self._chat_of(call),
                "status": status,
                "retcode": response.get("retcode", 0),
                "message": str(response.get("message", "")),
                "milliseconds": round((time.perf_counter() - call.time) * 1000, 1),
                "time": int(time.time()),
            },
        }

    def _chat_of(self, call: Call) -> str:
        params = call.params
        with suppress(ValueError, TypeError):
            if params.get("message_id") is not None:
                entry = self.transcript.find(int(params["message_id"]))
                return entry.chat.id if entry else ""
            if params.get("user_id") and "group" not in call.action and params.get("message_type") != "group":
                return StageChat(False, int(params["user_id"])).id
            if params.get("group_id"):
                return StageChat(True, int(params["group_id"])).id
        return ""
