"""The loopback server."""

from collections.abc import AsyncIterator

import pytest

from tests.e2e.model_server import ModelServer


@pytest.fixture
async def model_server() -> AsyncIterator[ModelServer]:
    async with ModelServer() as running:
        running.reply = "三百五十元。"
        yield running
