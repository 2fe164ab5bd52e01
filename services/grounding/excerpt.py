"""The parts of the best passages that answer the question, quoted word for word: the answer without a language model.

A model gives each part the probability that it answers. Quoted are as many parts as are needed to contain the answer
with enough certainty: one sentence where the model is sure, the whole passage where it is not. What belongs to a quoted
part is shown with it: the items of a list that it announces, the sentences around it, the names of a row's columns.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from services.grounding.answering import answering
from services.grounding.part_features import siblings
from services.grounding.passage import Part, Role, parts_of
from services.grounding.quotation import shown
from services.retrieval.identifiers import contains_any, identifiers
from services.retrieval.models import Candidate, Reference
from services.text.sentences import ENDS

PASSAGES = 4
Floats = NDArray[np.float64]
_Add = Callable[[int], bool]

# Chosen on the development groups: more certainty costs more characters than it finds answers.
_ENOUGH = 0.95
# A part with less than this share of the best part's probability is not worth a line.
_WORTH = 0.01
_MOST_PARTS = 12
# The characters of the first quotation, the second and the third: together three screens of a phone at most.
_MAX_CHARS = (500, 360, 240)
# Another part of a passage is shown beyond a gap if it is this probable in comparison with the best one.
_BEYOND_GAP = 0.25
# A shorter quotation is hard to understand, and a longer one needs no more sentences around it.
_LEAST_CHARS, _ROUND_CHARS = 100, 240
# A list of which this many items are shown is shown to its end, if that takes no more characters beyond the limit.
_MOST_OF_LIST, _LIST_SLACK = 2, 100
_TITLE_CHARS = 40
# A trouble is often told at length before its solution.
_SOLVES = re.compile(
    r"\s*(?:\d[.、])?(?:解决|处理|修复|应对|操作)?(?:方案|办法|方法|步骤|措施|流程|做法)[^。：:\n]{0,8}[：:]"
    r"|\s*(?:solutions?|fix|workaround|steps)\b[^.\n]{0,20}:",
    re.IGNORECASE,
)
_SOLUTION_CHARS, _NEAR_PARTS = 300, 3
_ASKS_ALL = re.compile(
    r"哪些|哪几|有(?:什么|啥|何)|什么(?:条件|要求|材料|资料|内容|步骤|流程|规定|功能|情况)|啥(?:条件|要求|材料|资料|步骤|流程|规定|功能)"
    r"|几[种类项条个点步样]|怎么(?!样)|怎样|如何|咋|步骤|流程|更新|新增|变化|改了|注意|清单|都要|分别|列出|"
    r"\b(?:what are|which|list|how (?:do|to|can)|steps|changes?)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Quote:
    """Parts of one reference, as they are shown."""

    reference: Reference
    text: str


@dataclass(frozen=True, slots=True)
class _Place:
    passage: int
    part: int


def quotes(
    question: str,
    references: Sequence[Reference],
    weights: Mapping[str, float],
    candidates: Iterable[Candidate] = (),
) -> list[Quote]:
    """Return up to three quotations that answer the question best, or none if there are no references.

    `weights` gives the inverse document frequency of the question's terms. `candidates` carry what the reader found in
    the chunks of the references; without it the words decide. If the question names identifiers, what is quoted
    contains one of them or is below a heading that does, as far as there is such a part.
    """
    chosen_references = references[:PASSAGES]
    passages = [parts_of(reference.text) for reference in chosen_references]
    places = [_Place(number, part) for number, passage in enumerate(passages) for part in range(len(passage))]
    if not places:
        return []
    probability = answering(question, chosen_references, passages, weights, candidates)
    wanted = identifiers(question)
    allowed = _about(wanted, passages, chosen_references) if wanted else list(range(len(places)))
    chosen = _chosen(probability, places, allowed)
    order = list(dict.fromkeys(places[index].passage for index in chosen))[: len(_MAX_CHARS)]
    found: list[Quote] = []
    asks_all = _ASKS_ALL.search(question) is not None
    for number, limit in zip(order, _MAX_CHARS, strict=False):
        core = [places[index].part for index in chosen if places[index].passage == number]
        shares = [float(probability[index]) for index, place in enumerate(places) if place.passage == number]
        others = siblings(question, passages[number], core[0])
        places_shown = _completed(passages[number], core, shares, limit, wanted, others, asks_all=asks_all)
        text = shown(passages[number], places_shown, weights.keys())
        if text:
            found.append(Quote(chosen_references[number], text))
    return found


def _chosen(probability: Floats, places: Sequence[_Place], allowed: Sequence[int]) -> list[int]:
    """Return the parts that together contain the answer with enough certainty, the most probable one first."""
    ranked = sorted(allowed, key=lambda index: -probability[index])
    total = float(sum(probability[index] for index in ranked)) or 1.0
    chosen: list[int] = []
    covered = 0.0
    for index in ranked[:_MOST_PARTS]:
        if chosen and (covered >= _ENOUGH or probability[index] < _WORTH * probability[ranked[0]]):
            break
        chosen.append(index)
        covered += float(probability[index]) / total
    return chosen


def _completed(
    passage: Sequence[Part],
    core: Sequence[int],
    shares: Sequence[float],
    limit: int,
    wanted: frozenset[str],
    others: frozenset[int],
    *,
    asks_all: bool,
) -> set[int]:
    """Return the positions of the parts to show, within `limit` characters: `core` and what belongs to it.

    `shares` are the probabilities of all parts, and `others` are parts about something else than the best one. If the
    question `asks_all` items of a list, a list that is shown almost completely is shown to its ends. Rows of
    a table are shown wherever they stand. Of prose one piece is shown, and another part only if it is almost as
    probable, because a text with gaps is hard to read.
    """
    found: set[int] = set()
    size = 0

    def add(place: int) -> bool:
        nonlocal size
        part = passage[place]
        if place in found:
            return True
        if found and size + len(part.text) > limit:
            return False
        if found and (place in others or (wanted and _is_about_another(part.text, wanted))):
            return False
        found.add(place)
        size += len(part.text)
        return True

    if passage[core[0]].role in (Role.ROW, Role.TABLE_HEAD):
        for place in core:
            if passage[place].role in (Role.ROW, Role.TABLE_HEAD) and add(place):
                _add_rows(passage, place, add)
        found.update(head for place in list(found) if (head := passage[place].head) is not None)
        for place in core:
            # Prose of the passage may say more about the thing of a row.
            is_prose = passage[place].role not in (Role.ROW, Role.TABLE_HEAD)
            if is_prose and shares[place] >= _BEYOND_GAP * shares[core[0]]:
                add(place)
        return found
    for place in _piece(passage, core[0], shares, limit, wanted, others):
        add(place)
    beyond = [place for place in core if place not in found and shares[place] >= _BEYOND_GAP * shares[core[0]]]
    _add_following(passage, max(found), add)
    _add_lead(passage, min(found), add)
    if any(add(place) for place in beyond):
        return found
    _add_around(passage, found, add, lambda: size)
    if asks_all:
        _add_solution(passage, found, limit + _SOLUTION_CHARS - size)
        rest = _rest_of_list(passage, found, limit + _LIST_SLACK - size)
        if not rest & others and not any(wanted and _is_about_another(passage[place].text, wanted) for place in rest):
            found |= rest
    _add_title(passage, found)
    return found


def _add_solution(passage: Sequence[Part], found: set[int], room: int) -> None:
    """Add the steps that solve a trouble, if what is shown ends with what the trouble is."""
    last = max(found)
    if any(_SOLVES.match(passage[place].text) for place in found):
        return
    for place in range(last + 1, min(len(passage), last + 1 + _NEAR_PARTS)):
        if passage[place].role in (Role.HEADING, Role.ROW, Role.TABLE_HEAD):
            return
        if _SOLVES.match(passage[place].text):
            for step in range(last + 1, len(passage)):
                room -= len(passage[step].text)
                ends = step > place and passage[step].role not in (Role.ITEM, Role.CODE)
                if room < 0 or ends:
                    return
                found.add(step)
            return


def _rest_of_list(passage: Sequence[Part], found: Set[int], room: int) -> set[int]:
    """Return the missing items of a list of which most are shown, if all of them fit into `room`."""
    items = [place for place in found if passage[place].role is Role.ITEM]
    if len(items) < _MOST_OF_LIST:
        return set()
    first = last = items[0]
    while first > 0 and _continues_list(passage[first - 1 : first + 1]):
        first -= 1
    while last + 1 < len(passage) and _continues_list(passage[last : last + 2]):
        last += 1
    missing = set(range(first, last + 1)) - found
    fits = sum(len(passage[place].text) for place in missing) <= room
    return missing if fits and len(missing) <= len(items) else set()


def _continues_list(parts: Sequence[Part]) -> bool:
    return all(part.role is Role.ITEM for part in parts) and not parts[1].starts_paragraph


def _add_title(passage: Sequence[Part], found: set[int]) -> None:
    """Add the short line above a list or paragraph, such as a date or version, which says what it is about."""
    first = min(found)
    while first > 0 and passage[first].role is Role.ITEM and not passage[first].starts_paragraph:
        first -= 1
    above = first if first < min(found) else first - 1
    if above < 0 or not passage[above].text.endswith("\n"):
        return
    title = passage[above].text.strip()
    is_title = passage[above].starts_paragraph and passage[above].role in (Role.SENTENCE, Role.HEADING)
    if is_title and len(title) <= _TITLE_CHARS and title[-1] not in f"{ENDS}，,":
        found.add(above)


def _piece(
    passage: Sequence[Part],
    best: int,
    shares: Sequence[float],
    limit: int,
    wanted: frozenset[str],
    others: frozenset[int],
) -> Sequence[int]:
    """Return the run of parts around `best` that holds most of the probability within `limit`, without idle ends."""
    asked = _asked_above(passage, best)
    first = last = best
    size = len(passage[best].text)
    while True:
        ends = [place for place in (first - 1, last + 1) if 0 <= place < len(passage)]
        ends = [
            place
            for place in ends
            if size + len(passage[place].text) <= limit
            and place not in others
            and passage[place].role is not Role.TABLE_HEAD
            and _asked_above(passage, place) == asked
            and not (wanted and _is_about_another(passage[place].text, wanted))
        ]
        if not ends:
            break
        # What lies behind a part counts for it, but less the farther it is.
        chosen = max(ends, key=lambda place: _ahead(shares, place, place - best))
        first, last = min(first, chosen), max(last, chosen)
        size += len(passage[chosen].text)
    held = sum(shares[first : last + 1])
    while first < best and held - shares[first] >= _ENOUGH * held:
        held -= shares[first]
        first += 1
    while last > best and held - shares[last] >= _ENOUGH * held:
        held -= shares[last]
        last -= 1
    return range(first, last + 1)


def _ahead(shares: Sequence[float], place: int, distance: int) -> float:
    """Return the probability of a part and, halved with each step, of those behind it as seen from the best part."""
    step = 1 if distance > 0 else -1
    ahead = shares[place::step] if step > 0 else shares[place::-1]
    return sum(share / 2**number for number, share in enumerate(ahead[:_MOST_PARTS]))


def _add_rows(passage: Sequence[Part], place: int, add: _Add) -> None:
    """Add the rows below one that have no name of their own, because they belong to the same thing."""
    for below in range(place + 1, len(passage)):
        if passage[below].role is not Role.ROW or not passage[below].text.startswith("| ") or not add(below):
            return


def _asked_above(passage: Sequence[Part], place: int) -> int | None:
    """Return the question with which the item of a FAQ begins that a part belongs to, or None outside of any."""
    return next((p for p in range(place, -1, -1) if passage[p].role is Role.HEADING and passage[p].announces), None)


def _add_following(passage: Sequence[Part], place: int, add: _Add) -> None:
    """Add what a part announces: the items of its list, the text under a heading, the answer of a question."""
    part = passage[place]
    if not part.announces and part.role is not Role.HEADING:
        return
    for following in range(place + 1, len(passage)):
        after = passage[following]
        if after.role is Role.HEADING and following > place + 1:
            return
        if after.starts_paragraph and following > place + 1 and after.role not in (Role.ITEM, Role.ROW, Role.CODE):
            return
        if not add(following):
            return


def _add_lead(passage: Sequence[Part], place: int, add: _Add) -> None:
    """Add the line that announces the list of an item, or the question that a sentence answers."""
    for before in range(place - 1, max(-1, place - 1 - _MOST_PARTS), -1):
        if passage[before].announces and passage[before].role is not Role.ROW:
            add(before)
            return
        if passage[place].role is not Role.ITEM or passage[before].role not in (Role.ITEM, Role.SENTENCE):
            return


def _add_around(passage: Sequence[Part], found: set[int], add: _Add, size: Callable[[], int]) -> None:
    """Add sentences after and before a piece, until there is enough to understand it."""
    after = max(found) + 1
    while after < len(passage) and passage[after].role in (Role.SENTENCE, Role.ITEM, Role.CODE):
        most = _LEAST_CHARS if passage[after].starts_paragraph else _ROUND_CHARS
        if size() >= most or not add(after):
            break
        after += 1
    before = min(found) - 1
    while before >= 0 and passage[before].role in (Role.SENTENCE, Role.ITEM) and size() < _LEAST_CHARS:
        later = passage[before + 1]
        if later.starts_paragraph or later.role is Role.HEADING or not add(before):
            break
        before -= 1


def _about(wanted: frozenset[str], passages: Sequence[Sequence[Part]], references: Sequence[Reference]) -> list[int]:
    """Return the parts about what the question names: better not the bare heading, or else all."""
    named: list[int] = []
    bare: list[int] = []
    index = 0
    for passage, reference in zip(passages, references, strict=True):
        is_below = contains_any(reference.heading, wanted)
        for part in passage:
            contains = contains_any(part.text, wanted)
            if part.role is Role.HEADING:
                is_below = contains
            # A column may be named by it: 最大速率 below BE5100.
            in_column = part.head is not None and contains_any(passage[part.head].text, wanted)
            if contains or in_column or (is_below and not identifiers(part.text)):
                is_bare = part.role in (Role.HEADING, Role.TABLE_HEAD)
                (bare if is_bare else named).append(index)
            index += 1
    return named or bare or list(range(index))


def _is_about_another(text: str, wanted: frozenset[str]) -> bool:
    return bool(identifiers(text)) and not contains_any(text, wanted)
