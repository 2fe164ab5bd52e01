"""Tests of the reader of the weights file."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from e5_int8.weights import Weights, WeightsError, dequantize


def test_installed_file_holds_the_known_model(weights: Weights) -> None:
    sizes = weights.sizes
    assert (sizes.hidden, sizes.layers, sizes.heads, sizes.vocabulary, sizes.positions) == (384, 12, 12, 250_037, 512)
    vocabulary = weights.vocabulary()
    assert vocabulary.pieces[vocabulary.begin] == "<s>"
    assert vocabulary.pieces[vocabulary.unknown] == "<unk>"
    assert len(vocabulary.pieces) == len(vocabulary.scores) == 250_002
    assert vocabulary.normalization[ord("Ａ")] == "A"
    assert weights.matrix("l11.fo.w", 1536).shape == (384, 1536)


@given(st.floats(-8, 8, width=16), st.lists(st.integers(0, 15), min_size=32, max_size=32))
def test_dequantize_is_the_formula(scale: float, nibbles: list[int]) -> None:
    packed = bytes(low | high << 4 for low, high in zip(nibbles[:16], nibbles[16:], strict=True))
    block = np.frombuffer(np.float16(scale).tobytes() + packed, np.uint8).reshape(1, 1, 18)
    assert dequantize(block).tolist() == [[(nibble - 8) * scale for nibble in nibbles]]


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match=r"absent\.bin"):
        Weights(tmp_path / "absent.bin")


@pytest.mark.parametrize("size", [0, 3, 4, 40, 100_000, 8_000_000, 60_000_000])
def test_truncated_file(weights: Weights, tmp_path: Path, size: int) -> None:
    path = tmp_path / "short.bin"
    with weights.path.open("rb") as file:
        path.write_bytes(file.read(size))
    with pytest.raises(WeightsError):
        Weights(path)


@pytest.mark.parametrize("content", [b"not weights at all" * 100, b"E5S1" + b"\xff" * 1000, b"E5S1" + bytes(1000)])
def test_other_file(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "other.bin"
    path.write_bytes(content)
    with pytest.raises(WeightsError):
        Weights(path)


def test_unknown_tensor(weights: Weights) -> None:
    with pytest.raises(WeightsError):
        weights.vector("l12.q.b")
    with pytest.raises(WeightsError):
        weights.vector("emb.word")
