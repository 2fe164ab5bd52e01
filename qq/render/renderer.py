"""Draws pictures on a thread of its own.

Takumi releases the interpreter while it lays out and paints, so a thread suffices to keep the event loop free. The size
of its input is bounded by the drawings themselves.
"""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property
from pathlib import Path

import pytakumi
from nonebot import logger

from qq.render.drawings import Drawing
from qq.render.fonts import (
    NAMES,
    are_ideographs,
    find_system_font,
    missing_characters,
    read_font,
    without_modifiers,
)
from qq.render.markup import markup, style
from services.settings import RenderSettings

# Several times what the largest drawing takes on a busy machine. The text waits no longer for its picture.
LIMIT_S = 5.0
# QQ takes 30 MB, but everybody in the group loads the picture on a phone.
_MOST_BYTES = 3 << 20
# Phones show two or three dots for each CSS pixel.
_DENSITY = 2.0
_CACHE_BYTES = 8 << 20


class Renderer:
    """Draws one picture at a time. `system_font` finds a font for the ideographs that the shipped fonts lack."""

    def __init__(
        self,
        settings: RenderSettings,
        limit_s: float = LIMIT_S,
        system_font: Callable[[], Path | None] = find_system_font,
    ) -> None:
        self._is_enabled = settings.enabled
        self._limit_s = limit_s
        self._find_system_font = system_font
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="render")
        self._overdue: Future[bytes] | None = None

    async def draw(self, drawing: Drawing) -> bytes | None:
        """Return a drawing as PNG, or None if it cannot be drawn in time. The reason is in the log."""
        if not self._is_enabled or (self._overdue is not None and not self._overdue.done()):
            return None
        began = time.perf_counter()
        future = self._executor.submit(self._draw, drawing)
        try:
            async with asyncio.timeout(self._limit_s):
                content = await asyncio.wrap_future(future)
        except TimeoutError:
            # A drawing that has begun cannot be stopped.
            self._overdue = future
            logger.warning(f"{drawing.template} was not drawn within {self._limit_s:g} s")
        except Exception as error:  # noqa: BLE001 - the text is sent instead, whatever went wrong
            logger.warning(f"{drawing.template} cannot be drawn: {error!r}")
        else:
            logger.debug(f"{drawing.template}: {len(content)} bytes in {time.perf_counter() - began:.3f} s")
            return content
        return None

    def _draw(self, drawing: Drawing) -> bytes:
        html = without_modifiers(markup(drawing))
        missing = missing_characters(html)
        if missing and not (are_ideographs(missing) and self._has_system_font):
            raise ValueError(f"no glyph for {sorted(missing)[:5]}")
        content = self._takumi.render_html(
            html,
            width=round(drawing.width * _DENSITY),
            device_pixel_ratio=_DENSITY,
            stylesheets=[style()],
            lang="zh-Hans",
        )
        if len(content) > _MOST_BYTES:
            raise ValueError(f"a picture of {len(content)} bytes")
        return content

    @cached_property
    def _takumi(self) -> pytakumi.Renderer:
        takumi = pytakumi.Renderer(cache_max_bytes=_CACHE_BYTES)
        for name in NAMES:
            takumi.register_font(read_font(name), name=f"Qunzhi {name}")
        return takumi

    @cached_property
    def _has_system_font(self) -> bool:
        """Whether this system has a font for rare characters. It is loaded when the first of them is drawn."""
        path = self._find_system_font()
        if path is not None:
            self._takumi.register_font(path.read_bytes(), name="System CJK")
        return path is not None
