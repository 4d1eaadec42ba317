"""Brings a store to the newest schema; the migrations ship inside the package."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Engine

HOME = Path(__file__).parent / "migrations"


def upgrade(engine: Engine) -> None:
    """Run every migration the store has not seen."""
    config = Config()
    config.set_main_option("script_location", str(HOME))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
