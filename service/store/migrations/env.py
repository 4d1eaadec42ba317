"""Alembic's entry point; the connection comes from service.store.migrate."""

from alembic import context

from service.store import change_tables
from service.store.tables import Base

assert change_tables  # it adds its tables to Base

context.configure(
    connection=context.config.attributes["connection"], target_metadata=Base.metadata, render_as_batch=True
)
with context.begin_transaction():
    context.run_migrations()
