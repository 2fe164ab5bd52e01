"""Fusion of both channels' results into one order: the stage before reranking.

    fused = cosine + a · coverage · m / (m + 3) + b · exact

`coverage` is the share of the question's terms, weighted by inverse document frequency, that the chunk contains. `m` is
the sum of those weights divided by the weight of an unseen term. It says how many rare terms the question has, so that
greetings and thanks, whose words all occur somewhere, gain nothing. Every value is computed for every candidate,
whichever channel found it: normalising each channel's own scores and treating a missing one as 0 would lose exact hits.
`exact` is the covered share of rare codes, ids and long Latin words. An embedding hardly represents them, and a person
who types one means exactly that one.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from services.embeddings.models import CosineScale
from services.index.models import SearchResult
from services.index.tokens import exact_terms
from services.retrieval.models import Candidate
from services.retrieval.wording import content_terms

_RARITY_SHRINKAGE = 3.0
_EXACT_WEIGHT = 0.06
# A code in more than this share of a collection's chunks does not distinguish them, but three chunks are always few.
_EXACT_MAX_SHARE = 0.02
_EXACT_MAX_CHUNKS = 3
# A strong embedding needs only a hint from the words; with a weak one, the words decide. E5: fitted listwise on CMRC
# (0.18–0.21). The others: measured for the same sum on CMRC and DRCD.
_COVERAGE_WEIGHT: Mapping[CosineScale, float] = {
    CosineScale.E5: 0.20,
    CosineScale.UNIVERSAL_SENTENCE_ENCODER: 1.0,
    CosineScale.UNKNOWN: 0.30,
}


@dataclass(frozen=True, slots=True)
class QuestionWords:
    """The weights of a question's words in one collection.

    `weights` holds the inverse document frequency of every term that counts:

        idf(t) = ln(1 + (N - df + 0.5) / (df + 0.5))

    `all_weights` also includes the interrogative words. `rarity` is the sum of `weights` divided by the weight of an
    unseen term. `codes` are the terms that are rare and distinctive.
    """

    weights: Mapping[str, float]
    all_weights: Mapping[str, float]
    rarity: float
    codes: frozenset[str]
    chunk_count: int

    @property
    def unseen(self) -> float:
        """The weight of a word that no chunk contains."""
        return weight_of_unseen(self.chunk_count)

    @property
    def shrinkage(self) -> float:
        """The factor for coverage, from 0 if the question has no rare term, approaching 1."""
        return self.rarity / (self.rarity + _RARITY_SHRINKAGE)

    def coverage(self, matched: Iterable[str]) -> float:
        """Return the share of the question's weight that is in `matched`, 0 to 1."""
        return self._share(matched, self.weights)

    def exact(self, matched: Iterable[str]) -> float:
        """Return the share of the codes' weight that is in `matched`, 0 to 1, or 0 if the question has no codes."""
        return self._share(self.codes.intersection(matched), self.codes)

    def names(self, matched: Collection[str]) -> bool:
        """Return whether the question has names and `matched` contains all of them.

        Names are codes such as ERR-4032, X200Pro or 20230415.
        """
        names = [code for code in self.codes if _is_name(code)]
        return bool(names) and all(name in matched for name in names)

    def _share(self, matched: Iterable[str], terms: Collection[str]) -> float:
        total = sum(self.weights[term] for term in terms)
        return sum(self.weights.get(term, 0.0) for term in matched) / total if total else 0.0


def weigh(words: str, document_frequency: Mapping[str, int], chunk_count: int) -> QuestionWords:
    """Weigh a question's words by how many of a collection's chunks contain each of them.

    No word is common in a small collection: a document that also contains 怎么办 must not count as if it were an
    answer. So only words that say what the question is about have weight, or all of them if there are no such words.
    """
    all_weights = {
        term: math.log(1 + (chunk_count - frequency + 0.5) / (frequency + 0.5))
        for term, frequency in document_frequency.items()
    }
    content = content_terms(words)
    weights = {term: weight for term, weight in all_weights.items() if term in content} or all_weights
    most = max(_EXACT_MAX_CHUNKS, _EXACT_MAX_SHARE * chunk_count)
    codes = frozenset(
        term
        for term in exact_terms(words)
        if term in weights and 0 < document_frequency.get(term, 0) <= most and _is_distinctive(term)
    )
    rarity = sum(weights.values()) / weight_of_unseen(chunk_count)
    return QuestionWords(weights, all_weights, rarity, codes, chunk_count)


def weight_of_unseen(chunk_count: int) -> float:
    """Return the inverse document frequency of a word that none of `chunk_count` chunks contains."""
    return math.log(1 + (chunk_count + 0.5) / 0.5)


def fuse(words: QuestionWords, result: SearchResult, scale: CosineScale) -> list[Candidate]:
    """Return every hit with its coverage and fused score, best first. Ties go to the earlier chunk."""
    measured = [(words.exact(hit.matched), hit.cosine) for hit in result.hits if hit.cosine is not None]
    candidates: list[Candidate] = []
    for hit in result.hits:
        coverage = words.coverage(hit.matched)
        exact = words.exact(hit.matched)
        cosine = _assumed(exact, measured) if hit.cosine is None else hit.cosine
        lexical = _COVERAGE_WEIGHT[scale] * coverage * words.shrinkage + _EXACT_WEIGHT * exact
        candidates.append(Candidate(hit, coverage, cosine + lexical))
    candidates.sort(key=lambda candidate: (-candidate.fused, candidate.hit.chunk.chunk_id))
    return candidates


def _assumed(exact: float, measured: Sequence[tuple[float, float]]) -> float:
    """Return the cosine that a chunk without a vector counts with: the lowest of the chunks with as many codes.

    If it alone contains the code that is asked for, it is no less about the question than any other chunk.
    """
    equal = [cosine for other, cosine in measured if other >= exact]
    return min(equal) if equal else max((cosine for _, cosine in measured), default=0.0)


def _is_distinctive(term: str) -> bool:
    """Return whether a term is a code or a long word, unlike "hi" or "2", which any text may contain."""
    if any(character.isdigit() for character in term):
        return len(term) >= 3
    return len(term) >= 6


def _is_name(code: str) -> bool:
    """Return whether a code is too long to occur by chance, unlike a year, a size or a common model name."""
    digits = sum(character.isdigit() for character in code)
    joined = len(code) >= 8 and any(joiner in code for joiner in "@/_")
    return joined or (len(code) >= 6 and digits > 0) or (len(code) == 5 and digits >= 3 and code[0].isalpha())
