"""Adversarial texts: reading what models and people write takes time in proportion to its length."""

import time
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from services.errors import ServiceError
from services.faq.wording import read_wording
from services.grounding.citations import normalise_citations
from services.grounding.figures import figures, stated_figures
from services.grounding.plain_text import plain_text
from services.knowledge.loaders.markdown_comments import without_comments
from services.knowledge.sentences import pieces_of
from services.memory.service import complete_summary
from services.proactive.durations import parse_duration
from services.rag import Draft
from services.retrieval.models import Question, Reference, Retrieval, RetrievalStatus
from services.retrieval.query import build_query
from services.retrieval.wording import asks_people, asks_something
from services.text.cleaning import clean, compatible
from services.text.links import known_addresses, without_unknown_links
from services.workflows.qa.rewriting import Exchange, rewritten
from services.workflows.qa.small_talk import small_talk_reply
from services.workflows.qa.written import review

PASSAGE = Reference(1, 4, "差旅.pdf", 1, 3, "", "出差住宿标准为每晚三百五十元，见 ERR-4032。", 0.9)
FOUND = Retrieval(RetrievalStatus.USABLE, (PASSAGE, PASSAGE), chunk_count=9)
EXCHANGE = Exchange("宿舍周五几点关门", "23:00。")
NOTHING = Retrieval(RetrievalStatus.LOW_CONFIDENCE, nearest=("差旅.pdf",), chunk_count=9)

# A text of four times the length may take this many times as long; quadratic code takes sixteen times as long.
_MOST_GROWTH = 10.0
_SIZE = 2_000
_TRIALS = 5
# Seconds of processor time below which a measurement is mostly noise.
_LEAST_S = 0.002


_SIGNS = "[]〔〕【】()*_`~#|>-+.,，。；：:/\\@ \n\t1一万周a\u0301\u0316\u200b\u202e<think>&!\"'%=$^"


def _review(text: str, retrieval: Retrieval, *, general: bool = False) -> None:
    try:
        review(Draft(text, False, Question("住宿能报多少"), retrieval, ("早先的话",), general, "先用一两句话" * 100))
    except ServiceError:
        # An empty draft is an expected outcome here; only the time matters.
        return


