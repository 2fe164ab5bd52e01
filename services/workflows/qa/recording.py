"""What is kept of a question and its answer: the exchange in the conversation, and the record of the request."""

import logging
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from services.errors import HistoryError, RecordsError
from services.grounding.models import Answer, AnswerKind
from services.memory.turns import Turn
from services.records.conversations import AnswerDetails, Source
from services.records.stored_values import RetrievedPassage
from services.records.tables import ContentType
from services.retrieval.models import Candidate, Question, Reference, Retrieval
from services.retrieval.query import build_query
from services.tracing.models import CandidateTrace, GateTrace, ModelContext, PassageTrace, QuestionTrace
from services.workflows.qa.models import QuestionCategory
from services.workflows.qa.written import said_of

log = logging.getLogger(__name__)

_CODE = re.compile(
    r"```|Traceback \(most recent call last\)|^\s*at [\w.$]+\(|^\s*(?:import|from) \w+|[;{}][ \t]*$", re.MULTILINE
)
_NOT_REMEMBERED = f"（这一轮对话没能记下来，后面可能接不上。{HistoryError.code}）"
# The page shows so many; the others are further from the threshold.
_CANDIDATES = 12
# Figures are compared with the threshold by up to four digits.
_DIGITS = 6


async def remember(
    turn: Turn,
    answer: Answer,
    *,
    category: QuestionCategory | None = None,
    confidence: float | None = None,
    retrieval: Retrieval | None = None,
) -> Answer:
    """Store the exchange and return the answer, with a notice if it could not be stored. A failure is not stored."""
    turn.details = details_of_answer(turn.details, answer, category, confidence, retrieval)
    answer = replace(answer, turn_id=turn.id)
    if answer.kind is AnswerKind.FAILED:
        turn.shown_sources = answer.sources
        return answer
    try:
        await turn.complete(answer.text, answer.sources, said=said_of(answer), doubtful=answer.doubtful)
    except (HistoryError, RecordsError):
        log.exception("turn %s of %s could not be stored", turn.id, turn.session_id)
        return replace(answer, notice=answer.notice + _NOT_REMEMBERED)
    return answer


def content_type_of(question: Question) -> ContentType:
    """Return what a question consists of: a picture, code or an error log, or plain text."""
    if question.pictured:
        return ContentType.IMAGE
    return ContentType.CODE if _CODE.search(question.shown) else ContentType.TEXT


def details_of_answer(
    known: AnswerDetails,
    answer: Answer,
    category: QuestionCategory | None,
    confidence: float | None,
    retrieval: Retrieval | None,
) -> AnswerDetails:
    """Return what the log of turns keeps of an answer beside its text."""
    return replace(
        known,
        outcome=answer.kind,
        category=category.main_category.value if category else "",
        sub_category=(category.sub_category or "") if category else "",
        confidence=confidence,
        retrieved=retrieved_passages(retrieval.references if retrieval else ()),
    )


def record_answer(
    record: ModelContext,
    question: Question,
    retrieval: Retrieval | None,
    answer: Answer,
    *,
    category: QuestionCategory | None = None,
    confidence: float | None = None,
) -> None:
    """Complete the record of a question. `retrieval` is None if nothing was searched."""
    record.response = answer.text
    record.trace.outcome, record.trace.notice = answer.kind.value, answer.notice
    record.trace.question = QuestionTrace(
        quoted=question.material,
        rewritten=question.text if question.text != record.raw_question else "",
        searched=build_query(replace(question, remark="")).text,
        expansions=list(retrieval.expansions) if retrieval else [],
        category=category.main_category.value if category else "",
        sub_category=(category.sub_category or "") if category else "",
    )
    record.trace.confidence = None if confidence is None else round(confidence, _DIGITS)
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


def retrieved_passages(references: Iterable[Reference]) -> tuple[RetrievedPassage, ...]:
    """Return approved references as the log of turns keeps them."""
    return tuple(
        RetrievedPassage(
            reference.build_id, reference.first_ordinal, reference.last_ordinal, round(reference.score, _DIGITS)
        )
        for reference in references
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
