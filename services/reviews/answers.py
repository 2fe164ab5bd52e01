"""What the asker of a reviewed question is told, from the stored review alone."""

import re

from services.grounding.models import Answer, AnswerKind
from services.records.reviews import Decided, Review

WAITING = "这个我拿不准，已请管理员看，有结果会回你。"
_NO_ANSWER = "管理员看过了，这个问题现在没有可靠的答案。"
_CITATION = re.compile(r"〔(\d+)〕")


def waiting_text(draft: str, *, shows_draft: bool) -> str:
    """Return what the asker is told first: one sentence, with the unreviewed draft if the settings allow it."""
    return f"{WAITING}\n\n还没审核的草稿：\n{draft}" if shows_draft and draft else WAITING


def reviewed_answer(review: Review) -> Answer:
    """Return the decided answer, with those of the draft's sources that its text still cites."""
    if review.decision is Decided.REJECTED:
        reason = f"原因：{review.answer}" if review.answer else ""
        return Answer(AnswerKind.WRITTEN, _NO_ANSWER + reason)
    cited = {int(number) for number in _CITATION.findall(review.answer)}
    sources = tuple(source for source in review.request.sources if source.number in cited)
    return Answer(AnswerKind.WRITTEN, without_unknown(review.answer, {source.number for source in sources}), sources)


def without_unknown(text: str, known: set[int]) -> str:
    """Return a text without the numbers 〔n〕 that name no source."""
    return _CITATION.sub(lambda found: found[0] if int(found[1]) in known else "", text)


def signature(review: Review) -> str:
    """Return the last line of the answer, which says who approved it. No other message of the group has it."""
    name = review.decided_by_name or str(review.decided_by or "")
    return f"（由 {name} 审核，编号 {review.number}）"
