"""Examples for the reader: windows of passages, questions in several wordings, and what does not answer them.

A window does not answer a question if it is another one of the same paragraph or subject without the answer, the best
by words of another subject, or if a number or a name of the question was exchanged. Our own questions bring messages
that look as if their passage answered them.
"""

import json
import random
import re
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from e5_int8.tokenizer import Tokenizer
from services.index.tokens import index_terms, query_terms
from services.text.scripts import simplified

# Bounds in tokens, and the sizes of windows in characters.
MOST_PASSAGE, MOST_QUESTION = 224, 60
_SIZES = (100, 130, 150, 170, 220)
_OWN_SIZE, _WHOLE = 190, 260
_TRADITIONAL_SHARE, _NAMELESS_SHARE = 0.12, 0.3
_FOLDS = 5

_PIECE = re.compile(r"(?<=[。！？；!?;\n])")
_EXTENSION = re.compile(r"\.(pdf|docx|xlsx|pptx|csv|html?|md|txt)$", re.IGNORECASE)
_WORDINGS = (
    ("为什么", ("为啥", "咋", "凭啥")), ("什么时候", ("啥时候", "几时", "哪天", "啥时")),
    ("什么", ("啥", "啥子", "什麼")),
    ("怎么样", ("咋样",)), ("怎么", ("咋", "怎样", "肿么")), ("如何", ("怎么", "咋")), ("多少", ("多少", "几")),
    ("哪里", ("哪", "哪儿")), ("哪儿", ("哪",)), ("何时", ("啥时候", "什么时候", "几时")), ("何处", ("哪儿", "哪里")),
    ("何人", ("谁",)), ("哪些", ("哪些", "啥")), ("哪一年", ("哪年", "几几年")), ("是否", ("是不是", "有没有")),
    ("位于", ("在",)), ("于何", ("在啥",)), ("称为", ("叫",)), ("名为", ("叫",)), ("进行", ("",)), ("之间", ("",)),
    ("该", ("这个", "")), ("此", ("这",)), ("请问", ("",)), ("登录", ("登陆",)), ("账号", ("帐号",)), ("需要", ("要",)),
    ("为何", ("为啥", "咋")), ("哪个", ("哪个", "啥")), ("能否", ("能不能",)), ("是谁", ("谁",)), ("由谁", ("谁",)),
)  # fmt: skip
_HEADS = ("", "", "", "", "", "那个", "想问下", "问一下 ", "话说", "有没有人知道", "谁知道", "请问", "大佬们 ")
_TAILS = ("呗", "啊", "呢", "来着", "呀", "", "", "", "", " 急", "？？", "?", "哈", "有人知道不", " 求解", "的说")
_NAMES = ("资料", "文档", "摘录", "简介", "笔记")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_ORDINAL = re.compile(r"(?<=第)[一二三四五六七八九十]")
_QUOTED = re.compile(r"(?<=[《「“])[^》」”]{2,12}(?=[》」”])")


@dataclass(frozen=True, slots=True)
class Window:
    """A part of a passage with its tokens; the place of a token without characters in `text` is (-1, -1)."""

    ids: tuple[int, ...]
    places: tuple[tuple[int, int], ...]
    text: str


@dataclass(slots=True)
class Example:
    """A question in several wordings, with numbers of windows.

    `right` hold an answer, `own` are of its passage, `near` and `far` hold none. `exchanged` are questions that the
    windows in `right` do not answer. A question without `right` is answered by nothing.
    """

    subject: str
    wordings: list[str]
    answers: tuple[str, ...]
    right: list[int]
    own: list[int]
    near: list[int] = field(default_factory=list[int])
    far: list[int] = field(default_factory=list[int])
    exchanged: list[str] = field(default_factory=list[str])

    @property
    def held_out(self) -> bool:
        """Whether the subject belongs to the fifth that only measures."""
        return zlib.crc32(self.subject.encode()) % _FOLDS == 0


@dataclass(frozen=True, slots=True)
class _Row:
    subject: str
    context: str
    text: str
    questions: tuple[tuple[str, tuple[str, ...]], ...]
    unanswered: tuple[str, ...] = ()
    own: bool = False


