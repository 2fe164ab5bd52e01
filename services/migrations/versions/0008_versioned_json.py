"""JSON values say which version of their shape they are, and hold nothing that is stored elsewhere."""

import json
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

_AT_A_TIME = 1000


def upgrade() -> None:
    """Rewrite the values, row by row. What is damaged stays as it is, and readers skip it."""
    _rewrite("turns", "sources", lambda value: {"version": 1, "sources": _listed(value)})
    _rewrite("history", "message", _message)
    _rewrite("uploads", "source", _upload)


def _listed(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError("the sources are a list")
    return value


def _message(value: Any) -> dict[str, Any]:
    # LangChain's serialised message; its content is a text, or parts of which some are texts.
    content = value["data"]["content"]
    parts = [content] if isinstance(content, str) else content
    text = "".join(part if isinstance(part, str) else part.get("text", "") for part in parts)
    return {"version": 1, "type": value["type"], "text": text}


def _upload(value: Any) -> dict[str, Any]:
    # The name and the size are columns.
    kept = {key: value[key] for key in ("file_id", "busid", "url")}
    return {"version": 1, **kept, "via": value.get("via")}


def _rewrite(table: str, column: str, rewritten: Callable[[Any], dict[str, Any]]) -> None:
    connection = op.get_bind()
    # As text, because a damaged value would stop the type JSON.
    rows = sa.table(table, sa.column("id", sa.Integer), sa.column(column, sa.Text))
    value, last = rows.c[column], 0
    page = sa.select(rows.c.id, value).where(value.is_not(None)).order_by(rows.c.id).limit(_AT_A_TIME)
    while found := connection.execute(page.where(rows.c.id > last)).all():
        for row_id, text in found:
            last = row_id
            try:
                new = rewritten(json.loads(text))
            except (ValueError, TypeError, KeyError, AttributeError):
                continue
            content = json.dumps(new, ensure_ascii=False)
            connection.execute(rows.update().where(rows.c.id == row_id).values({column: content}))
