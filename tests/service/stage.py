"""A stage for tests: scripted databases behind the real main path and the real app, on a clock that only the test moves."""

import asyncio
from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
from fastapi import FastAPI
from sqlalchemy import select

from collectors.demo.database import ScriptedDatabase
from collectors.demo.scenarios import scenarios
from collectors.model import Snapshot
from rules.model import Diagnosis
from service.app import create_app
from service.config.settings import AuthSettings, DatabaseSettings, HistorySettings, Settings, SpoolSettings
from service.state.board import Board, ChangeLog, MonitoredDatabase, PollRecord, Published
from service.state.episodes import Episodes
from service.store.record import CompleteDiagnoses, IngestRecord, read, record_of
from service.store.repository import Repository
from service.store.tables import DIAGNOSES
from service.watch.pipeline import PollContext, run_poll

BEGAN = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
CENTURY = 100 * 365 * 86400.0
FOR_EVER = HistorySettings(polls=CENTURY, five_minutes=CENTURY, hourly=CENTURY)
"""Whatever the time of the tests, the polls of the stage are young enough to appear one by one."""


RECORDS: dict[int, tuple[Snapshot, Diagnosis, PollRecord | None, bool, IngestRecord | None]] = {}
"""Polls of this process as the store takes them, by the id of their snapshot. Keeping the snapshot keeps the id unique."""


def recorded(
    snapshot: Snapshot, verdict: Diagnosis, poll_record: PollRecord | None, complete: bool
) -> IngestRecord | None:
    """`record_of`, computed once for a poll that many tests recall."""
    known = RECORDS.get(id(snapshot))
    if known is None or known[0] is not snapshot or known[1] is not verdict or known[2:4] != (poll_record, complete):
        made = record_of(snapshot, verdict, poll_record, complete=complete)
        known = (snapshot, verdict, poll_record, complete, made)
        RECORDS[id(snapshot)] = known
    return known[4]


@dataclass
class Kept:
    """A keeper that remembers."""

    polls: list[tuple[Snapshot, Diagnosis]]
    records: list[PollRecord | None] = field(default_factory=list)

    def keep(self, snapshot: Snapshot, diagnosis: Diagnosis, poll_record: PollRecord | None = None) -> None:
        self.polls.append((snapshot, diagnosis))
        self.records.append(poll_record)

    def write(self, url: str) -> None:
        """Write into a store what was kept so far."""
        store = Repository(url)
        self.write_to(store)
        store.close()

    def write_to(self, store: Repository) -> None:
        """Write what was kept so far into an open store, in one transaction, as the service does after an outage."""
        complete = CompleteDiagnoses()
        polls = zip(self.polls, self.records, strict=True)
        told = [recorded(*poll, poll_record, complete.due(*poll)) for poll, poll_record in polls]
        store.write([one for one in told if one is not None])


def write_poll(
    store: Repository, snapshot: Snapshot, diagnosis: Diagnosis, poll_record: PollRecord | None = None
) -> None:
    """Write a poll into a store at once, whole. One without a time is no record."""
    store.write([made] if (made := record_of(snapshot, diagnosis, poll_record)) else [])


class AtOnce(Kept):
    """A keeper that writes each poll into a store, whole."""

    def __init__(self, store: Repository) -> None:
        super().__init__([])
        self.store = store

    def keep(self, snapshot: Snapshot, diagnosis: Diagnosis, poll_record: PollRecord | None = None) -> None:
        write_poll(self.store, snapshot, diagnosis, poll_record)


def diagnoses(store: Repository, database: str, since: datetime) -> list[Diagnosis]:
    """Those that were kept, newest first."""
    at = DIAGNOSES.c.taken_at
    query = select(DIAGNOSES.c.body).where(DIAGNOSES.c.database == database, at >= since).order_by(at.desc())
    with store.engine.connect() as connection:
        return [read(Diagnosis, body) for body in connection.scalars(query)]


@dataclass(frozen=True)
class Past:
    """Everything that a scripted poll depends on: the settings and every earlier poll of that database."""

    watched: str
    polls: tuple[tuple[object, ...], ...] = ()


@dataclass(frozen=True)
class RecalledPoll:
    """The results of a poll, which the next test with the same polls restores."""

    published: Published
    episodes: Episodes
    record: PollRecord | None
    timeline: ChangeLog


