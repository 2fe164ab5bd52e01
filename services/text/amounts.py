"""Amounts and ranges in texts: 85 分 lies in 80～89, and 5 万 in 满 3 万元."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from services.text.numerals import COUNTING_SIGNS, numeral_value

_SCALES = {"千": 1e3, "k": 1e3, "万": 1e4, "w": 1e4, "亿": 1e8}
# Units that a question and a range may both name. A range in 元 says nothing of an amount in 年.
_UNITS = {
    **{unit: unit for unit in "元分年天月周人岁次门度%平页字克斤米"},
    **{unit: unit for unit in ("学分", "学时", "小时", "分钟", "公斤", "公里")},
    **{"块": "元", "日": "天", "名": "人", "个月": "月", "平米": "平"},
}
_UNIT = "|".join(sorted(map(re.escape, _UNITS), key=len, reverse=True))
_DIGITS = r"(?<![\d.:/\w-])\d{1,3}(?:,\d{3})+(?:\.\d+)?|(?<![\d.:/,a-z-])(?:0|[1-9]\d*)(?:\.\d+)?(?!\d)"


def _number(name: str) -> str:
    return rf"(?P<{name}>{_DIGITS})\s*(?P<{name}_scale>[千万亿kw])?\s*(?P<{name}_unit>{_UNIT})?(?![\d:])"


# The second number of a range follows a hyphen.
_SECOND = r"(?P<high>\d[\d,]*(?:\.\d+)?)\s*(?P<high_scale>[千万亿kw])?\s*(?P<high_unit>" + _UNIT + r")?(?![\d:/.\-])"
_BETWEEN = re.compile(rf"{_number('low')}\s*(?:~|-|–|—|至|到)\s*{_SECOND}")
_VARIABLE = re.compile(rf"{_number('low')}\s*[≤<]=?\s*[^\W\d]{{1,6}}\s*[≤<]=?\s*{_SECOND}")
_FROM = re.compile(rf"{_number('low')}\s*[(]?(?:及|含|\(含\))?[)]?\s*(?:以上|及以上|起)")
_FROM_SIGN = re.compile(
    rf"(?:不低于|不少于|不小于|达到?|(?<![不未])满|超过|大于|高于|多于|至少|≥|>=?)\s*{_number('low')}"
)
_UP_TO = re.compile(rf"{_number('high')}\s*[(]?(?:及|含|\(含\))?[)]?\s*(?:以下|以内|之内|及以下|封顶)")
_UP_TO_SIGN = re.compile(
    rf"(?:不超过|不高于|不大于|不多于|至多|最多|不足|不满|未满|低于|小于|少于|≤|<=?)\s*{_number('high')}"
)
_AMOUNT = re.compile(_number("value"))
_NUMERAL = re.compile(
    rf"(?P<numeral>[{COUNTING_SIGNS}]{{2,9}}|[{COUNTING_SIGNS}](?=\s*(?:{_UNIT})))\s*(?P<unit>{_UNIT})?"
)
_YEARS = range(1900, 2100)


@dataclass(frozen=True, slots=True)
class Amount:
    """A number that a text states, with its unit or ""."""

    value: float
    unit: str


@dataclass(frozen=True, slots=True)
class Range:
    """Numbers from `low` to `high`, both included, with their unit or ""."""

    low: float
    high: float
    unit: str

    def covers(self, amount: Amount) -> bool:
        """Return whether an amount lies in the range."""
        return self.low <= amount.value <= self.high

    def is_comparable(self, amount: Amount) -> bool:
        """Return whether the range may say something about an amount."""
        return not self.unit or not amount.unit or self.unit == amount.unit


def amounts(normal: str) -> list[Amount]:
    """Return the amounts of a normalised text; numbers that look like years are none.

    >>> amounts("充5万块能返多少"), amounts("一万二的单子"), amounts("2024年")
    ([Amount(value=50000.0, unit='元')], [Amount(value=12000.0, unit='')], [])
    """
    found = [Amount(_value(match, "value"), _UNITS.get(match["value_unit"], "")) for match in _AMOUNT.finditer(normal)]
    found += [
        Amount(float(numeral_value(match["numeral"])), _UNITS.get(match["unit"], ""))
        for match in _NUMERAL.finditer(normal)
    ]
    return [amount for amount in found if amount.value not in _YEARS]


def ranges(normal: str) -> list[Range]:
    """Return the ranges that a normalised text states; dates and times are none.

    >>> [(found.low, found.high) for found in ranges("80~89分 | 3,000元以下 | 满5年 | 8:00-12:00")]
    [(80.0, 89.0), (5.0, inf), (-inf, 3000.0)]
    """
    return list(_ranges(normal))


def _ranges(normal: str) -> Iterator[Range]:
    for pattern in (_BETWEEN, _VARIABLE):
        for match in pattern.finditer(normal):
            low, high = _value(match, "low"), _value(match, "high")
            if match["high_scale"] and not match["low_scale"]:
                low *= _SCALES[match["high_scale"]]
            if low < high and not (low in _YEARS and high in _YEARS):
                yield Range(low, high, _UNITS.get(match["high_unit"] or match["low_unit"], ""))
    for pattern in (_FROM, _FROM_SIGN):
        for match in pattern.finditer(normal):
            yield Range(_value(match, "low"), math.inf, _UNITS.get(match["low_unit"], ""))
    for pattern in (_UP_TO, _UP_TO_SIGN):
        for match in pattern.finditer(normal):
            yield Range(-math.inf, _value(match, "high"), _UNITS.get(match["high_unit"], ""))


def _value(match: re.Match[str], name: str) -> float:
    return float(match[name].replace(",", "")) * _SCALES.get(match[f"{name}_scale"], 1.0)
