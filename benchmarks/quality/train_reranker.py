"""Train the embedded reranker: `python -m benchmarks.quality.train_reranker --help`.

There are two models, both trained in numpy with a fixed seed:

* The message kind: kernel regression on question vectors over random landmarks. It separates messages that ask
  (answerable ones of the rejection set, reading questions, our own lists) from chatter.
* The answerability: three networks of eight hidden units over the features of `services.retrieval.features` and the
  kind. They predict whether this collection answers this message. A row is a complete retrieval from a collection of 1
  to 25,000 chunks: the corpus with the labelled messages; random halves and parts of the reading set (with titles and
  without), alone and hidden in the corpus, with questions from inside and outside; our own small documents; our own
  questions of members; and, where it is given, groups with their own files. There is a set of networks for what was
  read by the reader, and one without.

Of the sets on which the reader was trained only the documents that were held out of its training are asked about: it
is too sure of those that it knows. Every figure printed is for rows that were held out. Folds are cut by paragraph,
message and group, also for the kind.
"""

import argparse
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.quality.datasets import (
    Paragraph,
    Passage,
    passages_of,
    passages_of_corpus,
    passages_of_files,
    read_lines,
    read_member_questions,
    read_messages,
    read_paragraphs,
    read_small_groups,
)
from benchmarks.quality.groups import GroupQuestion, read_groups
from benchmarks.quality.pool import AskedQuestion, Members, Pool, cleaned
from benchmarks.quality.readings import Readings, is_held_out
from benchmarks.quality.scores import best_f1, f1_at
from benchmarks.quality.vectors import Vectors
from services.retrieval.features import READ, SEARCHED, describe
from services.retrieval.rerank import COEFFICIENTS, FARTHEST, Coefficients, Networks
from services.workflows.qa.rewriting import Exchange, rewritten

Floats = NDArray[np.float64]

_FOLDS, _INNER_FOLDS = 5, 4
_KERNEL, _LANDMARKS, _KIND_RIDGE = 30.0, 400, 1.0
_NETWORKS, _HIDDEN, _STEPS, _RATE = 3, 8, 600, 0.02
# What was read is known of fewer questions, so these networks are held closer to nothing.
_DECAY, _READ_DECAY = 2e-3, 4e-3
# The weight of each source for the message kind: the reading questions are many and similar.
_KIND_WEIGHTS = {"messages": 1.0, "reading": 0.15, "talk": 0.7, "own": 0.7, "unanswered": 0.0}
# Sums of the weights of each family of collections. An answerable message counts more than others, which moves the
# calibrated point 0.5 to the best F1.
_FAMILY_WEIGHTS = {"messages": 30.0, "reading": 0.5, "small": 2.0, "members": 3.0, "groups": 8.0}
# The same for what is not to be answered. Near misses are the hard part, so they count nearly as much as questions.
_OTHER_WEIGHTS = {("groups", "near"): 6.0, ("groups", "talk"): 4.0, ("members", "near"): 2.0}
_ANSWERABLE_WEIGHT = 1.5
# The share of the retrievals of each family that are read: reading takes a third of a second.
_READ_SHARES = {"messages": 0.35, "reading": 0.05, "small": 0.3, "members": 1.0, "groups": 1.0}
_GROUP_FAMILY = {"near_miss": " near", "off_topic": " talk"}


@dataclass(slots=True)
class Questions:
    """Every message of the experiment: its text as searched, its source, whether it asks, and its fold group."""

    texts: list[str] = field(default_factory=list[str])
    sources: list[str] = field(default_factory=list[str])
    asks: list[bool] = field(default_factory=list[bool])
    groups: list[str] = field(default_factory=list[str])

    def add(self, texts: Sequence[str], source: str, asks: Sequence[bool], groups: Sequence[str]) -> list[int]:
        """Add messages and return their numbers."""
        start = len(self.texts)
        self.texts += cleaned(texts)
        self.sources += [source] * len(texts)
        self.asks += asks
        self.groups += groups
        return list(range(start, len(self.texts)))

    def folds(self, seed: int, count: int) -> NDArray[np.int64]:
        """Return the fold of every message, which is the same for the same paragraph or text."""
        return np.array([zlib.crc32(f"{seed}-{group}".encode("utf-8", "replace")) % count for group in self.groups])


