"""How two questions are worded: what makes them the same, and what forbids to answer one with the other's answer.

Embeddings hardly see a swapped pair (从甲到乙, 从乙到甲), a denial or another number, so these are compared as text.
"""

import re
from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass

from services.index.tokens import normalise
from services.retrieval.contrasts import contrasts
from services.retrieval.models import Question
from services.retrieval.query import build_query
from services.text.numerals import SCALES, SIGNS, number_value

# ASCII words with what belongs to them (c++, 3.12, 5%, -5), and every other letter.
_TOKEN = re.compile(r"(?:(?<![a-z0-9])[-+](?=\d))?[a-z0-9]+(?:[._\-/:#@+]+[a-z0-9]+)*(?:\+\+|#|%)?|[^\W_]")
# Joined tokens need a space only between two ASCII words.
_NEEDLESS = re.compile(r" (?=[^!-~])|(?<=[^!-~]) ")
# Words that only ask for attention.
_PLEA = re.compile(
    r"^(?:(?:有?谁|有没有人|有人|大家)知道|我?想知道|我?想问(?:一?下)?|问一?下|请问|告诉我|请教(?:一?下)?|大家|各位|求助|跪求)++"
    r"|(?:谢谢(?:你们?|大家|了)*+|急急++|在线等|求解答?|求助|求告知)++$"
)
# Ways to ask the same thing. The capitals that stand for them cannot occur in a normalised text.
_ASKING = (
    ("为什么|为何|为啥|咋会", "Y"),
    ("什么时候|何时|啥时候?|几时|什么时间", "T"),
    ("在?哪里|在?哪儿|在哪|什么地方|哪个地方", "W"),
    ("怎么样|怎样|怎么|如何|咋样|咋", "H"),
    ("什么|啥|哪些|哪个", "Q"),
    ("能不能|可不可以|可以不可以|是否可以|能否|可否|可以|能够|能", ""),
    ("是不是|是否", ""),
    ("有没有", "有"),
)
_ASKED = re.compile("|".join(f"(?P<a{place}>{words})" for place, (words, _) in enumerate(_ASKING)))
_SIGN_OF = {f"a{place}": sign for place, (_, sign) in enumerate(_ASKING)}
_PARTICLES = re.compile(r"[吗么嘛啊呀呢吧哦地得是个下和与跟 ]")
_QUESTION_WORDS = re.compile(r"[YTWHQ]")
# Words with signs of numbers and denials that state no number and deny nothing.
_NO_NUMBER = re.compile(r"一[下个些点般样起直定切边会]|万一|千万|千瓦|三角|十分|百度|统一|唯一")
_NUMBER = re.compile(rf"\d+(?:\.\d+)*|[{SIGNS}]+|半")
_NO_DENIAL = re.compile(r"(.)[不没]\1|[是能可会]否|区别|特别|级别|类别|性别|别人|差不多|不错|不仅|无线|非常|除非")
_DENIAL = re.compile(r"[不没未无非勿别莫]")
_LATIN = re.compile(r"[a-z]+(?:\+\+|#)?")
_LONGEST_NUMERAL = 12
_OPPOSITES = tuple(
    pair
    for line in (
        "上下 左右 前后 男女 大小 多少 高低 长短 买卖 进出 入出 开关 早晚 新旧 新老 东西 南北 正反 公母 内外 升降 加减",
        "增减 借还 快慢 冷热 收发 始终 先后 起止 来去 父母 爸妈 你我 胖瘦 好坏 真假 真伪 难易 贵贱",
    )
    for pair in line.split()
)


@dataclass(frozen=True, slots=True)
class Wording:
    """A question in the forms that are compared.

    `normal` is the question without case, width, variants, punctuation and courtesies: equal ones are the same
    question. `core` is that without particles, with one capital for each way of asking. `numbers` and `latin` are the
    numbers, in digits, and the Latin words that it names, in order of the alphabet; `denials` counts its negations.
    """

    normal: str
    core: str
    numbers: tuple[str, ...]
    latin: tuple[str, ...]
    denials: int

    @property
    def sense(self) -> Hashable:
        """What stays the same if only particles change, or the place of the question word."""
        asked = tuple(sorted(_QUESTION_WORDS.findall(self.core)))
        return _still(self.core), asked, self._particulars

    def contradicts(self, other: "Wording") -> bool:
        """Return whether the questions need different answers, however similar they are.

        They differ in numbers, denials, Latin words or opposites, or exchange two things around a third.
        """
        return (
            self._particulars != other._particulars
            or _is_turned(_QUESTION_WORDS.sub("", self.core), _QUESTION_WORDS.sub("", other.core))
            or _is_turned(_still(self.core), _still(other.core))
            or _is_opposite(self.normal, other.normal)
        )

    @property
    def _particulars(self) -> tuple[tuple[str, ...], tuple[str, ...], int]:
        return self.numbers, self.latin, self.denials


def read_wording(text: str) -> Wording:
    """Return the wording of a question as a person typed it.

    >>> read_wording("请问，Python 3.12 怎么装？").numbers
    ('3.12',)
    """
    normal = normal_question(text)
    core = _ASKED.sub(lambda found: _SIGN_OF[str(found.lastgroup)], _PLEA.sub("", normal) or normal)
    return Wording(
        normal,
        _PARTICLES.sub("", core),
        tuple(sorted(map(_digits, _NUMBER.findall(_NO_NUMBER.sub(" ", normal))))),
        tuple(sorted(_LATIN.findall(normal))),
        len(_DENIAL.findall(_NO_DENIAL.sub(" ", normal))),
    )


def normal_question(text: str) -> str:
    """Return the form in which questions are the same: without case, width, variants, punctuation and courtesies.

    A text of nothing but signs is itself.

    >>> normal_question("大佬们求助：宿舍  几點熄燈？？谢谢"), normal_question("C++ 3.12 怎么装")
    ('宿舍几点熄灯', 'c++ 3.12怎么装')
    """
    asked = normalise(searched(text))
    return _NEEDLESS.sub("", " ".join(_TOKEN.findall(asked))) or " ".join(asked.split())


def searched(text: str) -> str:
    """Return a question as it is embedded: without what QQ and courtesy add."""
    return build_query(Question(text)).text


def _still(core: str) -> str:
    return _QUESTION_WORDS.sub("", core).replace("的", "")


def _digits(number: str) -> str:
    is_numeral = set(number) <= set(SIGNS) and len(number) <= _LONGEST_NUMERAL
    # 千 and 万 alone stand for no number.
    if not is_numeral or (number[0] in SCALES and number[0] != "十"):
        return number
    return str(number_value(number))


def _is_turned(first: str, second: str) -> bool:
    """Return whether one text has the signs of the other in another order, and not just one part of it moved."""
    if first == second or Counter(first) != Counter(second):
        return False
    differing = [place for place, (one, other) in enumerate(zip(first, second, strict=True)) if one != other]
    part = slice(differing[0], differing[-1] + 1)
    return second[part] not in first[part] * 2


def _is_opposite(first: str, second: str) -> bool:
    one, other = Counter(first), Counter(second)
    if any((one[x] - other[x]) * (one[y] - other[y]) < 0 for x, y in _OPPOSITES):
        return True
    return any(contrast.named(first) != contrast.named(second) for contrast in contrasts())
