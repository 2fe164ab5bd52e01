"""Labelled data of the quality programs.

Every file is given by its path, so that held-back sets work the same way.
"""

import json
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from services.knowledge.cleaning import clean_section
from services.knowledge.loaders import LOADERS
from services.knowledge.loaders.text import sections_of
from services.knowledge.models import Omissions
from services.knowledge.splitter import split

HERE = Path(__file__).parent / "data"
CHUNK_CHARS, OVERLAP_CHARS = 500, 50


@dataclass(frozen=True, slots=True)
class Passage:
    """One chunk as the product makes it. `context` is its document's title and its heading."""

    document: str
    ordinal: int
    context: str
    text: str

    @property
    def embedded(self) -> str:
        """The text that the embedding model receives, the same as `builder.embedded_text`."""
        return f"{self.context}\n{self.text}" if self.context else self.text


@dataclass(frozen=True, slots=True)
class Message:
    """A group message, and whether the corpus answers it."""

    text: str
    answerable: bool


@dataclass(frozen=True, slots=True)
class ReadingQuestion:
    """A question about one paragraph, with the answers as they occur in it."""

    paragraph: str
    text: str
    answers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph of a reading set.

    `unanswered` are messages about its subject that it does not answer.
    """

    paragraph_id: str
    title: str
    context: str
    questions: tuple[ReadingQuestion, ...]
    unanswered: tuple[str, ...] = ()


def read_messages(path: Path) -> list[Message]:
    """Read lines of {"query", "answerable"}."""
    return [Message(line["query"], bool(line["answerable"])) for line in _json_lines(path)]


def read_paragraphs(path: Path) -> list[Paragraph]:
    """Read lines of {"paragraph_id", "title", "context", "questions": [{"question", "answers"}]}."""
    paragraphs: list[Paragraph] = []
    for line in _json_lines(path):
        identity = str(line["paragraph_id"])
        questions = tuple(
            ReadingQuestion(identity, item["question"], tuple(item["answers"])) for item in line["questions"]
        )
        paragraphs.append(Paragraph(identity, str(line.get("title", "")), line["context"], questions))
    return paragraphs


def read_lines(name: str) -> list[str]:
    """Read the lines of one of our own files."""
    return [line.strip() for line in (HERE / name).read_text(encoding="utf-8").splitlines() if line.strip()]


def read_small_groups() -> list[Paragraph]:
    """Read our own small documents for groups of many kinds, with questions as members ask them."""
    groups: list[Paragraph] = []
    for line in _json_lines(HERE / "small_groups.jsonl"):
        questions = tuple(ReadingQuestion(line["name"], question, ()) for question in line["questions"])
        groups.append(Paragraph(line["name"], line["name"], line["text"], questions, tuple(line["unanswered"])))
    return groups


def read_member_questions() -> list[Paragraph]:
    """Read our own passages of files of many kinds, with questions as members type them on a phone.

    Passages of one file share their name, and only a year, a number or a name tells some of them apart.
    """
    found: list[Paragraph] = []
    for number, line in enumerate(_json_lines(HERE / "group_questions.jsonl")):
        identity = f"{line['name']}#{number}"
        questions = tuple(ReadingQuestion(identity, item["q"], (item["a"],)) for item in line["questions"])
        title = f"{Path(line['name']).stem} {line.get('heading', '')}".strip()
        unanswered = (*line["unanswered"], *line.get("chatter", ()))
        found.append(Paragraph(identity, title, line["text"], questions, unanswered))
    return found


def passages_of(paragraphs: list[Paragraph], *, titled: bool) -> list[Passage]:
    """Return the paragraphs as one document each, named by title, or by a meaningless number if `titled` is False."""
    passages: list[Passage] = []
    for paragraph in paragraphs:
        title = paragraph.title if titled else paragraph.paragraph_id
        chunks = split(map(clean_section, sections_of(paragraph.context)), CHUNK_CHARS, OVERLAP_CHARS)
        for chunk in chunks:
            context = " ".join((title, *chunk.heading))[:80]
            passages.append(Passage(paragraph.paragraph_id, chunk.ordinal, context, chunk.text))
    return passages


def passages_of_corpus(path: Path) -> list[Passage]:
    """Return every Markdown and text file of a directory or tar archive, split as the product does."""
    if path.is_dir():
        return list(_passages_below(path))
    with tempfile.TemporaryDirectory() as directory, tarfile.open(path) as archive:
        archive.extractall(directory, filter="data")
        return list(_passages_below(Path(directory)))


def passages_of_files(folder: Path) -> list[Passage]:
    """Return the files of a group as the product reads and splits them."""
    passages: list[Passage] = []
    for path in sorted(folder.iterdir()):
        sections = map(clean_section, LOADERS[path.suffix.lower().removeprefix(".")].loader()(path, Omissions()))
        for chunk in split(sections, CHUNK_CHARS, OVERLAP_CHARS):
            context = " ".join((path.stem, *chunk.heading))[:80]
            passages.append(Passage(path.name, chunk.ordinal, context, chunk.text))
    return passages


def _passages_below(root: Path) -> Iterator[Passage]:
    for path in sorted(root.rglob("*")):
        file_type = path.suffix.lower().removeprefix(".")
        if file_type not in ("md", "txt") or not path.is_file():
            continue
        sections = map(clean_section, LOADERS[file_type].loader()(path, Omissions()))
        for chunk in split(sections, CHUNK_CHARS, OVERLAP_CHARS):
            context = " ".join((path.stem, *chunk.heading))[:80]
            yield Passage(str(path.relative_to(root)), chunk.ordinal, context, chunk.text)


def _json_lines(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip():
            yield json.loads(line)
