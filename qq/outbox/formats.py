"""The forms in which a reply can be sent, best first.

The limits are those that QQ bots found by experience: one text of up to 1,500 characters, a merged forward of at most
30 nodes of 1,000 characters for up to 9,000, and a file above that. If QQ refuses a form, the next one is tried.
"""

import asyncio
import random
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from nonebot import logger

from qq.outbox.delivery import Delivery, NotSent, Refused
from qq.outbox.queue import Outgoing
from qq.outbox.replies import File, Forward, Picture, Reply
from qq.outbox.wire import Wire
from qq.render.drawings import Drawing

PLAIN_CHARS = 1500
FORWARD_CHARS = 9000
_NODE_CHARS = 1000
_PIECE_CHARS = 1200
_PIECE_GAP_S = (1.5, 3.0)

Draw = Callable[[Drawing], Awaitable[bytes | None]]


@dataclass(frozen=True, slots=True)
class _Plain:
    """One message: a text with pictures under it, each with its word for the list of chats."""

    text: str
    pictures: tuple[tuple[bytes, str], ...] = ()


@dataclass(frozen=True, slots=True)
class _Pieces:
    """Several messages in a row. Only the first one quotes."""

    texts: Sequence[str]


_Form = _Plain | _Pieces | Forward | File


class Formats:
    """Sends a reply in the best form that QQ accepts. `draw` returns a drawing as PNG, or None if it cannot."""

    def __init__(self, wire: Wire, draw: Draw) -> None:
        self._wire = wire
        self._draw = draw

    async def deliver(self, message: Outgoing, reply: Reply) -> Delivery:
        """Send `reply` in one form after another until QQ accepts one.

        Raises:
            NotSent: The message need not be sent any more.
        """
        for form in await self._forms(reply):
            try:
                await self._send(message, form)
            except Refused as refused:
                logger.warning(f"QQ refused a message of {_size(form)} as {type(form).__name__}: {refused}")
            else:
                return Delivery.SENT
        logger.error(f"a message to {message.chat} could not be sent in any format")
        return Delivery.REFUSED

    async def _forms(self, reply: Reply) -> list[_Form]:
        match reply:
            case str():
                return _text_forms(reply)
            case Picture():
                return [*await self._drawn(reply), *_text_forms(reply.text)]
            case Forward():
                return [reply, *_text_forms("\n\n".join(reply.nodes))]
            case File():
                return [reply]

    async def _drawn(self, picture: Picture) -> list[_Form]:
        """Return the picture as a form, or nothing if a part of it cannot be drawn."""
        if len(picture.caption) > PLAIN_CHARS:
            return []
        pictures: list[tuple[bytes, str]] = []
        for drawing in picture.drawings:
            content = await self._draw(drawing)
            if content is None:
                return []
            pictures.append((content, drawing.summary))
        return [_Plain(picture.caption, tuple(pictures))]

    async def _send(self, message: Outgoing, form: _Form) -> None:
        match form:
            case _Plain():
                await self._wire.say(message, form.text, pictures=form.pictures)
            case _Pieces():
                await self._send_pieces(message, form.texts)
            case Forward():
                await self._wire.forward(message, form.nodes)
                # It is only announced once QQ has accepted it.
                await self._note(message, form.note)
            case File():
                await self._wire.upload(message, form.name, form.content)
                await self._note(message, form.note)

    async def _send_pieces(self, message: Outgoing, texts: Sequence[str]) -> None:
        for number, text in enumerate(texts):
            if number:
                await asyncio.sleep(random.uniform(*_PIECE_GAP_S))  # noqa: S311 - a human pace, not a secret
            await self._wire.say(message, text, quotes=number == 0)

    async def _note(self, message: Outgoing, text: str) -> None:
        """Send a line about what was just delivered.

        A failure is only logged, because the delivery is complete without the line.
        """
        try:
            await self._wire.say(message, text)
        except (Refused, NotSent) as error:
            logger.warning(f"the line after a delivery to {message.chat} was not sent: {error}")


def _text_forms(text: str) -> list[_Form]:
    """Return the forms of a text, best first."""
    is_long = len(text) > PLAIN_CHARS
    note = f"内容较长，约 {len(text)} 字，请看上面的合并转发。" if is_long else "内容在上面的合并转发里。"
    forward = Forward(tuple(split_text(text, _NODE_CHARS)), note)
    pieces = _Pieces(split_text(text, _PIECE_CHARS))
    file = File("回答.txt", text.encode(), f"内容很长，约 {len(text)} 字，放在文件「回答.txt」里了。")
    if len(text) > FORWARD_CHARS:
        return [file, forward, pieces]
    return [forward, pieces, file] if is_long else [_Plain(text), forward, pieces, file]


def _size(form: _Form) -> str:
    match form:
        case _Plain():
            pictures = f" and {len(form.pictures)} pictures" if form.pictures else ""
            return f"{len(form.text)} characters{pictures}"
        case _Pieces():
            return f"{sum(map(len, form.texts))} characters"
        case Forward():
            return f"{sum(map(len, form.nodes))} characters"
        case File():
            return f"{len(form.content)} bytes"


def split_text(text: str, limit: int) -> Sequence[str]:
    """Split a text at the ends of paragraphs, lines or sentences into pieces of at most `limit` characters.

    Nothing of the text is lost.

    >>> split_text("一二三。四五六。", 5)
    ['一二三。', '四五六。']
    """
    pieces: list[str] = []
    rest = text
    while len(rest) > limit:
        window = rest[:limit]
        paragraph = window.rfind("\n\n")
        cut = paragraph + 2 if paragraph >= 0 else 0
        if cut < limit // 2:
            cut = max(window.rfind("\n") + 1, *(match.end() for match in re.finditer(r"[。！？!?；;]", window)), 0)
        if cut < limit // 4:
            cut = limit
        pieces.append(rest[:cut])
        rest = rest[cut:]
    return [*pieces, rest] if rest else pieces
