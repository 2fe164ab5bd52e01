"""Answers as the state of the graph keeps them, and as approved passages are listed there."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from langchain_core.documents import Document

from services.grounding.models import Answer, AnswerKind, CodeBlock, TableBlock
from services.records.conversations import Source
from services.retrieval.models import Retrieval
from services.workflows.qa.models import TechnicalAnswer


def as_state(answer: Answer, technical: TechnicalAnswer | None = None) -> dict[str, Any]:
    """Return an answer as JSON values, with the structured answer that it was written from, if any."""
    return {
        "kind": answer.kind.value,
        "text": answer.text,
        "sources": [asdict(source) for source in answer.sources],
        "notice": answer.notice,
        "doubtful": answer.doubtful,
        "blocks": [asdict(block) for block in answer.blocks],
        "technical": None if technical is None else technical.model_dump(mode="json"),
    }


def from_state(stored: Mapping[str, Any]) -> Answer:
    """Return the answer that `as_state` wrote.

    >>> from_state(as_state(Answer(AnswerKind.WRITTEN, "三百元〔1〕。"))).text
    '三百元〔1〕。'
    """
    return Answer(
        kind=AnswerKind(stored["kind"]),
        text=stored["text"],
        sources=tuple(Source(**source) for source in stored["sources"]),
        notice=stored["notice"],
        doubtful=stored["doubtful"],
        blocks=tuple(_block(block) for block in stored["blocks"]),
    )


def documents_of(retrieval: Retrieval) -> list[Document]:
    """Return the approved passages as the specification's documents."""
    return [
        Document(
            reference.text,
            metadata={
                "number": reference.number,
                "place": reference.place,
                "document_number": reference.document_number,
                "build_id": reference.build_id,
                "first_ordinal": reference.first_ordinal,
                "last_ordinal": reference.last_ordinal,
                "score": reference.score,
            },
        )
        for reference in retrieval.references
    ]


def _block(stored: Mapping[str, Any]) -> TableBlock | CodeBlock:
    if "header" in stored:
        return TableBlock(stored["text"], tuple(stored["header"]), tuple(map(tuple, stored["rows"])))
    return CodeBlock(stored["text"])
