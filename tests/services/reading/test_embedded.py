"""The embedded reader as the product uses it: places in the text as it was given, and failures that are told."""

import logging
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from e5_int8 import PassageReader, convert_reader
from e5_int8 import Reading as RawReading
from services.errors import ReadingError
from services.reading.embedded import EmbeddedReader, open_reader
from services.reading.models import Reading, Text

QUESTION = "住宿一天最多报多少"
RULES = Text("差旅费管理办法", "市内交通费凭票报销。住宿费每人每天不超过350元，超出自理。")
CANTEEN = Text("食堂须知", "食堂早上六点半开门，晚上八点关门。")


class BrokenReader(PassageReader):
    """A model that fails as native libraries do."""

    def __init__(self) -> None:
        """Open nothing."""

    def read(self, question: str, passages: Sequence[tuple[str, str]]) -> list[RawReading]:
        """Fail."""
        raise RuntimeError("bad allocation")


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    (folder / "models").mkdir()
    convert_reader(folder / "models")
    return folder


@pytest.fixture
async def reader(data_dir: Path) -> AsyncIterator[EmbeddedReader]:
    opened = await open_reader(data_dir)
    assert opened is not None
    yield opened
    await opened.aclose()


def quoted(text: Text, reading: Reading) -> str:
    """Return what the best token of a reading names in its text."""
    best = int(np.argmax(reading.scores))
    return text.text[int(reading.starts[best]) : int(reading.ends[best])]


async def test_places_are_those_of_the_text_without_its_context(reader: EmbeddedReader) -> None:
    rules, canteen = await reader.read(QUESTION, [RULES, CANTEEN])
    assert rules.answers > canteen.answers
    assert quoted(RULES, rules) in "350元"
    assert len(rules.starts) == len(rules.ends) == len(rules.scores)
    assert all(0 <= start < end <= len(RULES.text) for start, end in zip(rules.starts, rules.ends, strict=True))


async def test_traditional_characters_are_read_where_they_stand(reader: EmbeddedReader) -> None:
    traditional = Text("差旅費管理辦法", "市內交通費憑票報銷。住宿費每人每天不超過350元，超出自理。")
    (one,), (other,) = await reader.read(QUESTION, [RULES]), await reader.read("住宿一天最多報多少", [traditional])
    assert other.answers == one.answers
    assert np.array_equal(other.starts, one.starts)
    assert np.array_equal(other.scores, one.scores)
    assert quoted(traditional, other) == quoted(RULES, one)


async def test_what_no_tokenizer_accepts_moves_no_place(reader: EmbeddedReader) -> None:
    damaged = Text(RULES.context, f"\ud800\ud800。{RULES.text}")
    whole, reading = await reader.read(QUESTION, [RULES, damaged])
    assert quoted(damaged, reading) == quoted(RULES, whole)
    assert reading.ends[-1] == whole.ends[-1] + 3


async def test_no_texts_give_no_readings(reader: EmbeddedReader) -> None:
    assert await reader.read(QUESTION, []) == []


async def test_a_failing_model_is_a_failure_with_a_sentence() -> None:
    broken = EmbeddedReader(BrokenReader())
    with pytest.raises(ReadingError) as failure:
        await broken.read(QUESTION, [RULES])
    assert failure.value.told().startswith("读不了找到的段落，这次按字词挑选。")
    assert "bad allocation" not in failure.value.told()
    assert "RuntimeError: bad allocation" in str(failure.value)
    await broken.aclose()


async def test_a_closed_reader_fails_in_the_same_way(data_dir: Path) -> None:
    closed = await open_reader(data_dir)
    assert closed is not None
    await closed.aclose()
    with pytest.raises(ReadingError):
        await closed.read(QUESTION, [RULES])


async def test_a_directory_that_cannot_be_used_gives_no_reader(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "models").write_bytes(b"not a directory")
    with caplog.at_level(logging.WARNING):
        assert await open_reader(tmp_path) is None
    assert "the reader cannot run" in caplog.text


async def test_a_damaged_model_is_converted_again(data_dir: Path, tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    for path in (data_dir / "models").iterdir():
        (tmp_path / "models" / path.name).write_bytes(b"no graph")
    reader = await open_reader(tmp_path)
    assert reader is not None
    (reading,) = await reader.read(QUESTION, [RULES])
    assert quoted(RULES, reading) in "350元"
    await reader.aclose()
