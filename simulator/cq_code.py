"""CQ codes: the string form of OneBot messages (https://github.com/botuniverse/onebot-11, message/string)."""

import re
from typing import Any

_CODE = re.compile(r"\[CQ:([A-Za-z0-9_.-]+)((?:,[^,\]]*)*)\]")


def encode(segments: list[dict[str, Any]]) -> str:
    """Return segments as one string."""
    parts: list[str] = []
    for segment in segments:
        if segment["type"] == "text":
            parts.append(_escape(segment["data"]["text"]))
        else:
            data = "".join(f",{key}={_escape(str(value), comma=True)}" for key, value in segment["data"].items())
            parts.append(f"[CQ:{segment['type']}{data}]")
    return "".join(parts)


def decode(text: str) -> list[dict[str, Any]]:
    """Parse a string into segments. Anything that looks like a code becomes one, as in the implementations."""
    segments: list[dict[str, Any]] = []
    position = 0
    for match in _CODE.finditer(text):
        segments += _text(text[position : match.start()])
        pairs = (pair.partition("=") for pair in match[2].split(",")[1:])
        segments.append({"type": match[1], "data": {key: _unescape(value) for key, _, value in pairs}})
        position = match.end()
    return segments + _text(text[position:])


def _text(text: str) -> list[dict[str, Any]]:
    return [{"type": "text", "data": {"text": _unescape(text)}}] if text else []


def _escape(text: str, *, comma: bool = False) -> str:
    text = text.replace("&", "&amp;").replace("[", "&#91;").replace("]", "&#93;")
    return text.replace(",", "&#44;") if comma else text


def _unescape(text: str) -> str:
    return text.replace("&#44;", ",").replace("&#91;", "[").replace("&#93;", "]").replace("&amp;", "&")
