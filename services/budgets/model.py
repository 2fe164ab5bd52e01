"""Calls, tokens and money of the model, counted and limited per day for each group and private chat."""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import date
from weakref import WeakValueDictionary

from langchain_core.prompt_values import PromptValue

from services.budgets.charge import present_charge
from services.budgets.day import beginning_of, today
from services.errors import ModelBudgetSpent, ModelTimeout, RecordsError, SettingsError
from services.llm import ChatModel, ModelCall
from services.records.tables import now
from services.records.usage import ModelCallEntry, ModelUsage, UsageRecords
from services.settings import BudgetSettings
from services.tracing.calls import record_model_call
from services.tracing.models import ModelCallTrace

log = logging.getLogger(__name__)

# The maximum number of simultaneous calls of one group; the client of the model has 1,000 connections for all groups
# together. With 60 questions a minute and answers that take eight seconds, as slow services do, no call has to wait.
CALLS_AT_ONCE = 8
# What services add to a prompt for its frame, and the largest LLM__MAX_TOKENS.
_FRAMING_TOKENS = 1_000
_MOST_COMPLETION_TOKENS = 131_072
# The words of the services for LangChain's types of messages.
_ROLES = {"human": "user", "ai": "assistant"}
# Of an image: the most that a service charges (Qwen-VL), and what most charge for one of usual size.
_MOST_IMAGE_TOKENS = 16_384
_IMAGE_TOKENS = 1_000
_MICRO = 1_000_000
_SPENT = "今天这里的模型用量用完了，明天再试。"
_NOTICE = "今天这里的模型用量用完了，先只摘录资料原文，明天恢复。"


@dataclass(frozen=True, slots=True)
class DayUsage:
    """What was used on one day: by each group and private chat (`Session.chat`), and in total."""

    chats: Mapping[str, ModelUsage]
    total: ModelUsage


@dataclass(slots=True)
class _Day:
    day: date
    spent: dict[str, ModelUsage] = field(default_factory=dict[str, ModelUsage])
    total: ModelUsage = field(default_factory=ModelUsage)
    told: set[str] = field(default_factory=set[str])

    def add(self, chat: str, usage: ModelUsage) -> None:
        """Count `usage` for `chat`."""
        self.spent[chat] = self.spent.get(chat, ModelUsage()) + usage
        self.total += usage


class ModelBudget:
    """The meter of every model (see `services.llm.ModelMeter`); `charged` determines who pays.

    A call counts when it begins, so that there are never more calls than the budget allows. Its tokens are only known
    when it ends: the calls in progress, at most `CALLS_AT_ONCE` for each group, may exceed the budgets of tokens and
    money. A call with its retries counts once. Money is that of calls whose price is known. The counts of the day
    survive a restart through `resume`.
    """

    def __init__(self, records: UsageRecords, settings: BudgetSettings, *, day: Callable[[], date] = today) -> None:
        self._records = records
        self._settings = settings
        self._today = day
        self._day = _Day(day())
        self._lanes: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    async def resume(self) -> None:
        """Count what was used earlier today, before this process started."""
        day = self._present_day()
        for chat, usage in (await self._records.model_usage_since(beginning_of(day.day))).items():
            day.add(chat, usage)

    def today(self) -> DayUsage:
        """Return what was used so far today. Calls in progress count without their tokens."""
        day = self._present_day()
        return DayUsage(dict(day.spent), day.total)

    def require(self) -> None:
        """Raise `ModelBudgetSpent` if the current payer has nothing left for today."""
        chat, day, settings = present_charge().chat, self._present_day(), self._settings
        spent = day.spent.get(chat, ModelUsage())
        limits = (
            (spent.calls, settings.group_model_calls_per_day),
            (spent.tokens, settings.group_model_tokens_per_day),
            (spent.cost, settings.group_cny_per_day * _MICRO),
            (day.total.cost, settings.total_cny_per_day * _MICRO),
        )
        if any(limit and used >= limit for used, limit in limits):
            raise ModelBudgetSpent(_SPENT, f"{chat}: {spent}, in total {day.total.cost / _MICRO:.2f} yuan")

    def notice(self) -> str:
        """Return the sentence that the model is not called any more today.

        It is empty if it has already been sent in this chat today.
        """
        chat, told = present_charge().chat, self._present_day().told
        if chat in told:
            return ""
        told.add(chat)
        return _NOTICE

    @asynccontextmanager
    async def metered(self, call: ModelCall) -> AsyncGenerator[None]:
        """Wait until few enough calls of the same group are in progress, then count what the block does with `call`.

        Raise `ModelBudgetSpent` before the block if nothing is left.
        """
        charge = present_charge()
        lane = self._lanes.setdefault(charge.chat, asyncio.Semaphore(CALLS_AT_ONCE))
        async with lane:
            self.require()
            self._present_day().add(charge.chat, ModelUsage(calls=1))
            called_at, started, given_up = now(), time.perf_counter(), False
            try:
                yield
            except (ModelTimeout, asyncio.CancelledError):
                given_up = True
                raise
            finally:
                prompt_tokens, completion_tokens, estimated = _tokens(call, given_up=given_up)
                cost = call.price and call.price.cost(prompt_tokens, _cached_tokens(call), completion_tokens)
                tokens = prompt_tokens + completion_tokens
                usage = ModelUsage(tokens=tokens, cost=cost or 0, unpriced_calls=int(cost is None))
                self._present_day().add(charge.chat, usage)
                entry = ModelCallEntry(
                    chat=charge.chat,
                    turn_id=charge.turn_id,
                    provider=call.provider,
                    model=call.model,
                    prompt_tokens=prompt_tokens,
                    completion_tokens=completion_tokens,
                    estimated=estimated,
                    cost=cost,
                    called_at=called_at,
                    feature=charge.feature,
                )
                _trace(call, entry, time.perf_counter() - started)
                await asyncio.shield(self._write(entry))

    async def _write(self, entry: ModelCallEntry) -> None:
        try:
            await self._records.add_model_call(entry)
        except RecordsError:
            # The answer has arrived, is paid for and is counted in memory; a missing entry is no reason to drop it.
            log.exception("a call of the model for %s could not be written down", entry.chat)

    def _present_day(self) -> _Day:
        day = self._today()
        if day != self._day.day:
            self._day = _Day(day)
        return self._day


