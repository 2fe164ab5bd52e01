"""The memory of each session, and the summaries that keep it short."""

import asyncio
import logging
from dataclasses import dataclass

from langchain_core.prompts import ChatPromptTemplate

from services.budgets.charge import Charge, charged
from services.errors import ModelBudgetSpent, ModelError
from services.llm import ChatModel
from services.memory.facts import clauses_with, lost_facts, without_new_facts
from services.memory.history import as_text, fenced
from services.memory.order import SessionOrder
from services.records.conversations import ConversationRecords, HistoryEntry, Preferences, Source
from services.records.stored_values import StoredMessage
from services.records.tables import ModelFeature, TurnState
from services.session import chat_of
from services.settings import MemorySettings
from services.text.links import known_addresses, without_unknown_links

log = logging.getLogger(__name__)

_VERBATIM = "\n原文要点：\n"
# The model is shown 4,000 characters of summaries; more facts than these do not fit, and the latest are the most
# important.
_MOST_FACTS = 400
# A compaction on request leaves the last exchange in full.
_KEPT_BY_HAND = 2


@dataclass(frozen=True, slots=True)
class MemoryStatus:
    """The memory of one session: exchanges in the log, the failed ones among them, messages the model is shown."""

    turns: int
    failed: int
    history: int
    limit: int
    chunk: int
    summaries: bool


@dataclass(frozen=True, slots=True)
class Exchange:
    """One question and its outcome, for display."""

    user_id: int
    question: str
    answer: str
    failed: bool = False
    waiting: bool = False


class MemoryService:
    """The memory of all sessions."""

    def __init__(
        self,
        records: ConversationRecords,
        settings: MemorySettings,
        model: ChatModel | None,
        prompt: ChatPromptTemplate,
        order: SessionOrder,
    ) -> None:
        self._records = records
        self._settings = settings
        self._model = model
        self._prompt = prompt
        self._order = order
        self._summarising: dict[str, asyncio.Task[None]] = {}

    async def resume(self) -> None:
        """Start the summaries that a stopped process did not get to."""
        for session_id in await self._records.longer_than(self._settings.max_history_messages):
            self._summarise_soon(session_id)

    async def close(self) -> None:
        """Stop summarising; the next start resumes it."""
        tasks = list(self._summarising.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def schedule_summary(self, session_id: str) -> None:
        """Summarise in the background if the history has grown too long. Call this after the reply was sent."""
        self._summarise_soon(session_id)

    async def status(self, session_id: str) -> MemoryStatus:
        """Return the counts for `/memory status`."""
        totals = await self._records.totals(session_id)
        return MemoryStatus(
            turns=totals.turns,
            failed=totals.failed,
            history=totals.history,
            limit=self._settings.max_history_messages,
            chunk=self._settings.summary_chunk_size,
            summaries=self._model is not None,
        )

    async def recent(self, session_id: str) -> list[Exchange]:
        """Return the light history of the specification: the last messages as spoken, without summaries."""
        turns = await self._records.recent(session_id, max(1, self._settings.recent_shown // 2))
        return [
            Exchange(
                turn.user_id,
                turn.question,
                turn.answer,
                failed=turn.state == TurnState.FAILED,
                waiting=turn.state == TurnState.WAITING,
            )
            for turn in turns
        ]

    async def preferences(self, session_id: str) -> Preferences:
        """Return what a session wants of its answers."""
        return await self._records.preferences(session_id)

    async def sources(self, session_id: str) -> list[Source]:
        """Return the sources of the last reply that had any, unless the conversation was cleared since."""
        return await self._records.sources(session_id)

    async def summary(self, session_id: str) -> str:
        """Return the summaries in the working history as text, empty if there are none."""
        records = await self._records.history(session_id)
        return "\n".join(record.message.text for record in records if record.message.type == "system")

    async def clear(self, session_id: str) -> int:
        """Forget the conversation so far, and return the number of messages removed from the working history."""
        async with self._order.place(session_id):
            return await self._records.forget(session_id)

    async def compact(self, session_id: str) -> int | None:
        """Summarise all but the last exchange now, and return the number of messages summarised, 0 if too few.

        Return None if no model is configured. Raise `ModelError`, leaving the history unchanged.
        """
        if self._model is None:
            return None
        records = await self._records.history(session_id)
        chosen = records[: max(0, len(records) - _KEPT_BY_HAND)]
        if len(chosen) < _KEPT_BY_HAND:
            return 0
        return len(chosen) if await self._replace(session_id, chosen, self._model) else 0

    # -- summaries ----------------------------------------------------------------------------------------------------

    def _summarise_soon(self, session_id: str) -> None:
        if self._model is None or session_id in self._summarising:
            return
        task = asyncio.create_task(self._summarise(session_id, self._model), name=f"summarise-{session_id}")
        self._summarising[session_id] = task

        def finished(done: asyncio.Task[None]) -> None:
            self._summarising.pop(session_id, None)
            if not done.cancelled() and (error := done.exception()) is not None:
                log.error("summarising %s failed", session_id, exc_info=error)

        task.add_done_callback(finished)

    async def _summarise(self, session_id: str, model: ChatModel) -> None:
        while await self._is_due(session_id):
            records = await self._records.history(session_id)
            try:
                if not await self._replace(session_id, records[: self._settings.summary_chunk_size], model):
                    return
            except ModelBudgetSpent:
                # There is nothing to retry: the budget stays spent until midnight.
                return
            except ModelError as error:
                log.warning("summary of %s is put off to the next turn: %s", session_id, error)
                return

    async def _is_due(self, session_id: str) -> bool:
        count, since = await self._records.standing(session_id)
        if count > self._settings.max_history_messages:
            return True
        every = self._settings.summary_every_messages
        return bool(every) and since >= every and count > self._settings.summary_chunk_size

    async def _replace(self, session_id: str, records: list[HistoryEntry], model: ChatModel) -> bool:
        """Replace messages by their summary.

        Nothing is locked meanwhile, and nothing happens if the messages changed.
        """
        lines = as_text([record.message for record in records])
        # A figure that nothing confirmed must not become a fact by being kept word for word.
        known = as_text([record.message for record in records if not record.message.doubtful])
        with charged(Charge(chat_of(session_id), feature=ModelFeature.SUMMARY)):
            reply = await model.reply(await self._prompt.ainvoke({"history_text": fenced(lines)}))
        text = await asyncio.to_thread(_checked_summary, lines, known, reply.text)
        return await self._records.replace(session_id, records, StoredMessage(type="system", text=text))


def _checked_summary(lines: list[str], known: list[str], written: str) -> str:
    # The content of a summary counts as said in the conversation, so a link that only the model knows must not enter
    # it.
    own = without_new_facts(lines, without_unknown_links(written.strip(), known_addresses(lines)))
    if not own:
        raise ModelError("模型的摘要不能用，下次再总结。", "every sentence of it states something that was not said")
    return complete_summary(known, own)


def complete_summary(lines: list[str], summary: str) -> str:
    """Return a summary that contains every hard fact of `lines`.

    The clauses of lost facts are appended verbatim. Of more than 400 lost facts the last 400 are kept.
    """
    lost = lost_facts("\n".join(lines), summary)
    if not lost:
        return summary
    return summary + _VERBATIM + "\n".join(clauses_with(lines, lost[-_MOST_FACTS:]))
