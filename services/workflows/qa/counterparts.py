"""Counterparts: words of which a question names one of each kind, such as 2019年 and 2020年, 本科 and 硕士.

A question that goes on with 那2020年呢 means 2020 in place of the year that was asked about before.
"""

import functools
import re
from collections.abc import Sequence

from services.retrieval.contrasts import contrasts

_TAKEN = "\0"
_NUMBER = r"(?:\d{1,4}|[一二两三四五六七八九十百]{1,4})"
_UNITS = (
    "年级|学期|季度|等奖|号楼|食堂|号线|单元|条|章|节|讲|课|届|卷|栋|幢|楼|层|班|级|档|模|次|批|期|页|项|月|周|组|号|日"
)
_KINDS = (
    r"(?<!\d)(?:19|20)?\d\d年(?!级)|[今明去前后]年",
    r"(?:周|星期|礼拜)[一二三四五六日天末]",
    r"大?[今明昨后前]天",
    r"\d{1,2}月\d{1,2}[日号]?",
    *(rf"第?{_NUMBER}{unit}(?!线)|第{_NUMBER}{unit}" for unit in _UNITS.split("|")),
    rf"(?:方案|附件|附录|附表|情形|结果){_NUMBER}",
    # Names and numbers of the same form: AB00021 and AB09999, 300M and 200M, SDA0 and SCL0.
    r"(?<![a-z0-9_-])[a-z]+\d+(?![a-z0-9_-])",
    r"(?<![a-z0-9_.-])\d+[a-z]+(?![a-z0-9_-])",
)


def replaced(text: str, by: str) -> str | None:
    """Return a text with words in place of their counterparts, or None if one of them has none, or several.

    >>> replaced("2019年电梯维保的预算是多少", "2020年"), replaced("周五几点关门", "期末")
    ('2020年电梯维保的预算是多少', None)
    >>> replaced("电信300M一年多少钱", "移动200M")
    '移动200M一年多少钱'
    """
    left = by
    for kind in _kinds():
        mine, theirs = list(kind.finditer(left)), list(kind.finditer(text))
        if len(mine) == len(theirs) == 1:
            text = text[: theirs[0].start()] + mine[0][0] + text[theirs[0].end() :]
            # The mark keeps what stood apart from becoming one word.
            left = left[: mine[0].start()] + _TAKEN + left[mine[0].end() :]
    return text if left != by and not left.strip(_TAKEN) else None


def without_counterparts(text: str, of: str) -> str:
    """Return a text without the words of which another text names a counterpart.

    >>> without_counterparts("2019年电梯维保", "2020年的电梯保险费")
    ' 电梯维保'
    """
    for kind in _kinds():
        if named := set(kind.findall(of)):
            text = kind.sub(lambda found, named=named: found[0] if found[0] in named else " ", text)
    return text


@functools.cache
def _kinds() -> Sequence[re.Pattern[str]]:
    sets = ("|".join(map(_bounded, sorted(contrast.words, key=len, reverse=True))) for contrast in contrasts())
    return tuple(re.compile(pattern, re.IGNORECASE) for pattern in (*_KINDS, *sets))


def _bounded(word: str) -> str:
    return rf"(?<![a-z]){re.escape(word)}(?![a-z])" if word.isascii() else re.escape(word)
