"""What one poll costs beside the least it can: on the network, in the driver, and in our own code.

One healthy database and one in a storm on the stand-in, over a real socket. Each is polled by the service's own path, every 15 s
of its clock, with the views in groups as the service has them, or one by one with `--statements single`. Looks between polls,
which a storm makes the service take, do not count. Times are ms of processor, those of the wire and of the stand-in ms of the
clock. The floor is the driver alone: the statements of the last poll, executed and fetched on one thread without deadlines.
`bench capacity` has the whole service.
"""

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from statistics import median
from typing import Any, TypeVar

import pytest
from rich.table import Table

from bench._capacity_standin import Film, Player, steady
from bench._options import parser
from collectors.demo.database import ScriptedDatabase
from collectors.model import Binds, Snapshot
from collectors.oracle import ConnectTarget, OracleConnection, prepare
from collectors.poll import Answer, Grouping
from rules.model import Diagnosis
from service.config.settings import DatabaseSettings
from service.state.board import MonitoredDatabase, PollRecord
from service.store.record import CompleteDiagnoses, IngestRecord, KeptSnapshots, record_of
from service.store.repository import Repository
from service.store.rows import batched
from service.watch import pipeline
from tests.oracle_standin.accounts import Account
from tests.oracle_standin.backend import Answer as Sent
from tests.oracle_standin.backend import Backend
from tests.oracle_standin.databases import Counters, Service
from tests.oracle_standin.profiles import ORACLE_12_1
from tests.oracle_standin.scripted import PASSWORD, USER
from tests.oracle_standin.server import Listener

T = TypeVar("T")
TINY = "--polls 2"
LOADS = {"healthy": "healthy-19c", "storm": "undo-storm"}
FLOOR = "floor: the driver alone, ms"
STEPS = {
    "between": "change since the poll before",
    "held": "verdict by causes that were judged before",
    "cache_map": "cache map",
    "examine": "diagnosis",
}
"""Functions of the pipeline, and what each makes."""
RECORD = "record for the store"
WRITING = "our writing into the store, ms"
RECORDING = "recording, as a part of the floor"
TOGETHER = 7
"""Polls of a second of a hundred databases, which share a transaction."""


