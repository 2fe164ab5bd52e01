"""The form in which records are stored: what may stay, and the texts, apart from each other so that these can go."""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pydantic import ValidationError

from services.errors import DamagedRecord
from services.tracing.models import ModelContext

_HIDDEN = "***"
# Everything else, including what a later version adds, counts as text.
_KEPT = {"version", "sequence", "timestamp", "uuid", "tool_name", "tool_config", "trace"}
# The text of documents is never stored: it is looked up by its place while the document exists.
_OF_DOCUMENTS = {
    "candidates": {"__all__": {"label", "text", "matched"}},
    "passages": {"__all__": {"label", "text"}},
}


@dataclass(frozen=True, slots=True)
class StoredTrace:
    """One record as it is stored. `texts` is None once the texts are erased.

    `build_ids` are the builds of the documents that the texts may repeat.
    """

    uuid: str
    chat: str
    session_id: str
    turn_id: int | None
    message_id: int | None
    started_at: datetime
    record: str
    texts: str | None
    build_ids: frozenset[str] = frozenset()

    @property
    def size(self) -> int:
        """The size in bytes."""
        return len(self.record.encode()) + len((self.texts or "").encode())


def stored(context: ModelContext, secrets: Collection[str] = ()) -> StoredTrace:
    """Return a record as it is stored, with `secrets` made unreadable.

    It repeats no other message, which may be recalled later.
    """
    trace = context.trace
    record = context.model_dump(
        mode="json", include=_KEPT, exclude={"trace": {"question": True, "gate": _OF_DOCUMENTS}}
    )
    texts = context.model_dump(mode="json", exclude={*_KEPT, "retriver_chunks"})
    texts["question"] = trace.question.own.model_dump(mode="json")
    hidden = sorted(secrets, key=len, reverse=True)
    return StoredTrace(
        uuid=context.uuid,
        chat=trace.chat,
        session_id=trace.session_id,
        turn_id=trace.turn_id,
        message_id=trace.message_id,
        started_at=datetime.fromtimestamp(context.timestamp / 1000, UTC),
        record=_json(_without(hidden, record)),
        texts=None if trace.erased else _json(_without(hidden, texts)),
        build_ids=frozenset(context.build_ids),
    )


def restored(stored_trace: StoredTrace) -> ModelContext:
    """Return a record from its stored form. Raise `DamagedRecord` if it is damaged."""
    try:
        values: dict[str, Any] = json.loads(stored_trace.record)
        trace: dict[str, Any] = values["trace"]
        if stored_trace.texts is None:
            trace["erased"] = True
        else:
            texts: dict[str, Any] = json.loads(stored_trace.texts)
            trace["question"] = texts.pop("question")
            values |= texts
        return ModelContext.model_validate(values)
    except (ValidationError, json.JSONDecodeError, LookupError, TypeError, AttributeError) as error:
        detail = f"the record {stored_trace.uuid} is damaged: {type(error).__name__}"
        raise DamagedRecord("这条记录坏了，读不出来。", detail) from error


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _without(secrets: Sequence[str], value: Any) -> Any:
    """Return a JSON value in which no text contains a secret. Names of fields stay, which a secret might equal."""
    if isinstance(value, str):
        for secret in secrets:
            value = value.replace(secret, _HIDDEN)
        return value
    if isinstance(value, dict):
        return {name: _without(secrets, item) for name, item in value.items()}
    return [_without(secrets, item) for item in value] if isinstance(value, list) else value
