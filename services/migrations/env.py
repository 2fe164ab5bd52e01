"""Alembic environment that runs the migrations on the connection passed by `services.database`."""

from alembic import context

from services.records.tables import Base

context.configure(
    connection=context.config.attributes["connection"], target_metadata=Base.metadata, transactional_ddl=True
)
with context.begin_transaction():
    context.run_migrations()
