# /// script
# dependencies = ["fonttools[woff]==4.68.0"]
# ///
# fonttools is a tool of this script only, not a dependency of the bot.
# pyright: reportMissingImports=false
"""Make the fonts in qq/render/fonts from Debian packages: subsets under names of their own.

The bot draws pictures without any font of the system, so it ships these. What they contain: the 8,105 characters of the
standard list 通用规范汉字表, GB 2312, Latin with pinyin and IPA, kana, punctuation, symbols and emoji. The names change
because the licence reserves the original ones.

    apt-get download fonts-noto-cjk fonts-noto-core unicode-data && for each: dpkg -x *.deb sources
    npm pack @fontsource/noto-emoji@5.3.2 && tar xzf *.tgz -C sources
    uv run scripts/make_fonts.py sources
"""

import bz2
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fontTools import subset
from fontTools.merge import Merger
from fontTools.ttLib import TTFont

FONTS = Path(__file__).parent.parent / "qq/render/fonts"
_NOTO = "usr/share/fonts/truetype/noto"
_CJK = "usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc"
# The place of a face in the collection of Noto Sans CJK.
_SANS_SC, _MONO_SC = 2, 7
# Chinese fonts draw boxes as wide as a Chinese character; the trees and tables in code need them half as wide, like
# Latin letters. In units of the font.
_HALF_WIDTH = 500
# 2026-01-01 in seconds since 1904, the epoch of fonts.
_CREATED = 3_850_070_400


def _span(*ranges: tuple[int, int]) -> set[int]:
    return {code for first, last in ranges for code in range(first, last + 1)}


_LATIN = _span(
    (0x20, 0x7E), (0xA0, 0x17F), (0x1CD, 0x1DC), (0x1F8, 0x1F9), (0x250, 0x36F), (0x370, 0x3FF), (0x400, 0x45F),
    (0x1E00, 0x1EFF), (0x2010, 0x2027), (0x2030, 0x205E), (0x2070, 0x209F), (0x20A0, 0x20BF), (0x2100, 0x218F),
)  # fmt: skip
_SYMBOLS = _span((0x2190, 0x23FF), (0x2460, 0x27BF), (0x2900, 0x297F), (0x2B00, 0x2BFF))
_BOXES = _span((0x2500, 0x259F))
_CJK_SIGNS = _span((0x3000, 0x30FF), (0x3105, 0x312F), (0x3200, 0x33FF), (0xFE30, 0xFE4F), (0xFF01, 0xFFEF))
_EMOJI = _span((0x231A, 0x2BFF), (0x1F000, 0x1FAFF))


def _standard_characters(sources: Path) -> set[int]:
    """Return 通用规范汉字表 and GB 2312 as code points."""
    with bz2.open(sources / "usr/share/unicode/Unihan_OtherMappings.txt.bz2", "rt", encoding="utf-8") as lines:
        standard = {int(line.split("\t")[0][2:], 16) for line in lines if "\tkTGH\t" in line}
    rows = (bytes([row, cell]) for row in range(0xA1, 0xF8) for cell in range(0xA1, 0xFF))
    return standard | {ord(sign) for pair in rows for sign in pair.decode("gb2312", errors="ignore")}


def _subset(font: Any, codes: set[int]) -> None:
    """Reduce a font to these code points and what combines them."""
    options = subset.Options(
        hinting=False, desubroutinize=True, layout_features=["kern", "mark", "mkmk", "ccmp"], name_IDs=["*"]
    )
    options.drop_tables += ["FFTM", "DSIG"]
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=codes)
    subsetter.subset(font)


def _narrow(font: Any, width: int) -> None:
    """Make every glyph of a monospaced TrueType font `width` units wide, without making it lower."""
    for name in font.getGlyphOrder():
        glyph, (advance, _) = font["glyf"][name], font["hmtx"][name]
        if glyph.numberOfContours > 0:
            glyph.coordinates.scale((width / advance, 1))
            glyph.coordinates.toInt()
            glyph.recalcBounds(font["glyf"])
        font["hmtx"][name] = width, getattr(glyph, "xMin", 0)


def _save(font: Any, name: str) -> None:
    """Save a font as WOFF2 under a new name."""
    family = f"Qunzhi {name}"
    for record, value in ((1, family), (2, "Regular"), (3, family), (4, family), (6, f"Qunzhi{name}-Regular")):
        font["name"].setName(value, record, 3, 1, 0x409)
    font["name"].names = [
        record
        for record in font["name"].names
        if record.nameID in (0, 1, 2, 3, 4, 6, 13, 14) and record.langID == 0x409
    ]
    if "CFF " in font:
        cff = font["CFF "].cff
        cff.fontNames = [f"Qunzhi{name}-Regular"]
        cff.topDictIndex[0].FamilyName = cff.topDictIndex[0].FullName = family
    # The same input gives the same bytes.
    font["head"].created = font["head"].modified = _CREATED
    font.flavor = "woff2"
    path = FONTS / f"qunzhi-{name.lower()}.woff2"
    font.save(path, reorderTables=False)
    print(f"{path.name}: {len(font.getBestCmap())} characters, {path.stat().st_size} bytes")


def _ranges(codes: Iterable[int]) -> Iterable[str]:
    """Return the code points as ranges in hexadecimal, such as `4e00-4e03`."""
    first = last = None
    for code in [*sorted(codes), None]:
        if first is None or last is None:
            first = last = code
        elif code == last + 1:
            last = code
        else:
            yield f"{first:x}" if first == last else f"{first:x}-{last:x}"
            first = last = code


def main() -> None:
    """Make all fonts from the folder that the command line names."""
    sources = Path(sys.argv[1])
    temporary = FONTS / "symbols.tmp"
    sans = TTFont(sources / _CJK, fontNumber=_SANS_SC, recalcTimestamp=False)
    wanted = _standard_characters(sources) | _LATIN | _SYMBOLS | _CJK_SIGNS
    covered = wanted & set(sans.getBestCmap())
    _subset(sans, covered)
    _save(sans, "Sans")

    mono = TTFont(sources / _CJK, fontNumber=_MONO_SC, recalcTimestamp=False)
    _subset(mono, _LATIN & set(mono.getBestCmap()))
    _save(mono, "Mono")

    boxes = TTFont(sources / _NOTO / "NotoSansMono-Regular.ttf", recalcTimestamp=False)
    _subset(boxes, _BOXES)
    _narrow(boxes, _HALF_WIDTH)
    _save(boxes, "Boxes")

    parts: list[str] = []
    for name in ("NotoSans", "NotoSansSymbols2", "NotoSansSymbols", "NotoSansMath"):
        font = TTFont(sources / _NOTO / f"{name}-Regular.ttf", recalcTimestamp=False)
        codes = wanted & set(font.getBestCmap()) - covered
        _subset(font, codes)
        for table in ("GSUB", "GDEF", "MATH"):
            if table in font:
                del font[table]
        covered |= codes
        parts.append(str(temporary.with_suffix(f".{name}")))
        font.save(parts[-1])
    symbols = Merger().merge(parts)
    for part in parts:
        Path(part).unlink()
    _save(symbols, "Symbols")

    emoji = TTFont(sources / "package/files/noto-emoji-emoji-400-normal.woff2", recalcTimestamp=False)
    codes = _EMOJI & set(emoji.getBestCmap()) - covered
    _subset(emoji, codes)
    _save(emoji, "Emoji")
    (FONTS / "characters.txt").write_text("\n".join(_ranges(covered | codes)) + "\n", encoding="ascii")


if __name__ == "__main__":
    main()
