"""Keep what a document is and what it is about."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    """Add the columns.

    The profile of an earlier document is unknown until it is rebuilt. Its first version is gone, so the time of the
    present one counts as that of the first.
    """
    op.add_column("documents", sa.Column("profile", sa.JSON))
    op.add_column("documents", sa.Column("chosen_type", sa.String(16)))
    op.add_column("documents", sa.Column("chosen_tags", sa.JSON))
    op.add_column("documents", sa.Column("edited_at", sa.DateTime(timezone=True)))
    # SQLite adds no column that must be filled without a default; every row gets its own time at once.
    op.add_column(
        "documents",
        sa.Column(
            "first_uploaded_at", sa.DateTime(timezone=True), nullable=False, server_default="1970-01-01 00:00:00"
        ),
    )
    op.execute("UPDATE documents SET first_uploaded_at = uploaded_at")
