"""The file format of a recorded conversation: what people did and what the bot answered, so that it can be replayed."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from simulator.troubles import Trouble
from simulator.world import GroupRole

FORMAT: Literal["qunzhi-conversation"] = "qunzhi-conversation"
_CHAT = Field(pattern=r"^[gp][0-9]{1,15}$")
_PERSON = Field(ge=1, lt=10**15)
_TEXT_CHARS = 100_000


class BadRecording(Exception):
    """The file is not a valid recording."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", ser_json_bytes="base64", val_json_bytes="base64")


class Person(_Part):
    """A group member or a friend."""

    id: int = _PERSON
    name: str = Field(min_length=1, max_length=60)
    role: GroupRole


class RecordedGroup(_Part):
    """A group and its members without the bot."""

    id: int = _PERSON
    name: str = Field(min_length=1, max_length=60)
    members: list[Person] = Field(max_length=500)


class _Step(_Part):
    """A step that happened `at` seconds after the first one. Messages have the ids that they had in the recording."""

    at: float = Field(ge=0)


class Picture(_Part):
    """An image in a message."""

    name: str = Field(max_length=200)
    content: bytes


class Said(_Step):
    """A person sent a message."""

    kind: Literal["say"] = "say"
    chat: str = _CHAT
    speaker: int = _PERSON
    text: str = Field(max_length=_TEXT_CHARS)
    at_bot: bool = False
    reply_to: int | None = None
    image: Picture | None = None
    message: int


class SentFile(_Step):
    """A person sent a file."""

    kind: Literal["file"] = "file"
    chat: str = _CHAT
    speaker: int = _PERSON
    name: str = Field(min_length=1, max_length=300)
    content: bytes
    message: int


class Recalled(_Step):
    """A person recalled a message."""

    kind: Literal["recall"] = "recall"
    chat: str = _CHAT
    message: int
    operator: int = _PERSON


class Reacted(_Step):
    """A person added an emoji to a message or removed it."""

    kind: Literal["react"] = "react"
    chat: str = _CHAT
    message: int
    speaker: int = _PERSON
    emoji: str = Field(pattern=r"^[0-9]{1,7}$")
    on: bool = True


class TroubleSwitched(_Step):
    """A simulated trouble was switched on or off."""

    kind: Literal["trouble"] = "trouble"
    name: Trouble
    on: bool


class DialectChanged(_Step):
    """The simulated implementation was changed."""

    kind: Literal["dialect"] = "dialect"
    name: str = Field(max_length=20)


class ConnectionCut(_Step):
    """The connection was cut."""

    kind: Literal["cut"] = "cut"


class StormStarted(_Step):
    """A storm of messages was started."""

    kind: Literal["storm"] = "storm"
    chat: str = _CHAT


class Answered(_Step):
    """The bot made something visible. `reply_to` is the message that it quotes. A replay waits for this step."""

    kind: Literal["bot"] = "bot"
    chat: str = _CHAT
    text: str = Field(max_length=_TEXT_CHARS)
    reply_to: int | None = None
    message: int


Step = Annotated[
    Said | SentFile | Recalled | Reacted | TroubleSwitched | DialectChanged | ConnectionCut | StormStarted | Answered,
    Field(discriminator="kind"),
]


class Recording(_Part):
    """The groups and people of a conversation and its steps in order."""

    format: Literal["qunzhi-conversation"] = FORMAT
    version: Literal[1] = 1
    groups: list[RecordedGroup] = Field(max_length=100)
    friends: list[Person] = Field(max_length=100)
    steps: list[Step] = Field(max_length=20_000)

    @classmethod
    def read(cls, content: bytes) -> "Recording":
        """Parse the content of a file. Raise `BadRecording` with the first error if it is not valid."""
        try:
            return cls.model_validate_json(content)
        except ValidationError as error:
            first = error.errors(include_input=False)[0]
            place = ".".join(str(part) for part in first["loc"])
            raise BadRecording(f"{place}: {first['msg']}") from error

    def write(self) -> bytes:
        """Return the content of a file."""
        return self.model_dump_json(indent=1, exclude_none=True).encode()

    def of_chat(self, chat_id: str) -> "Recording":
        """Return the recording of one chat. Steps that belong to no chat, such as troubles, are kept."""
        steps = [step for step in self.steps if getattr(step, "chat", chat_id) == chat_id]
        return self.model_copy(update={"steps": steps})
