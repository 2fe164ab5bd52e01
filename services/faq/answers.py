"""What a person reads of approved answers: the answer itself, and the question which one they mean."""

import re
from collections.abc import Sequence

from services.faq.models import FaqEntry
from services.grounding.models import Answer, AnswerKind
from services.text.cleaning import compatible
from services.text.numerals import DIGITS

MOST_CHOICES = 3
# How the question begins. The next message may answer it with a number.
ASKING = "你是不是想问"
_APPROVED_BY = "（群里确认过的回答，由 "
_CHOICE = re.compile(r"(?:我?选|第|是|问的是)?\s*(?P<number>[0-9一二两三])\s*(?:号|个|条|项)?(?:问题)?")
_YES = frozenset({"是", "是的", "对", "对的", "嗯", "嗯嗯", "yes"})
_NEITHER = frozenset({"都不是", "不是", "没有", "否", "no"})
_MARKS = " 。.！!～~，,、)）]】"


def approved_answer(entry: FaqEntry) -> Answer:
    """Return the answer of an entry, which names who approved it."""
    return Answer(AnswerKind.WRITTEN, f"{entry.answer}\n\n{_APPROVED_BY}{entry.approver} 审核）", entry.sources)


def without_approval(text: str) -> str:
    """Return the answer of an entry as it was approved, from a text that `approved_answer` made or any other."""
    return text.partition(f"\n\n{_APPROVED_BY}")[0]


def choice_text(choices: Sequence[FaqEntry]) -> str:
    """Return the question which of one to three entries is meant."""
    if len(choices) == 1:
        return f"{ASKING}「{choices[0].question}」？\n回复 1 看回答，不是就回复 0。"
    lines = [f"{number}. {entry.question}" for number, entry in enumerate(choices, start=1)]
    return "\n".join([f"{ASKING}：", *lines, "回复数字看回答，都不是就回复 0。"])


def chosen_number(text: str, count: int) -> int | None:
    """Return which of `count` entries a message chooses, from 1, or 0 for none of them.

    Return None for a message that does not answer the question.

    >>> chosen_number("２。", 3), chosen_number("第三个", 3), chosen_number("都不是", 3), chosen_number("4", 3)
    (2, 3, 0, None)
    """
    said = compatible(text[:20]).strip(_MARKS).casefold() if len(text) <= 20 else ""
    if said in _NEITHER:
        return 0
    if said in _YES:
        return 1 if count == 1 else None
    found = _CHOICE.fullmatch(said)
    if found is None:
        return None
    number = DIGITS[found["number"]] if found["number"] in DIGITS else int(found["number"])
    return number if number <= count else None
