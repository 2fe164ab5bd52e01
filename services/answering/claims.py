"""Sentence by sentence: does what a model wrote stand in the passages it was shown, and does it say where?

A *claim* is a sentence that states figures (numbers, codes), or most of whose words stand in a passage.
- A claim without a citation, in it or in the next sentence of its line, gets one when exactly one passage plainly says
  it; the model forgot the mark.
- A citation of a passage with which a sentence has no word in common is taken away: it proves nothing. A sentence that
  cites the wrong one of several passages thereby gets the right one.
- A figure that stands neither in the passages it cites (any passage, where it cites none) nor in the conversation is
  marked （未核实） behind the sentence. The citation stays: the sentence is about that passage, where one can look
  up the true figure. Taking it away would let the same wrong figure pass as common knowledge.
Everything is counted in words and figures; no model is asked.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from services.answering.citations import MARK, cited_numbers, normalise_citations, without_invented
from services.answering.figures import figures, stated_figures
from services.answering.plain_text import Line
from services.index.tokens import index_terms_of_normal, matched_terms, normalise, query_terms
from services.retrieval.models import Reference

UNVERIFIED = "（未核实）"

# A piece up to and with its end and the citations behind it. A point ends a sentence only behind a word: not in 1. or
# 3.5. The alternatives exclude each other, so that no text makes the search long.
_SENTENCE = re.compile(
    r"(?:[^。！？!?；;.]|\.(?!\s|$)|(?<![A-Za-z)])\.(?=\s|$))*"
    r"(?:[。！？!?；;]+[」”’）)]*|(?<=[A-Za-z)])\.(?=\s|$)|$)(?:\s*〔\d{1,3}〕)*"
)
_ENDS = "。！？!?；;.」”’"
_MARKS_ONLY = re.compile(r"(?:[〔【［\[]\s*\d{1,3}(?:\s*[,，、]\s*\d{1,3})*\s*[〕】］\]]\s*)+[。.]?")
_HAN = re.compile(r"[\u3400-\u9fff]")
# Not a statement: a heading, a question, "the documents do not say".
_NO_STATEMENT = re.compile(
    r"[：:？?]\s*$|资料[里中]?(?:都|也|并)?(?:没有?|未)|没有(?:找到|提到|说明)|未(?:找到|提及|说明)"
)
_FILLER = frozenset(
    "的了吗呢吧啊么是在和与或也都就可以把被对为于及这那有个会要到从请您你我他它们什怎样如果因此所但而且"
)

# A code says more about where a sentence is from than a pair of characters that any sentence may hold.
_CODE_WEIGHT = 3.0
_CLEAR_COVERAGE = 0.6
_CLEAR_LEAD = 0.2
_CLEAR_MIN_TERMS = 4
# Below this share a sentence has nothing of a passage, if it is long enough to tell.
_FOREIGN_COVERAGE = 0.05
_FOREIGN_MIN_TERMS = 8
# An answer that rests on no passage and is longer than this is more than a courtesy.
_COURTESY_CHARS = 80
_SAID_COVERAGE = 0.5


@dataclass(frozen=True, slots=True)
class CheckedText:
    """A text whose citations hold. `numbers` are those in it, in order of first use.

    `unverified` tells whether a figure was marked, `uncited` whether a claim is left without a citation.
    """

    text: str
    numbers: tuple[int, ...]
    unverified: bool
    uncited: bool


class _Passage:
    """A reference as words and figures."""

    def __init__(self, reference: Reference) -> None:
        text = f"{reference.place}\n{reference.heading}\n{reference.text}"
        self.number = reference.number
        self.figures = stated_figures(text)
        self.is_chinese = _is_chinese(reference.text)
        self._terms = frozenset(index_terms_of_normal(normalise(text)))

    def coverage(self, terms: Sequence[str]) -> float:
        """The share of a sentence's words that stand in the passage, 0 to 1."""
        total = sum(map(_weight, terms))
        return sum(_weight(term) for term in self._terms.intersection(terms)) / total if total else 0.0


def check(lines: Sequence[Line], references: Sequence[Reference], conversation: str) -> CheckedText:
    """Check a model's text against the references it was shown. `conversation` is the question and what was said."""
    checker = _Checker(references, conversation)
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(checker.line(line) for line in _with_marks_attached(lines))).strip()
    # Over the whole, code too: 〔n〕 is code in no language, and readers take it for a citation anywhere.
    text = without_invented(text, checker.known)
    return CheckedText(text, tuple(cited_numbers(text)), checker.unverified, checker.uncited)


