"""Constraints: what a question says about the thing that it asks for, such as a year or the number of an article.

A passage about another year or another article looks almost the same to an embedding, and would answer the question
wrongly. Amounts (充 5 万, 干了 12 年, 85 分) are no constraints: they are values that a rule of the document covers.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from services.text.numerals import DIGITS, ITEM_SIGNS, number_value

_FIRST_YEAR, _LAST_YEAR = 1900, 2099
# A two-digit year is at most this; 65年 is 1965.
_LAST_SHORT = 40
_LONGEST_SPAN = 30
_YEAR_DIGITS = "".join(DIGITS)
# 2019年, 2022级, 2023-2024学年, 二〇二四年; the year of a date in digits, 2018-05-02 or 20180502.
_LONG_YEAR = re.compile(
    rf"(?<![\d.])(?P<year>(?:19|20)\d\d)"
    rf"(?:\s*(?:[-~—–/至到]|年?[至到]|年\s*[-~—–])\s*(?P<last>(?:19|20)?\d\d)(?!\d|[-./]\d|月))?"
    rf"\s*(?P<unit>学?年|级|届|版|春|秋|[-./]\d{{1,2}}(?!\d))"
    rf"|(?<!\d)(?P<date>(?:19|20)\d\d)(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?!\d)"
    rf"|(?P<numeral>[一二][{_YEAR_DIGITS}]{{3}})(?P<of>年)"
)
_BARE_YEAR = re.compile(
    r"(?<![\d.])((?:19|20)\d\d)(?!\d|\.\d|\s*(?:元|块|万|名|人|个|字|次|米|克|千|分|倍|小时|天|mb|gb|w\b))"
)
# 19年预算, but not 干了12年, 满5年, 12年以上, 42年年均 or 10年期.
_SHORT_YEAR = re.compile(
    r"(?<![\d.-])(?P<year>\d\d)(?P<unit>年|级|届)"
    r"(?!(?:以上|以下|以内|以后|之内|之后|内|后|前|期|制|龄|工龄|合同|多|半|左右|年|的?时间|之久|的?经验|来|间|免|保修|质保|心血|光阴|历史|寿命))"
)
_LENGTH = re.compile(
    r"(?:了|满|签|近|费|历|时|达|逾|超过|最长|最多|最少|至少|不到|每|隔|过|共|工龄|等|用|交|缴|有|干|住|读|念|判|第|约|大概|连续)$"
)
_COHORT = ("级", "届")

_NUMBER = rf"(?:\d{{1,4}}|[{ITEM_SIGNS}千百零]{{1,9}})"
_LIST = rf"(?P<first>{_NUMBER})(?P<more>(?:\s*(?:[、,，/~～]|[-–—至到和及与或])\s*第?{_NUMBER}(?![.\d]))*)"
_MORE = re.compile(rf"(?P<joint>[、,，/~～]|[-–—至到和及与或])\s*第?(?P<number>{_NUMBER})")
_TO = frozenset("~～-–—至到")
# Parts of a document, and things that are told apart by a number only.
_COUNTED = {
    **dict.fromkeys("条章讲课回款卷编册集届期批轮节项页周次", ""),
    **{"单元": "", "部分": "", "学期": "", "阶段": "", "学年": ""},
}
_NTH = re.compile(rf"第\s*{_LIST}\s*(?:条)?(?P<unit>{'|'.join(sorted(_COUNTED, key=len, reverse=True))})")
_ARTICLE = re.compile(rf"第\s*(?P<first>{_NUMBER})条\s*[至到~～—–-]\s*第?(?P<last>{_NUMBER})条")
_BUILDING = re.compile(rf"{_LIST}\s*(?:号楼|栋|幢|号院)")
# 二食堂, 3号线 and 四人间: places and kinds whose names differ in a number only.
_NUMBERED_PLACES = (
    "食堂|餐厅|教学楼|实验楼|办公楼|宿舍楼|宿舍|公寓|会议室|教室|车间|仓库|号线|号门|号窗口|号车位|人间"
    r"|中学|小学|医院|校区|分部|支行|车库|班(?![倒次车])"
)
_NUMBERED = re.compile(
    rf"(?<![{ITEM_SIGNS}百千两几\d.])第?[(]?{_LIST}[)]?\s*(?:号(?=[食餐教实办宿公会车仓校]))?(?P<unit>{_NUMBERED_PLACES})"
)
_LETTER = "[a-h甲乙丙丁]"
_LETTERED = re.compile(
    rf"(?<![a-z0-9])(?P<letters>{_LETTER}(?:\s*[、,/和与及]\s*{_LETTER})*)\s*"
    r"(?P<unit>座|栋|幢|号楼|楼|馆|区(?![块间别分域])|出口|卷|班(?![倒次车]))"
)
# A month is a constraint if no day is named: 3月的值日表, but not 3月5日.
_MONTH = re.compile(rf"(?<![\d.{ITEM_SIGNS}])(?P<month>1[0-2]|0?[1-9]|十[一二]?|[一二三四五六七八九])月(?!亮|饼|经|球)")
_DAY_OF_MONTH = re.compile(r"份?\s*(?:\d|[一二三十]|初|上旬|中旬|下旬|底|末)")
# 200M的套餐 and 32G版 name one of several kinds, in a question; the text lists them with the same unit.
_SIZED = re.compile(r"(?<![\da-z.])(?P<size>\d{1,4})\s*(?P<unit>mb?|gb?|tb?|兆|英?寸|瓦|w)(?![a-z\d])")
_OF_SIZE = re.compile(r"的?(?:套餐|版|款|规格|型号|宽带|流量包|档)")
_KIND = re.compile(
    r"(?P<first>[一二三四五六七八九])(?P<more>)(?P<unit>模(?![型式块板拟具范])|等奖|档(?!次|案)|阶(?!段|梯|层|级))"
)
_NAMED = re.compile(rf"(?P<unit>方案|附件|附录|附表|情形|结果)\s*(?:第)?{_LIST}(?![\d.])")
_VERSION = re.compile(r"(?P<name>[a-z][a-z+]{1,30})[\s-]?v?(?P<version>\d{1,3}(?:\.\d{1,4}){1,3})(?![\d.])")
_MAJOR = re.compile(r"(?<![a-z0-9])v(?P<version>\d{1,3}(?:\.\d{1,4}){0,3})(?![\da-z]|\.\d)")
# Where these differ, the passage is about something else; other numbers may be counted differently.
FIRM_UNITS = frozenset(
    {"条", "章", "讲", "课", "届", "卷", "楼", "方案", "座", "馆", "区", "出口", "班"}
    | {unit.removeprefix("号") for unit in re.sub(r"\(.*\)", "", _NUMBERED_PLACES).split("|")}
)
# A text names many months, so only the month of a file or heading says what it is about.
PLACE_UNITS = frozenset({"月"})
_SIZE = "大小 "
# The page of a passage is where it stands, not what it is about.
_PAGE = "页"


@dataclass(frozen=True, slots=True)
class Years:
    """The years that a text names. `cohorts` are those of classes and terms (2022级, 2023届), `plain` all others."""

    plain: frozenset[int] = frozenset()
    cohorts: frozenset[int] = frozenset()

    @property
    def all(self) -> frozenset[int]:
        """Return the years of both kinds."""
        return self.plain | self.cohorts


@dataclass(frozen=True, slots=True)
class Constraints:
    """What a question names: years, and for each unit (条, 楼, 方案, python) the numbers with it."""

    years: Years = Years()
    ordinals: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])

    def __bool__(self) -> bool:
        """Return whether the question names anything."""
        return bool(self.years.all or self.ordinals)


def read_constraints(normal: str) -> Constraints:
    """Return the constraints of a normalised question.

    >>> asked = read_constraints("2019年第十条")
    >>> sorted(asked.years.plain), asked.ordinals
    ([2019], {'条': frozenset({'10'})})
    """
    named = ordinals(normal)
    for unit in [unit for unit in named if unit in PLACE_UNITS or unit.startswith(_SIZE)]:
        del named[unit]
    if months := _asked_months(normal):
        named["月"] = months
    for found in _SIZED.finditer(normal):
        if _OF_SIZE.match(normal, found.end()):
            named[_size_unit(found)] = frozenset({found["size"]})
    return Constraints(years(normal), named)


def is_firm(unit: str) -> bool:
    """Return whether a passage that only names other numbers of a unit is certainly about something else."""
    return unit in FIRM_UNITS or unit.startswith(_SIZE)


def years(normal: str) -> Years:
    """Return the years that a normalised text states as years, with two digits (19年) too; 2023-2025年 is three years.

    >>> sorted(years("19年预算，2021-2023学年").plain), sorted(years("22级新生干了12年").all)
    ([2019, 2021, 2022, 2023], [2022])
    """
    plain: set[int] = set()
    cohorts: set[int] = set()
    for found in _LONG_YEAR.finditer(normal):
        if found["date"]:
            plain.add(int(found["date"]))
        elif found["numeral"]:
            plain.add(number_value(found["numeral"]))
        else:
            (cohorts if found["unit"] in _COHORT else plain).update(_span(found["year"], found["last"]))
    for found in _SHORT_YEAR.finditer(normal):
        if not _LENGTH.search(normal[: found.start()].rstrip()):
            (cohorts if found["unit"] in _COHORT else plain).add(_full(int(found["year"])))
    return Years(frozenset(plain), frozenset(cohorts))


def years_of_place(normal: str) -> Years:
    """Return the years that a normalised file name and heading state; in a name 2018 alone is a year.

    >>> sorted(years_of_place("2018一季报.pdf").plain)
    [2018]
    """
    stated = years(normal)
    bare = {int(year) for year in _BARE_YEAR.findall(normal)}
    return Years(stated.plain | (bare - stated.cohorts), stated.cohorts)


def mentioned_years(normal: str) -> frozenset[int]:
    """Return every number in a normalised text that may be a year, also 2014 alone and 12年.

    >>> sorted(mentioned_years("年报2014，满12年")), sorted(mentioned_years("补贴2000元"))
    ([2012, 2014], [])
    """
    found = {int(year) for year in _BARE_YEAR.findall(normal)}
    short = {_full(int(year)) for year in re.findall(r"(?<![\d.])(\d\d)(?:年|级|届)", normal)}
    return frozenset(found | short | years(normal).all)


def named_years(normal: str, names: Iterable[str]) -> frozenset[int]:
    """Return the years of normalised document names that a question has as bare numbers: 2023 的名额.

    >>> sorted(named_years("2023的名额，充2000", ["名额2023.xlsx", "名额2024.xlsx"]))
    [2023]
    """
    of_names = {year for name in names for year in years_of_place(name).plain}
    return frozenset(of_names & {int(year) for year in _BARE_YEAR.findall(normal)})


def place_ordinals(normal: str) -> dict[str, frozenset[str]]:
    """Return the numbers of things in a normalised file name and heading, without pages and versions."""
    return {unit: numbers for unit, numbers in ordinals(normal).items() if unit != _PAGE and not unit.isascii()}


def _span(first: str, last: str | None) -> range:
    start = int(first)
    if last is None:
        return range(start, start + 1)
    end = int(last) if len(last) == 4 else start // 100 * 100 + int(last)
    return range(start, end + 1) if start <= end <= start + _LONGEST_SPAN else range(start, start + 1)


def _full(short: int) -> int:
    return 2000 + short if short <= _LAST_SHORT else 1900 + short


def ordinals(normal: str) -> dict[str, frozenset[str]]:
    """Return the numbers that tell things apart in a normalised text, by unit, in digits whatever they are written in.

    >>> ordinals("第十二条、3、5号楼和方案四，python 3.12")
    {'条': frozenset({'12'}), '楼': frozenset({'5', '3'}), '方案': frozenset({'4'}), 'python': frozenset({'3.12'})}
    """
    found: dict[str, set[str]] = {}
    for unit, number in _ordinals(normal):
        found.setdefault(unit, set()).add(number)
    return {unit: frozenset(numbers) for unit, numbers in found.items()}


def _ordinals(normal: str) -> Iterator[tuple[str, str]]:
    for match in _NTH.finditer(normal):
        yield from ((match["unit"], number) for number in _listed(match))
    for match in _ARTICLE.finditer(normal):
        yield from (("条", number) for number in _counted(match["first"], match["last"]))
    for match in _BUILDING.finditer(normal):
        yield from (("楼", number) for number in _listed(match))
    for match in _NUMBERED.finditer(normal):
        yield from ((match["unit"].removeprefix("号"), number) for number in _listed(match))
    for match in _LETTERED.finditer(normal):
        unit = "楼" if match["unit"] in ("栋", "幢", "号楼") else match["unit"]
        yield from ((unit, letter) for letter in re.findall(_LETTER, match["letters"]))
    for match in _MONTH.finditer(normal):
        yield "月", str(number_value(match["month"]))
    for match in _SIZED.finditer(normal):
        yield _size_unit(match), match["size"]
    for match in _KIND.finditer(normal):
        yield match["unit"], str(number_value(match["first"]))
    for match in _NAMED.finditer(normal):
        yield from ((match["unit"], number) for number in _listed(match))
    for match in _VERSION.finditer(normal):
        yield match["name"], match["version"]
    for match in _MAJOR.finditer(normal):
        yield "v", match["version"]


def _size_unit(found: re.Match[str]) -> str:
    return _SIZE + found["unit"].removesuffix("b").replace("兆", "m").replace("瓦", "w").removeprefix("英")


def _asked_months(normal: str) -> frozenset[str]:
    """Return the months that a question names without a day."""
    return frozenset(
        str(number_value(found["month"]))
        for found in _MONTH.finditer(normal)
        if not _DAY_OF_MONTH.match(normal, found.end())
    )


def _listed(match: re.Match[str]) -> list[str]:
    numbers = [str(number_value(match["first"]))]
    for more in _MORE.finditer(match["more"]):
        if more["joint"] in _TO:
            numbers += _counted(numbers[-1], more["number"])
        else:
            numbers.append(str(number_value(more["number"])))
    return numbers


def _counted(first: str, last: str) -> list[str]:
    start, end = number_value(first), number_value(last)
    return [str(number) for number in range(start, end + 1)] if start <= end <= start + 99 else [str(start), str(end)]
