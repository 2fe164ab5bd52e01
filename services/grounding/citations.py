"""Citation numbers in a model's text: those that name a reference are kept, invented ones are removed."""

import re
from collections.abc import Collection, Sequence

# Repetitions are bounded so that a bracket that is never closed costs no more than any other character.
_NUMBERS = r"\s{0,3}(?:(?:\^|资料|来源|参考|ref\.?)\s{0,3})?(\d{1,3}(?:\s{0,3}[,，、\-–~]\s{0,3}\d{1,3}){0,30})\s{0,3}"
# Matches 〔1〕, 【1】 and ［资料1］, also lists and ranges. A plain [1] may be the index of an array: a[1], f()[0].
_WRITTEN = re.compile(rf"[【〔［]{_NUMBERS}[\]】〕］]|(?<![A-Za-z_)\]])\[{_NUMBERS}[\]】〕］]", re.IGNORECASE)
_RANGE = re.compile(r"(\d+)\s*[\-–~]\s*(\d+)")
# What a reader takes for a citation. Four digits are the year of an official document: 国发〔2024〕15号.
MARK = re.compile(r"〔\s*(\d{1,3})\s*〕")


def normalise_citations(text: str, numbers: Collection[int]) -> str:
    """Return the text with every citation written as 〔n〕, without those whose number is not in `numbers`.

    >>> normalise_citations("可以报销[1]，限额三千【2, 9】。", {1, 2})
    '可以报销〔1〕，限额三千〔2〕。'
    """

    def replace(match: re.Match[str]) -> str:
        written = match.group(1) or match.group(2)
        for first, last in _RANGE.findall(written):
            written += "," + ",".join(map(str, range(int(first), min(int(last), int(first) + 20) + 1)))
        found = dict.fromkeys(map(int, re.findall(r"\d+", written)))
        return "".join(f"〔{number}〕" for number in found if number in numbers)

    # In "[1][2]" the second bracket directly follows a closing one, so the marks are separated before they are matched.
    spaced = re.sub(r"([\]】〕］])(?=[\[【〔［]\s{0,3}\d)", "\\1\u200b", text)
    return without_invented(_WRITTEN.sub(replace, spaced).replace("\u200b", ""), numbers)


def without_invented(text: str, numbers: Collection[int]) -> str:
    """Return the text without any 〔n〕 whose number is not in `numbers`.

    A mark that only forms when another one is removed is removed too.
    """
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
    """Return the numbers of the citations, each once, in order of first use."""
    return list(dict.fromkeys(int(match.group(1)) for match in MARK.finditer(text)))