class Examples:
    """All windows and examples of some files."""

    def __init__(self, paths: Iterable[Path], tokenizer: Tokenizer, seed: int) -> None:
        """Read reading sets (see `datasets.read_paragraphs`) and our own questions, by the fields of their lines."""
        self._random = random.Random(seed)
        self._tokenizer = tokenizer
        self.windows: list[Window] = []
        self.examples: list[Example] = []
        self._subjects: list[str] = []
        self._embedded: list[str] = []
        rows = [_row(json.loads(line)) for path in paths for line in _lines(path)]
        self._titles = sorted({simplified(row.context) for row in rows if not row.own}) or ["另一个"]
        for row in rows:
            self._add(row)
        self._find_others()

    def question_ids(self, text: str) -> list[int]:
        """Return the tokens of a question as the reader has them."""
        ids = self._tokenizer.encode(f"query: {text}")[:MOST_QUESTION]
        return [self._tokenizer.begin, *ids, self._tokenizer.end]

    def answer_tokens(self, window: int, answers: Sequence[str]) -> list[int]:
        """Return the numbers of the tokens that belong to one of the answers."""
        found = self.windows[window]
        spans = [match.span() for answer in answers if answer for match in re.finditer(re.escape(answer), found.text)]
        return [
            number
            for number, (start, end) in enumerate(found.places)
            if start < end and any(start < last and end > first for first, last in spans)
        ]

    def _add(self, row: _Row) -> None:
        as_is = not row.own and self._random.random() < _TRADITIONAL_SHARE
        write = str if as_is else simplified
        text, context = write(row.text), write(row.context)
        if row.own:
            parts = _parts_of_own(text)
        else:
            if self._random.random() < _NAMELESS_SHARE:
                meaningless = f"{self._random.choice(_NAMES)}{self._random.randint(1, 99)}"
                context = self._random.choice(["", meaningless])
            parts = _parts(text, self._random.choice(_SIZES))
        own = list(range(len(self.windows), len(self.windows) + len(parts)))
        for part in parts:
            self.windows.append(self._window(context, part))
            self._subjects.append(row.subject)
            self._embedded.append(f"{context}\n{part}")
        for question, answers in row.questions:
            asked, wanted = write(question), tuple(map(write, answers))
            right = [number for number in own if any(answer in self.windows[number].text for answer in wanted)]
            if not wanted:
                right = own[:1]
            if right:
                exchanged = [
                    item for _ in range(2) if wanted and (item := self._exchanged(asked, simplified(row.context)))
                ]
                wordings = [asked, self._colloquial(asked), self._colloquial(asked)]
                self.examples.append(Example(row.subject, wordings, wanted, right, own, exchanged=exchanged))
        for message in row.unanswered:
            self.examples.append(Example(row.subject, [write(message)], (), [], own))

    def _window(self, context: str, text: str) -> Window:
        """Return the tokens of a window as `e5_int8.reader` has them."""
        ids = [self._tokenizer.begin, *self._tokenizer.encode(f"passage: {context}")]
        places = [(-1, -1)] * len(ids)
        at = 0
        for line in text.split("\n"):
            if line.strip():
                more, spans = self._tokenizer.encode_with_places(line)
                ids += [self._tokenizer.end, *more]
                places += [(-1, -1), *((at + start, at + end) for start, end in spans)]
            at += len(line) + 1
        ids, places = ids[: MOST_PASSAGE - 1], places[: MOST_PASSAGE - 1]
        last = max((end for _, end in places), default=0)
        return Window((*ids, self._tokenizer.end), (*places, (-1, -1)), text[: max(0, last)])

    def _find_others(self) -> None:
        search = _Words(self._embedded)
        of_subject: dict[str, list[int]] = {}
        for number, subject in enumerate(self._subjects):
            of_subject.setdefault(subject, []).append(number)
        for example in self.examples:
            best = search.best(example.wordings[0], 12)
            rank = {number: place for place, number in enumerate(best)}
            free = [
                number
                for number in dict.fromkeys([*of_subject[example.subject], *best])
                if number not in example.right
                and not any(answer in self.windows[number].text for answer in example.answers)
            ]
            near = [number for number in free if self._subjects[number] == example.subject]
            example.near = sorted(near, key=lambda number: rank.get(number, 99))[:5]
            example.far = [number for number in free if self._subjects[number] != example.subject][:4]

    def _colloquial(self, question: str) -> str:
        """Word a question as members type it."""
        chance = self._random.random
        text = question.rstrip("？?。 ")
        for formal, others in _WORDINGS:
            if formal in text and chance() < 0.7:
                text = text.replace(formal, self._random.choice(others))
        if chance() < 0.4:
            text = re.sub(r"[，,]", " ", re.sub(r"[《》「」“”\"、]", "", text))
        for word, share in (("的", 0.3), ("是", 0.2), ("了", 0.25)):
            if chance() < share:
                text = text.replace(word, "", 1)
        return self._random.choice(_HEADS) + text + self._random.choice(_TAILS)

    def _exchanged(self, question: str, title: str) -> str:
        """Exchange a number, an ordinal or a name of a question for another one; return "" if it has none."""
        places = [match.span() for pattern in (_NUMBER, _ORDINAL, _QUOTED) for match in pattern.finditer(question)]
        name = re.sub(r"[（(].*", "", title).strip()
        if len(name) > 1 and name in question:
            start = question.index(name)
            places.append((start, start + len(name)))
        if not places:
            return ""
        start, end = self._random.choice(places)
        old = question[start:end]
        new = self._another(old)
        if not new or new == old or old in new:
            return ""
        other = question[:start] + new + question[end:]
        return self._colloquial(other) if self._random.random() < 0.5 else other

    def _another(self, old: str) -> str:
        if _NUMBER.fullmatch(old) and "." in old:
            digits = len(old.partition(".")[2])
            return f"{float(old) + self._random.choice([-1.3, -0.5, 0.7, 2.1]):.{digits}f}"
        if _NUMBER.fullmatch(old):
            return str(abs(int(old) + self._random.choice([-10, -5, -3, -2, -1, 1, 2, 3, 4, 7, 10])))
        if len(old) == 1:
            return self._random.choice("一二三四五六七八九十")
        return re.sub(r"[（(].*", "", self._random.choice(self._titles))


