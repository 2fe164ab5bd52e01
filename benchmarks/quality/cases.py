"""Questions with the sentences that retrieval finds for them, and whether a chosen sentence contains the answer.

The three best passages in the retriever's order are cut into sentences. The gold sentences are those of the question's
own paragraph that contain at least half of one of its answers at its first occurrence, or a complete answer. A sentence
of another paragraph that happens to contain the same words counts only in the figure for literal matches.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.quality.datasets import Paragraph, ReadingQuestion, passages_of
from benchmarks.quality.pool import AskedQuestion, Pool, cleaned
from benchmarks.quality.vectors import Vectors
from services.grounding.excerpt import PASSAGES
from services.grounding.passage import sentences
from services.grounding.sentence_model import Floats, describe_sentences

Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Case:
    """A question with the results of retrieval.

    `passages` holds the sentences of each passage. `features` (n, f) describe all n sentences in order. `gold` says
    which of them contain the answer in the question's own paragraph `group`, and `literal` which contain it word for
    word in any paragraph.
    """

    group: str
    passages: tuple[tuple[str, ...], ...]
    features: Floats
    gold: Flags
    literal: Flags


@dataclass(frozen=True, slots=True)
class Hits:
    """For each case, whether the answer was found, by two criteria.

    `sentence`: the chosen sentence contains it. `literal`: the chosen sentence contains its words, in any paragraph.
    """

    sentence: Flags
    literal: Flags


def hits(cases: Sequence[Case], score: Callable[[Case], Floats]) -> Hits:
    """Return what the best-scored sentence of each case contains."""
    best = [int(np.argmax(score(case))) for case in cases]
    sentence = [case.gold[place] for case, place in zip(cases, best, strict=True)]
    literal = [case.literal[place] for case, place in zip(cases, best, strict=True)]
    return Hits(np.array(sentence, np.bool_), np.array(literal, np.bool_))


def read_cases(vectors: Vectors, paragraphs: list[Paragraph], *, titled: bool) -> list[Case]:
    """Return a case for every question, with all paragraphs in one collection."""
    passages = passages_of(paragraphs, titled=titled)
    pool = Pool(passages, vectors.passages([passage.embedded for passage in passages]))
    everything = pool.members(range(len(passages)))
    questions = [question for paragraph in paragraphs for question in paragraph.questions]
    contexts = {paragraph.paragraph_id: paragraph.context for paragraph in paragraphs}
    texts = cleaned([question.text for question in questions])
    cases: list[Case] = []
    for question, text, vector in zip(questions, texts, vectors.questions(texts), strict=True):
        evidence = pool.evidence(everything, AskedQuestion(text, vector))
        if evidence is None:
            continue
        found = [candidate.hit.chunk for candidate in evidence.recalled[:PASSAGES]]
        parts = tuple(tuple(sentences(chunk.text)) for chunk in found)
        gold = [
            chunk.build_id == question.paragraph and _is_gold(part, contexts[question.paragraph], question)
            for chunk, passage in zip(found, parts, strict=True)
            for part in passage
        ]
        literal = [any(answer in part for answer in question.answers) for passage in parts for part in passage]
        features = describe_sentences(question.text, parts, [""] * len(parts), evidence.words.weights)
        flags = np.array(gold, np.bool_), np.array(literal, np.bool_)
        cases.append(Case(question.paragraph, parts, features, *flags))
    return cases


def _is_gold(part: str, context: str, question: ReadingQuestion) -> bool:
    start = context.find(part.strip())
    end = start + len(part.strip())
    for answer in question.answers:
        if answer in part:
            return True
        place = context.find(answer)
        if start >= 0 and place >= 0 and 2 * (min(end, place + len(answer)) - max(start, place)) >= len(answer):
            return True
    return False
