"""Fixtures that start the real bot and simulate everything around it: QQ, its file host, and the language model."""

import os
import shutil
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.bot_process import BotProcess
from tests.e2e.file_server import FileServer
from tests.e2e.model_server import ModelServer
from tests.e2e.observed_client import NAPCAT, Dialect, ObservedClient


class BotFactory:
    """Starts bots that are stopped at the end of the test. Every bot of a test has its own directory."""

    def __init__(
        self, stack: AsyncExitStack, directory: Path, model_server: ModelServer, converted_models: Path
    ) -> None:
        self._stack = stack
        self._converted_models = converted_models
        self._directory = directory
        self._model_server = model_server
        self._count = 0

    def create(self, *, script: Path | None = None, **settings: str | None) -> BotProcess:
        """Return a bot that is not started and that the caller has to stop.

        `settings` are environment variables; None removes one. By default the bot uses the model server, sends
        without pauses and takes any number of questions.
        """
        self._count += 1
        environment: dict[str, str | None] = {
            "LLM__BASE_URL": self._model_server.base_url,
            "LLM__API_KEY": "e2e-key",
            "LLM__MODEL": "test-model",
            "LLM__TIMEOUT_S": "10",
            "SEND__GROUP_INTERVAL_S": "0",
            "SEND__PER_MINUTE": "0",
            "BUDGET__MEMBER_QUESTIONS_PER_MINUTE": "0",
            "BUDGET__WAITING_QUESTIONS": "50",
        }
        directory = self._directory / f"bot{self._count}"
        for model in self._converted_models.iterdir():
            (directory / "data" / "models").mkdir(parents=True, exist_ok=True)
            os.link(model, directory / "data" / "models" / model.name)
        return BotProcess(directory, environment | settings, script=script)

    async def __call__(self, *, script: Path | None = None, **settings: str | None) -> BotProcess:
        """Return a running bot. The test fails if the bot ends by itself."""
        bot = await self._stack.enter_async_context(self.create(script=script, **settings))
        # Share the models that the first bot converted: each takes two seconds of computing.
        for model in (bot.data_directory / "models").glob("*.onnx"):
            if not (self._converted_models / model.name).exists():
                shutil.copy(model, self._converted_models)
        return bot


class ClientFactory:
    """Connects clients that are closed at the end of the test. The test fails if the bot violated the protocol."""

    def __init__(self, stack: AsyncExitStack, file_server: FileServer) -> None:
        self._stack = stack
        self._file_server = file_server
        self.clients: list[ObservedClient] = []

    def create(self, bot: BotProcess, *, dialect: Dialect = NAPCAT, **options: Any) -> ObservedClient:
        """Return a client that is not connected. `options` are those of `ObservedClient`."""
        options = {"token": bot.token, "file_host": self._file_server} | options
        client = ObservedClient(bot.url, dialect=dialect, **options)
        self.clients.append(client)
        return client

    async def __call__(self, bot: BotProcess, *, dialect: Dialect = NAPCAT, **options: Any) -> ObservedClient:
        """Return a connected client."""
        return await self._stack.enter_async_context(self.create(bot, dialect=dialect, **options))


@pytest.fixture
async def file_server() -> AsyncIterator[FileServer]:
    async with FileServer() as server:
        yield server


@pytest.fixture
async def model_server() -> AsyncIterator[ModelServer]:
    async with ModelServer() as server:
        yield server


@pytest.fixture(scope="session")
def converted_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture
async def bot_factory(tmp_path: Path, model_server: ModelServer, converted_models: Path) -> AsyncIterator[BotFactory]:
    async with AsyncExitStack() as stack:
        yield BotFactory(stack, tmp_path, model_server, converted_models)


@pytest.fixture
async def client_factory(bot_factory: BotFactory, file_server: FileServer) -> AsyncIterator[ClientFactory]:
    # Depending on bot_factory sets the order of the teardown: clients disconnect before their bot stops.
    async with AsyncExitStack() as stack:
        factory = ClientFactory(stack, file_server)
        yield factory
    violations = [violation for client in factory.clients for violation in client.violations]
    assert not violations, violations
