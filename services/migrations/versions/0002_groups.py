"""Add group settings, unasked answers, and feedback on the gate."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Create the tables. Every group starts with unasked answers switched off."""
    op.create_table(
        "groups",
        sa.Column("group_id", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("auto", sa.Boolean, nullable=False),
        sa.Column("quiet_until", sa.DateTime(timezone=True)),
    )
    op.create_table(
        "unasked_answers",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("group_id", sa.BigInteger, nullable=False),
        sa.Column("message_id", sa.BigInteger, nullable=False),
        sa.Column("collection", sa.String(64), nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("build_id", sa.String(64), nullable=False),
        sa.Column("first_ordinal", sa.Integer, nullable=False),
        sa.Column("last_ordinal", sa.Integer, nullable=False),
        sa.Column("rerank_score", sa.Double, nullable=False),
        sa.Column("fruitless", sa.Boolean, nullable=False),
        sa.Column("objected", sa.Boolean, nullable=False),
        sa.Column("welcomed", sa.Boolean, nullable=False),
        sa.Column("answered_at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("ix_unasked_answers_group_id", "unasked_answers", ["group_id"])
    op.create_table(
        "gate_feedback",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("collection", sa.String(64), nullable=False),
        sa.Column("rerank_score", sa.Double, nullable=False),
        sa.Column("helpful", sa.Boolean, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("source", sa.String(16), nullable=False),
    )
    op.create_index("ix_gate_feedback_collection", "gate_feedback", ["collection"])
