"""Where Chinese and English text can be cut: after sentences, after clauses, or between words.

There are two rules for sentences. `sentences` knows closing quotation marks, abbreviations, decimals and addresses; it
serves everything that people read. `rough_sentences` cuts after each mark without looking around it; the features of
the trained models were computed with it, so it changes only together with their coefficients.
"""

import re
import unicodedata
from collections.abc import Iterator

# The marks that end a sentence. The ASCII ones also occur inside words and addresses.
WIDE_ENDS = "。！？；"
ENDS = f"{WIDE_ENDS}!?;"
# The marks that only separate parts of a sentence.
PAUSES = "，、：,:"
# Quotation marks and brackets that may follow the end of a sentence and belong to it.
CLOSING_QUOTES = "」』”’）】》"
# Straight quotes and dashes are in neither set: they open as often as they close.
CLOSING = frozenset(f"{WIDE_ENDS}…：，、．{CLOSING_QUOTES}〉〕〗］｝〙〛»›)]}}%‰℃")
_OPENING = frozenset("「『“‘（【《〈〔〖［｛([{«‹\u200d")
_ASCII_STOPS = frozenset(".,;:!?")
_CLOSING_CLASS = "".join(re.escape(character) for character in sorted(CLOSING))
# An ASCII mark at the start belongs to the preceding text only if it stands alone: not in .gitignore or ![image].
_LEADING_CLOSING = re.compile(rf"(?:[{_CLOSING_CLASS}\s]|[.,;:!?]++(?=[{_CLOSING_CLASS}\s]|$))++")
_QUOTES = rf"[{CLOSING_QUOTES}〉〕〗］｝)\]}}»›'\"]"
_WIDE = "\u2e80-\uffef"
# An ASCII mark ends a sentence only before a space, the end, or Chinese: not in 3.14, a.md or ?page=2. A period before
# Chinese ends none: 1.报名. Each run of marks is read once, from its beginning.
_END = re.compile(
    rf"""
    (?: [{WIDE_ENDS}…]++[!?{WIDE_ENDS}…]*+
      | (?<![!?;])[!?;]++(?={_QUOTES}*+(?:\s|$|[{_WIDE}]))
      | (?<![.;])[.;]++(?={_QUOTES}*+(?:\s|$))
    )({_QUOTES}*+)
    """,
    re.VERBOSE,
)
_ROUGH_END = re.compile(rf"(?<=[{ENDS}\n])")
_PAUSE = re.compile(r"(?<=，)")
_CLAUSE_END = re.compile(rf"[{WIDE_ENDS}…，、：](?=[^\s])|[,:;](?=[\s{_WIDE}])|\s")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(（\"'])(?:e\.g|i\.e|etc|cf|vs|al|approx|no|vol|fig|figs|eq|sec|ch|pp?|dr|mr|mrs|ms|prof|st|jr|sr|inc|ltd|co|corp"
    r"|dept|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|[a-z])$",
    re.IGNORECASE,
)
_LIST_NUMBER = re.compile(r"[(（]?(?:\d{1,3}(?:\.\d{1,3})*|[a-zA-Z]|[ivxIVX]{1,5})$")
_LOOK_BACK = 12


def sentences(line: str) -> Iterator[str]:
    """Yield the sentences of one line. Joined together they are the line; a space between two begins the second.

    A period of an abbreviation (e.g., Fig.) or of a list number at the start of the line ends no sentence.

    >>> list(sentences("限额 3.5 万。“超出自理！”见 a.md; 第 2 页。 e.g. 附件"))
    ['限额 3.5 万。', '“超出自理！”', '见 a.md;', ' 第 2 页。', ' e.g. 附件']
    """
    start = 0
    for match in _END.finditer(line):
        end = match.end()
        if match[0][0] == "." and _is_abbreviation(line, start, match.start()):
            continue
        # A straight quote closes only if one is open; otherwise it opens the next sentence.
        if match[1].endswith(('"', "'")) and line.count(match[1][-1], start, end) % 2:
            end -= 1
        if end > start:
            yield line[start:end]
            start = end
    if start < len(line):
        yield line[start:]


def clauses(line: str) -> Iterator[str]:
    """Yield the sentences of one line, each cut again after its full-width commas. Joined together they are the line.

    >>> list(clauses("周五前交，共 1,200 元。逾期不收"))
    ['周五前交，', '共 1,200 元。', '逾期不收']
    """
    for sentence in sentences(line):
        yield from filter(None, _PAUSE.split(sentence))


def rough_sentences(text: str) -> Iterator[str]:
    r"""Yield the text cut after every newline and every mark in `ENDS`. Joined together they are the text.

    >>> list(rough_sentences("好！！\n限额 3.5 万；a;b"))
    ['好！', '！', '\n', '限额 3.5 万；', 'a;', 'b']
    """
    return filter(None, _ROUGH_END.split(text))


def leading_closing(text: str) -> str:
    """Return the marks and spaces at the start of a text that belong to the text before it, with spaces after them.

    >>> leading_closing("）。 其余"), leading_closing(".gitignore")
    ('）。 ', '')
    """
    found = _LEADING_CLOSING.match(text)
    return found[0] if found else ""


def cut_place(text: str, start: int, limit: int) -> int:
    """Return where to cut an overlong text: after a clause or word in the second half of the limit, else hard.

    The text has no two spaces in a row. The next piece begins with closing punctuation only if `limit` such characters
    precede the place.
    """
    end = start + limit
    if end >= len(text):
        return len(text)
    half = start + limit // 2
    clause = word = 0
    for match in _CLAUSE_END.finditer(text, half, end):
        if not _may_cut(text, match.end()):
            continue
        if match[0].isspace():
            word = match.end()
        else:
            clause = match.end()
    if clause or word:
        return clause or word
    places = [place for place in range(end, start, -1) if not _is_sticky(_next(text, place))]
    return next((place for place in places if text[place - 1] not in _OPENING), places[0] if places else end)


def _may_cut(text: str, place: int) -> bool:
    return not _is_sticky(_next(text, place)) and text[place - 1] not in _OPENING


def _next(text: str, place: int) -> str:
    """Return the first non-space character at or after a position; there are no consecutive spaces here."""
    return text[place + 1 : place + 2] or " " if text[place] == " " else text[place]


def _is_sticky(character: str) -> bool:
    """Return whether a character belongs to the one before it: closing punctuation, accents, parts of emoji."""
    return (
        character in CLOSING
        or character in _ASCII_STOPS
        or character == "\u200d"
        or unicodedata.category(character)[0] == "M"
    )


def _is_abbreviation(line: str, start: int, dot: int) -> bool:
    """Return whether a period belongs to an abbreviation or to a list number at the start of the line."""
    before = line[max(start, dot - _LOOK_BACK) : dot]
    is_number = dot - start <= _LOOK_BACK and _LIST_NUMBER.fullmatch(before.strip()) is not None
    return is_number or _ABBREVIATION.search(before) is not None
