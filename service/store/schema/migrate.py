"""Brings a store to the newest schema; the migrations ship inside the package."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Engine

HOME = Path(__file__).parents[1] / "migrations"
LOCK = 0x1A7C5C09E
"""PostgreSQL's advisory lock under which processes that start together migrate one after the other."""


def upgrade(engine: Engine, revision: str = "head") -> None:
    """Run every migration the store has not seen, all in one transaction: a killed process leaves the schema it found."""
    config = Config()
    config.set_main_option("script_location", str(HOME))
    with engine.begin() as connection:
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("begin immediate")
        else:
            connection.exec_driver_sql(f"select pg_advisory_xact_lock({LOCK})")
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