@dataclass(slots=True)
class Rows:
    """One retrieval per row: the kind of collection, the message, whether it is answerable, the features."""

    family: list[str] = field(default_factory=list[str])
    question: list[int] = field(default_factory=list[int])
    answerable: list[bool] = field(default_factory=list[bool])
    searched: list[Floats] = field(default_factory=list[Floats])
    read: list[Floats | None] = field(default_factory=list["Floats | None"])


class Experiment:
    """The collections, the questions asked of them, and the features found."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self._random = np.random.default_rng(arguments.seed)
        vectors = Vectors(arguments.cache)
        self._readings = Readings(arguments.cache)
        paragraphs = read_paragraphs(arguments.reading)
        small = read_small_groups()
        members = read_member_questions()
        groups = read_groups(arguments.groups) if arguments.groups else {}
        messages = read_messages(arguments.labels)
        titled, untitled = passages_of(paragraphs, titled=True), passages_of(paragraphs, titled=False)
        corpus, own = passages_of_corpus(arguments.corpus), passages_of(small, titled=True)
        theirs = passages_of(members, titled=True)
        files = {folder.name: passages_of_files(folder / "files") for folder in groups}
        passages = [*titled, *untitled, *corpus, *own, *theirs, *chain.from_iterable(files.values())]
        self._pool = Pool(passages, vectors.passages([passage.embedded for passage in passages]))
        bounds = np.cumsum([0, len(titled), len(untitled), len(corpus), len(own), len(theirs)])
        self._corpus = np.arange(bounds[2], bounds[3])
        self._reading = [_by_document(passages, bounds[0], bounds[1]), _by_document(passages, bounds[1], bounds[2])]
        self._small = _by_document(passages, bounds[3], bounds[4])
        self._members = _by_document(passages, bounds[4], bounds[5])
        self._files: dict[str, list[int]] = {}
        start = int(bounds[5])
        for name, found in files.items():
            self._files[name] = list(range(start, start + len(found)))
            start += len(found)
        self.background = _background(self._pool.vectors, [bounds[0:2], bounds[2:4], bounds[3:5]])

        self.questions = questions = Questions()
        texts = [message.text for message in messages]
        self._messages = questions.add(texts, "messages", [message.answerable for message in messages], texts)
        asked = [question for item in paragraphs if is_held_out(item.title) for question in item.questions]
        names = [question.paragraph for question in asked]
        numbers = questions.add([question.text for question in asked], "reading", [True] * len(asked), names)
        self._asked = _grouped(names, numbers)
        talk = read_lines("small_talk.txt")
        self._talk = questions.add(talk, "talk", [False] * len(talk), talk)
        own_asked = [question for item in small if is_held_out(item.title) for question in item.questions]
        names = [question.paragraph for question in own_asked]
        numbers = questions.add([question.text for question in own_asked], "own", [True] * len(own_asked), names)
        self._small_asked = _grouped(names, numbers)
        unanswered = [
            (paragraph.paragraph_id, text)
            for paragraph in small
            for text in paragraph.unanswered
            if is_held_out(paragraph.title)
        ]
        names, texts = [name for name, _ in unanswered], [text for _, text in unanswered]
        # Half are chatter about the subject, half are questions. They do not train the kind, only that nothing answers
        # them.
        numbers = questions.add(texts, "unanswered", [True] * len(texts), names)
        self._small_unanswered = _grouped(names, numbers)
        others = read_lines("questions.txt")
        self._others = questions.add(others, "own", [True] * len(others), others)
        self._member_asked = self._add_members(members)
        self._group_asked = {folder.name: self._add_group(folder.name, lines) for folder, lines in groups.items()}
        self.vectors = vectors.questions(questions.texts)
        self.rows = Rows()

    def _add_members(self, paragraphs: Sequence[Paragraph]) -> dict[str, list[tuple[int, bool]]]:
        """Add the questions of members, and return them with whether they are answered, by the file's name."""
        found: dict[str, list[tuple[int, bool]]] = {}
        for paragraph in paragraphs:
            name = paragraph.paragraph_id.split("#")[0]
            texts = [question.text for question in paragraph.questions]
            numbers = self.questions.add(texts, "own", [True] * len(texts), [name] * len(texts))
            found.setdefault(name, []).extend((number, True) for number in numbers)
            others = list(paragraph.unanswered)
            numbers = self.questions.add(others, "unanswered", [True] * len(others), [name] * len(others))
            found[name].extend((number, False) for number in numbers)
        return found

    def _add_group(self, name: str, lines: Sequence[GroupQuestion]) -> list[tuple[int, bool, str]]:
        """Add the questions of a group, and return them with whether they are answered, and their kind."""
        chosen = [line for line in lines if line.kind != "meta"]
        texts = [rewritten(line.text, [Exchange(line.previous, "")]) or line.text for line in chosen]
        sources = ["talk" if line.kind == "off_topic" else "own" for line in chosen]
        numbers = [
            self.questions.add([text], source, [source != "talk"], [name.removesuffix("_2")])[0]
            for text, source in zip(texts, sources, strict=True)
        ]
        return [(number, line.answerable, line.kind) for number, line in zip(numbers, chosen, strict=True)]

    def run(self) -> None:
        """Search all messages in all collections."""
        for name, asked in self._group_asked.items():
            inside = self._pool.members(self._files[name])
            for family in ("", " near", " talk"):
                rows = [item for item in asked if family == _GROUP_FAMILY.get(item[2], "")]
                self._ask(f"groups{family}", inside, [item[0] for item in rows], [item[1] for item in rows])
        for files in (4, 20):
            self._some_files(files)
        corpus = self._pool.members(self._corpus)
        answerable = [self.questions.asks[number] for number in self._messages]
        self._ask("messages", corpus, self._messages, answerable)
        self._ask("messages talk", corpus, self._talk, [False] * len(self._talk))
        for size, draws, most, filler, talk, others in (
            (2, 40, 6, 0, 5, 3),
            (6, 24, 12, 0, 8, 5),
            (21, 14, 40, 0, 15, 10),
            (70, 6, 120, 0, 30, 20),
            (0.5, 4, 800, 0, 60, 60),
            (0.5, 2, 300, 2_700, 60, 0),
            (0.5, 2, 300, 14_700, 60, 0),
        ):
            for draw in range(draws):
                self._half(draw, size, most, filler, talk, others)
        for documents, draws, filler in (
            (1, 15, "none"),
            (3, 10, "none"),
            (8, 6, "none"),
            (8, 4, "reading"),
            (8, 3, "corpus"),
        ):
            for _ in range(draws):
                self._few(documents, filler)

    def _half(self, draw: int, size: float, most: int, filler: int, talk: int, others: int) -> None:
        """Search a part of the reading set, with questions from inside and as many from outside."""
        documents = self._reading[draw % 2]
        names = [str(name) for name in self._random.permutation(sorted(documents))]
        count = int(size if size >= 1 else size * len(names))
        inside, outside = names[:count], names[count : count + max(count, 6)]
        if size < 1:
            outside = names[count:]
        members = self._pool.members([number for name in inside for number in documents[name]])
        if filler:
            members[self._random.choice(self._corpus, min(filler, len(self._corpus)), replace=False)] = True
        family = f"reading {count} paragraphs, {filler} others, {'untitled' if draw % 2 else 'titled'}"
        yes = [number for name in inside for number in self._asked.get(name, ())]
        no = [number for name in outside for number in self._asked.get(name, ())]
        most = min(most, len(yes), len(no))
        self._ask(family, members, self._some(yes, most), [True] * most)
        self._ask(family, members, self._some(no, most), [False] * most)
        self._ask(f"{family} talk", members, self._some(self._talk, talk), [False] * talk)
        self._ask(f"{family} elsewhere", members, self._some(self._others, others), [False] * others)

    def _some_files(self, count: int) -> None:
        """Search some files of members at a time, each with its own questions, until all were asked about."""
        names = [str(name) for name in self._random.permutation(sorted(self._member_asked))]
        for start in range(0, len(names), count):
            part = names[start : start + count]
            chunks = [
                number for key, numbers in self._members.items() if key.split("#")[0] in part for number in numbers
            ]
            inside = self._pool.members(chunks)
            for name in part:
                if not is_held_out(name):
                    continue
                rows = self._member_asked[name]
                for answer, family in ((True, ""), (False, " near")):
                    numbers = [number for number, is_answered in rows if is_answered is answer]
                    self._ask(f"members {count} files{family}", inside, numbers, [answer] * len(numbers))

    def _few(self, documents: int, filler: str) -> None:
        """Search some of our own small documents, with questions as members ask them."""
        names = [str(name) for name in self._random.permutation(sorted(self._small))]
        inside = names[:documents]
        members = self._pool.members([number for name in inside for number in self._small[name]])
        if filler == "reading":
            titled = [number for numbers in self._reading[0].values() for number in numbers]
            members[self._random.choice(titled, min(300, len(titled)), replace=False)] = True
        elif filler == "corpus":
            members[self._random.choice(self._corpus, min(5_000, len(self._corpus)), replace=False)] = True
        family = f"small {documents} documents, {filler} besides"
        yes = [number for name in inside for number in self._small_asked.get(name, ())]
        no = [number for name in names[documents:] for number in self._small_asked.get(name, ())]
        self._ask(family, members, yes, [True] * len(yes))
        no = self._some(no, min(len(no), len(yes)))
        self._ask(family, members, no, [False] * len(no))
        near = [number for name in inside for number in self._small_unanswered.get(name, ())]
        self._ask(f"{family} near", members, near, [False] * len(near))
        self._ask(f"{family} talk", members, self._some(self._talk, 15), [False] * 15)

    def _some(self, numbers: Sequence[int], count: int) -> list[int]:
        return self._random.choice(np.array(numbers), min(count, len(numbers)), replace=False).tolist()

    def _ask(self, family: str, members: Members, numbers: Sequence[int], answerable: Sequence[bool]) -> None:
        for number, answer in zip(numbers, answerable, strict=True):
            question = AskedQuestion(self.questions.texts[number], self.vectors[number])
            evidence = self._pool.evidence(members, question)
            if evidence is None:
                continue
            self.rows.family.append(family)
            self.rows.question.append(number)
            self.rows.answerable.append(answer)
            features = describe(evidence, self.background)
            if self._random.random() < _READ_SHARES[family.split(" ", maxsplit=1)[0]]:
                recalled = self._readings.attach(question.text, evidence.recalled)
                features = describe(replace(evidence, recalled=recalled), self.background)
            self.rows.searched.append(features.searched)
            self.rows.read.append(features.read)


