"""Record how each question was answered, in which dialogue, and by which messages."""

from uuid import uuid4

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"

_TURNS = sa.table(
    "turns",
    sa.column("session_id", sa.String),
    sa.column("user_id", sa.BigInteger),
    sa.column("asked_at", sa.DateTime(timezone=True)),
    sa.column("dialogue_id", sa.Integer),
)


def upgrade() -> None:
    """Add columns and tables. All earlier turns of a session become one dialogue that nobody continued."""
    op.add_column("turns", sa.Column("dialogue_id", sa.Integer))
    op.add_column("turns", sa.Column("content_type", sa.String(8), nullable=False, server_default="text"))
    op.add_column("turns", sa.Column("outcome", sa.String(16)))
    op.add_column("turns", sa.Column("category", sa.String(32), nullable=False, server_default=""))
    op.add_column("turns", sa.Column("sub_category", sa.String(32), nullable=False, server_default=""))
    op.add_column("turns", sa.Column("confidence", sa.Double))
    op.add_column("turns", sa.Column("retrieved", sa.JSON))
    op.add_column("turns", sa.Column("tool_calls", sa.JSON))
    op.create_index("turns_dialogue", "turns", ["dialogue_id"])
    dialogues = op.create_table(
        "dialogues",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("uuid", sa.String(36), nullable=False, unique=True),
        sa.Column("session_id", sa.String(64), nullable=False),
        sa.Column("user_id", sa.BigInteger, nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("summary", sa.Text),
    )
    op.create_index("dialogues_session", "dialogues", ["session_id", "id"])
    op.create_index("dialogues_status", "dialogues", ["status", "updated_at"])
    _join_earlier_turns(dialogues)
    op.create_table(
        "sent_answers",
        sa.Column("self_id", sa.String(32), primary_key=True),
        sa.Column("chat", sa.String(64), primary_key=True),
        sa.Column("message_id", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("turn_id", sa.Integer, sa.ForeignKey("turns.id", ondelete="CASCADE"), nullable=False),
        sa.Column("sent_at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("ix_sent_answers_turn_id", "sent_answers", ["turn_id"])
    op.create_index("ix_sent_answers_sent_at", "sent_answers", ["sent_at"])


def _join_earlier_turns(dialogues: sa.Table) -> None:
    connection = op.get_bind()
    columns = _TURNS.c
    sessions = connection.execute(
        sa.select(
            columns.session_id,
            sa.func.min(columns.user_id),
            sa.func.min(columns.asked_at),
            sa.func.max(columns.asked_at),
        ).group_by(columns.session_id)
    ).all()
    for number, (session_id, user_id, first, last) in enumerate(sessions, start=1):
        connection.execute(
            dialogues.insert().values(
                id=number,
                uuid=str(uuid4()),
                session_id=session_id,
                user_id=user_id,
                status="abandoned",
                started_at=first,
                updated_at=last,
            )
        )
        connection.execute(_TURNS.update().where(columns.session_id == session_id).values(dialogue_id=number))
