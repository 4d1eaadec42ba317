"""Brings a store to the newest schema. The migrations are part of the package."""

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, Engine, inspect

if TYPE_CHECKING:
    from alembic.config import Config

HOME = Path(__file__).parents[1] / "migrations"
LOCK = 0x1A7C5C09E
"""PostgreSQL's advisory lock with which processes that start together migrate one after the other."""


class UnknownSchema(Exception):
    """The store is at a revision that no migration here leads to. The text is Alembic's."""


def upgrade(engine: Engine, revision: str = "head") -> None:
    """Run every new migration, all in one transaction: a killed process leaves the schema unchanged.

    Raises UnknownSchema.
    """
    with engine.begin() as connection:
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("begin immediate")
        else:
            connection.exec_driver_sql(f"select pg_advisory_xact_lock({LOCK})")
        if revision != "head" or stands_at(connection) != [newest()]:
            _migrate(connection, revision)


def _migrate(connection: Connection, revision: str) -> None:
    # Nearly every start finds the newest schema, and is a tenth faster without Alembic.
    from alembic import command
    from alembic.util import CommandError

    config = _config()
    config.attributes["connection"] = connection
    try:
        command.upgrade(config, revision)
    except CommandError as error:
        raise UnknownSchema(str(error)) from error


def _config() -> "Config":
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(HOME))
    return config


def stands_at(connection: Connection) -> list[str]:
    """The revisions that the store reports."""
    if not inspect(connection).has_table("alembic_version"):
        return []
    return list(connection.exec_driver_sql("select version_num from alembic_version").scalars())


@cache
def newest() -> str:
    """The newest revision. A migration's file name starts with its number."""
    return max(file.name.partition("_")[0] for file in (HOME / "versions").glob("[0-9]*_*.py"))
