"""Check each sentence of a model's text against the passages that the model was shown.

Two things are checked: whether the passages support the sentence, and whether the sentence cites them. A *claim* is a
sentence that states figures (numbers, codes), or most of whose words occur in a passage.

- A claim without a citation, in it or in the next sentence of its line, gets one if exactly one passage clearly
  supports it: the model forgot the mark. The header of a table claims nothing.
- A citation of a passage that has no word in common with the sentence is removed, because it proves nothing. A sentence
  that cites the wrong one of several passages thereby gets the right one.
- A figure that occurs neither in the cited passages (in any passage if none is cited) nor in the conversation is marked
  with （未核实） after the sentence. The citation stays: the sentence is about that passage, where the reader can look
  up the true figure. Without the citation the same wrong figure would pass as common knowledge.

The checks only count words and figures; they do not call a model.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from services.grounding.citations import MARK, cited_numbers, normalise_citations, without_invented
from services.grounding.figures import figures, stated_figures
from services.grounding.plain_text import Line, joined
from services.index.tokens import index_terms_of_normal, matched_terms, normalise, query_terms
from services.retrieval.models import Reference
from services.text.sentences import ENDS, sentences

UNVERIFIED = "（未核实）"

_LEADING_MARKS = re.compile(r"(?:\s*〔\d{1,3}〕)+")
_ENDS = f"{ENDS}.」”’"
_MARKS_ONLY = re.compile(r"(?:[〔【［\[]\s*\d{1,3}(?:\s*[,，、]\s*\d{1,3})*\s*[〕】］\]]\s*)+[。.]?")
_HAN = re.compile(r"[\u3400-\u9fff]")
# Not a statement: a heading, a question, "the documents do not say".
_NO_STATEMENT = re.compile(
    r"[：:？?]\s*$|资料[里中]?(?:都|也|并)?(?:没有?|未)|没有(?:找到|提到|说明)|未(?:找到|提及|说明)"
)
_FILLER = frozenset(
    "的了吗呢吧啊么是在和与或也都就可以把被对为于及这那有个会要到从请您你我他它们什怎样如果因此所但而且"
)

# A code says more about the origin of a sentence than a pair of characters that may occur in any sentence.
_CODE_WEIGHT = 3.0
_CLEAR_COVERAGE = 0.6
_CLEAR_LEAD = 0.2
_CLEAR_MIN_TERMS = 4
# Below this share a sentence has nothing in common with a passage, provided that it is long enough to judge.
_FOREIGN_COVERAGE = 0.05
_FOREIGN_MIN_TERMS = 8
# An answer that is based on no passage and is longer than this is more than small talk.
_SMALL_TALK_CHARS = 80
_SAID_COVERAGE = 0.5


@dataclass(frozen=True, slots=True)
class CheckedText:
    """A text whose citations have been checked.

    `lines` are what the text is made of. `numbers` are those of the citations in it, in order of first use.
    `unverified` is true if a figure was marked, `uncited` if a claim is left without a citation.
    """

    text: str
    lines: tuple[Line, ...]
    numbers: tuple[int, ...]
    unverified: bool
    uncited: bool


class _Passage:
    """The words and figures of a reference."""

    def __init__(self, reference: Reference) -> None:
        text = f"{reference.place}\n{reference.heading}\n{reference.text}"
        self.number = reference.number
        self.figures = stated_figures(text)
        self.is_chinese = _is_chinese(reference.text)
        self._terms = frozenset(index_terms_of_normal(normalise(text)))

    def coverage(self, terms: Sequence[str]) -> float:
        """Return the share of a sentence's words that occur in the passage, 0 to 1."""
        total = sum(map(_weight, terms))
        return sum(_weight(term) for term in self._terms.intersection(terms)) / total if total else 0.0


def check(lines: Sequence[Line], references: Sequence[Reference], conversation: str) -> CheckedText:
    """Check a model's text against the references that it was shown.

    `conversation` is the question and the history.
    """
    checker = _Checker(references, conversation)
    # Invented numbers are removed from code, too: 〔n〕 is code in no language, and readers take it for a citation
    # anywhere.
    checked = tuple(
        replace(line, text=without_invented(checker.line(line), checker.known)) for line in _with_marks_attached(lines)
    )
    # A mark may also be spread over lines.
    text = without_invented(joined(checked), checker.known)
    return CheckedText(text, checked, tuple(cited_numbers(text)), checker.unverified, checker.uncited)


def says_something_new(text: str, conversation: str) -> bool:
    """Return whether a text states something new: figures, or more words than small talk needs.

    The content of `conversation` is not new.
    """
    if figures(text) - stated_figures(conversation):
        return True
    if len(text) <= _SMALL_TALK_CHARS:
        return False
    return not repeats(text, conversation)


def repeats(text: str, conversation: str) -> bool:
    """Return whether most of a text has already been said in the conversation."""
    terms = _content_terms(text)
    said = matched_terms(normalise(conversation), terms)
    return bool(terms) and sum(map(_weight, said)) >= _SAID_COVERAGE * sum(map(_weight, terms))


def split_sentences(line: str) -> list[str]:
    """Return the sentences of one line, each with its end and the citations after it.

    Joined together they are the line.

    >>> split_sentences("可以报销。〔1〕限额 3.5 万；超出自理")
    ['可以报销。〔1〕', '限额 3.5 万；', '超出自理']
    """
    found: list[str] = []
    for sentence in sentences(line):
        marks = _LEADING_MARKS.match(sentence) if found else None
        if marks:
            found[-1] += marks[0]
        if rest := sentence[marks.end() :] if marks else sentence:
            found.append(rest)
    return found


