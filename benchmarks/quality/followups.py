"""Benchmark of the follow-up questions: what rewriting restores, and which questions that stand alone it changes.

A restored character is one that a person's own rewrite has and the question has not. It counts as found if the question
that is searched has it, too. A question that stands alone is asked after another one of the same paragraph or group,
and after an unrelated one. Follow-up questions and the reading set are measured with models that were not fitted on
them, the other sets with the shipped model, which was fitted on none of them: `python -m benchmarks.quality.followups`.
"""

import argparse
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from benchmarks.quality.datasets import Paragraph, read_lines, read_paragraphs
from benchmarks.quality.groups import GroupQuestion, read_groups
from benchmarks.quality.report import Report
from benchmarks.quality.train_dependence import (
    ASKS_BACK,
    FollowUp,
    cases_of,
    cross_validated,
    fold_of,
    read_follow_ups,
)
from services.workflows.qa.dependence import Dependence, load_dependence
from services.workflows.qa.rewriting import Exchange, rewritten

_NOTHING = "资料里没有找到相关内容，可以换个更具体的问法。"

# The exchanges of one paragraph or group, in the order of its questions.
Conversation = Sequence[Exchange]


def restored(follow_up: FollowUp, searched: str) -> tuple[int, int]:
    """Return how many characters a person's rewrite restores, and how many of them are in what is searched.

    >>> restored(FollowUp(("茶", "什么茶"), "好喝吗", "茶好喝吗"), "茶 好喝吗")
    (1, 1)
    """
    missing = Counter(follow_up.rewritten) - Counter(follow_up.text)
    found = missing & (Counter(searched) - Counter(follow_up.text))
    return missing.total(), found.total()


def of_paragraph(paragraph: Paragraph) -> Conversation:
    """Return the questions of a paragraph with their answers."""
    return [Exchange(question.text, question.answers[0]) for question in paragraph.questions]


def of_group(questions: Sequence[GroupQuestion]) -> Conversation:
    """Return the questions of a group that stand alone, with their answers."""
    return [
        Exchange(question.text, question.answers[0] if question.answerable and question.answers else _NOTHING)
        for question in questions
        if question.kind != "followup"
    ]


def changed(
    conversations: Sequence[Conversation],
    models: Sequence[Dependence],
    report: Report,
    name: str,
    chosen: random.Random,
) -> list[str]:
    """Report how many questions are changed after each kind of predecessor, and return these."""
    flat = [exchange for conversation in conversations for exchange in conversation]
    after = {
        "the same": [pair for conversation in conversations for pair in pairwise(conversation)],
        "unrelated": [(chosen.choice(flat), exchange) for exchange in flat],
        "a question back": [(Exchange(chosen.choice(flat).question, ASKS_BACK), exchange) for exchange in flat],
    }
    lines: list[str] = []
    for kind, pairs in after.items():
        found = [
            (result, before.question, exchange.question)
            for before, exchange in pairs
            if (result := rewritten(exchange.question, [before], models[fold_of(exchange.question)]))
        ]
        report.row(name, kind, f"{len(found)}/{len(pairs)}", f"{100 * len(found) / len(pairs):.2f}%")
        lines += [f"{name}: {before} | {question} -> {result}" for result, before, question in found]
    return lines


def played(follow_ups: Sequence[FollowUp], models: Sequence[Dependence]) -> tuple[Report, list[str]]:
    """Return what the follow-up questions of a chat get back, and each with what is searched."""
    missing = found = touched = alone = spoiled = 0
    lines: list[str] = []
    for item in follow_ups:
        result = rewritten(item.text, [Exchange(*item.before)], models[fold_of(item.text)])
        counts = restored(item, result or "")
        if not counts[0]:
            alone, spoiled = alone + 1, spoiled + bool(result)
            continue
        missing, found, touched = missing + counts[0], found + counts[1], touched + bool(result)
        lines.append(f"{counts[1]}/{counts[0]} {' / '.join(item.before)} | {item.text} -> {result} ({item.rewritten})")
    report = Report(f"Follow-up questions of a chat: {len(follow_ups)}")
    report.row("characters restored", f"{found}/{missing}", f"{100 * found / max(missing, 1):.2f}%")
    report.row("questions rewritten", f"{touched}/{len(follow_ups) - alone}")
    report.row("changed although they stand alone", f"{spoiled}/{alone}")
    return report, lines


def followed(groups: Mapping[Path, Sequence[GroupQuestion]], model: Dependence) -> tuple[Report, list[str]]:
    """Return how many follow-up questions of groups are rewritten, and each with what is searched."""
    asked = [question for questions in groups.values() for question in questions if question.kind == "followup"]
    results = [rewritten(question.text, [Exchange(question.previous, "")], model) for question in asked]
    report = Report("Follow-up questions of groups")
    report.row("rewritten", f"{sum(map(bool, results))}/{len(results)}")
    return report, [
        f"{question.previous} | {question.text} -> {result}" for question, result in zip(asked, results, strict=True)
    ]


def main() -> None:
    """Print what is restored and what is changed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("followups", type=Path, help="lines of follow-up questions with their rewrites")
    parser.add_argument("reading", type=Path, help="the reading set that the model is fitted on")
    parser.add_argument("others", type=Path, help="a reading set that it is not fitted on")
    parser.add_argument("groups", type=Path, help="a folder with one folder for each group")
    parser.add_argument("--out", type=Path, help="write every question with what is searched")
    arguments = parser.parse_args()
    follow_ups, reading = read_follow_ups(arguments.followups), read_paragraphs(arguments.reading)
    groups = read_groups(arguments.groups)
    models = cross_validated(cases_of(follow_ups, reading))
    shipped = [load_dependence()] * len(models)
    chosen = random.Random(1)
    first, lines = played(follow_ups, models)
    second, more = followed(groups, shipped[0])
    alone = Report("Questions that stand alone")
    alone.row("set", "asked after", "changed")
    lines += more
    lines += changed([of_paragraph(item) for item in reading], models, alone, "reading, left out", chosen)
    others = read_paragraphs(arguments.others)
    lines += changed([of_paragraph(item) for item in others], shipped, alone, "other reading", chosen)
    lines += changed([of_group(questions) for questions in groups.values()], shipped, alone, "groups", chosen)
    chatter = [
        [Exchange(question.text, "") for question in questions if question.kind == "off_topic"]
        for questions in groups.values()
    ]
    lines += changed(chatter, shipped, alone, "groups, chatter", chosen)
    talk = [[Exchange(text, "") for text in read_lines("small_talk.txt")]]
    lines += changed(talk, models, alone, "chatter, left out", chosen)
    for report in (first, second, alone):
        print(report.text())
    if arguments.out:
        arguments.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
