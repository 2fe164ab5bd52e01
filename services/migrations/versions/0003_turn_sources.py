"""Add the passages that an answer cited."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the column. Earlier turns have no sources that could still be looked up."""
    op.add_column("turns", sa.Column("sources", sa.JSON))
