"""What one poll costs: on the network, in the driver, and in our own code.

One database in a storm on the stand-in, over a real socket. It is polled by the service's own path, every 15 s of its clock,
with the views in groups as the service has them, or one by one with `--statements single`. Looks between polls, which a storm
makes the service take, do not count. Our code is in ms of processor, the driver and the stand-in in ms of the clock.
"""

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
from service.store.record import record_of
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
NAME = "undo-storm"
STEPS = {
    "between": "change since the poll before",
    "cache_map": "cache map",
    "examine": "diagnosis",
    "render": "text for /metrics",
}
"""Functions of the pipeline, and what each makes."""
RECORD = "record for the store"


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

    def query(self, sql: str, binds: Binds) -> Answer:
        return self.clock.during("driver", lambda: self.connection.query(sql, binds))

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
    """Packs each poll for the store, and writes nothing."""

    clock: Clock

    def keep(self, snapshot: Snapshot, diagnosis: Diagnosis, poll_record: PollRecord | None = None) -> None:
        self.clock.during(RECORD, lambda: record_of(snapshot, diagnosis, poll_record))


def figures(options: Sequence[str] = ()) -> Table:
    """One table: medians over the polls."""
    asked = parser("poll", __doc__)
    asked.add_argument("--polls", type=int, default=60, help="after the first")
    asked.add_argument("--statements", choices=("grouped", "single"), default="grouped", help="as oracle.statements")
    given = asked.parse_args(options)
    prepare("thin")
    _warm_up()
    clock = Clock()
    service = Service(TimedBackend(Player(Film(steady(NAME)), 0.0), clock), {USER: Account(PASSWORD)}, ORACLE_12_1)
    with Listener({NAME: service}) as listener, pytest.MonkeyPatch.context() as patch:
        for step in ("poll", *STEPS):
            patch.setattr(pipeline, step, clock.timed(step, getattr(pipeline, step)))
        connection = OracleConnection("bench", ConnectTarget(listener.dsn(NAME), USER, PASSWORD))
        grouping = Grouping(NAME) if given.statements == "grouped" else None
        rows = _polls(TimedConnection(connection, clock), service.counters, clock, grouping, given.polls)
        connection.close()
    assert not listener.problems, list(listener.problems)
    table = Table(title=f"one poll of one database in a storm, median of {given.polls}", title_justify="left")
    table.add_column("what")
    table.add_column("first poll", justify="right")
    table.add_column("later polls", justify="right")
    for name in rows[0]:
        later = median(row[name] for row in rows[1:])
        table.add_row(name, _shown(name, rows[0][name]), _shown(name, later))
    return table


def _warm_up() -> None:
    """What a process makes once, such as the catalogue of causes, is no part of a poll."""
    watched, at = MonitoredDatabase(DatabaseSettings(name=NAME, dsn=f"demo:{NAME}"), 15.0), [60.0]
    database = ScriptedDatabase(steady(NAME), datetime(2026, 3, 2, 9, 0, tzinfo=UTC), lambda: at[0])
    for _ in range(2):
        pipeline.run_poll(watched, database, TimedKeeper(Clock()))
        at[0] += 15.0


def _polls(
    connection: TimedConnection, counters: Counters, clock: Clock, grouping: Grouping | None, count: int
) -> list[dict[str, float]]:
    """The figures of the first poll, and of so many more."""
    watched = MonitoredDatabase(DatabaseSettings(name=NAME, dsn="stand-in"), 15.0)
    rows = []
    for _ in range(1 + count):
        clock.seconds.clear()
        clock.processor.clear()
        statements, trips = counters.statements, counters.round_trips
        published = clock.during(
            "all", lambda: pipeline.run_poll(watched, connection, TimedKeeper(clock), grouping=grouping)
        )
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
        "driver and wire": waited["driver"] - waited["stand-in"],
        "stand-in making up the rows": waited["stand-in"],
        "our reading, without the driver": spent["poll"] - spent["driver"],
        **{f"our {made}": seconds for made, seconds in ours.items()},
        "our code together": spent["all"] - spent["driver"],
    }


def _shown(name: str, value: float) -> str:
    return f"{value:.2f}" if name.endswith("ms") else f"{value:,.0f}"
