"""A clear name for the column of the embedding model's fingerprint."""

from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Rename the column `space` of the documents; the values stay."""
    op.alter_column("documents", "space", new_column_name="embedding_fingerprint")
