"""Fixtures with the weights and one conversion, shared by all tests."""

from pathlib import Path

import pytest

from services.embeddings.conversion import quantized_model
from services.embeddings.e5 import E5
from services.embeddings.weights import Weights, installed_weights


@pytest.fixture(scope="session")
def weights() -> Weights:
    return installed_weights()


@pytest.fixture(scope="session")
def data_dir(weights: Weights, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a data directory that holds a converted model."""
    folder = tmp_path_factory.mktemp("data")
    quantized_model(weights, folder)
    return folder


@pytest.fixture(scope="session")
def e5(weights: Weights, data_dir: Path) -> E5:
    return E5(weights, quantized_model(weights, data_dir), threads=2)
