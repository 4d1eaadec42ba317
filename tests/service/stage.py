"""A stage for tests: scripted databases behind the real main path and the real app, on a clock that only the test moves."""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
from fastapi import FastAPI

from collectors.model import Snapshot
from collectors.scenarios import scenarios
from collectors.simulator.database import ScriptedDatabase
from rules.model import Diagnosis
from service.app import create_app
from service.config.settings import DatabaseSettings, HistorySettings, Settings
from service.state.board import Board, MonitoredDatabase, Published
from service.state.poll_record import PollRecord
from service.store.ingest.record import record_of
from service.store.repository import Repository
from service.watch.pipeline import run_poll

BEGAN = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
CENTURY = 100 * 365 * 86400.0
FOR_EVER = HistorySettings(polls=CENTURY, five_minutes=CENTURY, hourly=CENTURY)
"""Whenever the tests run, the polls of the stage are not too old to be shown one by one."""


@dataclass
class Kept:
    """A keeper that remembers."""

    polls: list[tuple[Snapshot, Diagnosis]]
    turns: list[PollRecord | None] = field(default_factory=list)

    def keep(self, snapshot: Snapshot, diagnosis: Diagnosis, poll_record: PollRecord | None = None) -> None:
        self.polls.append((snapshot, diagnosis))
        self.turns.append(poll_record)

    def write(self, url: str) -> None:
        """Put into a store what was kept so far."""
        told = (record_of(*poll, poll_record) for poll, poll_record in zip(self.polls, self.turns, strict=True))
        store = Repository(url)
        store.write([one for one in told if one is not None])
        store.close()


class Stage:
    """Scripted databases on a board. `at` is seconds since the scripts began; `poll` polls at that moment."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self._monkeypatch = monkeypatch
        self.folder = folder
        self.at = 0.0
        self.keeper = Kept([])
        self._apps: list[FastAPI] = []
        self.refused: Mapping[str, Iterable[str]] = {}
        self.began = BEGAN
        clock = SimpleNamespace(monotonic=lambda: 1000.0 + self.at, time=lambda: BEGAN.timestamp() + self.at)
        monkeypatch.setattr("service.state.board.time", clock)
        monkeypatch.setattr("service.watch.pipeline.time", clock)
        self.board = Board([])
        self.watch(*(DatabaseSettings(name=name, dsn=f"demo:{name}") for name in scenarios()))

    def watch(self, *databases: DatabaseSettings) -> None:
        """Put these databases on the board instead."""
        self.databases = list(databases)
        self.board = Board([MonitoredDatabase(one, one.interval or 2.0) for one in databases])

    def __getitem__(self, name: str) -> MonitoredDatabase:
        found = self.board.get(name)
        assert found is not None
        return found

    def poll(self, name: str, at: float | None = None, scenario: str | None = None) -> Published:
        """One turn of the main path; `at` moves the clock first."""
        self.at = self.at if at is None else at
        watched = self[name]
        script = scenarios()[scenario or watched.settings.scripted or ""]
        database = ScriptedDatabase(script, self.began, lambda: self.at, self.refused.get(name, ()))
        return run_poll(watched, database, self.keeper, lambda: self.at)

    def poll_all(self, *moments: float) -> None:
        """Poll every database at each of these moments."""
        for moment in moments:
            for watched in self.board:
                self.poll(watched.name, moment)

    def app(self, store: str | None = None) -> "Client":
        """The real app over this board, and over a store of its polls; its workers are not started."""
        self._monkeypatch.setattr("service.app.Board", lambda watched: self.board)
        url = store or f"sqlite:///{self.folder}/store.db"
        if store is None and isinstance(self.keeper, Kept) and self.keeper.polls:
            self.keeper.write(url)
        chosen = Settings(store=url, databases=self.databases, history=FOR_EVER)
        self._apps.append(create_app(chosen))
        return Client(self._apps[-1])

    def close(self) -> None:
        """Give back what the apps hold."""
        for app in self._apps:
            app.state.close()


class Client:
    """Asks an app without a socket; faults of the app come back as the responses a caller would see."""

    def __init__(self, app: FastAPI) -> None:
        self.app = app

    def get(self, path: str, method: str = "GET", **more: object) -> httpx.Response:
        """The response to one request."""

        async def ask() -> httpx.Response:
            transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000") as client:
                return await client.request(method, path, **more)  # type: ignore[arg-type]

        return asyncio.run(ask())
