"""Alembic's entry: runs the migrations on the connection that `services.database` hands over."""

from alembic import context

from services.records.tables import Base

context.configure(
    connection=context.config.attributes["connection"], target_metadata=Base.metadata, transactional_ddl=True
)
with context.begin_transaction():
    context.run_migrations()