@dataclass
class Clock:
    """Seconds spent so far in each part of a poll, by the clock and of processor of its thread."""

    seconds: dict[str, float] = field(default_factory=dict)
    processor: dict[str, float] = field(default_factory=dict)

    def during(self, part: str, call: Callable[[], T]) -> T:
        """The result of `call`. Its time counts for `part`."""
        began, spent = time.perf_counter(), time.thread_time()
        try:
            return call()
        finally:
            self.seconds[part] = self.seconds.get(part, 0.0) + time.perf_counter() - began
            self.processor[part] = self.processor.get(part, 0.0) + time.thread_time() - spent

    def timed(self, part: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """The same function, with its time counted for `part`."""
        return lambda *given, **more: self.during(part, lambda: call(*given, **more))


@dataclass
class TimedConnection:
    """A Connection that measures the time in the driver."""

    connection: OracleConnection
    clock: Clock
    asked: list[tuple[str, Binds]] = field(default_factory=list)
    """The statements of the poll."""

    def query(self, sql: str, binds: Binds) -> Answer:
        self.asked.append((sql, binds))
        return self.clock.during("call", lambda: self.connection.query(sql, binds))

    def close(self) -> None:
        self.connection.close()


@dataclass
class TimedBackend:
    """A backend of the stand-in that measures its own work, which a real database does elsewhere."""

    backend: Backend
    clock: Clock

    def answer(self, service: str, sql: str, binds: Mapping[str, object], /) -> Sent:
        return self.clock.during("stand-in", lambda: self.backend.answer(service, sql, binds))


@dataclass
class TimedKeeper:
    """Packs each poll for the store as the writer does."""

    clock: Clock
    complete: CompleteDiagnoses = field(default_factory=CompleteDiagnoses)
    kept: KeptSnapshots = field(default_factory=KeptSnapshots)
    records: list[IngestRecord] = field(default_factory=list)

    def keep(self, snapshot: Snapshot, diagnosis: Diagnosis, poll_record: PollRecord | None = None) -> None:
        self.clock.during(RECORD, lambda: self._record(snapshot, diagnosis, poll_record))

    def _record(self, snapshot: Snapshot, diagnosis: Diagnosis, poll_record: PollRecord | None) -> None:
        complete = self.complete.due(snapshot, diagnosis)
        made = record_of(snapshot, diagnosis, poll_record, complete=complete, kept=self.kept)
        self.records += [made] if made else []


def figures(options: Sequence[str] = ()) -> Table:
    """One table: of each load the first poll, and medians over the later ones."""
    asked = parser("poll", __doc__)
    asked.add_argument("--polls", type=int, default=60, help="after the first")
    asked.add_argument("--statements", choices=("grouped", "single"), default="grouped", help="as oracle.statements")
    given = asked.parse_args(options)
    prepare("thin")
    rows = {load: _measured(name, given.statements == "grouped", given.polls) for load, name in LOADS.items()}
    table = Table(title=f"one poll of one database, median of {given.polls}", title_justify="left")
    table.add_column("what")
    for load in rows:
        table.add_column(f"{load}, first", justify="right")
        table.add_column(f"{load}, later", justify="right")
    for name in next(iter(rows.values()))[1]:
        cells = [(polls[0].get(name), median(row[name] for row in polls[1:])) for polls in rows.values()]
        table.add_row(name, *(_shown(name, value) for pair in cells for value in pair))
    return table


def _measured(name: str, grouped: bool, polls: int) -> list[dict[str, float]]:
    """The figures of each poll of a scenario. The floor follows the polls, as many times."""
    _warm_up(name)
    clock = Clock()
    service = Service(TimedBackend(Player(Film(steady(name)), 0.0), clock), {USER: Account(PASSWORD)}, ORACLE_12_1)
    with Listener({name: service}) as listener, pytest.MonkeyPatch.context() as patch:
        for step in ("poll", *STEPS):
            patch.setattr(pipeline, step, clock.timed(step, getattr(pipeline, step)))
        patch.setattr(OracleConnection, "_fetch", clock.timed("driver", OracleConnection._fetch))
        connection = OracleConnection("bench", ConnectTarget(listener.dsn(name), USER, PASSWORD))
        timed = TimedConnection(connection, clock)
        keeper = TimedKeeper(clock)
        rows = _polls(name, timed, service.counters, keeper, Grouping(name) if grouped else None, polls)
        for row in rows[1:]:
            row[FLOOR] = 1000 * floor(connection, timed.asked)
        driver, made = (median(row[what] for row in rows[1:]) for what in (FLOOR, f"our {RECORD}, ms"))
        written = 1000 * _written(keeper.records)
        for row in rows[1:]:
            row |= {WRITING: written, RECORDING: (made + written) / driver}
        connection.close()
    assert not listener.problems, list(listener.problems)
    return rows


def floor(connection: OracleConnection, asked: Sequence[tuple[str, Binds]]) -> float:
    """Seconds of processor for these statements with nothing of ours around the driver."""
    began = time.thread_time()
    for sql, binds in asked:
        with connection._session.cursor() as cursor:
            cursor.prefetchrows = cursor.arraysize = connection._room[sql]
            cursor.execute(sql, dict(binds))
            cursor.fetchall()
    return time.thread_time() - began


def _written(records: Sequence[IngestRecord]) -> float:
    """Seconds of processor that the store takes for a poll where so many share a transaction, as those of a hundred databases do.

    Those of the first minutes, whose snapshots are all kept, do not count.
    """
    with tempfile.TemporaryDirectory() as folder:
        store = Repository(f"sqlite:///{folder}/store.db")
        taken = []
        for some in batched(records, TOGETHER):
            began = time.thread_time()
            store.write(some)
            taken.append((time.thread_time() - began) / len(some))
        store.close()
    return median(taken[len(taken) // 3 :])


def _warm_up(name: str) -> None:
    """What a process makes once, such as the catalogue of causes, is no part of a poll."""
    watched, at = MonitoredDatabase(DatabaseSettings(name=name, dsn=f"demo:{name}"), 15.0), [60.0]
    database = ScriptedDatabase(steady(name), datetime(2026, 3, 2, 9, 0, tzinfo=UTC), lambda: at[0])
    for _ in range(2):
        pipeline.run_poll(watched, database, TimedKeeper(Clock()))
        at[0] += 15.0


def _polls(
    name: str,
    connection: TimedConnection,
    counters: Counters,
    keeper: TimedKeeper,
    grouping: Grouping | None,
    count: int,
) -> list[dict[str, float]]:
    """The figures of the first poll, and of so many more."""
    watched, clock = MonitoredDatabase(DatabaseSettings(name=name, dsn="stand-in"), 15.0), keeper.clock
    rows = []
    for _ in range(1 + count):
        clock.seconds.clear()
        clock.processor.clear()
        connection.asked.clear()
        statements, trips = counters.statements, counters.round_trips
        published = clock.during(
            "all", lambda: pipeline.run_poll(watched, connection, keeper, pipeline.PollContext(grouping=grouping))
        )
        clock.during("scrape", lambda published=published: published.blocks)  # type: ignore[misc]
        costs = published.snapshot.costs.values()
        row = {
            "statements": float(counters.statements - statements),
            "round trips, counted by the listener": float(counters.round_trips - trips),
            "round trips, told by us": float(sum(cost.round_trips for cost in costs)),
            "rows": float(sum(cost.rows for cost in costs)),
        }
        rows.append(row | {f"{name}, ms": 1000 * seconds for name, seconds in _parts(clock).items()})
        time.sleep(0.02)
    assert published.delta is not None, "the last poll has nothing to compare with"
    return rows


def _parts(clock: Clock) -> dict[str, float]:
    """What each part took, in seconds."""
    waited, spent = clock.seconds, clock.processor
    ours = {made: spent.get(step, 0.0) for step, made in STEPS.items()} | {RECORD: spent[RECORD]}
    return {
        "driver and wire, by the clock": waited["driver"] - waited["stand-in"],
        "stand-in making up the rows, by the clock": waited["stand-in"],
        "driver": spent["driver"],
        "our deadlines around it": spent["call"] - spent["driver"],
        "our reading": spent["poll"] - spent["call"],
        **{f"our {made}": seconds for made, seconds in ours.items()},
        "our code together": spent["all"] - spent["driver"],
        "driver and our code": spent["all"],
        "text for /metrics, at the first scrape after it": spent["scrape"],
    }


def _shown(name: str, value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.2f}" if name.endswith("ms") or name == RECORDING else f"{value:,.0f}"
