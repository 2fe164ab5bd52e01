"""Fixtures with the library that tests of retrieval, and of everything above it, search."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from services.database import open_database, sqlite_url
from tests.services.retrieval.library import Library


@pytest.fixture
async def library(tmp_path: Path) -> AsyncIterator[Library]:
    database = await open_database(sqlite_url(tmp_path / "app.sqlite3"))
    yield Library(database)
    await database.close()
