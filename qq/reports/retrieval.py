"""The report on why the bot would answer a question or not, which fits on one phone screen."""

from collections.abc import Mapping

from qq.messages import shortened
from services.evaluation.models import SampleOutcome, best_candidate
from services.index.tokens import normalise
from services.retrieval.models import Candidate, Question, Retrieval, RetrievalStatus, Verdict
from services.retrieval.query import build_query

VERDICTS: Mapping[Verdict, str] = {
    Verdict.APPROVED: "通过",
    Verdict.NOT_RERANKED: "没进重排",
    Verdict.BELOW_SIMILARITY: "相似度不够",
    Verdict.BELOW_SCORE: "得分不够",
    Verdict.OTHER_IDENTIFIER: "没有问到的编号",
    Verdict.OTHER_SUBJECT: "说的是别的年份、编号或对象",
    Verdict.TOO_FEW_QUALIFIED: "过关的段数不够",
    Verdict.NEAR_DUPLICATE: "和前面重复",
    Verdict.OVER_LIMIT: "超过条数上限",
}
_SHOWN = 5
_PLACE_CHARS = 36
_EXCERPT_CHARS = 40
# How much text is shown before the matched word, so that it can be read in its sentence.
_LEAD_CHARS = 6


def retrieval_text(outcome: SampleOutcome, quoted: str = "") -> str:
    """Return the verdict, what was searched, up to five candidates with their figures, and the counts of each stage."""
    lines = [verdict_line(outcome)]
    retrieval = outcome.retrieval
    if retrieval is None:
        return lines[0]
    if retrieval.warning and not outcome.failure:
        lines.append(retrieval.warning)
    asked = outcome.question.text
    searched = build_query(Question(asked, quoted)).text
    if searched != asked:
        lines.append(f"查的是：{shortened(searched, 60)}")
    if retrieval.expansions:
        lines.append(f"又加上：{shortened('、'.join(retrieval.expansions), 60)}")
    for number, candidate in enumerate(retrieval.candidates[:_SHOWN], start=1):
        lines += ["", *_candidate_lines(number, candidate, retrieval.term_weights)]
    counts = retrieval.metrics
    lines += [
        "",
        f"召回 {counts.recall_count} 段，重排 {counts.rerank_count} 段，通过 {counts.approved_count} 段，"
        f"用时 {outcome.seconds * 1000:.0f} 毫秒",
    ]
    return "\n".join(lines)


def verdict_line(outcome: SampleOutcome) -> str:
    """Return in one line whether the bot would answer, and why."""
    if outcome.failure or outcome.retrieval is None:
        return f"测不了：{outcome.failure}"
    answer = "会回答" if outcome.answered else "不会回答"
    return f"{answer}：{reason(outcome.retrieval)}"


def reason(retrieval: Retrieval) -> str:
    """Return why a question is answered or not, in words for people who run a group."""
    best = best_candidate(retrieval)
    if retrieval.status is RetrievalStatus.USABLE:
        return f"{retrieval.metrics.approved_count} 段资料过关，最高{_measured(best, retrieval.threshold, '不低于')}"
    if not retrieval.chunk_count:
        return "知识库是空的"
    if best is None:
        return "没有一段资料和它沾边"
    match best.verdict:
        case Verdict.BELOW_SCORE:
            return _measured(best, retrieval.threshold, "低于")
        case Verdict.BELOW_SIMILARITY:
            return f"向量相似度 {best.hit.cosine or 0:.2f}，低于 RETRIEVAL__MIN_VECTOR_SIMILARITY"
        case Verdict.TOO_FEW_QUALIFIED:
            return "过关的资料不到 RETRIEVAL__MIN_QUALIFIED_COUNT 段"
        case verdict:
            return f"最接近的一段{VERDICTS[verdict]}"


def _measured(best: Candidate | None, threshold: float, relation: str) -> str:
    score = None if best is None else best.rerank_score
    if score is None:
        return f"得分没有，门槛 {threshold:.2f}"
    # 0.498 and 0.5 must not both be shown as 0.50.
    digits = 2 if f"{score:.2f}" != f"{threshold:.2f}" or score == threshold else 4
    return f"得分 {score:.{digits}f}，{relation}门槛 {threshold:.{digits}f}"


def _candidate_lines(number: int, candidate: Candidate, weights: Mapping[str, float]) -> list[str]:
    cosine, score = candidate.hit.cosine, candidate.rerank_score
    figures = [
        "相似 无向量" if cosine is None else f"相似 {cosine:.2f}",
        f"词 {candidate.coverage:.0%}",
        "重排 未做" if score is None else f"重排 {score:.2f}",
        VERDICTS[candidate.verdict],
    ]
    excerpt = matched_place(candidate.hit.chunk.text, candidate.hit.matched, weights, _EXCERPT_CHARS)
    return [f"{number}. {shortened(candidate.place, _PLACE_CHARS)}", f"「{excerpt}」", "，".join(figures)]


def file_name(candidate: Candidate) -> str:
    """Return the name of the file that a candidate comes from."""
    return str(candidate.hit.chunk.metadata.get("file", ""))


def matched_place(text: str, matched: frozenset[str], weights: Mapping[str, float], limit: int) -> str:
    """Return at most `limit` characters around the first significant word of the question, or else the beginning.

    >>> matched_place("第一章总则。第二章报销：差旅费在三十日内报销。", frozenset({"差旅"}), {"差旅": 2.0}, 14)
    '…第二章报销：差旅费在三十…'
    """
    line = " ".join(text.split())
    # Common words occur everywhere, so their first occurrence does not show where the passage matches.
    heaviest = max((weights.get(term, 0.0) for term in matched), default=0.0)
    telling = [term for term in matched if weights.get(term, 0.0) >= heaviest / 2]
    start = max(0, _position(line, telling) - _LEAD_CHARS)
    if start == 0:
        return shortened(line, limit)
    return "…" + shortened(line[start:], limit - 1)


def _position(line: str, terms: list[str]) -> int:
    """Return where the first of the terms begins, in any width, case or script, or 0 if none is found."""
    owners: list[int] = []
    parts: list[str] = []
    for index, character in enumerate(line):
        part = normalise(character)
        parts.append(part)
        owners += [index] * len(part)
    normal = "".join(parts)
    found = [position for term in terms if (position := normal.find(term)) >= 0]
    return owners[min(found)] if found else 0
