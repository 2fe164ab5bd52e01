"""Keep ratings, citations, the preferences of a session, and what each call of a model was for."""

import json

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"

_TURNS = sa.table("turns", sa.column("id", sa.Integer), sa.column("sources", sa.Text))
_DOCUMENTS = sa.table("documents", sa.column("collection", sa.String), sa.column("build_id", sa.String))
_CALLS = sa.table("model_calls", sa.column("turn_id", sa.Integer), sa.column("feature", sa.String))


def upgrade() -> None:
    """Add columns and tables. Citations of earlier answers are known as long as their documents are unchanged."""
    op.add_column("conversations", sa.Column("include_code", sa.Boolean, nullable=False, server_default=sa.true()))
    op.add_column("conversations", sa.Column("max_results", sa.Integer))
    op.add_column("model_calls", sa.Column("feature", sa.String(16)))
    op.create_index("model_calls_chat", "model_calls", ["chat", "called_at"])
    op.execute(_CALLS.update().where(_CALLS.c.turn_id.is_not(None)).values(feature="answer"))
    op.create_table(
        "feedback",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("uuid", sa.String(36), nullable=False, unique=True),
        sa.Column("turn_id", sa.Integer, sa.ForeignKey("turns.id", ondelete="CASCADE"), nullable=False),
        sa.Column("user_id", sa.BigInteger, nullable=False),
        sa.Column("score", sa.Integer, nullable=False),
        sa.Column("resolution", sa.String(20), nullable=False),
        sa.Column("comment", sa.Text, nullable=False),
        sa.Column("source", sa.String(16), nullable=False),
        sa.Column("collection", sa.String(64), nullable=False),
        sa.Column("passage_score", sa.Double),
        sa.Column("submitted_at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("feedback_member", "feedback", ["turn_id", "user_id"], unique=True)
    op.create_index("feedback_collection", "feedback", ["collection", "submitted_at"])
    citations = op.create_table(
        "citations",
        sa.Column("turn_id", sa.Integer, sa.ForeignKey("turns.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("collection", sa.String(64), primary_key=True),
        sa.Column("document_number", sa.Integer, primary_key=True, autoincrement=False),
    )
    op.create_index("citations_document", "citations", ["collection", "document_number"])
    _add_earlier_citations(citations)


def _add_earlier_citations(citations: sa.Table) -> None:
    connection = op.get_bind()
    columns = _DOCUMENTS.c
    built = connection.execute(sa.select(columns.build_id, columns.collection).where(columns.build_id != ""))
    collections = {row.build_id: row.collection for row in built}
    cited = connection.execute(sa.select(_TURNS.c.id, _TURNS.c.sources).where(_TURNS.c.sources.is_not(None)))
    rows: set[tuple[int, str, int]] = set()
    for turn_id, sources in cited:
        try:
            found = [(source["build_id"], int(source["document_number"])) for source in json.loads(sources)["sources"]]
        except (ValueError, TypeError, KeyError):
            # A damaged value is skipped, as readers of the column do.
            continue
        rows |= {(turn_id, collections[build_id], number) for build_id, number in found if build_id in collections}
    if rows:
        names = ("turn_id", "collection", "document_number")
        connection.execute(citations.insert(), [dict(zip(names, row, strict=True)) for row in sorted(rows)])
