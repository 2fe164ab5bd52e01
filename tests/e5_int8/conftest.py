"""Fixtures with the weights and one conversion, shared by all tests."""

from pathlib import Path

import pytest

from e5_int8 import SentenceEncoder, convert
from e5_int8.weights import Weights, installed_weights


@pytest.fixture(scope="session")
def weights() -> Weights:
    return installed_weights()


@pytest.fixture(scope="session")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory that holds the converted model."""
    folder = tmp_path_factory.mktemp("models")
    convert(folder)
    return folder


@pytest.fixture(scope="session")
def encoder(directory: Path) -> SentenceEncoder:
    return SentenceEncoder.open(directory, threads=2)
