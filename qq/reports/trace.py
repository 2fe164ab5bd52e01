"""The report on how an answer came about, which fits on one phone screen."""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from qq.messages import shortened, time_text
from qq.reports.retrieval import VERDICTS
from services.retrieval.models import Verdict
from services.tracing.models import CandidateTrace, GateTrace, ModelContext

_KINDS: Mapping[str, str] = {"question": "提问", "unasked": "主动"}
_OUTCOMES: Mapping[str, str] = {
    "written": "写成回答",
    "excerpt": "原文摘录",
    "general": "凭常识回答",
    "nothing_found": "没有找到",
    "failed": "没答成",
    "silent": "没有出声",
    "cancelled": "已取消",
    "error": "出错",
}
_STAGES: Mapping[str, str] = {
    "embed": "向量",
    "search": "查找",
    "rerank": "重排",
    "expand": "换词",
    "model": "模型",
}
_VERDICTS: Mapping[str, str] = {verdict.value: text for verdict, text in VERDICTS.items()}
_CODE = re.compile(r"QZ-[A-Z][0-9]{2}")
_BRACKETED_CODE = re.compile(rf"（{_CODE.pattern}[^）]*）|{_CODE.pattern}")
_ERASED = "（文字已删除）"
_LISTED_CHARS = 14
_TEXT_CHARS = 50
_PLACE_CHARS = 24
_CANDIDATES = 2


def list_text(records: Sequence[ModelContext]) -> str:
    """Return one line for each record, with the number to type, and the next command."""
    if not records:
        return "这里还没有记录。"
    lines = [
        f"{record.number} {time_text(_started(record))} {_outcome(record)} {_question(record, _LISTED_CHARS)}"
        for record in records
    ]
    return "\n".join((*lines, f"看一个：/trace {records[0].number}"))


def summary_text(record: ModelContext) -> str:
    """Return at most ten lines: the question, the answer, why it was given, and the time that it took."""
    trace = record.trace
    lines = [
        f"{record.number} {time_text(_started(record))} {_KINDS.get(trace.kind, trace.kind)}：{_outcome(record)}",
        f"问：{_question(record, _TEXT_CHARS)}",
    ]
    if record.response:
        short = _with_code if trace.outcome == "failed" else shortened
        lines.append(f"答：{short(record.response, _TEXT_CHARS)}")
    if trace.gate is not None:
        lines.append(_gate_line(trace.gate))
        lines += [_candidate_line(item) for item in trace.gate.candidates[:_CANDIDATES]]
    if trace.model_calls:
        tokens = sum(call.prompt_tokens + call.completion_tokens for call in trace.model_calls)
        about = "约 " if any(call.estimated for call in trace.model_calls) else ""
        lines.append(f"模型：{trace.model_calls[-1].model}，{len(trace.model_calls)} 次，{about}{tokens} token")
    if warning := trace.notice or (trace.gate.warning if trace.gate else ""):
        lines.append(_with_code(warning, _TEXT_CHARS))
    return "\n".join((*lines, _time_line(record), f"完整记录：/trace {record.number} full"))


def _started(record: ModelContext) -> datetime:
    return datetime.fromtimestamp(record.timestamp / 1000, UTC)


def _outcome(record: ModelContext) -> str:
    return _OUTCOMES.get(record.trace.outcome, record.trace.outcome)


def _question(record: ModelContext, limit: int) -> str:
    return _ERASED if record.trace.erased else shortened(record.raw_question, limit)


def _with_code(text: str, limit: int) -> str:
    """Return a text as one line of at most `limit` characters, with the codes of failures if it is cut."""
    line, codes = shortened(text, limit), "、".join(dict.fromkeys(_CODE.findall(text)))
    # An answer may quote many codes from a document.
    if not line.endswith("…") or not codes or len(codes) > limit // 2:
        return line
    return shortened(_BRACKETED_CODE.sub("", text), limit - len(codes) - 2) + f"（{codes}）"


def _gate_line(gate: GateTrace) -> str:
    if not gate.chunk_count:
        return "资料：知识库是空的"
    return f"资料：召回 {gate.recall} 段，过关 {gate.approved} 段，门槛 {gate.threshold:.2f}"


def _candidate_line(candidate: CandidateTrace) -> str:
    score = "没进重排" if candidate.score is None else f"{candidate.score:.2f}"
    verdict = _VERDICTS.get(candidate.verdict, candidate.verdict)
    place = shortened(candidate.label, _PLACE_CHARS) or "（原文已不在）"
    return f"· {place} {score}" + ("" if candidate.verdict == Verdict.NOT_RERANKED else f" {verdict}")


def _time_line(record: ModelContext) -> str:
    times = {time.stage: time.milliseconds for time in record.trace.stages}
    parts = [f"{_STAGES.get(stage, stage)} {_seconds(value)}" for stage, value in times.items() if stage != "total"]
    whole = f"用时：{_seconds(times.get('total', 0.0))} 秒"
    return f"{whole}（{'，'.join(parts)}）" if parts else whole


def _seconds(milliseconds: float) -> str:
    return f"{milliseconds / 1000:.2f}"
