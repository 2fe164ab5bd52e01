"""Let a turn wait for a person."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Add the columns. No earlier turn has waited."""
    op.add_column("turns", sa.Column("workflow", sa.String(32)))
    op.add_column("turns", sa.Column("checkpoint_id", sa.String(64)))
