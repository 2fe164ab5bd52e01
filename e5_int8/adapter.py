"""The trained addition that makes a reader of multilingual-e5-small, and the weights with it."""

import functools
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from e5_int8.weights import Sizes, Weights

# The first layer in which a question and a passage see each other.
FIRST_LAYER = 6
ADAPTER = Path(__file__).parent / "reader.npz"


class Adapted:
    """The weights of the layers from `FIRST_LAYER` on, with a low-rank addition (LoRA, arXiv 2106.09685).

    The file holds for a dense layer `l6.q` the factors `l6.q.up` (outputs, rank) and `l6.q.down` (rank, inputs), whose
    product is added to its matrix; biases, normalisations and the weights of the two outputs are stored whole.
    """

    def __init__(self, weights: Weights, adapter: Path = ADAPTER) -> None:
        """Read the addition. Raise `OSError`, `ValueError` or `KeyError` if the file is absent or damaged."""
        with np.load(adapter, allow_pickle=False) as file:
            self._added: Mapping[str, NDArray[np.float16]] = {name: file[name] for name in file.files}
        self.provenance: Mapping[str, Any] = json.loads(str(self._added["provenance"]))
        if self.provenance["first_layer"] != FIRST_LAYER:
            raise ValueError(f"{adapter.name} was trained for layer {self.provenance['first_layer']}")
        self._weights = weights

    @property
    def sizes(self) -> Sizes:
        """The dimensions of the transformer."""
        return self._weights.sizes

    def vector(self, name: str) -> NDArray[np.float32]:
        """Return a bias, a parameter of a normalisation or the weights of an output, flat."""
        return self._added[name].astype(np.float32)

    def matrix(self, name: str, columns: int) -> NDArray[np.float32]:
        """Return the weights of a dense layer, shape (outputs, columns)."""
        layer = name.removesuffix(".w")
        product = self._added[f"{layer}.up"].astype(np.float32) @ self._added[f"{layer}.down"].astype(np.float32)
        return np.add(self._weights.matrix(name, columns), product, dtype=np.float32)


@functools.cache
def adapter_digest(adapter: Path = ADAPTER) -> str:
    """Return a name for the content of the file, so that another addition is converted again."""
    return hashlib.sha256(adapter.read_bytes()).hexdigest()[:12]
