"""Citation numbers in a model's text: kept when they name a reference, removed when they are invented."""

import re
from collections.abc import Collection

# [1], 【1】, 〔1〕, also several in one; not the index of an array: a[1], f()[0].
_MARK = re.compile(r"(?<![A-Za-z0-9_)\]])[\[【〔［]\s*(\d{1,2}(?:\s*[,，、]\s*\d{1,2})*)\s*[\]】〕］]")


def normalise_citations(text: str, numbers: Collection[int]) -> tuple[str, list[int]]:
    """The text with every citation as 〔n〕, and the numbers used, in order of first use.

    >>> normalise_citations("可以报销[1]，限额三千【2, 9】。", {1, 2})
    ('可以报销〔1〕，限额三千〔2〕。', [1, 2])
    """
    used: dict[int, None] = {}

    def replace(match: re.Match[str]) -> str:
        known = [number for number in map(int, re.findall(r"\d+", match.group(1))) if number in numbers]
        used.update(dict.fromkeys(known))
        return "".join(f"〔{number}〕" for number in dict.fromkeys(known))

    # "[1][2]": the second bracket follows the first's closing one, so marks are spaced before they are read.
    spaced = re.sub(r"([\]】〕］])(?=[\[【〔［]\s*\d)", "\\1\u200b", text)
    return _MARK.sub(replace, spaced).replace("\u200b", ""), list(used)
