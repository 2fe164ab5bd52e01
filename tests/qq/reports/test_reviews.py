"""Reviews on a phone: the notice, the lists, and what a decision did."""

from dataclasses import replace
from datetime import UTC, datetime

from qq.reports.reviews import list_text, notice_text, outcome_text, review_text, unanswered_text
from services.records.reviews import Decided, Review, ReviewReason, ReviewRequest
from services.records.stored_values import Source
from services.records.tables import ReviewState
from services.reviews.models import Approved, DecisionOutcome, DecisionStatus, Edited, Rejected
from services.reviews.unanswered import Topic, UnansweredPage

AT = datetime(2026, 11, 22, 4, 40, tzinfo=UTC)


def review(number: int = 12, *, question: str = "门票能退吗", draft: str = "七天内可以退〔1〕。") -> Review:
    request = ReviewRequest(
        chat="group_777",
        collection="group_777",
        self_id="3889000001",
        group_id=777,
        session_id="group_777_10002",
        asker_id=10002,
        question=question,
        draft=draft,
        reason=ReviewReason.LOW_CONFIDENCE,
        passages=(Source(1, "规定.pdf 第3页"),),
        confidence=0.237,
        note="和文件不一样",
    )
    return Review(number, number, request, ReviewState.OPEN, AT)


def decided(state: ReviewState = ReviewState.ANSWERED) -> Review:
    return replace(
        review(), state=state, decision=Decided.EDITED, answer="十天。", decided_by=1, decided_by_name="小李"
    )


def test_the_notice_about_one_says_how_to_decide() -> None:
    lines = notice_text([review()]).split("\n")
    assert lines[0] == "有一个回答要请管理员看（编号 12，我拿不准）"
    assert lines[1:3] == ["问：门票能退吗", "草稿：七天内可以退〔1〕。"]
    assert "「通过」" in lines[3]
    assert "通过" not in notice_text([review(draft="")])


def test_a_notice_about_many_fits_a_phone() -> None:
    lines = notice_text([review(number, question="很长的问题" * 30) for number in range(1, 31)]).split("\n")
    assert len(lines) <= 10
    assert lines[0] == "有 30 个回答要请管理员看："
    assert max(map(len, lines)) <= 60
    assert lines[-1] == "回复这条也行，写上编号：1 通过"


def test_a_review_in_full() -> None:
    shown = review_text(review())
    for part in ("把握 24%", "10002 问的，11-22 12:40", "〔1〕规定.pdf 第3页", "说明：和文件不一样", "/review edit 12"):
        assert part in shown
    assert "approve" not in review_text(review(draft=""))
    assert review_text(decided()).endswith("编号 12 已由 小李 改过。\n回答：十天。\n已回给提问的人")


def test_the_list_has_pages() -> None:
    assert list_text([], 0, 1) == "没有要审核的回答。"
    assert list_text([], 9, 3) == "只有 2 页，发 /review list 2 看最后一页。"
    lines = list_text([review(number) for number in range(1, 9)], 9, 1).split("\n")
    assert (lines[0], lines[-1]) == ("共 9 个要审核，第 1/2 页", "下一页：/review list 2")


def test_what_a_decision_did() -> None:
    done = DecisionOutcome(DecisionStatus.DECIDED, decided())
    assert outcome_text(done, 12, Edited("十天。")) == "编号 12 按你写的回：「十天。」"
    assert outcome_text(done, 12, Rejected("过时")) == "编号 12 已拒绝，原因：过时。"
    waiting = DecisionOutcome(DecisionStatus.DECIDED, decided(ReviewState.DECIDED))
    assert outcome_text(waiting, 12, Approved()) == "编号 12 已通过，照草稿回。还没回给提问的人，连上 QQ 后会发。"
    assert outcome_text(DecisionOutcome(DecisionStatus.TAKEN, decided()), 12, Approved()) == "编号 12 已由 小李 改过。"
    assert "/review edit 12" in outcome_text(DecisionOutcome(DecisionStatus.EMPTY, review()), 12, Approved())
    assert "没有编号 99" in outcome_text(DecisionOutcome(DecisionStatus.UNKNOWN), 99, Approved())


def test_what_was_asked_in_vain() -> None:
    assert unanswered_text(UnansweredPage((), 0), 1) == "最近没有答不上来的问题。"
    assert unanswered_text(UnansweredPage((), 9), 3) == "只有 2 页，发 /faq 待答 2 看最后一页。"
    topics = (Topic("校园卡去哪补办", 3, AT), Topic("班车几点", 1, AT))
    lines = unanswered_text(UnansweredPage(topics, 10), 2).split("\n")
    assert lines[:3] == ["答不上来的 10 类问题，第 2/2 页", "9. 校园卡去哪补办（3 次）", "10. 班车几点"]