@dataclass(frozen=True, slots=True)
class Trained:
    """Both models after fitting."""

    coefficients: Coefficients
    landmark_scale: Floats


class Training:
    """Fitting on any part of the experiment."""

    def __init__(self, experiment: Experiment, seed: int) -> None:
        self._seed = seed
        self._vectors, self._background = experiment.vectors, experiment.background
        questions, rows = experiment.questions, experiment.rows
        self._asks = np.array(questions.asks, np.float64)
        self._kind_weights = np.array([_KIND_WEIGHTS[source] for source in questions.sources])
        self._searched = np.array(rows.searched)
        self.is_read = np.array([read is not None for read in rows.read])
        self._read = np.array([np.zeros(len(READ)) if read is None else read for read in rows.read])
        self.question = np.array(rows.question)
        self.answerable = np.array(rows.answerable)
        self.families = np.array(rows.family)
        self.questions = questions
        self._weights = _row_weights(self.families, self.answerable)

    def held_out(self, seed: int) -> tuple[Floats, Floats]:
        """Return the log-odds of every row by both networks, which have seen neither its message nor its document.

        The second ones are without meaning for rows that were not read.
        """
        folds = self.questions.folds(seed, _FOLDS)
        searched, read = np.zeros(len(self.question)), np.zeros(len(self.question))
        for fold in range(_FOLDS):
            rows = folds[self.question] == fold
            coefficients = self.fit(folds != fold, {"held_out_fold": fold})
            kinds = coefficients.kind(self._vectors)[self.question[rows]]
            searched[rows] = coefficients.searched.logit(np.column_stack((self._searched[rows], kinds)))
            read[rows] = coefficients.read.logit(np.column_stack((searched[rows], self._read[rows], kinds)))
        return searched, read

    def fit(self, known: NDArray[np.bool_], provenance: Mapping[str, object]) -> Coefficients:
        """Fit all models on the messages `known` and on the rows of these messages."""
        # The networks must see the kind, and the second ones the log-odds of the first, as they will be later: for
        # messages on which these were not fitted.
        kinds, logits = np.zeros(len(self._asks)), np.zeros(len(self.question))
        inner = self.questions.folds(self._seed + 1, _INNER_FOLDS)
        for fold in range(_INNER_FOLDS):
            landmarks, weights = self._fit_kind(known & (inner != fold))
            left = known & (inner == fold)
            kinds[left] = _kernel(self._vectors[left], landmarks) @ weights
        inputs = np.column_stack((self._searched, kinds[self.question]))
        for fold in range(_INNER_FOLDS):
            networks = self._fit_networks(inputs, (known & (inner != fold))[self.question])
            left = (known & (inner == fold))[self.question]
            logits[left] = networks.logit(inputs[left])
        rows = known[self.question]
        landmarks, weights = self._fit_kind(known)
        return Coefficients(
            _KERNEL,
            landmarks,
            weights.astype(np.float32),
            self._background,
            self._fit_networks(inputs, rows),
            self._fit_networks(
                np.column_stack((logits, self._read, kinds[self.question])), rows & self.is_read, _READ_DECAY
            ),
            {"features": (*SEARCHED, *READ), "networks": _NETWORKS, **provenance},
        )

    def _fit_networks(self, inputs: Floats, rows: NDArray[np.bool_], decay: float = _DECAY) -> Networks:
        mean, scale = inputs[rows].mean(axis=0), inputs[rows].std(axis=0) + 1e-3
        standard = np.clip((inputs[rows] - mean) / scale, -FARTHEST, FARTHEST)
        layers = tuple(
            _fit_network(standard, self.answerable[rows], self._weights[rows], self._seed + number, decay)
            for number in range(_NETWORKS)
        )
        return Networks(mean, scale, layers)

    def _fit_kind(self, known: NDArray[np.bool_]) -> tuple[NDArray[np.float32], Floats]:
        vectors, weights = self._vectors[known], self._kind_weights[known]
        random = np.random.default_rng(self._seed)
        chosen = random.choice(len(vectors), min(_LANDMARKS, len(vectors)), replace=False, p=weights / weights.sum())
        landmarks = _rounded(vectors[chosen])
        kernel = _kernel(vectors, landmarks)
        left = (kernel * weights[:, None]).T @ kernel + _KIND_RIDGE * _kernel(landmarks, landmarks)
        right = (kernel * weights[:, None]).T @ (self._asks[known] - 0.5)
        return landmarks, np.asarray(np.linalg.solve(left + 1e-6 * np.eye(len(landmarks)), right), np.float64)