def says_something_new(text: str, conversation: str) -> bool:
    """Whether a text states what the conversation has not: figures, or more words than a courtesy needs."""
    if figures(text) - stated_figures(conversation):
        return True
    if len(text) <= _COURTESY_CHARS:
        return False
    return not repeats(text, conversation)


def repeats(text: str, conversation: str) -> bool:
    """Whether most of what a text says was said in the conversation."""
    terms = _content_terms(text)
    said = matched_terms(normalise(conversation), terms)
    return bool(terms) and sum(map(_weight, said)) >= _SAID_COVERAGE * sum(map(_weight, terms))


def split_sentences(line: str) -> list[str]:
    """The sentences of one line, each with its end and the citations behind it; together they are the line.

    >>> split_sentences("可以报销。〔1〕限额 3.5 万；超出自理")
    ['可以报销。〔1〕', '限额 3.5 万；', '超出自理']
    """
    return [match.group() for match in _SENTENCE.finditer(line) if match.group()]


class _Checker:
    """The state of one check."""

    def __init__(self, references: Sequence[Reference], conversation: str) -> None:
        self.known = {reference.number for reference in references}
        self.unverified = False
        self.uncited = False
        self._passages = {reference.number: _Passage(reference) for reference in references}
        self._said = stated_figures(conversation)

    def line(self, line: Line) -> str:
        """One line with every citation in order."""
        # A command is copied as it stands, so it must be whole.
        if line.code or not line.text.strip():
            return line.text
        sentences = split_sentences(normalise_citations(line.text, self.known))
        checked = [
            self._sentence(sentence, cited_numbers(following)) for sentence, following in pairwise([*sentences, ""])
        ]
        return "".join(checked)

    def _sentence(self, sentence: str, following: Sequence[int]) -> str:
        body = MARK.sub("", sentence)
        stated = figures(body) - self._said
        terms = _content_terms(body)
        if cited := cited_numbers(sentence):
            return self._cited(sentence, body, cited, stated, terms)
        if not _is_prose(body) or _NO_STATEMENT.search(body):
            return sentence
        if not following:
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
        return self._verified(sentence, stated, grounds) if _is_prose(body) else sentence

    def _verified(self, sentence: str, stated: frozenset[str], grounds: Iterable[_Passage]) -> str:
        if not stated - frozenset[str]().union(*(passage.figures for passage in grounds)):
            return sentence
        self.unverified = True
        return _inserted(sentence, UNVERIFIED)

    def _clear_passage(self, terms: Sequence[str], stated: frozenset[str]) -> int | None:
        """The one passage that says a sentence, with every figure in it; None when there is none or several do."""
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
    """Whether a sentence has nothing of a passage, as far as words can tell: not across languages, not if short."""
    if len(terms) < _FOREIGN_MIN_TERMS or _is_chinese(body) != passage.is_chinese or stated & passage.figures:
        return False
    return passage.coverage(terms) < _FOREIGN_COVERAGE


def _with_marks_attached(lines: Iterable[Line]) -> list[Line]:
    """A line of nothing but citations belongs to the one before it."""
    attached: list[Line] = []
    for line in lines:
        before = attached[-1] if attached else Line("")
        is_prose = not line.code and not before.code
        if is_prose and before.text and _MARKS_ONLY.fullmatch(line.text.strip()):
            attached[-1] = Line(before.text + line.text.strip())
        else:
            attached.append(line)
    return attached


def _inserted(sentence: str, mark: str) -> str:
    """The sentence with a mark before what ends it."""
    place = len(sentence)
    while place and (sentence[place - 1] in _ENDS or sentence[place - 1].isspace()):
        place -= 1
    return f"{sentence[:place]}{mark}{sentence[place:]}"


def _is_prose(body: str) -> bool:
    """Whether this is a sentence, not a command or a path on a line of its own: nothing is written into those."""
    return bool(_HAN.search(body)) or body.rstrip().endswith((".", "!", "?"))


def _is_chinese(text: str) -> bool:
    letters = [character for character in text if character.isalpha()]
    return len(_HAN.findall(text)) * 5 > len(letters)


def _content_terms(text: str) -> list[str]:
    """The words of a text that say something."""
    terms = query_terms(text)
    return [term for term in terms if not (len(term) <= 2 and set(term) <= _FILLER) and "的" not in term]


def _weight(term: str) -> float:
    return _CODE_WEIGHT if term[0].isascii() and len(term) > 1 else 1.0
