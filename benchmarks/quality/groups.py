"""Benchmark on groups with their own files and labelled questions: where an answer is lost on its way to the reply.

A set is a folder with a folder for each group: `files/` and `questions.jsonl`, a line of {"id", "question", "kind",
"answerable", "answers", "wrong", "previous"} each. The files are read, searched and quoted by the product's own code,
without a model and without a bot: `python -m benchmarks.quality.groups SET`.
"""

import argparse
import asyncio
import json
import re
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.quality.collection import Shelf, open_shelf
from benchmarks.quality.readings import Readings
from benchmarks.quality.report import Report
from benchmarks.quality.vectors import Vectors
from services.grounding.models import Answer, AnswerKind
from services.grounding.quoted import excerpt_answer
from services.knowledge.cleaning import clean_section
from services.knowledge.loaders import LOADERS
from services.knowledge.models import Omissions
from services.knowledge.splitter import split
from services.retrieval.models import Question, Retrieval, Strictness
from services.retrieval.rerank import EmbeddedReranker
from services.retrieval.wording import asks_something
from services.text.cleaning import compatible
from services.workflows.qa.rewriting import Exchange, in_context
from services.workflows.qa.small_talk import small_talk_reply

_CHUNK_CHARS, _OVERLAP_CHARS = 500, 50
_FEW = 5


@dataclass(frozen=True, slots=True)
class GroupQuestion:
    """A labelled question. `answers` are strings of which one makes a reply right, `wrong` those that spoil it."""

    group: str
    id: str
    text: str
    previous: str
    kind: str
    answerable: bool
    answers: tuple[str, ...]
    wrong: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The reply to a question without a model, and in what stages of retrieval an answer was present."""

    question: GroupQuestion
    retrieval: Retrieval
    answer: Answer
    verdict: str
    first: bool
    few: bool
    approved: bool

    def as_json(self) -> dict[str, Any]:
        """Return what a person needs to find the cause of a failure."""
        return {
            "group": self.question.group,
            "id": self.question.id,
            "kind": self.question.kind,
            "question": self.question.text,
            "previous": self.question.previous,
            "answers": self.question.answers,
            "wrong": self.question.wrong,
            "verdict": self.verdict,
            "first": self.first,
            "few": self.few,
            "approved": self.approved,
            "reply": self.answer.text,
            "sources": [source.place for source in self.answer.sources],
            "score": self.retrieval.metrics.max_rerank_score,
            "candidates": [
                {
                    "place": item.place,
                    "verdict": item.verdict.value,
                    "score": item.rerank_score,
                    "fused": item.fused,
                    "right": contains(item.hit.chunk.text, self.question.answers),
                    "text": item.hit.chunk.text,
                }
                for item in self.retrieval.candidates[:8]
            ],
        }


def read_groups(path: Path) -> dict[Path, list[GroupQuestion]]:
    """Return the questions of every group of a set by its folder."""
    groups: dict[Path, list[GroupQuestion]] = {}
    for file in sorted(path.glob("*/questions.jsonl")):
        lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
        groups[file.parent] = [
            GroupQuestion(
                file.parent.name,
                str(line["id"]),
                line["question"],
                line.get("previous") or "",
                line["kind"],
                bool(line["answerable"]),
                tuple(line.get("answers") or ()),
                tuple(line.get("wrong") or ()),
            )
            for line in lines
        ]
    return groups


def contains(text: str, wanted: Sequence[str]) -> bool:
    """Return whether a text contains one of the strings, whatever the width, case, spaces and marks."""
    plain = _plain(text)
    return any(_plain(item) in plain for item in wanted if _plain(item))


async def fill(shelf: Shelf, folder: Path) -> None:
    """Read the files of a group as the product does, and make them visible in a collection of the folder's name."""
    for file in sorted((folder / "files").iterdir()):
        loader = LOADERS[file.suffix.lower().removeprefix(".")].loader()
        sections = map(clean_section, loader(file, Omissions()))
        await shelf.add(folder.name, file.name, split(sections, _CHUNK_CHARS, _OVERLAP_CHARS))


async def ask(shelf: Shelf, question: GroupQuestion, strictness: Strictness, before: Exchange | None = None) -> Outcome:
    """Ask a question as a member of its group, after another one if there is one; the answer is a quotation."""
    before = Exchange(question.previous, "") if question.previous else before
    asked = in_context(Question(question.text), [before] if before else [])
    retrieval = await shelf.retriever.retrieve_twice(question.group, asked, strictness=strictness)
    talk = small_talk_reply(asked.text) if not retrieval.references else None
    answer = Answer(AnswerKind.WRITTEN, talk) if talk else excerpt_answer(asked, retrieval)
    ordered = sorted(retrieval.candidates, key=lambda item: -item.fused)
    right = [contains(item.hit.chunk.text, question.answers) for item in ordered]
    approved = [contains(item.text, question.answers) for item in retrieval.references]
    return Outcome(
        question, retrieval, answer, _verdict(question, answer), any(right[:1]), any(right[:_FEW]), any(approved)
    )


