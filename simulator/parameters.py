"""Validation of action parameters, as strict as NapCat's."""

from collections.abc import Callable
from typing import Any

from simulator import cq_code
from simulator.world import Segment

BAD_PARAMETERS = 1400
EXECUTION_FAILED = 1200
UNKNOWN_ACTION = 1404

# The required data of each segment type that QQ can send. NapCat rejects any other type.
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
    """An action fails: the response is an envelope with this return code and message."""

    def __init__(self, retcode: int, message: str) -> None:
        super().__init__(message)
        self.retcode = retcode
        self.message = message


class InvalidParameters(ActionRefused):
    """An action fails because its parameters are invalid, which a correct bot never causes."""

    def __init__(self, message: str) -> None:
        super().__init__(BAD_PARAMETERS, message)


def read_segments(params: dict[str, Any], key: str, violated: Callable[[str], None]) -> list[Segment]:
    """Return the message under `key` as segments. Parse a string for CQ codes, and report this to `violated`.

    Raises:
        InvalidParameters: The value is not a message.
        ActionRefused: The message is empty.
    """
    value: Any = params.get(key)
    if isinstance(value, str):
        violated(f"{key} is a string and was read for CQ codes: {value[:200]!r}")
        value = cq_code.decode(value)
    segments: Any = [value] if isinstance(value, dict) else value
    if not isinstance(segments, list):
        raise InvalidParameters(f"{key} must be a list of segments, got {value!r}")
    if not segments:
        raise ActionRefused(EXECUTION_FAILED, "消息体无法解析，没有可发送的内容")
    for segment in segments:
        _check_segment(segment)
    return segments


def _check_segment(segment: Any) -> None:
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


def integer(params: dict[str, Any], key: str) -> int:
    """Return the integer under `key`, given as a number or a string. Raise `InvalidParameters` for anything else."""
    value = params.get(key)
    if isinstance(value, bool) or not str(value).removeprefix("-").isdigit():
        raise InvalidParameters(f"{key} must be a number, got {value!r}")
    return int(str(value))


def string(params: dict[str, Any], key: str) -> str:
    """Return the non-empty string under `key`. Raise `InvalidParameters` if there is none."""
    value = params.get(key)
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        raise InvalidParameters(f"{key} must be a string, got {value!r}")
    return str(value)
