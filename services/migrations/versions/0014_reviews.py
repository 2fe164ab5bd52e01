"""Reviews of answers by people."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    """Add the reviews and the messages that announced them."""
    op.create_table(
        "reviews",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("chat", sa.String(64), nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("collection", sa.String(64), nullable=False),
        sa.Column("self_id", sa.String(32), nullable=False),
        sa.Column("group_id", sa.BigInteger, nullable=False),
        sa.Column("session_id", sa.String(64), nullable=False),
        sa.Column("asker_id", sa.BigInteger, nullable=False),
        sa.Column("question_id", sa.BigInteger),
        sa.Column("answer_id", sa.BigInteger),
        sa.Column("turn_id", sa.Integer),
        sa.Column("question", sa.Text, nullable=False),
        sa.Column("draft", sa.Text, nullable=False),
        sa.Column("sources", sa.JSON),
        sa.Column("passages", sa.JSON),
        sa.Column("confidence", sa.Double),
        sa.Column("reason", sa.String(16), nullable=False),
        sa.Column("note", sa.Text, nullable=False),
        sa.Column("requested_by", sa.BigInteger),
        sa.Column("opened_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("announced", sa.Boolean, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("assignee_id", sa.BigInteger),
        sa.Column("decision", sa.String(16)),
        sa.Column("answer", sa.Text, nullable=False),
        sa.Column("decided_by", sa.BigInteger),
        sa.Column("decided_by_name", sa.Text, nullable=False),
        sa.Column("decided_at", sa.DateTime(timezone=True)),
        sa.Column("continued", sa.Boolean, nullable=False),
        sa.Column("learnt", sa.Boolean, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("sent_at", sa.DateTime(timezone=True)),
        sa.Column("sent_id", sa.BigInteger),
    )
    op.create_index("reviews_number", "reviews", ["chat", "number"], unique=True)
    op.create_index("reviews_state", "reviews", ["state"])
    op.create_index("reviews_turn", "reviews", ["turn_id"])
    op.create_table(
        "review_notices",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("review_id", sa.Integer, sa.ForeignKey("reviews.id", ondelete="CASCADE"), nullable=False),
        sa.Column("self_id", sa.String(32), nullable=False),
        sa.Column("group_id", sa.BigInteger, nullable=False),
        sa.Column("user_id", sa.BigInteger),
        sa.Column("message_id", sa.BigInteger, nullable=False),
    )
    op.create_index("review_notices_message", "review_notices", ["self_id", "message_id"])
