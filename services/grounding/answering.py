"""The probability of each part of the best passages that it answers the question.

Two models are asked, which err differently: the words of the question and of each part decide, and, where there is one,
a reader that has read the question and the passages together.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from services.grounding.passage import Part, Role, parts_of
from services.grounding.sentence_model import FEATURES, describe_sentences, load_sentence_model
from services.reading.models import Reading
from services.retrieval.features import combined
from services.retrieval.models import Candidate, Reference

Floats = NDArray[np.float64]

_COVERAGE = FEATURES.index("coverage")
# How much a part counts by its words, by the reader's tokens, and by the order of its passage. Chosen on the
# development groups, in steps of a factor of two. The models are surer than they are right, so all are below 1.
_WORDS_SCALE, _TOKENS_SCALE, _PASSAGE_SCALE = 0.25, 0.5, 0.5
_ALONE_SCALE = 1.0
# Of a table only the rows with most of the question's words count by their words, the others far less.
_OTHER_ROW = -8.0


def answering(
    question: str,
    references: Sequence[Reference],
    passages: Sequence[Sequence[Part]],
    weights: Mapping[str, float],
    candidates: Iterable[Candidate],
) -> Floats:
    """Return for all parts of the passages, in order, the probability that they answer; the sum is 1."""
    by_words = _by_words(question, references, passages, weights)
    read = _by_reader(references, passages, list(candidates))
    scores = _ALONE_SCALE * by_words if read is None else _WORDS_SCALE * by_words + read
    start = 0
    for passage in passages:
        for place, part in enumerate(passage):
            if part.role is Role.TABLE_HEAD and any(other.head == place for other in passage):
                scores[start + place] = -np.inf
        start += len(passage)
    likely = np.exp(scores - scores.max()) if np.isfinite(scores).any() else np.ones(len(scores))
    return likely / likely.sum()


def _by_reader(
    references: Sequence[Reference], passages: Sequence[Sequence[Part]], candidates: Sequence[Candidate]
) -> Floats | None:
    """Return the scores of the parts by the reader, None if nothing was read.

    What was not read, such as the chunk after an approved one, counts like the least probable part.
    """
    scores: list[float] = []
    for reference, passage in zip(references, passages, strict=True):
        found: dict[str, float] = {}
        for text, score in _read_parts(reference, candidates):
            found[text] = max(score, found.get(text, -np.inf))
        scores += [found.get(part.text.strip(), np.nan) for part in passage]
    if np.isnan(scores).all():
        return None
    return np.nan_to_num(np.array(scores), nan=float(np.nanmin(scores)))


def _read_parts(reference: Reference, candidates: Sequence[Candidate]) -> Iterator[tuple[str, float]]:
    """Yield the parts of the chunks of a reference with their scores."""
    for candidate in candidates:
        chunk, reading = candidate.hit.chunk, candidate.reading
        is_inside = reference.first_ordinal <= chunk.ordinal <= reference.last_ordinal
        if reading is not None and chunk.build_id == reference.build_id and is_inside:
            passage = _PASSAGE_SCALE * combined(candidate)
            for text, score in _scored(reading, parts_of(chunk.text)):
                yield text, passage + _TOKENS_SCALE * score


def _scored(reading: Reading, parts: Sequence[Part]) -> Iterator[tuple[str, float]]:
    """Yield the parts of a chunk with the logarithm of the share of their best token in all tokens."""
    total = float(np.logaddexp.reduce(reading.scores.astype(np.float64))) if len(reading.scores) else 0.0
    start = 0
    for part in parts:
        best = reading.best_between(start, start + len(part.text))
        start += len(part.text)
        if best is not None:
            yield part.text.strip(), best - total


def _by_words(
    question: str,
    references: Sequence[Reference],
    passages: Sequence[Sequence[Part]],
    weights: Mapping[str, float],
) -> Floats:
    """Return the scores of the sentence model.

    The head of a table says what is asked. Its rows differ only in what they are about, and a model that was trained
    on prose knows nothing of that.
    """
    texts = [[part.text for part in passage] for passage in passages]
    features = describe_sentences(question, texts, [reference.heading for reference in references], weights)
    scores = load_sentence_model().scores(features)
    start = 0
    for passage in passages:
        most: dict[int, float] = {}
        for place, part in enumerate(passage):
            if part.head is not None:
                most[part.head] = max(most.get(part.head, 0.0), features[start + place, _COVERAGE])
        for place, part in enumerate(passage):
            if part.head is not None and features[start + place, _COVERAGE] < most[part.head]:
                scores[start + place] += _OTHER_ROW
        start += len(passage)
    return scores
