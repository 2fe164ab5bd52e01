"""The records of requests, for a while."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Keep how each answer came about, and which documents its texts may repeat."""
    op.create_table(
        "traces",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("uuid", sa.String(36), nullable=False),
        sa.Column("chat", sa.String(64), nullable=False),
        sa.Column("session_id", sa.String(64), nullable=False),
        sa.Column("turn_id", sa.Integer),
        sa.Column("message_id", sa.BigInteger),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("record", sa.Text, nullable=False),
        sa.Column("texts", sa.Text),
        sa.Column("size", sa.Integer, nullable=False),
    )
    op.create_index("traces_chat", "traces", ["chat", "id"])
    op.create_index("traces_started_at", "traces", ["started_at"])
    op.create_index("ix_traces_session_id", "traces", ["session_id"])
    op.create_table(
        "trace_documents",
        sa.Column("trace_id", sa.Integer, sa.ForeignKey("traces.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("document_id", sa.Integer, primary_key=True),
    )
    op.create_index("ix_trace_documents_document_id", "trace_documents", ["document_id"])
