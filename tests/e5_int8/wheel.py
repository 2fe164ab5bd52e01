"""The wheel's own C engine, run in a separate process.

    python wheel.py embed|tokens < texts.json > vectors.npy

`embed` returns the engine's vectors of passages. `tokens` verifies tokenizations: the engine does not reveal its token
ids, so it is loaded with an image of its model that has no transformer layers and random positions. It then returns a
sum over tokens of layernorm(word[id] + position): a fingerprint that differs if any id, or the order, differs.
"""

import ctypes
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from e5_int8.weights import Weights

_LAYERS_AT = 12


def wheel_vectors(mode: str, texts: list[str], weights: Weights) -> NDArray[np.float32]:
    """Return vectors of shape (texts, 384) from the C engine, on one thread."""
    with tempfile.TemporaryDirectory() as folder:
        request, answer, image = (Path(folder) / name for name in ("texts.json", "vectors.npy", "image.bin"))
        request.write_text(json.dumps(texts), "utf-8")
        content = bytearray(weights.path.read_bytes())
        if mode == "tokens":
            content[_LAYERS_AT : _LAYERS_AT + 4] = bytes(4)
            start = weights.offset("emb.pos")
            positions = random_positions(weights).tobytes()
            content[start : start + len(positions)] = positions
        image.write_bytes(content)
        subprocess.run(
            [sys.executable, __file__, str(request), str(answer), str(image), str(weights.path.parent)],
            check=True,
            env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parents[2])},
        )
        return np.load(answer)


def random_positions(weights: Weights) -> NDArray[np.float32]:
    """Return the positions that the image for `tokens` contains, shape (512, 384)."""
    shape = (weights.sizes.positions, weights.sizes.hidden)
    return np.random.default_rng(7).normal(0, 0.1, shape).astype(np.float32)


def _main(request: str, answer: str, image: str, package: str) -> None:
    (library_path,) = Path(package).glob("_engine*.so")
    library = ctypes.CDLL(str(library_path))
    library.e5_load.restype = ctypes.c_void_p
    model = ctypes.c_void_p(library.e5_load(image.encode()))
    texts = [text.encode() for text in json.loads(Path(request).read_text("utf-8"))]
    vectors = np.empty((len(texts), library.e5_dim(model)), np.float32)
    for row, text in zip(vectors, texts, strict=True):
        library.e5_embed(model, text, 0, row.ctypes.data_as(ctypes.c_void_p))
    np.save(answer, vectors)


if __name__ == "__main__":
    _main(*sys.argv[1:])
