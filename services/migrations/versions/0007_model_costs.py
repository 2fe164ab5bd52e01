"""What each call of a model costs."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Earlier calls keep an unknown cost; the index serves the sums of a turn."""
    op.add_column("model_calls", sa.Column("provider", sa.String(32), nullable=False, server_default=""))
    op.add_column("model_calls", sa.Column("cost", sa.BigInteger))
    op.create_index("model_calls_turn", "model_calls", ["turn_id"])