def _trace(call: ModelCall, entry: ModelCallEntry, seconds: float) -> None:
    messages = call.prompt.to_messages() if isinstance(call.prompt, PromptValue) else call.prompt
    record_model_call(
        ModelCallTrace(
            model=entry.model,
            prompt_tokens=entry.prompt_tokens,
            completion_tokens=entry.completion_tokens,
            estimated=entry.estimated,
            milliseconds=seconds * 1000,
        ),
        ((_ROLES.get(message.type, message.type), message.text) for message in messages),
    )


def require_prices(settings: BudgetSettings, models: Sequence[ChatModel]) -> None:
    """Raise `SettingsError` if money is limited and the price of a model is unknown: the limit would not hold."""
    unpriced = [model.name for model in models if model.price is None]
    if unpriced and (settings.group_cny_per_day or settings.total_cny_per_day):
        raise SettingsError(f"限制了每天花多少元，但不知道模型 {unpriced[0]} 的价格，请在 LLM__PRICES 里填上再启动。")


def _tokens(call: ModelCall, *, given_up: bool) -> tuple[int, int, bool]:
    """Return the tokens of prompt and completion, and whether they are estimated.

    A call that was given up has been sent and is assumed to be paid for; a call that was refused is not.
    """
    if not call.answered and not given_up:
        return 0, 0, True
    if call.usage is not None:
        # No token is shorter than a byte: a service that counts wrongly cannot use up a group's day with one call.
        most_prompt = len(call.prompt_text.encode("utf-8", "surrogatepass")) + _FRAMING_TOKENS
        prompt = min(call.usage["input_tokens"], most_prompt + _MOST_IMAGE_TOKENS * call.image_count)
        return max(prompt, 0), max(min(call.usage["output_tokens"], _MOST_COMPLETION_TOKENS), 0), False
    prompt = estimated_tokens(call.prompt_text) + _IMAGE_TOKENS * call.image_count
    return prompt, estimated_tokens(call.reply_text), True


def _cached_tokens(call: ModelCall) -> int:
    return (call.usage or {}).get("input_token_details", {}).get("cache_read") or 0


def estimated_tokens(text: str) -> int:
    """Estimate the tokens of `text`: one for each Chinese character, one for four letters.

    Tokenizers of Chinese models need 0.6 to 0.8 tokens for a Chinese character: the estimate errs on the safe side.

    >>> estimated_tokens("报销制度"), estimated_tokens("reimbursement")
    (4, 4)
    """
    # Computed from the length in UTF-8, where a Chinese character has three bytes: no loop over a long text.
    wide = (len(text.encode("utf-8", "surrogatepass")) - len(text)) // 2
    return wide + -(-(len(text) - wide) // 4)
