"""Selection of the approved chunks and conversion to references.

No passage is used twice, no document crowds out the others, and sections stay whole.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from services.index.models import IndexedChunk
from services.index.tokens import normalise
from services.records.tables import DocumentRecord
from services.retrieval.models import Candidate, Reference, Verdict
from services.text.tables import CELLS, NEXT_TABLE, cells

# Character 5-grams that two texts share, divided by those of the shorter one. A copy with a changed word or date still
# counts.
_SHINGLE_CHARS = 5
_DUPLICATE_SHARE = 0.85
# The longest overlap of consecutive chunks: half of the largest chunk.
_MAX_OVERLAP = 1_000
# Fewer equal characters at an edge are a coincidence, such as a full stop or a word.
_MIN_OVERLAP = 6

# A table begins with its header, below its title if it has one. Below the title may stand its unit and date.
_TABLE_HEADER = re.compile(r"(?:(?!.* \| ).*\n){0,4}?.* \| .*\n")

_TITLED_LINES = 2

ChunkPlace = tuple[str, int]


def spread(candidates: Sequence[Candidate], limit: int) -> list[Candidate]:
    """Return the best `limit` candidates for reranking.

    At most half of them come from one document, as long as other documents have candidates. A quarter is kept for the
    candidates without a vector that contain most of the question's words: their fused score is only an assumption.
    """
    by_words = sorted(
        (item for item in candidates if item.hit.cosine is None and item.coverage > 0), key=lambda item: -item.coverage
    )[: limit // 4]
    places = {item.hit.chunk.chunk_id for item in _spread(candidates, limit)}
    missing = [item for item in by_words if item.hit.chunk.chunk_id not in places]
    kept = {item.hit.chunk.chunk_id for item in by_words}
    others = [item for item in candidates if item.hit.chunk.chunk_id not in kept]
    return [*_spread(others, limit - len(by_words)), *by_words] if missing else _spread(candidates, limit)


def _spread(candidates: Sequence[Candidate], limit: int) -> list[Candidate]:
    chosen: list[Candidate] = []
    rest: list[Candidate] = []
    taken: dict[str, int] = {}
    for candidate in candidates:
        build_id = candidate.hit.chunk.build_id
        taken[build_id] = taken.get(build_id, 0) + 1
        (chosen if taken[build_id] <= max(1, limit // 2) else rest).append(candidate)
    return [*chosen, *rest][:limit] if len(chosen) < limit else chosen[:limit]


def select(judged: Sequence[Candidate], limit: int) -> list[Candidate]:
    """Return the same candidates, approving only the best `limit` of the approved ones and each near-duplicate once."""
    kept: list[frozenset[str]] = []
    selected: list[Candidate] = []
    for candidate in judged:
        if candidate.verdict is not Verdict.APPROVED:
            selected.append(candidate)
            continue
        shingles = _shingles(candidate.hit.chunk.text)
        if any(_same(shingles, other) for other in kept):
            selected.append(replace(candidate, verdict=Verdict.NEAR_DUPLICATE))
        elif len(kept) == limit:
            selected.append(replace(candidate, verdict=Verdict.OVER_LIMIT))
        else:
            kept.append(shingles)
            selected.append(candidate)
    return selected


def join(
    approved: Sequence[Candidate],
    around: Mapping[ChunkPlace, Sequence[IndexedChunk]],
    documents: Mapping[str, DocumentRecord],
    max_chars: int,
) -> list[Reference]:
    """Return references for approved chunks, best first, with at most `max_chars` characters in total.

    Approved neighbours with the same heading and page become one reference. While there is room, the best references
    are then extended by the chunks before and after them in the same place. `around` holds these, by the place of the
    approved chunk.
    """
    spans = _spans(approved)
    chunks: dict[ChunkPlace, IndexedChunk] = {
        (c.hit.chunk.build_id, c.hit.chunk.ordinal): c.hit.chunk for c in approved
    }
    for neighbours in around.values():
        for chunk in neighbours:
            chunks.setdefault((chunk.build_id, chunk.ordinal), chunk)
    texts = [_text(chunks, span) for span in spans]
    # References that do not fit are dropped, worst first. The best one is never dropped, but it may be cut.
    while len(spans) > 1 and sum(map(len, texts)) > max_chars:
        spans.pop()
        texts.pop()
    texts[0] = texts[0][:max_chars]
    room = max_chars - sum(map(len, texts))
    taken = {(build_id, ordinal) for build_id, first, last, _ in spans for ordinal in range(first, last + 1)}
    for position, span in enumerate(spans):
        widest = span
        for before in (False, True):
            wider = _wider(widest, chunks, taken, before=before)
            text = _text(chunks, wider)
            if len(text) - len(texts[position]) <= room:
                room -= len(text) - len(texts[position])
                widest, spans[position], texts[position] = wider, wider, text
                taken.update((span[0], ordinal) for ordinal in range(wider[1], wider[2] + 1))
    return [
        reference(number, documents[build_id], chunks[build_id, first], text, score, last)
        for number, ((build_id, first, last, score), text) in enumerate(zip(spans, texts, strict=True), start=1)
    ]


def reference(
    number: int, document: DocumentRecord, first: IndexedChunk, text: str, score: float, last_ordinal: int
) -> Reference:
    """Return a reference for a passage of a document that begins with the chunk `first`."""
    page = first.metadata.get("page")
    return Reference(
        number=number,
        document_number=document.number,
        name=document.name,
        version=document.version,
        page=page if isinstance(page, int) and page > 0 else None,
        heading=str(first.metadata.get("heading", "")),
        text=text,
        score=score,
        build_id=first.build_id,
        first_ordinal=first.ordinal,
        last_ordinal=last_ordinal,
        uncertain_table=first.metadata.get("uncertain_table") is True,
    )


def table_header(text: str) -> str:
    """Return the title and header with which each chunk of a table begins, "" for other texts."""
    found = _TABLE_HEADER.match(text)
    return found[0] if found else ""


def table_rows(text: str, header: str) -> list[list[str]]:
    """Return the cells of the rows of a table in a chunk that begins with its header."""
    rows = text.removeprefix(header).split(NEXT_TABLE)[0].split("\n")
    return [cells(row) for row in rows if CELLS in row]


def table_around(chunk: IndexedChunk, header: str, beside: Sequence[IndexedChunk]) -> list[IndexedChunk]:
    """Return the chunks of the table that a chunk belongs to, in order, out of those beside it."""
    by_ordinal = {
        other.ordinal: other
        for other in beside
        if other.text.startswith(header) and other.metadata.get("heading") == chunk.metadata.get("heading")
    }
    first = last = chunk.ordinal
    while first - 1 in by_ordinal:
        first -= 1
    while last + 1 in by_ordinal:
        last += 1
    return [by_ordinal.get(ordinal, chunk) for ordinal in range(first, last + 1)]


def joined_text(chunks: Sequence[IndexedChunk]) -> str:
    """Return the text of consecutive chunks without repetition.

    What a later chunk repeats is its overlap with the chunk before it, or the title and header of its table.
    """
    text = chunks[0].text
    for chunk in chunks[1:]:
        following = chunk.text
        header = table_header(following)
        if header and text.startswith(header):
            following = following[len(header) :]
        elif header.count("\n") <= _TITLED_LINES and header and CELLS in text.rpartition("\n")[2]:
            following = f"{NEXT_TABLE}\n{following}"
        repeated = _overlap(text, following)
        text += following[repeated:] if repeated else f"\n{following}"
    return text


def _spans(approved: Sequence[Candidate]) -> list[tuple[str, int, int, float]]:
    """Return the runs of approved neighbours, in order of their best chunk.

    Each run is (build, first ordinal, last ordinal, score).
    """
    score = {(c.hit.chunk.build_id, c.hit.chunk.ordinal): c.rerank_score or 0.0 for c in approved}
    chunks = {(c.hit.chunk.build_id, c.hit.chunk.ordinal): c.hit.chunk for c in approved}
    spans: list[tuple[str, int, int, float]] = []
    seen: set[ChunkPlace] = set()
    for build_id, ordinal in score:
        if (build_id, ordinal) in seen:
            continue
        first = last = ordinal
        while _continues(chunks, build_id, first - 1, first):
            first -= 1
        while _continues(chunks, build_id, last, last + 1):
            last += 1
        seen.update((build_id, each) for each in range(first, last + 1))
        spans.append((build_id, first, last, max(score[build_id, each] for each in range(first, last + 1))))
    return spans


def _continues(chunks: Mapping[ChunkPlace, IndexedChunk], build_id: str, first: int, second: int) -> bool:
    one, other = chunks.get((build_id, first)), chunks.get((build_id, second))
    return one is not None and other is not None and _same_section(one, other)


def _wider(
    span: tuple[str, int, int, float],
    chunks: Mapping[ChunkPlace, IndexedChunk],
    taken: set[ChunkPlace],
    *,
    before: bool,
) -> tuple[str, int, int, float]:
    """Extend a span by the chunk before or after it, if that chunk is in the same section and in no other reference."""
    build_id, first, last, score = span
    edge, ordinal = (first, first - 1) if before else (last, last + 1)
    neighbour = chunks.get((build_id, ordinal))
    if neighbour is None or (build_id, ordinal) in taken or not _same_section(chunks[build_id, edge], neighbour):
        return span
    return build_id, min(first, ordinal), max(last, ordinal), score


def _text(chunks: Mapping[ChunkPlace, IndexedChunk], span: tuple[str, int, int, float]) -> str:
    build_id, first, last, _ = span
    return joined_text([chunks[build_id, ordinal] for ordinal in range(first, last + 1)])


def _same_section(one: IndexedChunk, other: IndexedChunk) -> bool:
    # The citation names one page and heading for the whole passage.
    return not any(chunk.metadata.get("uncertain_table") for chunk in (one, other)) and all(
        one.metadata.get(key) == other.metadata.get(key) for key in ("heading", "page")
    )


def _overlap(text: str, following: str) -> int:
    """Return the length of the longest prefix of `following` that is a suffix of `text`."""
    for size in range(min(len(text), len(following), _MAX_OVERLAP), _MIN_OVERLAP - 1, -1):
        if text.endswith(following[:size]):
            return size
    return 0


def _shingles(text: str) -> frozenset[str]:
    normal = "".join(normalise(text).split())
    if len(normal) <= _SHINGLE_CHARS:
        return frozenset((normal,))
    return frozenset(normal[start : start + _SHINGLE_CHARS] for start in range(len(normal) - _SHINGLE_CHARS + 1))


def _same(one: frozenset[str], other: frozenset[str]) -> bool:
    smaller = min(len(one), len(other))
    # A short passage inside a long one adds nothing to it, but the long one may add much to the short one. This
    # comparison cannot tell the two cases apart, so the lengths must be similar.
    return smaller / max(len(one), len(other)) > 0.5 and len(one & other) / smaller >= _DUPLICATE_SHARE