_BLANK = {one.name: one.default for one in fields(MonitoredDatabase)}
USUAL, RESUME = _BLANK["usual"], _BLANK["resume"]

RECALLED: dict[Past, RecalledPoll] = {}
"""Polls of this process. A script is a function of time, so the same polls in the same order always give the same result."""


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
        self._pasts: dict[str, tuple[Past, Published | None, Episodes]] = {}
        clock = SimpleNamespace(monotonic=lambda: 1000.0 + self.at, time=lambda: BEGAN.timestamp() + self.at)
        monkeypatch.setattr("service.state.board.time", clock)
        monkeypatch.setattr("service.state.episodes.time", clock)
        monkeypatch.setattr("service.watch.pipeline.time", clock)
        monkeypatch.setattr("service.web.presenters.time", clock)
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
        """One poll of the main path; `at` moves the clock first. Polls that this process has made before are recalled."""
        self.at = self.at if at is None else at
        watched = self[name]
        past = self._past(watched)
        chosen, refused = scenario or watched.settings.scripted or "", tuple(sorted(self.refused.get(name, ())))
        if past is not None:
            past = Past(past.watched, (*past.polls, (self.at, self.began, chosen, refused)))
            if (known := RECALLED.get(past)) is not None:
                self._recall(watched, known)
                self._pasts[name] = (past, watched.published, watched.episodes)
                return known.published
        database = ScriptedDatabase(scenarios()[chosen], self.began, lambda: self.at, refused)
        kept = Kept([])
        published = run_poll(watched, database, kept, PollContext(clock=lambda: self.at))
        if past is not None:
            RECALLED[past] = RecalledPoll(
                published, deepcopy(watched.episodes), kept.records[0], deepcopy(watched.timeline)
            )
            self._pasts[name] = (past, published, watched.episodes)
        self.keeper.keep(*kept.polls[0], kept.records[0])
        return published

    def _past(self, watched: MonitoredDatabase) -> Past | None:
        """The history of the database. None after a test has changed it, which then polls for itself."""
        blank = MonitoredDatabase(watched.settings, watched.interval)
        if watched.confirmed or watched.failure or watched.usual is not USUAL or watched.resume is not RESUME:
            return None
        if watched.published is None and watched.episodes == blank.episodes:
            return Past(f"{watched.settings!r} {watched.interval}")
        past, published, episodes = self._pasts.get(watched.name, (None, None, None))
        return past if watched.published is published and watched.episodes is episodes else None

    def _recall(self, watched: MonitoredDatabase, known: RecalledPoll) -> None:
        watched.take(known.published)
        watched.episodes, watched.timeline = deepcopy(known.episodes), deepcopy(known.timeline)
        self.keeper.keep(known.published.snapshot, known.published.verdict, known.record)

    def poll_all(self, *moments: float) -> None:
        """Poll every database at each of these moments."""
        for moment in moments:
            for watched in self.board:
                self.poll(watched.name, moment)

    def app(self, store: str | None = None, tokens: Path | None = None) -> "Client":
        """The real app over this board, and over a store of its polls, with these tokens. Its workers do not start."""
        self._monkeypatch.setattr("service.app.Board", lambda watched: self.board)
        url = store or f"sqlite:///{self.folder}/store.db"
        if store is None and isinstance(self.keeper, Kept) and self.keeper.polls:
            self.keeper.write(url)
        # Each app has its own spool: in the current folder an app would find the spool of another.
        spool = SpoolSettings(directory=self.folder / f"{len(self._apps)}-spool")
        auth = AuthSettings(tokens_file=tokens)
        chosen = Settings(store=url, databases=self.databases, history=FOR_EVER, spool=spool, auth=auth)
        self._apps.append(create_app(chosen))
        return Client(self._apps[-1])

    def close(self) -> None:
        """Release what the apps hold."""
        for app in self._apps:
            app.state.close()


class Client:
    """Calls an app without a socket. Errors of the app become the responses that a caller would see."""

    def __init__(self, app: FastAPI) -> None:
        self.app = app

    def get(self, path: str, method: str = "GET", peer: str = "127.0.0.1", **more: object) -> httpx.Response:
        """The response to one request. `peer`: the address that the connection comes from."""

        async def ask() -> httpx.Response:
            transport = httpx.ASGITransport(self.app, raise_app_exceptions=False, client=(peer, 9))
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000") as client:
                return await client.request(method, path, **more)  # type: ignore[arg-type]

        return asyncio.run(ask())
