"""The status of the proactive mode as the members of a group read it."""

from collections.abc import Mapping
from datetime import datetime

from qq.messages import shortened, time_text
from services.proactive.models import Decision, GroupStatus, Reason

_REASONS: Mapping[Reason, str] = {
    Reason.ANSWERED: "已回答",
    Reason.TOO_SHORT: "太短，不像问题",
    Reason.TOO_LONG: "太长，不像问题",
    Reason.NOT_TEXT: "有图片等看不懂的内容",
    Reason.NO_QUESTION: "不是在提问",
    Reason.QUIET: "安静中",
    Reason.ADDRESSED: "是对别人说的",
    Reason.CONVERSATION: "两个人正在对话",
    Reason.HOURLY_LIMIT: "这个小时的次数用完了",
    Reason.REPEATED: "一天内答过",
    Reason.SWITCHED_OFF: "主动回答关了",
    Reason.RECALLED: "撤回了",
    Reason.SETTLED: "提问的人说不用了",
    Reason.TAKEN_UP: "有人接话",
    Reason.ASKED_DIRECTLY: "已经直接问我了",
    Reason.NO_RECALL: "资料里没有",
    Reason.LOW_CONFIDENCE: "资料里没有有把握的内容",
    Reason.RERANK_FAILED: "重排服务出错",
    Reason.NOTHING_TO_SAY: "资料答不了",
    Reason.FAILED: "出错了，见日志",
}
_TEXT_CHARS = 14


def status_text(status: GroupStatus) -> str:
    """Return whether the mode is on, its limits, and why the last messages were or were not answered."""
    if not status.on:
        return "主动回答：关\n我只在被叫到时说话。打开：/bot auto on"
    lines = ["主动回答：开"]
    if status.quiet_until is not None:
        lines.append(f"安静到 {time_text(status.quiet_until)}，现在恢复：/bot quiet 0")
    lines.append(f"最近一小时主动答了 {status.answered} 次，最多 {status.per_hour} 次")
    if status.decisions:
        lines.append("最近的消息：")
        lines += [_line(decision) for decision in reversed(status.decisions)]
    return "\n".join(lines)


def _line(decision: Decision) -> str:
    score = "" if decision.score is None else f"（得分 {decision.score:.2f}）"
    text = shortened(decision.text, _TEXT_CHARS) or "（没有文字）"
    return f"{_clock(decision.at)}「{text}」{_REASONS[decision.reason]}{score}"


def _clock(moment: datetime) -> str:
    return time_text(moment).rpartition(" ")[2]
