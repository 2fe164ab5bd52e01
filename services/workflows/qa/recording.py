"""The answer to a question and its retrieval, as the record of the request keeps them."""

from collections.abc import Iterable, Sequence

from services.grounding.models import Answer
from services.records.conversations import Source
from services.retrieval.models import Candidate, Question, Reference, Retrieval
from services.retrieval.query import build_query
from services.tracing.models import CandidateTrace, GateTrace, ModelContext, PassageTrace, QuestionTrace

# The page shows so many; the others are further from the threshold.
_CANDIDATES = 12
# Figures are compared with the threshold by up to four digits.
_DIGITS = 6


def record_answer(record: ModelContext, question: Question, retrieval: Retrieval | None, answer: Answer) -> None:
    """Complete the record of a question. `retrieval` is None if the search failed."""
    record.response = answer.text
    record.trace.outcome, record.trace.notice = answer.kind.value, answer.notice
    record.trace.question = QuestionTrace(
        quoted=question.quoted,
        rewritten=question.text if question.text != record.raw_question else "",
        searched=build_query(Question(question.text, question.quoted)).text,
        expansions=list(retrieval.expansions) if retrieval else [],
    )
    if retrieval is None:
        return
    record.retriver_chunks = [reference.text for reference in retrieval.references]
    record.trace.gate = GateTrace(
        status=retrieval.status.value,
        threshold=round(retrieval.threshold, _DIGITS),
        chunk_count=retrieval.chunk_count,
        recall=retrieval.metrics.recall_count,
        rerank=retrieval.metrics.rerank_count,
        approved=retrieval.metrics.approved_count,
        warning=retrieval.warning,
        candidates=[_candidate(candidate) for candidate in retrieval.candidates[:_CANDIDATES]],
        passages=list(_passages(retrieval.references, answer.sources)),
    )


def _candidate(candidate: Candidate) -> CandidateTrace:
    hit = candidate.hit
    return CandidateTrace(
        build_id=hit.chunk.build_id,
        ordinal=hit.chunk.ordinal,
        cosine=_rounded(hit.cosine),
        coverage=round(candidate.coverage, _DIGITS),
        fused=round(candidate.fused, _DIGITS),
        score=_rounded(candidate.rerank_score),
        verdict=candidate.verdict.value,
        label=candidate.place,
        text=hit.chunk.text,
        matched=sorted(hit.matched),
    )


def _passages(references: Sequence[Reference], sources: Iterable[Source]) -> Iterable[PassageTrace]:
    # An answer renumbers the references that it cites.
    cited = {(source.build_id, source.first_ordinal, source.last_ordinal): source.number for source in sources}
    for reference in references:
        place = (reference.build_id, reference.first_ordinal, reference.last_ordinal)
        yield PassageTrace(
            number=reference.number,
            build_id=reference.build_id,
            first_ordinal=reference.first_ordinal,
            last_ordinal=reference.last_ordinal,
            document_number=reference.document_number,
            version=reference.version,
            score=round(reference.score, _DIGITS),
            cited_as=cited.get(place),
            label=reference.place,
            text=reference.text,
        )


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, _DIGITS)
