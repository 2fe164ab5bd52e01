"""Citation numbers in a model's text: kept when they name a reference, removed when they are invented."""

import re
from collections.abc import Collection

_NUMBERS = r"\s*(?:\^|资料|来源|参考|ref\.?)?\s*(\d{1,3}(?:\s*[,，、\-–~]\s*\d{1,3})*)\s*"
# 〔1〕, 【1】, ［资料1］, several in one, also as a range. A plain [1] may be the index of an array: a[1], f()[0].
_MARK = re.compile(rf"[【〔［]{_NUMBERS}[\]】〕］]|(?<![A-Za-z_)\]])\[{_NUMBERS}[\]】〕］]", re.IGNORECASE)
_RANGE = re.compile(r"(\d+)\s*[\-–~]\s*(\d+)")


def normalise_citations(text: str, numbers: Collection[int]) -> tuple[str, list[int]]:
    """The text with every citation as 〔n〕, and the numbers used, in order of first use.

    >>> normalise_citations("可以报销[1]，限额三千【2, 9】。", {1, 2})
    ('可以报销〔1〕，限额三千〔2〕。', [1, 2])
    """
    used: dict[int, None] = {}

    def replace(match: re.Match[str]) -> str:
        written = match.group(1) or match.group(2)
        for first, last in _RANGE.findall(written):
            written += "," + ",".join(map(str, range(int(first), min(int(last), int(first) + 20) + 1)))
        known = [number for number in map(int, re.findall(r"\d+", written)) if number in numbers]
        used.update(dict.fromkeys(known))
        return "".join(f"〔{number}〕" for number in dict.fromkeys(known))

    # "[1][2]": the second bracket follows the first's closing one, so marks are spaced before they are read.
    spaced = re.sub(r"([\]】〕］])(?=[\[【〔［]\s*\d)", "\\1\u200b", text)
    return _MARK.sub(replace, spaced).replace("\u200b", ""), list(used)
