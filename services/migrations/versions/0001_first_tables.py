"""Create the first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create all tables."""
    op.create_table(
        "collections",
        sa.Column("name", sa.String(64), primary_key=True),
        sa.Column("next_number", sa.Integer, nullable=False),
    )
    op.create_table(
        "documents",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("collection", sa.String(64), sa.ForeignKey("collections.name"), nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("content_hash", sa.String(64), nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("file_type", sa.String(16), nullable=False),
        sa.Column("stored_name", sa.String(64), nullable=False),
        sa.Column("group_id", sa.BigInteger),
        sa.Column("uploader_id", sa.BigInteger, nullable=False),
        sa.Column("uploaded_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("build_id", sa.String(64), nullable=False),
        sa.Column("target_build_id", sa.String(64), nullable=False),
        sa.Column("revision", sa.Integer, nullable=False),
        sa.Column("space", sa.String(64), nullable=False),
        sa.Column("chunk_count", sa.Integer, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_documents_build_id", "documents", ["build_id"])
    op.create_index("documents_number", "documents", ["collection", "number"])
    op.create_index("documents_content", "documents", ["collection", "content_hash"], unique=True)
    op.create_table(
        "retired",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("collection", sa.String(64), nullable=False),
        sa.Column("build_id", sa.String(64), nullable=False),
        sa.Column("stored_name", sa.String(64), nullable=False),
    )
    op.create_index("ix_retired_collection", "retired", ["collection"])
    op.create_table(
        "uploads",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("self_id", sa.String(32), nullable=False),
        sa.Column("group_id", sa.BigInteger),
        sa.Column("user_id", sa.BigInteger, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("source", sa.JSON, nullable=False),
        sa.Column("document_id", sa.Integer),
        sa.Column("received_at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("ix_uploads_self_id", "uploads", ["self_id"])
    op.create_table(
        "conversations",
        sa.Column("session_id", sa.String(64), primary_key=True),
        sa.Column("forgotten_turn_id", sa.Integer, nullable=False),
        sa.Column("knowledge_group_id", sa.BigInteger),
    )
    op.create_table(
        "turns",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("session_id", sa.String(64), nullable=False),
        sa.Column("user_id", sa.BigInteger, nullable=False),
        sa.Column("question", sa.Text, nullable=False),
        sa.Column("answer", sa.Text, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("asked_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True)),
    )
    op.create_index("ix_turns_session_id", "turns", ["session_id"])
    op.create_table(
        "history",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("session_id", sa.String(64), nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("message", sa.JSON, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("history_order", "history", ["session_id", "position"], unique=True)
