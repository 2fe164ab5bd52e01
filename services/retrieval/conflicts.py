"""Conflicts: signs that a candidate is about something else than the question, however similar it is.

Years, numbers of things and contrasts can be certain, and the gate refuses such a candidate; see `Conflicts.certain`.
All values are inputs for a trained gate, from 0 (no sign) to 1.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace

from services.index.tokens import index_terms_of_normal, normalise
from services.retrieval.answer_types import AnswerType, asked_type, missing
from services.retrieval.constraints import (
    PLACE_UNITS,
    Constraints,
    Years,
    is_firm,
    mentioned_years,
    named_years,
    ordinals,
    place_ordinals,
    read_constraints,
    years,
    years_of_place,
)
from services.retrieval.contrasts import contrasts, names_all_days
from services.retrieval.fuse import QuestionWords
from services.retrieval.models import Candidate
from services.retrieval.speech import written
from services.retrieval.wording import content_runs
from services.text.tables import CELLS

_IN_PLACE, _IN_TEXT = 1.0, 0.75
# A sign that may also have another cause, such as a passage that speaks of an older rule.
_LIKELY = 0.5
_UNCONFIRMED = 0.25
# The longest run of characters that a passage cannot fail to share by chance.
_LONG_RUN = 4
_ALMOST = 0.8
_SENTENCE_END = re.compile(r"[。！？!?；;\n]")
_HAN = re.compile(r"[\u3400-\u9fff]")
_SINCE = re.compile(r"年[^,，。;；\n]{0,8}(?:起|以来|以后|至今|开始)|长期有效")
_FORBIDS = re.compile(r"不能|不可以?|不得|不许|不准|不让|禁止|禁用|以外|除了|之外|例外|不包括|不含")
_NEGATION = re.compile(r"不|未|禁|勿|无|非|没|除|别|外|莫|免|\bnot?\b|n't\b|except|without")


@dataclass(frozen=True, slots=True)
class Conflicts:
    """Signs that a candidate does not answer, each from 0 to 1.

    `year`: the question names a year and the candidate does not. 1 if its file or heading is of another year, 0.75 if
    only its text names others, 0.5 if these may be years of another kind, 0.25 if it names none.
    `ordinal`: the question names a number of a unit (第十条, 3 号楼, 二食堂) and the candidate only others; if the unit
    may be counted differently, 0.75 if its file or heading names another, or else 0.5.
    `contrast`: the question names a member of a set of contrasts and the candidate only others; 1 if its file or
    heading does or the set tells names apart (产假, 产检假), 0.5 if only its text does.
    `name_elsewhere`: a part of the question is in the name of another recalled document, but nowhere in the candidate;
    1 if the part has four characters or more.
    `rare_missing`: the weight of the rarest word of the question that the candidate does not contain, divided by that
    of a word unknown to the collection.
    `unknown_share`: the share of the question's words that no passage of the collection contains.
    `missing_run`: the longest run of characters of the question none of which the candidate contains; 1 from four on.
    `document_missing`: the weighted share of the question's words that no recalled passage of the document contains.
    `type_missing`: the question asks for a kind of value, such as an amount of money, and the candidate has none; 0.5
    if it has something like it.
    `type_far`: the same for the sentences or rows with most of the question's words, and those beside them.
    `negation`: the question asks what is not allowed or not included, and the candidate contains no negation.
    """

    year: float = 0.0
    ordinal: float = 0.0
    contrast: float = 0.0
    name_elsewhere: float = 0.0
    rare_missing: float = 0.0
    unknown_share: float = 0.0
    missing_run: float = 0.0
    document_missing: float = 0.0
    type_missing: float = 0.0
    type_far: float = 0.0
    negation: float = 0.0

    @property
    def certain(self) -> bool:
        """Return whether the candidate is certainly about another year, numbered thing or member of a set.

        Of 3,700 passages that answer a question of CMRC, DRCD or real groups, this is wrong for one or two.
        """
        return max(self.year, self.ordinal) >= _IN_TEXT or self.contrast >= _IN_PLACE

    def values(self) -> tuple[float, ...]:
        """Return the values in the order of `CONFLICTS`."""
        return tuple(getattr(self, name) for name in CONFLICTS)


CONFLICTS = tuple(field.name for field in fields(Conflicts))


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """What a question says about the thing that it asks for, read once for all candidates."""

    constraints: Constraints
    contrasts: tuple[frozenset[str], ...]
    kind: AnswerType | None
    runs: tuple[str, ...]
    forbids: bool


@dataclass(frozen=True, slots=True)
class CollectionFacts:
    """What the recalled passages tell about their collection.

    `words` weighs the question's words. `names` are the normalised names of the recalled documents by build, and
    `found` holds for each build the question's words that its recalled passages contain.
    """

    words: QuestionWords
    names: Mapping[str, str]
    found: Mapping[str, frozenset[str]]


def read_question(text: str, names: Iterable[str] = ()) -> AskedQuestion:
    """Read a question as a person wrote it. A bare number is a year if one of the document `names` has that year."""
    normal = normalise(written(text))
    constraints = read_constraints(normal)
    if bare := named_years(normal, map(normalise, names)) - constraints.years.all:
        constraints = replace(constraints, years=replace(constraints.years, plain=constraints.years.plain | bare))
    return AskedQuestion(
        constraints=constraints,
        contrasts=tuple(contrast.named(normal) for contrast in contrasts()),
        kind=asked_type(normal),
        runs=tuple(content_runs(normal)),
        forbids=_FORBIDS.search(normal) is not None,
    )


def collection_facts(words: QuestionWords, recalled: Sequence[Candidate]) -> CollectionFacts:
    """Collect what all recalled candidates of one question tell about their collection."""
    names: dict[str, str] = {}
    found: dict[str, frozenset[str]] = {}
    for item in recalled:
        build_id = item.hit.chunk.build_id
        names.setdefault(build_id, normalise(str(item.hit.chunk.metadata.get("file", ""))))
        found[build_id] = found.get(build_id, frozenset()) | item.hit.matched
    return CollectionFacts(words, names, found)


def conflicts(question: AskedQuestion, candidate: Candidate, facts: CollectionFacts) -> Conflicts:
    """Return the signs that a candidate of a collection is about something else than the question."""
    chunk = candidate.hit.chunk
    place, text = _place_and_text(candidate)
    everything = f"{place}\n{text}"
    absent = [term for term in facts.words.weights if term not in candidate.hit.matched]
    return Conflicts(
        year=_year(question.constraints.years, place, text),
        ordinal=_ordinal(question.constraints.ordinals, place, text),
        contrast=_contrast(question.contrasts, place, text),
        name_elsewhere=_name_elsewhere(question.runs, everything, chunk.build_id, facts),
        rare_missing=_rarest(absent, facts.words),
        unknown_share=_unknown_share(facts.words),
        missing_run=_missing_run(question.runs, everything),
        document_missing=1.0 - facts.words.coverage(facts.found.get(chunk.build_id, candidate.hit.matched)),
        type_missing=0.0 if question.kind is None else missing(question.kind, everything),
        type_far=0.0 if question.kind is None else missing(question.kind, _focus(place, text, candidate, facts.words)),
        negation=float(question.forbids and not _NEGATION.search(everything)),
    )


def contradicts(question: AskedQuestion, candidate: Candidate) -> bool:
    """Return whether a candidate is certainly about something else; see `Conflicts.certain`."""
    if not question.constraints and not any(question.contrasts):
        return False
    place, text = _place_and_text(candidate)
    return Conflicts(
        year=_year(question.constraints.years, place, text),
        ordinal=_ordinal(question.constraints.ordinals, place, text),
        contrast=_contrast(question.contrasts, place, text),
    ).certain


def agreement(question: AskedQuestion, normal: str) -> int:
    """Return whether a part of a text names what the question names: 1 if it does, -1 if only others, 0 if nothing.

    What is compared are years, numbers of things and contrasts, as in `Conflicts`.
    """
    named = ordinals(normal)
    of_text = years(normal).all
    asked = question.constraints
    signs = [1 if numbers & named[unit] else -1 for unit, numbers in asked.ordinals.items() if unit in named]
    if asked.years.all and of_text:
        signs.append(1 if asked.years.all & of_text else -1)
    for contrast, members in zip(contrasts(), question.contrasts, strict=True):
        if members and (found := contrast.named(normal)):
            signs.append(1 if contrast.meets(members, found) or names_all_days(normal) else -1)
    return min(signs, default=0)


def _place_and_text(candidate: Candidate) -> tuple[str, str]:
    chunk = candidate.hit.chunk
    return normalise(f"{chunk.context}\n{candidate.place}"), normalise(chunk.text)


def _year(asked: Years, place: str, text: str) -> float:
    if not asked.all:
        return 0.0
    mentioned = mentioned_years(f"{place}\n{text}")
    # A contract from 2018 to 2021 is in force in 2019.
    if mentioned & asked.all or any(min(mentioned) < year < max(mentioned) for year in asked.all if mentioned):
        return 0.0
    of_place = years_of_place(place)
    # A handbook of 2025 has rules for those who began in 2023.
    if (asked.plain and of_place.plain) or (asked.cohorts and of_place.cohorts):
        return _IN_PLACE
    # 自 2018 年起 is in force in 2019.
    if not years(text).all or _SINCE.search(text):
        return _LIKELY if of_place.all else _UNCONFIRMED
    return _IN_TEXT if (asked.plain and years(text).plain) or (asked.cohorts and years(text).cohorts) else _LIKELY


def _ordinal(asked: Mapping[str, frozenset[str]], place: str, text: str) -> float:
    if not asked:
        return 0.0
    named = ordinals(f"{place}\n{text}")
    of_place = place_ordinals(place)
    worst = 0.0
    for unit, numbers in asked.items():
        if unit not in named or numbers & named[unit]:
            continue
        if is_firm(unit):
            worst = max(worst, _IN_PLACE)
        elif unit in of_place:
            worst = max(worst, _IN_TEXT)
        elif unit not in PLACE_UNITS:
            worst = max(worst, _LIKELY)
    return worst


def _contrast(asked: Sequence[frozenset[str]], place: str, text: str) -> float:
    worst = 0.0
    for contrast, members in zip(contrasts(), asked, strict=True):
        if not members:
            continue
        of_place = contrast.named(place)
        named = of_place | contrast.named(text)
        if named and not contrast.meets(members, named) and not names_all_days(text):
            worst = max(worst, _IN_PLACE if of_place or contrast.is_firm else _LIKELY)
    return worst


def _name_elsewhere(runs: Sequence[str], everything: str, build_id: str, facts: CollectionFacts) -> float:
    others = [name for build, name in facts.names.items() if build != build_id]
    longest = 0
    for run in runs:
        for start in range(len(run)):
            end = start + longest + 1
            while end <= len(run) and any(run[start:end] in name for name in others):
                # A part that the candidate contains is no sign, but a longer one may be.
                if end - start >= 2 and run[start:end] not in everything:
                    longest = end - start
                end += 1
    return min(1.0, longest / _LONG_RUN)


def _rarest(absent: Sequence[str], words: QuestionWords) -> float:
    unseen = words.unseen
    return max((words.weights[term] for term in absent), default=0.0) / unseen if unseen else 0.0


def _unknown_share(words: QuestionWords) -> float:
    if not words.weights:
        return 0.0
    return sum(weight >= words.unseen for weight in words.weights.values()) / len(words.weights)


def _missing_run(runs: Sequence[str], everything: str) -> float:
    """Return the length of the longest run of characters or words that a text does not contain, 1 from four on."""
    terms = frozenset(index_terms_of_normal(everything))
    longest = 0
    for run in runs:
        if not _HAN.match(run):
            absent = terms.isdisjoint(index_terms_of_normal(run))
            longest = max(longest, min(len(run), _LONG_RUN) if absent else 0)
            continue
        length = 0
        for character in run:
            length = 0 if character in everything else length + 1
            longest = max(longest, length)
    return min(1.0, longest / _LONG_RUN)


def _focus(place: str, text: str, candidate: Candidate, words: QuestionWords) -> str:
    """Return the sentences or rows of a text that contain most of the question's words, with those beside them."""
    lines = [part for part in _SENTENCE_END.split(text) if part.strip()]
    terms = [term for term in candidate.hit.matched if term in words.weights and term not in place]
    weights = [sum(words.weights[term] for term in terms if term in line) for line in lines]
    most = max(weights, default=0.0)
    if not most:
        return text
    near = {
        beside
        for number, weight in enumerate(weights)
        if weight >= _ALMOST * most
        for beside in (number - 1, number, number + 1)
    }
    # The first row of a table says what its columns are.
    near |= {0} if CELLS in lines[0] else set()
    return "\n".join(line for number, line in enumerate(lines) if number in near)
