"""Fixtures that load all plugins once, with the real services on a temporary directory, as bot.py does."""

import itertools
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from typing import Any

import nonebot
import pytest
from nonebot.matcher import matchers
from nonebug import App
from nonebug.fixture import lifespan_ctx
from nonebug.provider import NoneBugProvider

import bot
from services.access import Access
from services.pictures.reader import PictureReader
from services.pictures.service import Pictures
from services.prompts import load_prompts
from services.session import KnowledgeScope, SessionScope
from services.settings import Settings, load_settings
from tests.e2e.model_server import ModelServer
from tests.plugins.conversation import SUPERUSER, Conversation

_groups = itertools.count(700001)

Rescope = Callable[[KnowledgeScope, SessionScope], None]


@pytest.fixture(scope="session")
async def model_server() -> AsyncIterator[ModelServer]:
    async with ModelServer() as server:
        yield server


@pytest.fixture(scope="session")
async def loaded(tmp_path_factory: pytest.TempPathFactory, model_server: ModelServer) -> AsyncIterator[Settings]:
    """Load the plugins and run their startup and shutdown. A process can only do this once."""
    directory = tmp_path_factory.mktemp("bot")
    settings = load_settings(
        directory / "none.env",
        {
            "DATA_DIR": str(directory),
            "SUPERUSERS": str(SUPERUSER),
            "SANDBOX__ENABLED": "false",
            "LLM__BASE_URL": model_server.base_url,
            "LLM__API_KEY": "test-key",
            "LLM__MODEL": "test-model",
            "LLM__VISION_MODEL": "test-vision",
            "PROACTIVE__DELAY_S": "0",
            "PROACTIVE__QUIET_S": "0",
            "SEND__GROUP_INTERVAL_S": "0",
            "SEND__PER_MINUTE": "0",
            # A notice comes later, and would be a call that no test expects.
            "REVIEW__NOTIFY": "off",
            "BUDGET__MEMBER_QUESTIONS_PER_MINUTE": "0",
        },
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(bot.ROOT)
        bot.load(settings)
    matchers.set_provider(NoneBugProvider)
    async with lifespan_ctx():
        yield settings


@pytest.fixture
def conversation(loaded: Settings) -> Conversation:
    """Return a conversation in a group of its own."""
    return Conversation(App(), next(_groups))


@pytest.fixture
def blind(loaded: Settings) -> Iterator[None]:
    """Let nothing read pictures, for one test."""
    from qq import depends  # noqa: PLC0415 - importing it needs a driver

    held = depends._opened  # pyright: ignore[reportPrivateUsage]
    opened = held["services"]
    reader = PictureReader(None, load_prompts().picture, None)
    held["services"] = replace(opened, pictures=Pictures(reader, opened.pictures._index, opened.pictures._documents))  # pyright: ignore[reportPrivateUsage]
    yield
    held["services"] = opened


@pytest.fixture
def rescope(loaded: Settings) -> Iterator[Rescope]:
    """Return a function that changes what groups share, for one test."""
    from qq import depends  # noqa: PLC0415 - importing it needs a driver

    config: Any = nonebot.get_driver().config
    held = depends._opened  # pyright: ignore[reportPrivateUsage]
    opened = held["services"]

    def change(knowledge: KnowledgeScope, session: SessionScope) -> None:
        changed = loaded.model_copy(
            update={
                "knowledge": loaded.knowledge.model_copy(update={"scope": knowledge}),
                "session": loaded.session.model_copy(update={"scope": session}),
            }
        )
        config.qunzhi = changed
        access = Access(opened.conversations, changed.knowledge, {SUPERUSER})
        held["services"] = replace(opened, settings=changed, access=access)

    yield change
    config.qunzhi = loaded
    held["services"] = opened
