"""Tests of drawing: that it works with the shipped fonts alone, and what happens if it does not."""

import struct
from html.parser import HTMLParser

import pytest

from qq.render.drawings import Bar, Code, Drawing, Report, Table
from qq.render.fonts import find_system_font, missing_characters, without_modifiers
from qq.render.markup import markup
from qq.render.renderer import Renderer
from services.settings import RenderSettings

TABLE = Table(("项目", "标准"), (("住宿〔1〕", "≤ 350 元"), ("交通", "¥80 ✅ 😀")))
CODE = Code("def f(x):\n    return x  # 注释\n├── a")
REPORT = Report(
    "最近 7 天",
    (("20", "提问"),) * 3,
    (
        (
            "没解决",
            (Bar("食堂在哪", "3", 0.5), Bar("旧", "")),
        ),
    ),
)
RARE = Code("龘")
HOSTILE = '<img src="file:///etc/passwd"> </div><style>*{display:none}</style> {{ 7 * 7 }} \'"&'


@pytest.fixture(scope="module")
def renderer() -> Renderer:
    return Renderer(RenderSettings(enabled=True), system_font=lambda: None)


def _size(png: bytes) -> tuple[int, int]:
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    return struct.unpack(">II", png[16:24])


@pytest.mark.parametrize("drawing", [TABLE, CODE, REPORT])
async def test_the_shipped_fonts_suffice(renderer: Renderer, drawing: Drawing) -> None:
    content = await renderer.draw(drawing)
    assert content is not None
    width, height = _size(content)
    assert width == drawing.width * 2
    assert 60 < height < 600


async def test_a_picture_shows_its_values(renderer: Renderer) -> None:
    once, again, other = [await renderer.draw(Code(text)) for text in ("甲", "甲", "乙")]
    assert once == again != other


async def test_more_rows_make_a_higher_picture(renderer: Renderer) -> None:
    few, many = [await renderer.draw(Table(("甲",), (("1",),) * rows)) for rows in (2, 12)]
    assert few is not None
    assert many is not None
    assert _size(many)[1] - _size(few)[1] > 10 * 2 * 20


class _Reader(HTMLParser):
    """Collects the tags and texts of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


async def test_values_never_become_tags(renderer: Renderer) -> None:
    hostile_report = Report(HOSTILE, ((HOSTILE, HOSTILE),), ((HOSTILE, (Bar(HOSTILE, HOSTILE, 1.0),)),))
    for drawing in (Table(("甲",), ((HOSTILE,),)), Code(HOSTILE), hostile_report):
        reader = _Reader()
        reader.feed(markup(drawing))
        assert reader.tags == {"div"}
        assert HOSTILE in reader.texts
        assert await renderer.draw(drawing) is not None


def test_everyday_characters_have_glyphs() -> None:
    rows = (bytes([row, cell]) for row in range(0xB0, 0xF8) for cell in range(0xA1, 0xFF))
    common = "".join(pair.decode("gb2312", errors="ignore") for pair in rows)
    assert len(common) == 6763
    assert not missing_characters(common)
    assert not missing_characters("".join(map(chr, range(0x20, 0x7F))))
    assert not missing_characters("，。！？；：“”‘’（）〔〕【】《》「」—…·～￥①②③℃㎡αβ√≤≥≠→←↑↓★☆●○■□✓✗✅❌⚠")
    assert not missing_characters("āáǎàōóǒòēéěèīíǐìūúǔùǖǘǚǜ ˈfəʊnəˌtɪk ʃʒθðŋʌɑːɔɜæ 😀👍🎉❤🔥")
    assert missing_characters("한龘a") == {"한", "龘"}


def test_looks_of_emoji_are_left_out() -> None:
    assert without_modifiers("👍🏽 ❤️ 1️⃣ 👨‍👩‍👧") == "👍 ❤ 1 👨👩👧"


async def test_what_has_no_glyph_is_not_drawn(renderer: Renderer) -> None:
    assert await renderer.draw(Code("한국어")) is None
    assert await renderer.draw(RARE) is None
    assert await renderer.draw(CODE) is not None


@pytest.mark.skipif(find_system_font() is None, reason="no CJK font on this system")
async def test_rare_characters_are_drawn_with_a_font_of_the_system() -> None:
    renderer = Renderer(RenderSettings(enabled=True))
    rare, other = await renderer.draw(RARE), await renderer.draw(Code("龖"))
    assert rare is not None
    assert rare != other
    assert await renderer.draw(Code("한국어")) is None


async def test_what_takes_too_long_is_given_up() -> None:
    renderer = Renderer(RenderSettings(enabled=True), limit_s=0)
    assert await renderer.draw(TABLE) is None


async def test_pictures_can_be_turned_off() -> None:
    assert await Renderer(RenderSettings(enabled=False)).draw(TABLE) is None
