"""What one poll costs: on the network, in the driver, and in our own code. One database on the stand-in, over a real socket."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median
from typing import TypeVar

from rich.table import Table

from collectors.delta import between
from collectors.model import Binds, Delta, Snapshot
from collectors.oracle import ConnectTarget, OracleConnection, prepare
from collectors.poll import Answer, poll
from rules.cache_map import cache_map
from rules.engine import diagnose
from service.config.settings import DatabaseSettings
from service.metrics.exposition import render
from tests.oracle_standin.backend import Answer as Sent
from tests.oracle_standin.backend import Backend
from tests.oracle_standin.databases import Counters, Service
from tests.oracle_standin.scripted import PASSWORD, USER, demo_services
from tests.oracle_standin.server import Listener

T = TypeVar("T")
POLLS = 60
DATABASE = DatabaseSettings(name="undo-storm", dsn="stand-in")


@dataclass
class Clock:
    """Seconds spent so far in each part of a poll."""

    seconds: dict[str, float] = field(default_factory=dict)

    def during(self, part: str, call: Callable[[], T]) -> T:
        """The result of `call`. Its time counts for `part`."""
        began = time.perf_counter()
        try:
            return call()
        finally:
            self.seconds[part] = self.seconds.get(part, 0.0) + time.perf_counter() - began


@dataclass
class Timed:
    """A Connection that measures the time in the driver."""

    connection: OracleConnection
    clock: Clock

    def query(self, sql: str, binds: Binds) -> Answer:
        return self.clock.during("waiting for the driver", lambda: self.connection.query(sql, binds))

    def close(self) -> None:
        self.connection.close()


@dataclass
class TimedBackend:
    """A backend of the stand-in that measures its own work, which a real database does elsewhere."""

    backend: Backend
    clock: Clock

    def answer(self, service: str, sql: str, binds: dict[str, object], /) -> Sent:
        return self.clock.during("stand-in", lambda: self.backend.answer(service, sql, binds))


def figures() -> Table:
    """One table: medians over the polls."""
    prepare("thin")
    clock = Clock()
    service = demo_services(["undo-storm"])["undo-storm"]
    service.backend = TimedBackend(service.backend, clock)
    with Listener({"undo-storm": service}) as listener:
        connection = Timed(OracleConnection("bench", ConnectTarget(listener.dsn("undo-storm"), USER, PASSWORD)), clock)
        rows = _polls(connection, service, clock)
        connection.close()
    assert not listener.problems, list(listener.problems)
    table = Table(title=f"one poll of one database, median of {POLLS}", title_justify="left")
    table.add_column("what")
    table.add_column("first poll", justify="right")
    table.add_column("later polls", justify="right")
    for name in rows[0]:
        later = median(row[name] for row in rows[1:])
        table.add_row(name, _shown(name, rows[0][name]), _shown(name, later))
    return table


def _polls(connection: Timed, service: Service, clock: Clock) -> list[dict[str, float]]:
    rows: list[dict[str, float]] = []
    last: Snapshot | None = None
    for _ in range(POLLS + 1):
        clock.seconds.clear()
        last, row = _one_poll(connection, service.counters, clock, last)
        rows.append(row | _parts(clock.seconds))
        time.sleep(0.02)
    return rows


def _one_poll(
    connection: Timed, counters: Counters, clock: Clock, previous: Snapshot | None
) -> tuple[Snapshot, dict[str, float]]:
    statements, trips = counters.statements, counters.round_trips
    snapshot = clock.during("poll", lambda: poll("undo-storm", connection, previous))
    delta = clock.during("between", lambda: between(previous, snapshot)) if previous else None
    if isinstance(delta, Delta):
        diagnosis, caches = clock.during("diagnose", lambda: diagnose(delta)), cache_map(delta)
        clock.during("render", lambda: render(DATABASE, snapshot, caches, diagnosis))
    costs = snapshot.costs.values()
    return snapshot, {
        "statements": float(counters.statements - statements),
        "round trips, counted by the listener": float(counters.round_trips - trips),
        "round trips, told by us": float(sum(cost.round_trips for cost in costs)),
        "rows": float(sum(cost.rows for cost in costs)),
    }


def _parts(seconds: dict[str, float]) -> dict[str, float]:
    waiting, stand_in = seconds["waiting for the driver"], seconds["stand-in"]
    ours = {"our poll(), without the driver": seconds["poll"] - waiting}
    ours |= {f"our {part}()": seconds.get(part, 0.0) for part in ("between", "diagnose", "render")}
    parts = {"driver and wire": waiting - stand_in, "stand-in making up the rows": stand_in, **ours}
    return {f"{name}, ms": 1000 * value for name, value in (parts | {"our code together": sum(ours.values())}).items()}


def _shown(name: str, value: float) -> str:
    return f"{value:.2f}" if name.endswith("ms") else f"{value:,.0f}"