READERS: dict[str, Callable[[str], object]] = {
    "review of an answer from passages": lambda text: _review(text, FOUND),
    "review of a conversation": lambda text: _review(text, NOTHING),
    "review of general knowledge": lambda text: _review(text, NOTHING, general=True),
    "citations": lambda text: normalise_citations(text, {1, 2}),
    "plain text": plain_text,
    "figures": figures,
    "stated figures": stated_figures,
    "summary": lambda text: complete_summary([f"用户：{text}"], "摘要"),
    "question": lambda text: build_query(Question(text, text)),
    "wording": lambda text: (small_talk_reply(text), asks_something(text), asks_people(text)),
    "rewriting": lambda text: (rewritten(text, [EXCHANGE]), rewritten("那周五呢", [Exchange(text, text)])),
    "wording of an approved question": read_wording,
    "duration": parse_duration,
    "links": lambda text: without_unknown_links(text, known_addresses((text[: len(text) // 2],))),
    "cleaning": clean,
    "compatible form": compatible,
    "pieces": lambda text: pieces_of(text, 500),
    "comments of Markdown": without_comments,
}

# Each run is repeated up to the size; the parts before and after it make a pattern fail at its end.
FAMILIES: dict[str, tuple[str, str, str]] = {
    "open brackets": ("", "[", "x"),
    "open citations": ("", "[1", ""),
    "open citations in brackets of our own": ("", "〔1", ""),
    "closed citations": ("", "[1]", ""),
    "a list that is never closed": ("[", "1,", "x"),
    "links that are never closed": ("", "[a](x", ""),
    "stars": ("", "**a ", ""),
    "stars only": ("", "*", "x"),
    "underscores": ("", "__a ", ""),
    "struck": ("", "~~a ", ""),
    "backticks": ("", "`", "x"),
    "fences": ("", "```\n", ""),
    "comments that are never closed": ("", "a <!-- ", "x"),
    "comments across paragraphs": ("", "a <!--\n\n", "-->"),
    "bars": ("", "|", "x"),
    "a table rule with a flaw": ("|", " ", "x|"),
    "a heading": ("# ", " ", "x"),
    "a heading of hashes": ("# ", " #", "x"),
    "spaces": ("x", " ", "x"),
    "spaces in a bracket": ("[", " ", "x"),
    "newlines": ("x", "\n", "x"),
    "stops": ("", "。", "x"),
    "commas": ("", "，", "x"),
    "ASCII stops": ("", "!", "x"),
    "mixed ASCII stops": ("", ";.", "x"),
    "a row of points": ("", ".", "。"),
    "marks only": ("", "〔1〕 ", "x"),
    "a mark and spaces": ("〔1〕", " ", "x"),
    "a list of sources in the middle": ("", "\n〔1〕a.pdf", "\n完。"),
    "digits": ("", "7", ""),
    "numerals": ("", "一", ""),
    "scales": ("", "万", ""),
    "days": ("", "周一", ""),
    "letters": ("", "a", ""),
    "base64": ("", "5L2g5piv", ""),
    "points": ("", "a.", ""),
    "points and digits": ("", "1.", "x"),
    "joiners": ("", "a-_.", ""),
    "addresses": ("", "http://", ""),
    "hosts": ("", "www.a", ""),
    "mail": ("", "a@", ""),
    "labels": ("", "a-", "x"),
    "schemes": ("", "ab:", "x"),
    "links": ("", "a.cn ", ""),
    "masked dots": ("", "a [.] ", "x"),
    "codes": ("", "a1. ", ""),
    "facts": ("", "30 元，", ""),
    "quotations": ("", "> ", "x"),
    "thoughts": ("", "<think>", ""),
    "placeholders": ("", "[CQ:", ""),
    "combining marks": ("a", "\u0301\u0316", ""),
    "zero width spaces": ("a", "\u200b", "b"),
    "joined": ("a", "\u200d", "b"),
    "right to left": ("", "\u202e\u05d0", ""),
    "brackets in brackets": ("", "〔9", "〕" * 700),
    "pleas": ("", "请问，", "x"),
    "several": ("", "半个", "小时"),
}


def _text(family: str, size: int) -> str:
    before, part, behind = FAMILIES[family]
    return before + part * (size // len(part)) + behind


def _seconds(read: Callable[[str], object], text: str) -> float:
    begun = time.thread_time()
    read(text)
    return time.thread_time() - begun


def _growth(read: Callable[[str], object], short: str, long: str) -> float:
    """Return how many times as long the long text takes, the best of a few trials.

    Only a bad ratio is tried again.
    """
    least_short = least_long = float("inf")
    for _ in range(_TRIALS):
        least_short = min(least_short, _seconds(read, short))
        least_long = min(least_long, _seconds(read, long))
        if least_long <= _MOST_GROWTH * max(least_short, _LEAST_S):
            break
    return least_long / max(least_short, _LEAST_S)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("family", FAMILIES)
def test_time_grows_with_the_length_and_no_faster(reader: str, family: str) -> None:
    read = READERS[reader]
    read("热身 1")
    growth = _growth(read, _text(family, _SIZE), _text(family, 4 * _SIZE))
    assert growth <= _MOST_GROWTH, f"four times the text takes {growth:.0f} times as long"


@pytest.mark.parametrize("reader", READERS)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    part=st.text(
        st.sampled_from(_SIGNS),
        min_size=1,
        max_size=6,
    ),
    before=st.text(max_size=3),
    behind=st.text(max_size=3),
)
def test_no_repeated_part_makes_it_slow(reader: str, part: str, before: str, behind: str) -> None:
    read = READERS[reader]
    short, long = (before + part * (size // len(part)) + behind for size in (_SIZE // 2, _SIZE * 2))
    growth = _growth(read, short, long)
    assert growth <= _MOST_GROWTH, f"four times of {part!r} takes {growth:.0f} times as long"
