"""The services, which open and close together with NoneBot, and the dependencies that handlers use to get them."""

import asyncio
import gc
import logging
import time
from contextlib import AsyncExitStack
from typing import Annotated, Any

from nonebot import get_driver, logger
from nonebot.params import Depends

from qq.confirmations import Confirmations
from qq.connection.shutdown import shutdown
from qq.outbox.outbox import Outbox
from qq.outbox.receipts import Receipts
from qq.recalls import Recalls
from qq.render.renderer import Renderer
from services.container import Services, open_services
from services.errors import ServiceError
from services.feedback.service import FeedbackService
from services.knowledge.intake import Intake
from services.knowledge.service import KnowledgeService
from services.memory.dialogues import Dialogues, SentAnswers
from services.memory.service import MemoryService
from services.proactive.service import ProactiveService
from services.settings import Settings
from services.workflows.qa.service import QuestionAnswering

_driver = get_driver()
_stack = AsyncExitStack()
_opened: dict[str, Services] = {}
started_at = time.monotonic()


def settings() -> Settings:
    """Return the settings that `bot.py` loaded and passed to NoneBot."""
    return _driver.config.qunzhi


recalls = Recalls()
renderer = Renderer(settings().render)
outbox = Outbox(settings().send, recalls, renderer.draw)
receipts = Receipts(outbox)
confirmations = Confirmations()


# Together with the server's own two seconds, these take less time than `_shutdown` allows.
_CANCELLING_S, _CANCELLINGS, _CLOSING_S = 0.5, 3, 4.0


@_driver.on_startup
async def _open() -> None:
    opening = asyncio.create_task(_stack.enter_async_context(open_services(settings())), name="open-services")
    stopping = asyncio.create_task(shutdown.wait(), name="await-shutdown")
    await asyncio.wait({opening, stopping}, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if not opening.done():
        opening.cancel()
        await asyncio.wait({opening}, timeout=_CLOSING_S)
        raise _silent_exit(0)
    try:
        _opened["services"] = opening.result()
    except ServiceError as error:
        if error.detail:
            logger.warning(error.detail)
        logger.error(f"启动失败：{error.told()}")
        raise _silent_exit(1) from error
    # Exclude everything that is loaded so far from garbage collection. Otherwise every full collection would walk all
    # of it and stop the event loop for more than 100 ms.
    gc.collect()
    gc.freeze()


def _silent_exit(code: int) -> SystemExit:
    # The reason is already in the log, and uvicorn would bury it under the traceback of this exit.
    logging.getLogger("uvicorn.error").disabled = True
    return SystemExit(code)


@_driver.on_shutdown
async def _close() -> None:
    outbox.close()
    await _end_events()
    _opened.clear()
    try:
        async with asyncio.timeout(_CLOSING_S):
            await _stack.aclose()
    except TimeoutError:
        logger.warning(f"the services did not close within {_CLOSING_S:g} s")


async def _end_events() -> None:
    """Cancel all tasks that events started. A task that waits for a model or an account would take minutes.

    NoneBot shields its handlers from its own cancellation, and a cancelled task may start another one to report it, so
    this looks again until no task is left. Interrupted work is resumed at the next start.
    """
    cancelled: set[asyncio.Task[Any]] = set()
    for _ in range(_CANCELLINGS):
        tasks = {task for task in asyncio.all_tasks() if _is_of_event(task)} - {asyncio.current_task()}
        if not tasks:
            return
        # Cancel each task only once, because a second cancellation would interrupt a rollback.
        for task in tasks - cancelled:
            task.cancel()
        cancelled |= tasks
        await asyncio.wait(tasks, timeout=_CANCELLING_S)
    logger.warning("some events were still being handled when the services closed")


def _is_of_event(task: "asyncio.Task[Any]") -> bool:
    """Return whether a task belongs to NoneBot or to a plugin.

    AnyIO names its tasks after the function that they run.
    """
    frame = getattr(task.get_coro(), "cr_frame", None)
    module = "" if frame is None else str(frame.f_globals.get("__name__"))
    return task.get_name().startswith("nonebot.") or module.startswith(("nonebot.", "plugins.", "qq."))


def is_open() -> bool:
    """Return whether the services are open. A rule may still be evaluated while the bot stops."""
    return bool(_opened)


def services() -> Services:
    """Return all services, for the few places that report on the whole bot."""
    return _opened["services"]


# These functions are asynchronous although they await nothing: NoneBot runs plain functions in threads, where messages
# that a person sends in quick succession could overtake each other.
async def _knowledge() -> KnowledgeService:
    return services().knowledge


async def _intake() -> Intake:
    return services().intake


async def _memory() -> MemoryService:
    return services().memory


async def _sent_answers() -> SentAnswers:
    return services().sent_answers


async def _feedback() -> FeedbackService:
    return services().feedback


async def _dialogues() -> Dialogues:
    return services().dialogues


async def _answering() -> QuestionAnswering:
    return services().answering


async def _proactive() -> ProactiveService:
    return services().proactive


# Inject single services, because NoneBot validates injected values with pydantic, which does not accept the container
# as a type.
Knowledge = Annotated[KnowledgeService, Depends(_knowledge)]
FileIntake = Annotated[Intake, Depends(_intake)]
Memory = Annotated[MemoryService, Depends(_memory)]
SentMessages = Annotated[SentAnswers, Depends(_sent_answers)]
Feedback = Annotated[FeedbackService, Depends(_feedback)]
SessionDialogues = Annotated[Dialogues, Depends(_dialogues)]
Answering = Annotated[QuestionAnswering, Depends(_answering)]
Proactive = Annotated[ProactiveService, Depends(_proactive)]