class _Words:
    def __init__(self, texts: Sequence[str]) -> None:
        found: dict[str, list[int]] = {}
        for number, text in enumerate(texts):
            for term in set(index_terms(text)):
                found.setdefault(term, []).append(number)
        self._size = len(texts)
        self._found = {term: np.array(numbers) for term, numbers in found.items()}

    def best(self, question: str, count: int) -> list[int]:
        scores = np.zeros(self._size)
        for term in query_terms(question):
            numbers = self._found.get(term)
            if numbers is not None:
                scores[numbers] += np.log(1 + (self._size - len(numbers) + 0.5) / (len(numbers) + 0.5))
        return [int(number) for number in np.argsort(-scores)[:count]]


def _lines(path: Path) -> Iterable[str]:
    return filter(str.strip, path.read_text(encoding="utf-8").splitlines())


def _row(line: dict[str, Any]) -> _Row:
    if "context" in line:
        asked = tuple((item["question"], tuple(item["answers"])) for item in line["questions"])
        return _Row(line["title"], line["title"], line["context"], asked)
    stem, heading = _EXTENSION.sub("", line["name"]), str(line.get("heading") or "").replace(" › ", " ")
    asked = tuple(
        (item["q"], (item["a"],)) if isinstance(item, dict) else (str(item), tuple[str, ...]())
        for item in line["questions"]
    )
    unanswered = (*line.get("unanswered", ()), *line.get("chatter", ()))
    return _Row(line["name"], f"{stem} {heading}".strip()[:80], line["text"], asked, unanswered, own=True)


def _parts_of_own(text: str) -> list[str]:
    header, *rows = text.split("\n")
    if len(text) <= _WHOLE:
        return [text]
    if " | " not in header:
        return _parts(text, _OWN_SIZE)
    parts = [header]
    for row in rows:
        if len(parts[-1]) + len(row) > _OWN_SIZE * 1.2:
            parts.append(header)
        parts[-1] += f"\n{row}"
    return parts


def _parts(text: str, size: int) -> list[str]:
    parts = [""]
    for piece in _PIECE.split(text):
        if parts[-1] and len(parts[-1]) + len(piece) > size * 1.25:
            parts.append("")
        parts[-1] += piece
    if len(parts) > 1 and len(parts[-1]) < size * 0.3:
        parts[-2:] = ["".join(parts[-2:])]
    return [part for part in parts if part.strip()]
