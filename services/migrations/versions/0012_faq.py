"""Keep approved answers to questions."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    """Add the entries with all their versions."""
    op.create_table(
        "faq_entries",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("collection", sa.String(64), nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("question", sa.Text, nullable=False),
        sa.Column("normal", sa.Text, nullable=False),
        sa.Column("answer", sa.Text, nullable=False),
        sa.Column("sources", sa.JSON),
        sa.Column("basis", sa.JSON),
        sa.Column("origin", sa.String(16), nullable=False),
        sa.Column("approver_id", sa.BigInteger, nullable=False),
        sa.Column("approver_name", sa.Text, nullable=False),
        sa.Column("approved_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("vector", sa.LargeBinary),
        sa.Column("fingerprint", sa.String(64), nullable=False, server_default=""),
    )
    op.create_index("faq_versions", "faq_entries", ["collection", "number", "version"], unique=True)
