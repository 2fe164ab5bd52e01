"""Citation numbers in a model's text: kept when they name a reference, removed when they are invented."""

import re
from collections.abc import Collection, Sequence

# Spaces and numbers are bounded so that a bracket that is never closed costs no more than any other character.
_NUMBERS = r"\s{0,3}(?:(?:\^|资料|来源|参考|ref\.?)\s{0,3})?(\d{1,3}(?:\s{0,3}[,，、\-–~]\s{0,3}\d{1,3}){0,30})\s{0,3}"
# 〔1〕, 【1】, ［资料1］, several in one, also as a range. A plain [1] may be the index of an array: a[1], f()[0].
_WRITTEN = re.compile(rf"[【〔［]{_NUMBERS}[\]】〕］]|(?<![A-Za-z_)\]])\[{_NUMBERS}[\]】〕］]", re.IGNORECASE)
_RANGE = re.compile(r"(\d+)\s*[\-–~]\s*(\d+)")
# What a reader takes for a citation. Four digits are the year of an official document: 国发〔2024〕15号.
MARK = re.compile(r"〔\s*(\d{1,3})\s*〕")


def normalise_citations(text: str, numbers: Collection[int]) -> str:
    """The text with every citation as 〔n〕, and none whose number is not in `numbers`.

    >>> normalise_citations("可以报销[1]，限额三千【2, 9】。", {1, 2})
    '可以报销〔1〕，限额三千〔2〕。'
    """

    def replace(match: re.Match[str]) -> str:
        written = match.group(1) or match.group(2)
        for first, last in _RANGE.findall(written):
            written += "," + ",".join(map(str, range(int(first), min(int(last), int(first) + 20) + 1)))
        found = dict.fromkeys(map(int, re.findall(r"\d+", written)))
        return "".join(f"〔{number}〕" for number in found if number in numbers)

    # "[1][2]": the second bracket follows the first's closing one, so marks are spaced before they are read.
    spaced = re.sub(r"([\]】〕］])(?=[\[【〔［]\s{0,3}\d)", "\\1\u200b", text)
    return without_invented(_WRITTEN.sub(replace, spaced).replace("\u200b", ""), numbers)


def without_invented(text: str, numbers: Collection[int]) -> str:
    """Return the text without any 〔n〕 whose number is not in `numbers`, nor any that removing another one makes."""
    kept: list[str] = []
    for character in text:
        kept.append(character)
        if character == "〕" and (mark := _mark_at_end(kept)):
            del kept[-len(mark) :]
            if (number := int(mark[1:-1])) in numbers:
                kept.extend(f"〔{number}〕")
    return "".join(kept)


def _mark_at_end(characters: Sequence[str]) -> str:
    """Return the mark that the characters end with, or an empty text.

    Reads backwards, so that marks within marks take one pass over the text.
    """
    start = len(characters) - 1
    while start > 0 and (characters[start - 1].isspace() or characters[start - 1].isdecimal()):
        start -= 1
    mark = MARK.fullmatch("".join(characters[max(0, start - 1) :]))
    return mark[0] if mark else ""


def cited_numbers(text: str) -> list[int]:
    """The numbers of the citations, each once, in order of first use."""
    return list(dict.fromkeys(int(match.group(1)) for match in MARK.finditer(text)))
