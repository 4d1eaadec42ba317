"""The sources of a terminal view: a running service, or databases that it polls itself."""

import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import quote

from pydantic import BaseModel

from service.client import ServiceClient, ServiceRefused
from service.config.settings import Settings
from service.fleet.build import build_fleet
from service.state.board import Board, MonitoredDatabase
from service.store.build import build_store
from service.watch.connect import Connector
from service.web import presenters

Json = dict[str, Any]
STOP_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class DatabaseView:
    """One database as REST shows it: its state, its diagnosis, its child latches and its caches."""

    state: Json
    diagnosis: Json
    latches: Json
    caches: Json


class TopSource(Protocol):
    """Provides the figures. Both methods raise ServiceRefused."""

    @property
    def where(self) -> str:
        """What it watches, in a word or two."""
        ...

    def fleet(self) -> list[Json]:
        """Every database: whether it answers, and its verdict in one sentence."""
        ...

    def database(self, name: str) -> DatabaseView:
        """One database with all its figures."""
        ...


class RunningService:
    """A service elsewhere, read over REST."""

    def __init__(self, client: ServiceClient) -> None:
        self._client = client

    @property
    def where(self) -> str:
        return self._client.url.partition("://")[2]

    def fleet(self) -> list[Json]:
        found: list[Json] = self._client.get("/databases")
        return found

    def database(self, name: str) -> DatabaseView:
        at = f"/databases/{quote(name, safe='')}"
        return DatabaseView(*(self._client.get(at + part) for part in ("", "/diagnosis", "/latches", "/caches")))


class PolledDirectly:
    """Databases of a configuration, polled by this process as by the service. Nothing is kept afterwards."""

    def __init__(self, settings: Settings, where: str) -> None:
        """Starts to poll. Raises StoreError if the temporary store cannot be created."""
        self.where = where
        self._folder = tempfile.mkdtemp(prefix="latchscope-top-")
        own = settings.model_copy(update={"store": f"sqlite:///{self._folder}/top.db"})
        self._board = Board([MonitoredDatabase(each, own.interval_of(each)) for each in own.databases])
        self._store = build_store(own)
        self._fleet = build_fleet(own, self._store, self._board, Connector(own.oracle, own.defaults))
        self._store.start()
        self._fleet.coordinator.start()

    def fleet(self) -> list[Json]:
        return [_json(presenters.database_out(database)) for database in self._board]

    def database(self, name: str) -> DatabaseView:
        """Its current state. Raises ServiceRefused if there is no such database."""
        watched = self._board.get(name)
        if watched is None:
            raise ServiceRefused(f"no database named {name}")
        parts: tuple[Callable[[MonitoredDatabase], BaseModel], ...] = (
            presenters.database_out,
            presenters.diagnosis_of,
            presenters.latches_out,
            presenters.caches_out,
        )
        return DatabaseView(*(_json(part(watched)) for part in parts))

    def close(self) -> None:
        """Stop polling, and delete the temporary files."""
        self._fleet.coordinator.stop(STOP_SECONDS)
        self._fleet.scheduler.stop()
        with suppress(Exception):
            self._store.stop()
        self._fleet.backend.close()
        self._store.repository.close()
        shutil.rmtree(self._folder, ignore_errors=True)


def _json(model: BaseModel) -> Json:
    return model.model_dump(mode="json")
