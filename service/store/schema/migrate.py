"""Brings a store to the newest schema; the migrations ship inside the package."""

from functools import cache
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine

HOME = Path(__file__).parents[1] / "migrations"
LOCK = 0x1A7C5C09E
"""PostgreSQL's advisory lock under which processes that start together migrate one after the other."""


def upgrade(engine: Engine, revision: str = "head") -> None:
    """Run every migration the store has not seen, all in one transaction: a killed process leaves the schema it found."""
    with engine.begin() as connection:
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("begin immediate")
        else:
            connection.exec_driver_sql(f"select pg_advisory_xact_lock({LOCK})")
        if revision == "head" and _stands_at(connection) == _newest():
            return
        config = _config()
        config.attributes["connection"] = connection
        command.upgrade(config, revision)


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(HOME))
    return config


def _stands_at(connection: Connection) -> tuple[str, ...]:
    """The revisions that the store says it has."""
    return MigrationContext.configure(connection).get_current_heads()


@cache
def _newest() -> tuple[str, ...]:
    """The newest revision there is. The files are read once: a store that is opened again mostly stands there."""
    return tuple(ScriptDirectory.from_config(_config()).get_heads())
