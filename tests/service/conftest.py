"""Fixtures of the service tests:

a stage of scripted databases with its own clock, and golden files. `pytest tests/service --renew-golden` writes the files of
tests/golden. Read the difference before you keep it.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fastapi._compat.v2 import ModelField, asdict
from pydantic import TypeAdapter

from service.store.record import IngestRecord, record_of
from service.store.repository import Repository
from tests.paths import INCIDENT
from tests.service.stage import Stage
from tests.service.stores import ENGINES, Place, Postgres, from_template, migrated


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Stage]:
    """The three demo databases before their first poll, on a clock that only the test moves."""
    one = Stage(monkeypatch, tmp_path)
    yield one
    one.close()


@pytest.fixture
def record(stage: Stage) -> IngestRecord:
    """A poll as the store takes it."""
    published = stage.poll("undo-storm", at=40)
    made = record_of(published.snapshot, published.diagnosis, None)
    assert made is not None
    return made


@pytest.fixture
def no_traces(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """No log of the test has a stack trace, which an operator should never need to read."""
    yield
    traced = [record for when in ("setup", "call") for record in caplog.get_records(when) if record.exc_info]
    assert [record.getMessage() for record in traced if record.exc_info and record.exc_info[1]] == []
    for file in tmp_path.glob("*.txt"):
        assert "Traceback" not in file.read_text("utf-8"), file.name


@pytest.fixture(scope="module")
def still(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A stage that the tests of a file share, because they only read it."""
    with pytest.MonkeyPatch.context() as patch:
        shared = Stage(patch, tmp_path_factory.mktemp("still"))
        yield shared
        shared.close()


@pytest.fixture(scope="session")
def incident() -> Path:
    """The recording of the model incident."""
    return INCIDENT


@pytest.fixture
def capture_file(tmp_path: Path) -> Callable[..., Path]:
    """Write a capture with the given members changed, and give its path."""

    def write(**members: object) -> Path:
        document = {
            "format": "latchscope-capture",
            "version": 1,
            "database": "written",
            "snapshots": [{"taken_at": None, "views": {}}],
            **members,
        }
        path = tmp_path / "capture.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        return path

    return write


@pytest.fixture(scope="session", autouse=True)
def _stores_from_a_template(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Stores that tests open begin as copies of a migrated one; see tests.service.stores."""
    template = migrated(tmp_path_factory.mktemp("template") / "store.db")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("service.store.repository.upgrade", from_template(template))
        yield


@pytest.fixture(scope="session", autouse=True)
def _validators_made_once() -> Iterator[None]:
    """Apps of a session share the validators of their fields. FastAPI would make them for each route of each app."""
    made: dict[object, TypeAdapter[object]] = {}
    make = ModelField.__post_init__

    def once(field: ModelField) -> None:
        whole = asdict(field.field_info)  # the repr of FastAPI's FieldInfo shows only its default
        key = (whole["annotation"], repr(whole["metadata"]), repr(whole["attributes"]), repr(field.config))
        if key not in made:
            make(field)
            made[key] = field._type_adapter
        field._type_adapter = made[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ModelField, "__post_init__", once)
        yield


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Outside the tests of the store, SQLite stands for both engines in `make test`."""
    for item in items:
        engine = (
            item.callspec.params.get("place") if isinstance(item, pytest.Function) and hasattr(item, "callspec") else ""
        )
        if engine == "postgresql" and item.path.parent.name != "store":
            item.add_marker(pytest.mark.slow)


@pytest.fixture(params=ENGINES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """Where a store can be: a SQLite file, then a PostgreSQL database, each without a row."""
    server = request.getfixturevalue("postgres") if request.param == "postgresql" else None
    made = Place(request.param, tmp_path, server)
    yield made
    made.close()


@pytest.fixture
def shared(postgres: Postgres, tmp_path: Path) -> Iterator[Place]:
    """A database of its own on the PostgreSQL server."""
    made = Place("postgresql", tmp_path, postgres)
    yield made
    made.close()


@pytest.fixture
def store(place: Place) -> Iterator[Repository]:
    """A store of its own on each engine."""
    opened = Repository(place.url)
    yield opened
    opened.close()
