"""The services, opened when NoneBot starts and closed when it stops, and how handlers ask for them."""

import asyncio
import gc
import logging
import time
from contextlib import AsyncExitStack
from typing import Annotated

from nonebot import get_driver, logger
from nonebot.params import Depends
from nonebot.utils import run_coro_with_shield

from plugins._confirmation import Confirmations
from plugins._outbox import Outbox
from plugins._recalls import Recalls
from plugins._receipts import Receipts
from services.answering.service import QuestionAnswering
from services.container import Services, open_services
from services.errors import ServiceError
from services.knowledge.service import KnowledgeService
from services.memory.service import MemoryService
from services.proactive.service import ProactiveService
from services.settings import Settings

_driver = get_driver()
_stack = AsyncExitStack()
_opened: dict[str, Services] = {}
started_at = time.monotonic()


def settings() -> Settings:
    """The settings that `bot.py` read and handed to NoneBot."""
    return _driver.config.qunzhi


recalls = Recalls()
outbox = Outbox(settings().send, recalls)
receipts = Receipts(outbox)
confirmations = Confirmations()


@_driver.on_startup
async def _open() -> None:
    try:
        _opened["services"] = await _stack.enter_async_context(open_services(settings()))
    except ServiceError as error:
        if error.detail:
            logger.warning(error.detail)
        logger.error(f"启动失败：{error.user_message}")
        # The reason is told; uvicorn would bury it under the traceback of this exit.
        logging.getLogger("uvicorn.error").disabled = True
        raise SystemExit(1) from error
    # What is loaded now stays: left to the collector, every full collection would walk it all and stop the event loop
    # for more than 100 ms.
    gc.collect()
    gc.freeze()


@_driver.on_shutdown
async def _close() -> None:
    outbox.close()
    # NoneBot shields handlers from its own cancelling and then waits for them: one that waits for a model, or for the
    # account to come back, would hold up the stop for minutes. What it was at is taken up at the next start.
    name = f"{run_coro_with_shield.__module__}.{run_coro_with_shield.__qualname__}"
    handlers = [task for task in asyncio.all_tasks() if task.get_name() == name]
    for task in handlers:
        task.cancel()
    await asyncio.gather(*handlers, return_exceptions=True)
    _opened.clear()
    await _stack.aclose()


def is_open() -> bool:
    """Whether there is anything to work with: a rule may still be asked while the bot stops."""
    return bool(_opened)


def services() -> Services:
    """Everything, for the few places that report on the whole."""
    return _opened["services"]


# Asynchronous although nothing is waited for: NoneBot runs plain functions in threads, where quick messages of one
# person would overtake each other.
async def _knowledge() -> KnowledgeService:
    return services().knowledge


async def _memory() -> MemoryService:
    return services().memory


async def _answering() -> QuestionAnswering:
    return services().answering


async def _proactive() -> ProactiveService:
    return services().proactive


# Single services: NoneBot checks injected values with pydantic, which cannot take the container as a type.
Knowledge = Annotated[KnowledgeService, Depends(_knowledge)]
Memory = Annotated[MemoryService, Depends(_memory)]
Answering = Annotated[QuestionAnswering, Depends(_answering)]
Proactive = Annotated[ProactiveService, Depends(_proactive)]
