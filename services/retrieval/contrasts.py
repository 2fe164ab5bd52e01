"""Contrasts: words of everyday life that exclude each other, such as 本科 and 硕士 or 期中 and 期末.

A passage about one member of a set answers no question about another one. A word may stand for two members: 研究生 in a
question is met by 硕士 in a passage.
"""

import functools
import re
from collections.abc import Mapping, Sequence

_PROVINCES = (
    "北京 天津 上海 重庆 河北 山西 辽宁 吉林 黑龙江 江苏 浙江 安徽 福建 江西 山东 河南 湖北 湖南 广东 海南 四川"
    " 贵州 云南 陕西 甘肃 青海 台湾 内蒙古 广西 西藏 宁夏 新疆 香港 澳门"
)
# Names that differ in a syllable: a passage that only names another one is about that one, wherever it does.
_NAMES = """
产假 产检假 陪产假|护理假|陪护假 婚假 丧假 年假|年休假 病假 事假 育儿假 探亲假
东校区 西校区 南校区 北校区 新校区 老校区
东门 西门 南门 北门
期中 期末 月考
关机 停机
"""
# A set is a line; its members are separated by spaces, and the words for a member by bars.
_SETS = """
本科 专科|大专|高职 硕士|研究生 博士|研究生
联通 电信 移动
上学期|秋季学期|秋学期 下学期|春季学期|春学期
一季度|一季报 二季度|二季报 三季度|三季报 四季度 半年报|上半年|半年度|中报 年报|全年|年度报告
一模 二模 三模
入职 离职
早班 中班 晚班|夜班
线上 线下
会员 非会员
含税 不含税
住宿生|住校生 走读生
首班车 末班车
上证|沪市|上交所 深证|深市|深交所
国家级 省级 市级 校级 院级
男生 女生
windows|win10|win11 mac|macos linux|ubuntu|centos android|安卓|鸿蒙 ios|iphone|苹果手机
周一 周二 周三 周四 周五 周六|周末 周日|周末
暑假 寒假
"""
_SPAN = re.compile(r"周[一二三四五六日][至到~～—–-]周?[一二三四五六日]|每天|每日|全天|每周")


class Contrast:
    """One set: for each word the words that stand for the same member.

    The words of a firm set are names of things, which a text about another of them does not mention in passing.
    """

    def __init__(self, meets: Mapping[str, frozenset[str]], *, is_firm: bool = False) -> None:
        self._meets = meets
        self.is_firm = is_firm
        longest = sorted(meets, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(_bounded, longest)))

    @property
    def words(self) -> frozenset[str]:
        """Return every word for a member."""
        return frozenset(self._meets)

    def named(self, normal: str) -> frozenset[str]:
        """Return the words for members that a normalised text contains."""
        return frozenset(self._pattern.findall(normal))

    def meets(self, asked: frozenset[str], named: frozenset[str]) -> bool:
        """Return whether one of the asked members is among those that a text names."""
        return any(named & self._meets[word] for word in asked)


@functools.cache
def contrasts() -> Sequence[Contrast]:
    """Return every set."""
    lines = [*filter(None, _SETS.splitlines()), _PROVINCES]
    names = filter(None, _NAMES.splitlines())
    return (*map(_contrast, lines), *(_contrast(line, is_firm=True) for line in names))


def names_all_days(normal: str) -> bool:
    """Return whether a normalised text speaks of a span of weekdays (周一至周五) or of every day."""
    return _SPAN.search(normal) is not None


def _contrast(line: str, *, is_firm: bool = False) -> Contrast:
    meets: dict[str, set[str]] = {}
    for member in line.split():
        words = member.split("|")
        for word in words:
            meets.setdefault(word, set()).update(words)
    return Contrast({word: frozenset(met) for word, met in meets.items()}, is_firm=is_firm)


def _bounded(word: str) -> str:
    return rf"(?<![a-z]){word}(?![a-z])" if word.isascii() else word