class _Checker:
    """The state of one check."""

    def __init__(self, references: Sequence[Reference], conversation: str) -> None:
        self.known = {reference.number for reference in references}
        self.unverified = False
        self.uncited = False
        self._passages = {reference.number: _Passage(reference) for reference in references}
        self._said = stated_figures(conversation)

    def line(self, line: Line) -> str:
        """Return one line with its citations corrected."""
        # A command is copied as it is, so it must stay complete.
        if line.code or not line.text.strip():
            return line.text
        parts = split_sentences(normalise_citations(line.text, self.known))
        checked = [
            self._sentence(sentence, cited_numbers(following), is_claim=not line.header)
            for sentence, following in pairwise([*parts, ""])
        ]
        return "".join(checked)

    def _sentence(self, sentence: str, following: Sequence[int], *, is_claim: bool) -> str:
        body = MARK.sub("", sentence)
        stated = figures(body) - self._said
        terms = _content_terms(body)
        if cited := cited_numbers(sentence):
            return self._cited(sentence, body, cited, stated, terms)
        if not _is_prose(body) or _NO_STATEMENT.search(body):
            return sentence
        if is_claim and not following:
            clear = self._clear_passage(terms, stated)
            if clear is not None:
                return _inserted(sentence, f"〔{clear}〕")
            self.uncited = self.uncited or bool(stated) or self._stands_somewhere(terms)
        return self._verified(sentence, stated, self._passages.values())

    def _cited(
        self, sentence: str, body: str, cited: Sequence[int], stated: frozenset[str], terms: Sequence[str]
    ) -> str:
        kept = [number for number in cited if not _is_foreign(body, terms, stated, self._passages[number])]
        confirmed = frozenset[str]().union(*(self._passages[number].figures for number in kept))
        if not kept or stated - confirmed:
            clear = self._clear_passage(terms, stated - confirmed)
            if clear is not None and clear not in kept:
                kept.append(clear)
        for number in cited:
            if number not in kept:
                sentence = re.sub(rf"〔{number}〕", "", sentence)
        added = [number for number in kept if number not in cited]
        if added:
            sentence = _inserted(sentence, "".join(f"〔{number}〕" for number in added))
        if not kept:
            self.uncited = True
        grounds = [self._passages[number] for number in kept] or self._passages.values()
        return self._verified(sentence, stated, grounds)

    def _verified(self, sentence: str, stated: frozenset[str], grounds: Iterable[_Passage]) -> str:
        if not stated - frozenset[str]().union(*(passage.figures for passage in grounds)):
            return sentence
        self.unverified = True
        return _inserted(sentence, UNVERIFIED)

    def _clear_passage(self, terms: Sequence[str], stated: frozenset[str]) -> int | None:
        """Return the one passage that supports a sentence with every figure in it.

        Return None if there is no such passage or more than one.
        """
        if len(terms) < _CLEAR_MIN_TERMS:
            return None
        fitting = [passage for passage in self._passages.values() if stated <= passage.figures]
        ranked = sorted(((passage.coverage(terms), passage.number) for passage in fitting), reverse=True)
        if not ranked or ranked[0][0] < _CLEAR_COVERAGE:
            return None
        if len(ranked) > 1 and ranked[0][0] - ranked[1][0] < _CLEAR_LEAD:
            return None
        return ranked[0][1]

    def _stands_somewhere(self, terms: Sequence[str]) -> bool:
        if len(terms) < _CLEAR_MIN_TERMS:
            return False
        return any(passage.coverage(terms) >= _CLEAR_COVERAGE for passage in self._passages.values())


def _is_foreign(body: str, terms: Sequence[str], stated: frozenset[str], passage: _Passage) -> bool:
    """Return whether a sentence has nothing in common with a passage, as far as words can tell.

    They cannot tell across languages or for a short sentence.
    """
    if len(terms) < _FOREIGN_MIN_TERMS or _is_chinese(body) != passage.is_chinese or stated & passage.figures:
        return False
    return passage.coverage(terms) < _FOREIGN_COVERAGE


def _with_marks_attached(lines: Iterable[Line]) -> list[Line]:
    """Append each line that consists of nothing but citations to the line before it."""
    attached: list[Line] = []
    for line in lines:
        before = attached[-1] if attached else Line("")
        is_prose = not line.code and not before.code and not line.row
        if is_prose and before.text and _MARKS_ONLY.fullmatch(line.text.strip()):
            attached[-1] = replace(before, text=before.text + line.text.strip())
        else:
            attached.append(line)
    return attached


def _inserted(sentence: str, mark: str) -> str:
    """Return the sentence with a mark inserted before its end."""
    place = len(sentence)
    while place and (sentence[place - 1] in _ENDS or sentence[place - 1].isspace()):
        place -= 1
    return f"{sentence[:place]}{mark}{sentence[place:]}"


def _is_prose(body: str) -> bool:
    """Return whether this is a sentence and not a command or a path on a line of its own.

    Nothing is inserted into commands and paths that cite nothing.
    """
    return bool(_HAN.search(body)) or body.rstrip().endswith((".", "!", "?"))


def _is_chinese(text: str) -> bool:
    letters = [character for character in text if character.isalpha()]
    return len(_HAN.findall(text)) * 5 > len(letters)


def _content_terms(text: str) -> list[str]:
    """Return the words of a text that carry meaning."""
    terms = query_terms(text)
    return [term for term in terms if not (len(term) <= 2 and set(term) <= _FILLER) and "的" not in term]


def _weight(term: str) -> float:
    return _CODE_WEIGHT if term[0].isascii() and len(term) > 1 else 1.0
