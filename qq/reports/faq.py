"""Approved answers as /faq list and /faq show show them."""

from collections.abc import Sequence

from qq.messages import shortened, time_text
from services.faq.models import FaqEntry, FaqOrigin

# The number of entries on a page of the list, which fits on one phone screen.
LIST_PAGE = 8
_ORIGINS = {
    FaqOrigin.REVIEW: "审核",
    FaqOrigin.IMPORT: "导入",
    FaqOrigin.CORRECTION: "手写",
    FaqOrigin.SUGGESTION: "群友回答",
}


def list_text(entries: Sequence[FaqEntry], page: int) -> str:
    """Return page `page` of all entries; there is at least one."""
    pages = -(-len(entries) // LIST_PAGE)
    if page > pages:
        return f"只有 {pages} 页，发 /faq list {pages} 看最后一页。"
    stale = sum(entry.stale for entry in entries)
    shown = entries[(page - 1) * LIST_PAGE : page * LIST_PAGE]
    lines = [f"{entry.number}. {'（过期）' if entry.stale else ''}{shortened(entry.question, 30)}" for entry in shown]
    total = f"共 {len(entries)} 条问答" + (f"，{stale} 条过期" if stale else "") + f"，第 {page}/{pages} 页"
    following = f"下一页：/faq list {page + 1}" if page < pages else "看回答：/faq show 编号"
    return "\n".join([total, *lines, following])


def entry_text(entry: FaqEntry) -> str:
    """Return an entry with its sources, who approved it, and what to do if it is stale."""
    lines = [
        f"{entry.number}. {entry.question}",
        entry.answer,
        *(f"〔{source.number}〕{source.place}" for source in entry.sources),
        "",
        f"{entry.approver} 审核于 {time_text(entry.approved_at)}，{_ORIGINS[entry.origin]}，第 {entry.version} 版",
    ]
    if entry.stale:
        names = "、".join(f"「{shortened(name, 24)}」" for name in entry.changed[:3])
        lines.append(
            f"过期：{names}改过或删掉了，现在不会用这条回答。"
            f"核对后发 /faq confirm {entry.number}，或发 /faq edit {entry.number} 新回答。"
        )
    return "\n".join(lines)
