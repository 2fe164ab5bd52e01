"""Terms of a text for search by words, the same for stored texts and for questions.

Chinese is split into overlapping pairs of characters (and single ones, for queries of one character), which needs no
dictionary and finds any phrase. Codes stay whole, and compounds are also split into parts; of English words the stem
counts. Case, width, variant spellings, and traditional or simplified characters make no difference.
"""

import functools
import re
from collections.abc import Iterable, Iterator

from services.index.stemming import stem
from services.text.cleaning import compatible, without_surrogates
from services.text.scripts import simplified_characters
from services.text.spelling import CHARACTERS, folded

_HAN = r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_SYLLABIC = r"\u3040-\u30ff\uac00-\ud7af"
_JOINER = r"._\-/:#@+"
_RUN = re.compile(
    rf"(?P<han>[{_HAN}]+)"
    rf"|(?P<syllabic>[{_SYLLABIC}]+)"
    rf"|(?P<word>[a-z0-9]+(?:[{_JOINER}]+[a-z0-9]+)*(?:\+\+|#)?)"
    rf"|(?P<other>[^\W\d_a-z{_HAN}{_SYLLABIC}]+)"
)
_PHRASE = re.compile(rf"[{_HAN}]+|[{_SYLLABIC}]+")
_PART = re.compile(r"[a-z0-9]+")
_COMPOUND = re.compile(rf"[{_JOINER}]")
_WORD = re.compile(rf"[a-z0-9]+(?:[{_JOINER}]+[a-z0-9]+)*")
_SPELT = re.compile(rf"[A-Za-z0-9]+(?:[{_JOINER}]+[A-Za-z0-9]+)*")
_SPELT_PART = re.compile(r"[A-Za-z0-9]+")
# FTS5's `ascii` tokenizer accepts letters, digits and everything beyond ASCII; these are the other characters of our
# terms.
TERM_CHARACTERS = "._-/:#@+"
_MAX_WORD = 80
# Each term costs a look-up. No question needs more, and a pasted page must not delay other searches.
_MAX_QUERY_TERMS = 512


def normalise(text: str) -> str:
    """Return the normal form of a text: NFKC, lower case, simplified characters, one spelling for each word."""
    return folded(compatible(without_surrogates(text)).lower().translate(_simplified()))


def index_terms(text: str) -> list[str]:
    """Return the terms of a stored text, in order and with repetitions.

    >>> index_terms("报销单 ERR-4032")
    ['报', '销', '单', '报销', '销单', 'err-4032', 'err', '4032']
    """
    return index_terms_of_normal(normalise(text))


def index_terms_of_normal(normal: str) -> list[str]:
    """Return the terms of a stored text that is already normalised, as `index_terms` does."""
    return list(_terms(normal, single=True))


def query_terms(text: str) -> list[str]:
    """Return the distinct terms of a question, in order of appearance.

    Of a very long question 512 terms are kept, codes before phrases.

    >>> query_terms("怎么报销？ERR-4032")
    ['怎么', '么报', '报销', 'err-4032', 'err', '4032']
    """
    terms = list(dict.fromkeys(_terms(normalise(text), single=False)))
    if len(terms) <= _MAX_QUERY_TERMS:
        return terms
    kept = set(sorted(terms, key=_is_exact, reverse=True)[:_MAX_QUERY_TERMS])
    return [term for term in terms if term in kept]


def exact_terms(text: str) -> frozenset[str]:
    """Return the words, codes and numbers among a question's terms, which a person means exactly as typed.

    >>> sorted(exact_terms("学号 20230415-07 是谁"))
    ['07', '20230415', '20230415-07']
    """
    return frozenset(term for term in query_terms(text) if _is_exact(term))


def spelling_in(text: str, word: str) -> str:
    """Return how a text writes a Latin word that is given in lower case, or an empty string if it does not contain it.

    >>> spelling_in("原因是 CrashLoopBackOff。", "crashloopbackoff"), spelling_in("np.float64", "float64")
    ('CrashLoopBackOff', 'float64')
    """
    for run in _SPELT.findall(text):
        if (lower := run.lower()) == word:
            return run
        if word in lower and _COMPOUND.search(run):
            for part in _SPELT_PART.findall(run):
                if part.lower() == word:
                    return part
    return ""


def is_word(text: str) -> bool:
    """Return whether a text is one Latin word or compound in lower case.

    >>> is_word("mmcv._ext"), is_word("Mmcv"), is_word("a b"), is_word("报错")
    (True, False, False, False)
    """
    return len(text) <= _MAX_WORD and _WORD.fullmatch(text) is not None


def matched_terms(normal: str, terms: Iterable[str]) -> frozenset[str]:
    """Return those of `terms` that are index terms of a normalised text."""
    # A pair of characters is a term of every text that contains it, so the text need not be split for it.
    pairs: set[str] = set()
    words: set[str] = set()
    for term in terms:
        (pairs if _PHRASE.fullmatch(term) else words).add(term)
    found = {term for term in pairs if term in normal}
    return frozenset(found | words.intersection(_terms(normal, single=True)) if words else found)


def _is_exact(term: str) -> bool:
    return len(term) >= 2 and term[0].isascii()


def _terms(normal: str, *, single: bool) -> Iterator[str]:
    for match in _RUN.finditer(normal):
        run = match.group()
        if match.lastgroup in ("han", "syllabic"):
            if single or len(run) == 1:
                yield from run
            yield from (run[start : start + 2] for start in range(len(run) - 1))
        elif match.lastgroup == "word":
            yield stem(run[:_MAX_WORD])
            if _COMPOUND.search(run):
                yield from (stem(part[:_MAX_WORD]) for part in _PART.findall(run))
        else:
            yield run[:_MAX_WORD]


@functools.cache
def _simplified() -> dict[int, str]:
    """Return a table of single characters to simplified ones in their usual form."""
    table = dict(simplified_characters())
    for code, character in table.items():
        table[code] = CHARACTERS.get(character, character)
    return table | {ord(variant): usual for variant, usual in CHARACTERS.items()}
