"""The reports on a test set: a summary to read in QQ, and a table to open in Excel."""

import csv
import io
from collections.abc import Sequence

from qq.messages import shortened
from qq.reports.retrieval import reason
from services.evaluation.models import Evaluation, SampleOutcome
from services.text.spreadsheets import inert

_SHOWN = 8
_HEADER = ("问题", "应答", "结果", "对错", "得分", "门槛", "原因", "最接近的资料", "应在文件", "用时毫秒")


def summary_text(name: str, evaluation: Evaluation) -> str:
    """Return the figures of a test set, followed by the first questions that went wrong."""
    done = len(evaluation.outcomes)
    lines = [f"「{name}」测完了，共 {done} 题"]
    if done < evaluation.planned:
        failure = evaluation.outcomes[-1].failure if evaluation.outcomes else ""
        lines = [f"「{name}」测到第 {done} 题停下了，共 {evaluation.planned} 题：{failure}"]
    lines.append(f"会回答 {evaluation.answered} 题，不会回答 {evaluation.silent} 题")
    if evaluation.failed:
        lines[-1] += f"，没测成 {evaluation.failed} 题"
    if evaluation.labelled:
        lines.append(f"有标注的 {evaluation.labelled} 题：{_figures(evaluation)}")
    if evaluation.with_document:
        lines.append(f"注明文件并会回答的 {evaluation.with_document} 题，找对文件 {evaluation.right_document} 题")
    if wrong := evaluation.wrong:
        lines += ["", f"不对的 {len(wrong)} 题" + (f"，先看 {_SHOWN} 题：" if len(wrong) > _SHOWN else "：")]
        lines += [f"{number}. {_wrong_line(outcome)}" for number, outcome in enumerate(wrong[:_SHOWN], start=1)]
        lines += ["", "看为什么：/kb test 问题"]
    return "\n".join(lines)


def _figures(evaluation: Evaluation) -> str:
    named = (("准确率", evaluation.precision), ("召回率", evaluation.recall), ("F1", evaluation.f1))
    return "，".join(f"{name} {'无' if value is None else format(value, '.1%')}" for name, value in named)


def _wrong_line(outcome: SampleOutcome) -> str:
    text = shortened(outcome.question.text, 24)
    if outcome.found_document is False and outcome.question.expected:
        return f"{text}（没用上「{shortened(outcome.question.document, 16)}」）"
    return f"{text}（{'不该答' if outcome.answered else '该答没答'}，得分 {_score(outcome)}）"


def result_csv(evaluation: Evaluation) -> bytes:
    """Return a CSV table of all questions with their outcomes, in the order of the test set.

    It is encoded in UTF-8 with the byte order mark that Excel needs.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(_HEADER)
    writer.writerows(_row(outcome) for outcome in evaluation.outcomes)
    return text.getvalue().encode("utf-8-sig", "ignore")


def _row(outcome: SampleOutcome) -> Sequence[str]:
    retrieval, best = outcome.retrieval, outcome.best
    cells = (
        outcome.question.text,
        _yes_or_no(outcome.question.expected, "是", "否"),
        "没测成" if outcome.answered is None else _yes_or_no(outcome.answered, "会回答", "不会回答"),
        _yes_or_no(outcome.right, "对", "错"),
        _score(outcome),
        "" if retrieval is None else f"{retrieval.threshold:.4f}",
        outcome.failure or ("" if retrieval is None else reason(retrieval)),
        "" if best is None else best.place,
        outcome.question.document,
        f"{outcome.seconds * 1000:.0f}",
    )
    return [inert(cell) for cell in cells]


def _yes_or_no(value: bool | None, yes: str, no: str) -> str:
    return "" if value is None else yes if value else no


def _score(outcome: SampleOutcome) -> str:
    best = outcome.best
    return "无" if best is None or best.rerank_score is None else f"{best.rerank_score:.4f}"
