"""Alembic's entry point; the connection comes from service.store.schema.migrate."""

from alembic import context

from service.store.schema import change_tables, episode_tables, fleet_tables, history_tables, old_tables
from service.store.schema.poll_tables import Base

assert (
    change_tables and episode_tables and fleet_tables and history_tables and old_tables
)  # they add their tables to Base

context.configure(
    connection=context.config.attributes["connection"], target_metadata=Base.metadata, render_as_batch=True
)
with context.begin_transaction():
    context.run_migrations()
