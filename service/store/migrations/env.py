"""Alembic's entry point; the connection comes from service.store.engine."""

from alembic import context

from service.store import tables
from service.store.tables import Base

assert tables and tables and tables and tables and tables  # they add their tables to Base

context.configure(
    connection=context.config.attributes["connection"], target_metadata=Base.metadata, render_as_batch=True
)
with context.begin_transaction():
    context.run_migrations()
