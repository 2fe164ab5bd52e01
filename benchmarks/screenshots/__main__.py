"""Benchmark of reading screenshots by OCR: processor time, characters, words and names of errors.

python -m benchmarks.screenshots [directory]

Names are also counted after they were matched with the words of a knowledge base that contains them, and of one that
does not, which must not make them worse. The screenshots are kept in the directory, if one is given.
"""

import asyncio
import json
import re
import resource
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from benchmarks.measurement import machine
from benchmarks.screenshots.drawing import Screenshot, screenshots
from services.index.local import LocalIndex
from services.index.models import IndexedChunk
from services.pictures.ocr import TextRecognition
from services.pictures.words import corrected

_OTHER_TEXTS = Path(__file__).parents[1] / "quality" / "data" / "group_questions.jsonl"
_HAN = "\u2e80-\u9fff\uff00-\uffef"
_BLANK_AT_HAN = re.compile(rf"(?<=[{_HAN}]) | (?=[{_HAN}])")
_WORD = re.compile(r"[!-~]+")


async def _main(directory: Path | None) -> None:
    print(machine())
    shots = await screenshots()
    began = time.process_time()
    recognition = TextRecognition()
    recognition.read(shots[0].image)
    print(f"loading and first picture {time.process_time() - began:.2f} CPU s")
    read: list[str] = []
    seconds: list[float] = []
    for number, shot in enumerate(shots):
        began = time.process_time()
        read.append(recognition.read(shot.image).text)
        seconds.append(time.process_time() - began)
        if directory is not None:
            (directory / f"{number:02}-{shot.look}.{'jpg' if shot.look == 'phone' else 'png'}").write_bytes(shot.image)
    for look in ("light", "dark", "phone", ""):
        chosen = [place for place, shot in enumerate(shots) if look in ("", shot.look)]
        print(_row(look or "all", [shots[place] for place in chosen], chosen, read, seconds))
    print(f"memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MB")
    others = [json.loads(line)["text"] for line in _OTHER_TEXTS.read_text("utf-8").splitlines()]
    own = [" ".join(shot.names) for shot in shots]
    for name, texts in (("documents with the names", [*others, *own]), ("documents without the names", others)):
        began = time.process_time()
        matched = await _matched(read, texts)
        taken = (time.process_time() - began) / len(read)
        print(f"names right, {name}: {_names(shots, matched)}, matching {1000 * taken:.0f} ms each")
    for shot, text, after in zip(shots, read, matched, strict=True):
        for name in shot.names:
            if not _has(text, name):
                print(f"  misread: {name}{' and made worse' if text != after and not _has(after, name) else ''}")


async def _matched(read: Sequence[str], texts: Sequence[str]) -> list[str]:
    with tempfile.TemporaryDirectory() as directory:
        index = LocalIndex(Path(directory))
        index.add_words("bench", [IndexedChunk(f"b-{place}", "b", place, text) for place, text in enumerate(texts)])

        async def vocabulary(words: Iterable[str]) -> Mapping[str, str]:
            return index.spellings("bench", list(words), ())

        found = [await corrected(text, vocabulary) for text in read]
        index.close()
    return found


def _row(
    look: str, shots: Sequence[Screenshot], places: Sequence[int], read: Sequence[str], seconds: Sequence[float]
) -> str:
    texts, times = [read[place] for place in places], [seconds[place] for place in places]
    wrong = sum(_distance(_plain(shot.text), _plain(text)) for shot, text in zip(shots, texts, strict=True))
    words = [(word, text) for shot, text in zip(shots, texts, strict=True) for word in _WORD.findall(shot.text)]
    kept = sum(word in _WORD.findall(text) for word, text in words)
    return (
        f"{look:<6} n={len(shots):<3} CPU s mean {sum(times) / len(times):.2f} max {max(times):.2f}"
        f"  CER {wrong / sum(len(_plain(shot.text)) for shot in shots):.4f}  words kept {kept / len(words):.3f}"
        f"  names right {_names(shots, texts)}"
    )


def _names(shots: Sequence[Screenshot], texts: Sequence[str]) -> str:
    right = [_has(text, name) for shot, text in zip(shots, texts, strict=True) for name in shot.names]
    return f"{sum(right)} of {len(right)} ({sum(right) / len(right):.3f})"


def _has(text: str, name: str) -> bool:
    """Return whether a text contains a name, with any blank for any other, and with or without those at hanzi."""
    return _BLANK_AT_HAN.sub("", " ".join(name.split())) in _BLANK_AT_HAN.sub("", " ".join(text.split()))


def _plain(text: str) -> str:
    return "".join(text.split())


def _distance(left: str, right: str) -> int:
    """Return how many characters have to be changed, inserted or removed."""
    before = list(range(len(right) + 1))
    for row, character in enumerate(left, start=1):
        present = [row]
        for column, other in enumerate(right, start=1):
            cost = before[column - 1] + (character != other)
            present.append(min(cost, before[column] + 1, present[-1] + 1))
        before = present
    return before[-1]


if __name__ == "__main__":
    asyncio.run(_main(Path(sys.argv[1]) if len(sys.argv) > 1 else None))