def table(outcomes: Sequence[Outcome], by: str) -> Report:
    """Return the shares by kind or by group."""
    report = Report(f"Groups by {by}: {len(outcomes)} questions")
    report.row(by, "right", "wrong", "refused", "answer in 1st", f"in {_FEW}", "approved", "silent", "answered")
    names = list(dict.fromkeys(getattr(outcome.question, by) for outcome in outcomes))
    for name in [*names, "all"]:
        chosen = [item for item in outcomes if name in (getattr(item.question, by), "all")]
        verdicts = Counter(item.verdict for item in chosen)
        asked = [item for item in chosen if item.question.answerable]
        others = len(chosen) - len(asked)
        report.row(
            name,
            *(_share(verdicts[verdict], len(asked)) for verdict in ("right", "wrong", "refused")),
            *(
                _share(sum(getattr(item, stage) for item in asked), len(asked))
                for stage in ("first", "few", "approved")
            ),
            *(_share(verdicts[verdict], others) for verdict in ("silent", "answered")),
        )
    return report


def unasked(outcomes: Sequence[Outcome]) -> Report:
    """Return how many messages would be answered without being asked, by what they are.

    The precision is the share of the answerable among the answered messages: first among questions and chatter, as they
    come in a group, and then with all near misses of the set.
    """
    lowest = EmbeddedReranker.thresholds[Strictness.UNASKED]
    report = Report(f"Speaking unasked, at a score of {lowest}")
    report.row("messages", "answered")
    answered: dict[str, int] = {}
    for name, kinds in (("answerable", None), ("chatter", "off_topic"), ("near misses", "near_miss")):
        chosen = [
            item for item in outcomes if (item.question.answerable if kinds is None else item.question.kind == kinds)
        ]
        answered[name] = sum(
            asks_something(item.question.text) and (item.retrieval.metrics.max_rerank_score or 0.0) >= lowest
            for item in chosen
        )
        report.row(name, _share(answered[name], len(chosen)))
    right, chatter, near = answered.values()
    report.row("precision among questions and chatter", _share(right, right + chatter))
    report.row("precision with near misses", _share(right, right + chatter + near))
    return report


def _share(count: int, total: int) -> str:
    return f"{count}/{total} {100 * count / total:.0f}%" if total else "-"


def _verdict(question: GroupQuestion, answer: Answer) -> str:
    silent = answer.kind is not AnswerKind.EXCERPT
    if not question.answerable:
        return "silent" if silent else "answered"
    text = _plain(answer.text)
    places = [text.find(_plain(item)) for item in question.answers if _plain(item) and _plain(item) in text]
    if not places:
        return "refused" if silent else "wrong"
    return "wrong" if contains(text[: min(places)], question.wrong) else "right"


def _plain(text: str) -> str:
    plain = re.sub(r"(?<=\d)[,，](?=\d{3})", "", compatible(text).lower())
    return re.sub(r"[\u2010-\u2015\u2212~〜～-]+", "-", re.sub(r"[\s`*$\\\"“”‘’'「」『』|]", "", plain))


async def run(
    vectors: Vectors,
    readings: Readings | None,
    groups: dict[Path, list[GroupQuestion]],
    strictness: Strictness = Strictness.ASKED,
    *,
    in_turn: bool = False,
) -> list[Outcome]:
    """Return the outcome of every question that is about the content of files.

    If `in_turn` is set, each is asked after the reply to the one before it in its group.
    """
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory() as directory:
        async with open_shelf(vectors, readings, Path(directory)) as shelf:
            for folder, questions in groups.items():
                await fill(shelf, folder)
                before: Exchange | None = None
                for question in questions:
                    if question.kind != "meta":
                        outcomes.append(await ask(shelf, question, strictness, before))
                        before = Exchange(question.text, outcomes[-1].answer.text) if in_turn else None
    return outcomes


def main() -> None:
    """Play the groups and print where answers are lost, by kind and by group."""
    parser = argparse.ArgumentParser(description="Where answers about the files of groups are lost, without a model.")
    parser.add_argument("set", type=Path, help="a folder with one folder for each group")
    parser.add_argument("--groups", default="", help="only these, separated by commas")
    parser.add_argument(
        "--strictness", type=Strictness, default=Strictness.ASKED, help="written: what a model would be given"
    )
    parser.add_argument("--in-turn", action="store_true", help="ask each question after the one before it")
    parser.add_argument("--cache", type=Path, default=Path("data/benchmark-cache"))
    parser.add_argument("--out", type=Path, help="write every outcome with its candidates as JSON")
    arguments = parser.parse_args()
    chosen = set(filter(None, arguments.groups.split(",")))
    groups = {
        folder: asked for folder, asked in read_groups(arguments.set).items() if not chosen or folder.name in chosen
    }
    vectors, readings = Vectors(arguments.cache), Readings(arguments.cache)
    outcomes = asyncio.run(run(vectors, readings, groups, arguments.strictness, in_turn=arguments.in_turn))
    for by in ("kind", "group"):
        print(table(outcomes, by).text())
    print(unasked(outcomes).text())
    if arguments.out:
        arguments.out.write_text(json.dumps([item.as_json() for item in outcomes], ensure_ascii=False, indent=1))


if __name__ == "__main__":
    main()