def _kernel(vectors: NDArray[np.float32], landmarks: NDArray[np.float32]) -> Floats:
    return np.exp(-_KERNEL * (1.0 - (vectors @ landmarks.T).astype(np.float64)))


def _rounded(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the vectors as they will be after a round trip through eight bits."""
    scale = np.abs(vectors).max(axis=1, keepdims=True) / 127
    return (np.round(vectors / scale) * scale).astype(np.float32)


def _fit_network(
    inputs: Floats, answers: NDArray[np.bool_], weights: Floats, seed: int, decay: float
) -> tuple[Floats, ...]:
    """Fit a network with a weighted logistic loss by Adam, on all rows at once."""
    random = np.random.default_rng(seed)
    size = inputs.shape[1]
    parts = [
        random.normal(0, size**-0.5, (size, _HIDDEN)),
        np.zeros(_HIDDEN),
        random.normal(0, _HIDDEN**-0.5, _HIDDEN),
        np.zeros(1),
    ]
    first, second = [np.zeros_like(part) for part in parts], [np.zeros_like(part) for part in parts]
    weights = weights / weights.sum()
    for step in range(1, _STEPS + 1):
        hidden = np.tanh(inputs @ parts[0] + parts[1])
        error = weights * (1 / (1 + np.exp(-(hidden @ parts[2] + parts[3]))) - answers)
        back = np.outer(error, parts[2]) * (1 - hidden * hidden)
        gradients = [
            inputs.T @ back + decay * parts[0],
            back.sum(axis=0),
            hidden.T @ error + decay * parts[2],
            error.sum(keepdims=True),
        ]
        rate = _RATE if step < 0.6 * _STEPS else 0.3 * _RATE
        for number, gradient in enumerate(gradients):
            first[number] = 0.9 * first[number] + 0.1 * gradient
            second[number] = 0.99 * second[number] + 0.01 * gradient**2
            moved = first[number] / (1 - 0.9**step) / (np.sqrt(second[number] / (1 - 0.99**step)) + 1e-8)
            parts[number] = parts[number] - rate * moved
    return parts[0], parts[1], parts[2], parts[3][0]


def _row_weights(families: NDArray[np.str_], answerable: NDArray[np.bool_]) -> Floats:
    weights = np.zeros(len(families))
    for family in sorted(set(families.tolist())):
        rows = families == family
        kind = family.split(" ")[0]
        is_other = family.endswith((" talk", " elsewhere", " near"))
        share = _OTHER_WEIGHTS.get((kind, family.split(" ")[-1]), 0.3) if is_other else _FAMILY_WEIGHTS[kind]
        weights[rows] = share / rows.sum()
        if family == "messages":
            weights[rows & answerable] *= _ANSWERABLE_WEIGHT
    return weights


def _figures(logits: Floats, answerable: NDArray[np.bool_]) -> str:
    if not answerable.any():
        return f"let through {float((logits >= 0).mean()):.3f}"
    shipped, best = f1_at(logits, answerable, 0.0), best_f1(logits, answerable)
    return (
        f"F1 {shipped.f1:.3f} P {shipped.precision:.3f} R {shipped.recall:.3f}, "
        f"best {best.f1:.3f} at {best.threshold:+.2f}"
    )


def _by_document(passages: Sequence[Passage], start: int, end: int) -> dict[str, list[int]]:
    return _grouped([passage.document for passage in passages[start:end]], list(range(start, end)))


def _grouped(names: Sequence[str], numbers: Sequence[int]) -> dict[str, list[int]]:
    grouped: dict[str, list[int]] = {}
    for name, number in zip(names, numbers, strict=True):
        grouped.setdefault(name, []).append(number)
    return grouped


def _background(vectors: NDArray[np.float32], bounds: Sequence[NDArray[np.int64]]) -> NDArray[np.float32]:
    mean = np.mean([vectors[start:end].mean(axis=0) for start, end in bounds], axis=0)
    return (mean / np.linalg.norm(mean)).astype(np.float32)


def save(coefficients: Coefficients, path: Path) -> None:
    """Write a file for `rerank.load_coefficients`, with landmarks in eight bits."""
    scale = np.abs(coefficients.landmarks).max(axis=1) / 127
    arrays: dict[str, Any] = {
        "kernel": np.array(coefficients.kernel),
        "landmarks": np.round(coefficients.landmarks / scale[:, None]).astype(np.int8),
        "landmark_scale": scale.astype(np.float32),
        "landmark_weights": coefficients.landmark_weights,
        "background": coefficients.background,
        "provenance": np.array(json.dumps(coefficients.provenance, ensure_ascii=False)),
    }
    for name, networks in (("searched", coefficients.searched), ("read", coefficients.read)):
        arrays |= {f"{name}_mean": networks.mean, f"{name}_scale": networks.scale}
        for number, layer in enumerate(networks.layers):
            arrays |= {f"{name}_{number}_{part}": np.asarray(value) for part, value in enumerate(layer)}
    np.savez_compressed(path, **arrays)


def main() -> None:
    """Train, print the held-out figures of every family, and write the coefficients."""
    parser = argparse.ArgumentParser(description="Train the embedded reranker.")
    parser.add_argument("--labels", type=Path, required=True, help="labelled group messages, JSON lines")
    parser.add_argument("--corpus", type=Path, required=True, help="the documents they were labelled against")
    parser.add_argument("--reading", type=Path, required=True, help="paragraphs with questions, JSON lines")
    parser.add_argument("--groups", type=Path, help="groups with files and questions; see benchmarks.quality.groups")
    parser.add_argument("--cache", type=Path, default=Path("data/benchmark-cache"))
    parser.add_argument("--output", type=Path, default=COEFFICIENTS)
    parser.add_argument("--seed", type=int, default=11)
    arguments = parser.parse_args()
    experiment = Experiment(arguments)
    experiment.run()
    training = Training(experiment, arguments.seed)
    print(f"{len(training.question)} retrievals, {len(SEARCHED) + len(READ)} features")
    both = [training.held_out(seed) for seed in range(2)]
    figures: dict[str, dict[str, str]] = {}
    for name, part in (("searched", 0), ("read", 1)):
        logits = np.mean([pair[part] for pair in both], axis=0)
        print(f"\nnetworks over what was {name}, held out")
        figures[name] = {}
        for family in sorted(set(training.families.tolist())):
            rows = (training.families == family) & (training.is_read | (name == "searched"))
            if rows.any():
                figures[name][family] = _figures(logits[rows], training.answerable[rows])
                print(f"{family:60} {figures[name][family]}", flush=True)
    everything = np.ones(len(experiment.questions.texts), np.bool_)
    provenance = {
        "trained": datetime.now(UTC).date().isoformat(),
        "by": "python -m benchmarks.quality.train_reranker",
        "labels": arguments.labels.name,
        "corpus": arguments.corpus.name,
        "reading": arguments.reading.name,
        "seed": arguments.seed,
        "held_out": figures,
    }
    save(training.fit(everything, provenance), arguments.output)
    print(f"written to {arguments.output}")


if __name__ == "__main__":
    main()
