"""Take in the files that a group already has."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Add the pulls. Whether an earlier document came from a group's files is unknown until the group lists them."""
    op.create_table(
        "pulls",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("self_id", sa.String(32), nullable=False),
        sa.Column("group_id", sa.BigInteger, nullable=False),
        sa.Column("present", sa.Integer, nullable=False),
        sa.Column("stopped", sa.Boolean, nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("ix_pulls_self_id", "pulls", ["self_id"])
    op.create_index("ix_pulls_group_id", "pulls", ["group_id"], unique=True)
    op.add_column("uploads", sa.Column("pull_id", sa.Integer))
    op.add_column("uploads", sa.Column("outcome", sa.String(16)))
    op.add_column("uploads", sa.Column("reason", sa.Text, nullable=False, server_default=""))
    op.create_index("ix_uploads_pull_id", "uploads", ["pull_id"])
    op.add_column("documents", sa.Column("in_group_files", sa.Boolean, nullable=False, server_default=sa.false()))
