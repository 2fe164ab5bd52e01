"""Which document people mean by the words with which they name it: parts, short forms and misspelt names."""

import re
from collections.abc import Iterable, Sequence
from enum import IntEnum
from pathlib import PurePath
from typing import Protocol, TypeVar

from services.index.tokens import normalise, query_terms

_NUMERALS = "〇一二三四五六七八九"
_NUMERAL = re.compile("([一二三四五六七八九])?十([一二三四五六七八九])?|[一二三四五六七八九]")
# Not those of a date: 2024-03-05.
_LEADING_ZEROS = re.compile(r"(?<![\d._/-])0+(?=\d)")
_NUMBER = re.compile(r"\d+")
_NOT_LETTERS = re.compile(r"[\W_]+")
_BETWEEN = re.compile(r"[\W_]+|\d{4,8}(?:年|级|版|学年)?|v\d+")
# The head of a Chinese compound is its end: 管理规约 names 某某小区管理规约.
_HEAD_CHARS = 3
_SHARE = 0.6
# A difference in these is no slip: 第3讲 is not 第4讲.
_DISTINCT = frozenset("0123456789一二三四五六七八九十上中下东西南北男女新旧")
# Shorter words become other words by one wrong character.
_MISSPELT_CHARS = 4
_ABBREVIATION_CHARS = 2


class Likeness(IntEnum):
    """How well words name a document, the best last."""

    NONE = 0
    ABBREVIATION = 1
    PART = 2
    MISSPELT = 3
    MOST = 4
    WHOLE = 5


class Named(Protocol):
    """Anything with the name of a file."""

    @property
    def name(self) -> str:
        """The name with its extension."""
        ...


NamedT = TypeVar("NamedT", bound=Named)


def plain_name(name: str) -> str:
    """Return a name or a part of one without its case, spaces and punctuation, and with plain numbers.

    >>> plain_name("《员工 手册》V2"), plain_name("第十二讲") == plain_name("第12讲"), plain_name("Lab03")
    ('员工手册v2', True, 'lab3')
    """
    text = _LEADING_ZEROS.sub("", _NUMERAL.sub(_digits, normalise(name)))
    return _NOT_LETTERS.sub("", text)


def plain_stem(name: str) -> str:
    """Return the plain form of a file's name without its extension."""
    return plain_name(PurePath(name).stem)


def likeness(words: Sequence[str], name: str) -> Likeness:
    """Return how well `words`, all of them, name a file.

    >>> likeness(["员工手册"], "员工手册2024版.pdf").name, likeness(["考勤"], "员工手册.pdf").name
    ('WHOLE', 'NONE')
    """
    plain = [word for word in map(plain_name, words) if word]
    if not plain:
        return Likeness.NONE
    stem = plain_stem(name)
    suffix = plain_name(PurePath(name).suffix)
    together = "".join(plain)
    if together in (stem, stem + suffix):
        return Likeness.WHOLE
    segments = [plain_name(segment) for segment in _BETWEEN.split(normalise(PurePath(name).stem))]
    return min(_likeness(word, stem, segments) for word in plain)


def best_named(words: Sequence[str], documents: Iterable[NamedT]) -> tuple[Likeness, list[NamedT]]:
    """Return the documents that `words` name best, and how well; no documents if they name none."""
    rated = [(likeness(words, document.name), document) for document in documents]
    best = max((rate for rate, _ in rated), default=Likeness.NONE)
    return best, [document for rate, document in rated if rate is best] if best else []


def nearest_named(words: Sequence[str], documents: Iterable[NamedT]) -> NamedT | None:
    """Return the document whose name shares most with `words`, or None if none shares two neighbouring characters."""
    pairs = _pairs("".join(map(plain_name, words)))
    rated = [(len(pairs & _pairs(plain_stem(document.name))), document) for document in documents]
    count, document = max(rated, key=lambda pair: pair[0], default=(0, None))
    return document if count else None


def shared(topic: str, text: str) -> float:
    """Return the share of a topic's terms that a text contains, from 0 to 1.

    >>> shared("比赛规则", "机器人竞速赛规则")
    0.6666666666666666
    """
    terms = query_terms(topic)
    normal = normalise(text)
    return sum(term in normal for term in terms) / len(terms) if terms else 0.0


def _digits(found: re.Match[str]) -> str:
    """Return a Chinese number below one hundred in digits."""
    if "十" not in found[0]:
        return str(_NUMERALS.index(found[0]))
    tens, ones = (_NUMERALS.index(numeral) if numeral else None for numeral in found.groups())
    return str((tens or 1) * 10 + (ones or 0))


def _contains(text: str, word: str) -> bool:
    """Return whether a word is in a text and no number of it runs on: Lab1 is not in Lab12."""
    start = -1
    while (start := text.find(word, start + 1)) >= 0:
        end = start + len(word)
        runs_on = text[start - 1 : start].isdigit() and word[0].isdigit()
        runs_on = runs_on or (text[end : end + 1].isdigit() and word[-1].isdigit())
        if not runs_on:
            return True
    return False


def _likeness(word: str, stem: str, segments: Sequence[str]) -> Likeness:
    if word in segments:
        return Likeness.WHOLE
    if _contains(stem, word) or any(_contains(segment, word) for segment in segments):
        is_head = len(word) >= _HEAD_CHARS and any(segment.endswith(word) for segment in segments)
        is_most = any(word in segment and len(word) >= _SHARE * len(segment) for segment in segments)
        return Likeness.MOST if is_head or is_most else Likeness.PART
    if not set(_NUMBER.findall(word)) <= {number for text in (stem, *segments) for number in _NUMBER.findall(text)}:
        return Likeness.NONE
    if len(word) >= _MISSPELT_CHARS and _is_misspelt(word, stem):
        return Likeness.MISSPELT
    if len(word) >= _ABBREVIATION_CHARS and not word.isdigit() and (whole := _abbreviated(word, segments)):
        is_head = len(word) > _HEAD_CHARS and whole.endswith(word[-_ABBREVIATION_CHARS:])
        return Likeness.MOST if is_head else Likeness.ABBREVIATION
    return Likeness.NONE


def _is_misspelt(word: str, stem: str) -> bool:
    """Return whether a piece of the name differs from the word by one character: another, one more or one less."""
    for length in (len(word) - 1, len(word), len(word) + 1):
        for start in range(len(stem) - length + 1):
            if _differs_by_one(word, stem[start : start + length]):
                return True
    return False


def _differs_by_one(word: str, piece: str) -> bool:
    same = next((place for place, pair in enumerate(zip(word, piece, strict=False)) if pair[0] != pair[1]), None)
    if same is None or {word[same], piece[same]} & _DISTINCT:
        # Without its first or last character a word is a part, which is found elsewhere.
        return False
    skips = (len(word) >= len(piece), len(piece) >= len(word))
    return word[same + skips[0] :] == piece[same + skips[1] :]


def _abbreviated(word: str, segments: Sequence[str]) -> str:
    """Return the part of a name that has the characters of the word in this order, from its first one on, or ""."""
    for segment in segments:
        rest = iter(segment)
        if segment[:1] == word[0] and all(character in rest for character in word):
            return segment
    return ""


def _pairs(text: str) -> set[str]:
    return {text[start : start + 2] for start in range(len(text) - 1)}
