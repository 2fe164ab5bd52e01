"""A message of the history says whether it is doubtful, and holds none of our notices."""

import json

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"

_AT_A_TIME = 1000
# What answers said of themselves until now.
_UNCITED = "\n\n（回答没有标明出处，请自行核对）"
_GENERAL = "（资料里没有，以下是通用知识，不是出自群文件，请自行核实）\n"
_UNVERIFIED = "（未核实）"


def upgrade() -> None:
    """Rewrite the messages, row by row. What is damaged stays as it is, and readers skip it."""
    connection = op.get_bind()
    rows = sa.table("history", sa.column("id", sa.Integer), sa.column("message", sa.Text))
    page = sa.select(rows.c.id, rows.c.message).where(rows.c.message.is_not(None)).order_by(rows.c.id)
    last = 0
    while found := connection.execute(page.where(rows.c.id > last).limit(_AT_A_TIME)).all():
        for row_id, text in found:
            last = row_id
            try:
                value = json.loads(text)
                new = {"version": 2, "type": value["type"], **_told(value["type"], value["text"])}
            except (ValueError, TypeError, KeyError, AttributeError):
                continue
            content = json.dumps(new, ensure_ascii=False)
            connection.execute(rows.update().where(rows.c.id == row_id).values(message=content))


def _told(speaker: str, text: str) -> dict[str, object]:
    said = text.removesuffix(_UNCITED).removeprefix(_GENERAL)
    return {"text": said, "doubtful": speaker == "ai" and (said != text or _UNVERIFIED in text)}
