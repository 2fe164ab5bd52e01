"""Fixtures with one conversion, shared by all tests."""

from pathlib import Path

import pytest

from e5_int8 import convert
from services.embeddings.e5 import E5, open_e5


@pytest.fixture(scope="session")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a data directory that holds a converted model."""
    folder = tmp_path_factory.mktemp("data")
    convert(folder / "models")
    return folder


@pytest.fixture(scope="session")
def e5(data_dir: Path) -> E5:
    return open_e5(data_dir / "models", threads=2)
