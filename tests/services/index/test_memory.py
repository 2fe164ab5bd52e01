"""The fake index fulfils the same contract as the real one."""

from collections.abc import AsyncIterator

import pytest

from services.errors import SearchIndexError
from services.index.models import SearchIndex
from tests.fakes.index import MemoryIndex
from tests.services.index.contract import SearchIndexContract, collection

__all__ = ["collection"]


@pytest.fixture
async def index() -> AsyncIterator[SearchIndex]:
    yield MemoryIndex()


@pytest.fixture
async def spare() -> AsyncIterator[SearchIndex]:
    yield MemoryIndex()


class TestMemoryIndex(SearchIndexContract):
    """The contract, applied to the fake index."""


async def test_it_can_be_made_to_fail() -> None:
    index = MemoryIndex()
    index.fail = True
    with pytest.raises(SearchIndexError):
        await index.collections()
    index.fail = False
    assert await index.collections() == set()
