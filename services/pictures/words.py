"""The words of a recognised picture, corrected by the words of a knowledge base.

OCR confuses letters that look alike (CrashLoopBack0ff), drops spaces between Latin words (CUDAoutofmemory), and cannot
know that a line ends within a name. Each of these is corrected only if the result is a word of the collection's own
documents, written as there: what is not in any document cannot be found by it either, so it stays as it was read.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations, pairwise
from typing import Protocol

_JOINERS = r"._\-/:#@+"
_PART = re.compile(r"[A-Za-z0-9]+")
_TAIL = re.compile(rf"[A-Za-z0-9]+(?:[{_JOINERS}]+[A-Za-z0-9]+)*[{_JOINERS}]?$")
_HEAD = re.compile(rf"[A-Za-z0-9]+(?:[{_JOINERS}]+[A-Za-z0-9]+)*")
# Characters that are read for each other. Every one is also tried in the other case, because words are compared so.
_ALIKE: Mapping[str, str] = {
    "0": "o",
    "o": "0",
    "1": "li",
    "l": "i1",
    "i": "l1",
    "5": "s",
    "s": "5",
    "8": "b",
    "b": "8",
    "2": "z",
    "z": "2",
}
_MOST_CONFUSED = 2
_LEAST_WORD, _MOST_WORD = 3, 40
# In shorter words any letter could be another one: its and LTS. There only what is odd is replaced.
_LEAST_REPLACED = 5
_ODD = re.compile(r"(?<=[A-Za-z])[0-9](?=[A-Za-z])|(?<=[a-z])I+|^[0-9](?=[A-Za-z]{2})")
_LEAST_SPLIT, _MOST_PIECES, _LEAST_PIECE, _MOST_PIECE = 6, 6, 2, 20
# A look-up takes 10 µs in the process of the index.
_MOST_CANDIDATES = 3000


class Vocabulary(Protocol):
    """Looks up words in the documents of one collection."""

    async def __call__(self, words: Iterable[str]) -> Mapping[str, str]:
        """Map those of the lower-case `words` that occur to their spelling in a document."""
        ...


async def corrected(text: str, vocabulary: Vocabulary) -> str:
    """Return the text of a picture with the words of a collection; see the module.

    Raise what `vocabulary` raises.
    """
    text = await _rejoined(text, vocabulary)
    parts = [part for part in dict.fromkeys(_PART.findall(text)) if _LEAST_WORD <= len(part) <= _MOST_WORD]
    known = await vocabulary(part.lower() for part in parts)
    unknown = [part for part in parts if part.lower() not in known and not part.isdigit()]
    wanted: dict[str, None] = {}
    tried: list[str] = []
    # Most languages name the error in the last line.
    for part in reversed(unknown):
        if len(wanted) >= _MOST_CANDIDATES:
            break
        tried.append(part)
        wanted.update(dict.fromkeys((*_variants(part), *_pieces(part))))
    known = {**known, **await vocabulary(wanted)}
    replaced = {part: better for part in tried if (better := _replacement(part, known)) != part}
    return _PART.sub(lambda found: replaced.get(found[0], found[0]), text) if replaced else text


async def _rejoined(text: str, vocabulary: Vocabulary) -> str:
    """Return the text with names in one piece that a line end cuts."""
    lines = text.split("\n")
    joins: list[list[str]] = []
    for line, following in pairwise(lines):
        tail, head = _TAIL.search(line.rstrip()[-_MOST_WORD:]), _HEAD.match(following.lstrip()[:_MOST_WORD])
        joins.append(_joined(tail[0], head[0]) if tail and head else [])
    known = await vocabulary(word for words in joins for word in words)
    rejoined = lines[0]
    for words, line in zip(joins, lines[1:], strict=True):
        is_cut = any(word in known for word in words)
        rejoined = rejoined.rstrip() + line.lstrip() if is_cut else f"{rejoined}\n{line}"
    return rejoined


def _joined(tail: str, head: str) -> list[str]:
    """Return the words that the end of one line and the beginning of the next may be together."""
    whole = (tail + head).lower()
    if not tail[-1].isalnum():
        return [whole]
    return [whole, (_PART.findall(tail)[-1] + _PART.findall(head)[0]).lower()]


def _replacement(part: str, known: Mapping[str, str]) -> str:
    """Return the known word that a part was meant to be, the known words that it consists of, or the part itself."""
    for word in _variants(part):
        if word in known:
            return known[word]
    return " ".join(_split(part, known) or [part])


def _variants(part: str) -> Iterator[str]:
    """Yield what a part may have been before characters that look alike were confused, likeliest first."""
    word = part.lower()
    places = [place for place, letter in enumerate(word) if letter in _ALIKE]
    if len(part) < _LEAST_REPLACED:
        odd = {place for found in _ODD.finditer(part) for place in range(*found.span())}
        places = [place for place in places if place in odd]
    if "rn" in word and len(part) >= _LEAST_REPLACED:
        yield word.replace("rn", "m", 1)
    # What is a digit among letters, or the reverse, is the likeliest mistake.
    places.sort(key=lambda place: word[place].isdigit() == (sum(map(str.isdigit, word)) * 2 > len(word)))
    for count in range(1, _MOST_CONFUSED + 1):
        for chosen in combinations(places[:8], count):
            yield from _with_others(word, chosen)


def _with_others(word: str, places: tuple[int, ...]) -> Iterator[str]:
    if not places:
        yield word
        return
    first, *rest = places
    for letter in _ALIKE[word[first]]:
        yield from _with_others(word[:first] + letter + word[first + 1 :], tuple(rest))


def _pieces(part: str) -> Iterator[str]:
    """Yield every word that a part may contain if spaces were dropped in it."""
    if len(part) < _LEAST_SPLIT or not part.isalpha():
        return
    for start in range(len(part) - _LEAST_PIECE + 1):
        if _may_begin(part, start):
            for end in range(start + _LEAST_PIECE, min(start + _MOST_PIECE, len(part)) + 1):
                if end == len(part) or _may_begin(part, end):
                    yield part[start:end].lower()


def _may_begin(part: str, place: int) -> bool:
    """Return whether a word may begin here: a name such as ModuleNotFoundError is not taken apart."""
    return place == 0 or not (part[place].isupper() and part[place - 1].islower())


def _split(part: str, known: Mapping[str, str]) -> list[str]:
    """Return the fewest known words that a part consists of, or nothing if there are none."""
    if len(part) < _LEAST_SPLIT or not part.isalpha():
        return []
    best: list[list[str] | None] = [[], *[None] * len(part)]
    for end in range(_LEAST_PIECE, len(part) + 1):
        for start in range(max(0, end - _MOST_PIECE), end - _LEAST_PIECE + 1):
            before = best[start]
            if before is None or part[start:end].lower() not in known or not _may_begin(part, start):
                continue
            present = best[end]
            if len(before) < _MOST_PIECES and (present is None or len(before) + 1 < len(present)):
                best[end] = [*before, part[start:end]]
    return best[-1] or []
