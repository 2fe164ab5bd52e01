"""Reviews as admins read them: the notice, the list, one review, and what a decision did."""

from collections.abc import Sequence

from qq.messages import shortened, time_text
from services.records.reviews import Decided, Review, ReviewReason
from services.records.tables import ReviewState
from services.reviews.models import Decision, DecisionOutcome, DecisionStatus, Edited, Rejected
from services.reviews.queue import PAGE_SIZE
from services.reviews.unanswered import PAGE_SIZE as UNANSWERED_PAGE
from services.reviews.unanswered import UnansweredPage

_LISTED = 6
_REASONS = {
    ReviewReason.LOW_CONFIDENCE: "我拿不准",
    ReviewReason.REQUESTED: "有人请管理员看",
    ReviewReason.LOW_RATING: "有人给了差评",
    ReviewReason.CORRECTION: "有人给出了别的答案",
    ReviewReason.SUGGESTED: "群友答的，要不要记下来",
}
_DECISIONS = {Decided.APPROVED: "通过", Decided.EDITED: "改过", Decided.REJECTED: "拒绝"}
_STATES = {
    ReviewState.DECIDED: "还没回给提问的人，连上 QQ 后会发",
    ReviewState.SENDING: "正在回给提问的人",
    ReviewState.UNCONFIRMED: "已发出，QQ 还没确认",
    ReviewState.ANSWERED: "已回给提问的人",
    ReviewState.UNDELIVERED: "QQ 没有接收，没能回给提问的人",
    ReviewState.WITHDRAWN: "提问已撤回",
}


def notice_text(reviews: Sequence[Review]) -> str:
    """Return one message about open reviews, and how to decide by replying to it."""
    if len(reviews) > 1:
        lines = [f"有 {len(reviews)} 个回答要请管理员看：", *map(_line, reviews[:_LISTED])]
        if len(reviews) > _LISTED:
            lines.append(f"还有 {len(reviews) - _LISTED} 个，发 /review list 看。")
        number = reviews[0].number
        return "\n".join([*lines, f"看全文：/review show {number}", f"回复这条也行，写上编号：{number} 通过"])
    review = reviews[0]
    return "\n".join(
        [
            f"有一个回答要请管理员看（编号 {review.number}，{_REASONS[review.request.reason]}）",
            f"问：{shortened(review.request.question, 80)}",
            *_draft_lines(review, 200),
            "回复这条：写「通过」就照草稿回，写「拒绝 原因」就不回，写别的就按你写的回。"
            if review.request.draft
            else "回复这条：直接写上正确的回答，或者「拒绝 原因」。",
        ]
    )


def list_text(reviews: Sequence[Review], total: int, page: int) -> str:
    """Return page `page` of the list of `total` open reviews."""
    pages = -(-total // PAGE_SIZE)
    if not total:
        return "没有要审核的回答。"
    if not reviews:
        return f"只有 {pages} 页，发 /review list {pages} 看最后一页。"
    following = f"下一页：/review list {page + 1}" if page < pages else f"看全文：/review show {reviews[0].number}"
    return "\n".join([f"共 {total} 个要审核，第 {page}/{pages} 页", *map(_line, reviews), following])


def review_text(review: Review) -> str:
    """Return a review in full, and how to decide it."""
    request = review.request
    confidence = "" if request.confidence is None else f"，把握 {request.confidence:.0%}"
    lines = [
        f"编号 {review.number}，{_REASONS[request.reason]}{confidence}",
        f"{request.asker_id} 问的，{time_text(review.opened_at)} 进来",
        f"问：{request.question}",
        *_draft_lines(review, 1000),
        *(f"〔{source.number}〕{source.place}" for source in request.passages),
    ]
    if request.note:
        lines.append(f"说明：{shortened(request.note, 200)}")
    if review.assignee_id is not None and review.is_open:
        lines.append(f"交给了 {review.assignee_id}")
    if review.is_open:
        call = f"/review approve {review.number}、" if request.draft else ""
        lines.append(f"{call}/review edit {review.number} 正文、/review reject {review.number} 原因")
    else:
        lines.append(_decision_text(review))
        if review.decision is not Decided.APPROVED and review.answer:
            lines.append(f"{'原因' if review.decision is Decided.REJECTED else '回答'}：{review.answer}")
        lines.append(_STATES[review.state])
    return "\n".join(line for line in lines if line)


def unanswered_text(found: UnansweredPage, page: int) -> str:
    """Return page `page` of what a group asked in vain, and how an answer is given."""
    pages = -(-found.total // UNANSWERED_PAGE)
    if not found.total:
        return "最近没有答不上来的问题。"
    if not found.topics:
        return f"只有 {pages} 页，发 /faq 待答 {pages} 看最后一页。"
    lines = [
        f"{number}. {shortened(topic.question, 40)}" + (f"（{topic.count} 次）" if topic.count > 1 else "")
        for number, topic in enumerate(found.topics, start=(page - 1) * UNANSWERED_PAGE + 1)
    ]
    following = f"下一页：/faq 待答 {page + 1}" if page < pages else "写下答案：/faq add，第一行写问题，下面写回答"
    return "\n".join([f"答不上来的 {found.total} 类问题，第 {page}/{pages} 页", *lines, following])


def outcome_text(outcome: DecisionOutcome, number: int, decision: Decision) -> str:
    """Return what a decision did, with what was understood."""
    review = outcome.review
    if review is None:
        return f"没有编号 {number} 的审核，发 /review list 看有哪些。"
    match outcome.status:
        case DecisionStatus.EMPTY:
            return f"编号 {number} 没有草稿可以通过，请写上回答：/review edit {number} 正文"
        case DecisionStatus.TAKEN:
            return _decision_text(review) or _STATES[ReviewState.WITHDRAWN] + "，不用审核了。"
        case _:
            return f"{_understood(number, decision)}{_consequence(review)}"


def _understood(number: int, decision: Decision) -> str:
    match decision:
        case Edited(text):
            return f"编号 {number} 按你写的回：「{shortened(text, 60)}」"
        case Rejected(reason):
            return f"编号 {number} 已拒绝" + (f"，原因：{shortened(reason, 60)}。" if reason else "。")
        case _:
            return f"编号 {number} 已通过，照草稿回。"


def _consequence(review: Review) -> str:
    if review.request.reason is ReviewReason.SUGGESTED or review.state is ReviewState.ANSWERED:
        return ""
    return f"{_STATES[review.state]}。"


def _decision_text(review: Review) -> str:
    if review.decision is None:
        return ""
    who = review.decided_by_name or review.decided_by
    return f"编号 {review.number} 已由 {who} {_DECISIONS[review.decision]}。"


def _line(review: Review) -> str:
    assigned = f"（{review.assignee_id}）" if review.assignee_id is not None else ""
    return f"{review.number}. {shortened(review.request.question, 40)}{assigned}"


def _draft_lines(review: Review, limit: int) -> list[str]:
    draft = review.request.draft
    if not draft:
        return []
    shown = draft if limit >= 1000 else shortened(draft, limit)
    return [f"{'提议' if review.request.reason is ReviewReason.SUGGESTED else '草稿'}：{shown}"]
