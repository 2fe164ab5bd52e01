"""What each group and member uses in a day."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Questions of a day are counted by the time they were asked; calls of the model are counted from now on."""
    op.create_index("turns_asked_at", "turns", ["asked_at"])
    op.create_table(
        "model_calls",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("chat", sa.String(64), nullable=False),
        sa.Column("turn_id", sa.Integer, sa.ForeignKey("turns.id", ondelete="SET NULL")),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("prompt_tokens", sa.Integer, nullable=False),
        sa.Column("completion_tokens", sa.Integer, nullable=False),
        sa.Column("estimated", sa.Boolean, nullable=False),
        sa.Column("called_at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("model_calls_called_at", "model_calls", ["called_at"])
