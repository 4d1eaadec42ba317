"""Migrations and models are two descriptions of one store; they must not disagree."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, create_engine, inspect

from service.store.migrate import HOME, upgrade
from service.store.tables import Base


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    made = create_engine(f"sqlite:///{tmp_path}/store.db")
    yield made
    made.dispose()


def scripts() -> ScriptDirectory:
    config = Config()
    config.set_main_option("script_location", str(HOME))
    return ScriptDirectory.from_config(config)


def test_a_fresh_store_gets_every_table(engine: Engine) -> None:
    upgrade(engine)
    assert set(inspect(engine).get_table_names()) == {*Base.metadata.tables, "alembic_version"}


def test_models_and_migrations_agree(engine: Engine) -> None:
    upgrade(engine)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, Base.metadata) == []


def test_upgrading_again_changes_nothing(engine: Engine) -> None:
    upgrade(engine)
    with engine.begin() as connection:
        connection.exec_driver_sql("insert into snapshots values ('erp1', '2026-03-01 12:00:00', x'00')")
    upgrade(engine)
    with engine.connect() as connection:
        assert connection.exec_driver_sql("select count(*) from snapshots").scalar() == 1


def test_the_store_ends_at_the_one_head(engine: Engine) -> None:
    upgrade(engine)
    with engine.connect() as connection:
        assert MigrationContext.configure(connection).get_current_revision() == scripts().get_current_head()


def test_the_migrations_are_one_line_of_numbered_files() -> None:
    revisions = [one.revision for one in scripts().walk_revisions()]
    assert revisions == sorted(revisions, reverse=True)
    files = sorted(path.name[:4] for path in (HOME / "versions").glob("*.py"))
    assert files == sorted(revisions)
