"""The history store on both engines: what it weighs, and what a page's questions cost.

A day of polls of two scripted databases, one at rest and one in a storm that comes and goes, is recorded as the service records
it. The engine then copies that day to the days before and to more databases; each older day is thinned as the service thins it.
A question counts processor time of the client, with what the server took in brackets.
"""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

from rich.table import Table
from sqlalchemy import Connection, text

from bench._options import parser
from bench._processor import spent
from bench._stores import store_place
from collectors.demo.database import ScriptedDatabase
from collectors.demo.scenarios import scenarios
from service.config.settings import DatabaseSettings
from service.history.comparison import ComparedWindows, comparison
from service.history.curves import time_series
from service.history.differences import differences
from service.state.board import MonitoredDatabase
from service.state.time_window import Window
from service.store.record import CompleteDiagnoses, IngestRecord, KeptSnapshots, record_of
from service.store.repository import Repository
from service.store.rows import batched
from service.store.tables import millis
from service.watch.pipeline import PollContext, run_poll

TINY = "--databases 1 --days 1 --hours 1 --questions 1"
LOADS = {"at rest": "busy-but-fine", "storm": "undo-storm"}
BEGAN = datetime(2026, 3, 30, tzinfo=UTC)
INTERVAL = 15
HOUR_ROW = 300
"""Bytes of an hour."""
DAY = timedelta(days=1)
COPIED = ("polls", "hours", "snapshots", "frames", "diagnoses", "episodes")
GOALS = {"24 h of one figure": "≤ 15 ms", "90 days of one figure": "≤ 30 ms", "24 h of every child": "≤ 60 ms"}
KEPT = {
    "polls": lambda days: min(days, 14),
    "hours": lambda days: days,
    "diagnoses": lambda days: min(days, 90),
    "episodes": lambda days: days,
}


@dataclass(frozen=True, slots=True)
class _Size:
    """How much is stored and asked."""

    databases: int
    days: int
    hours: int
    """Of the day that is recorded; a whole one has 24."""
    questions: int


def figures(options: Sequence[str] = ()) -> Table:
    """The table of both engines."""
    wanted = parser("history", __doc__)
    wanted.add_argument("--databases", type=int, default=10, help="of each load one half")
    wanted.add_argument("--days", type=int, default=90, help="that each has been watched")
    wanted.add_argument("--hours", type=int, default=24, help="of the day that is recorded")
    wanted.add_argument("--questions", type=int, default=7, help="of each kind")
    size = _Size(**vars(wanted.parse_args(options)))
    table = Table(title=f"history store, {size.databases} databases × {size.days} days, a poll every {INTERVAL} s")
    for name in ("figure", "sqlite", "postgresql", "goal"):
        table.add_column(name, justify="left" if name == "figure" else "right")
    days = {load: _day(script, size.hours) for load, script in LOADS.items()}
    measured = [_run(kind, size, days) for kind in ("sqlite", "postgresql")]
    for name in measured[0]:
        table.add_row(name, *(each[name] for each in measured), GOALS.get(name.partition(":")[0], ""))
    return table


def _day(script: str, hours: int) -> list[IngestRecord]:
    """The records of a day of a script, as the service makes them."""
    turns: list[Any] = []
    clock, complete, kept = [0.0], CompleteDiagnoses(), KeptSnapshots()
    watched = MonitoredDatabase(DatabaseSettings(name=script, dsn=f"demo:{script}"), INTERVAL)
    database = ScriptedDatabase(scenarios()[script], BEGAN, lambda: clock[0], ())
    records = []
    for _ in range(hours * 3600 // INTERVAL):
        run_poll(
            watched, database, SimpleNamespace(keep=lambda *poll: turns.append(poll)), PollContext(clock=lambda: 0.0)
        )
        record = record_of(*turns[-1], complete=complete.due(*turns[-1][:2]), kept=kept)
        records += [record] if record else []
        turns.clear()
        clock[0] += INTERVAL
    return records


def _run(kind: str, size: _Size, days: dict[str, list[IngestRecord]]) -> dict[str, str]:
    """The figures of one engine."""
    with store_place(kind) as (place, server):
        store = Repository(place.url)
        found: dict[str, str] = {}
        for load, records in days.items():
            before = _weight(store)
            for some in batched(records, 100):
                store.write(some)
            found |= {f"{load}: {name}": value for name, value in _kept(before, _weight(store), size.hours).items()}
        store.upkeep.sum_hours(BEGAN + 2 * DAY)
        _copied(store, size)
        names = [LOADS["storm"]] if size.databases < 2 else [f"storm{n}" for n in range(min(3, size.databases // 2))]
        for name, ask in _questions(store, size.hours).items():
            found[name] = _asked(ask, names, size.questions, server)
        store.close()
        return found


def _weight(store: Repository) -> dict[str, tuple[int, int]]:
    """Rows and bytes of each table, with its indexes."""
    found = {}
    connection = store.engine.connect().execution_options(isolation_level="AUTOCOMMIT")
    sqlite = connection.dialect.name == "sqlite"
    connection.execute(text("vacuum" if sqlite else "vacuum full"))
    for table in ("polls", "snapshots", "frames", "diagnoses"):
        query = f"select sum(pgsize) from dbstat where name in ('{table}', 'sqlite_autoindex_{table}_1')"
        if not sqlite:
            parts = f"select inhrelid from pg_inherits where inhparent = '{table}'::regclass union select '{table}'::regclass"
            query = f"select sum(pg_total_relation_size(each)) from ({parts}) as parts (each)"
        rows = connection.scalar(text(f"select count(*) from {table}"))
        found[table] = int(rows or 0), int(connection.scalar(text(query)) or 0)
    connection.close()
    return found


def _kept(before: dict[str, tuple[int, int]], after: dict[str, tuple[int, int]], hours: int) -> dict[str, str]:
    """What a day of a database weighs, and what is kept of it by default."""
    many = {name: after[name][0] - before[name][0] for name in after}
    each = {name: (after[name][1] - before[name][1]) / max(many[name], 1) for name in after}
    a_day = {name: count * 24 / hours for name, count in many.items()}
    snapshots = 2 * a_day["snapshots"] + 12 * 288 + 386 * 24
    kept = 14 * a_day["polls"] * each["polls"] + snapshots * each["snapshots"] + 400 * each["frames"] + 9600 * HOUR_ROW
    told = {
        f"{name}, rows a day × bytes": f"{a_day[name]:,.0f} × {each[name]:,.0f}" for name in after if name != "frames"
    }
    return told | {"kept without diagnoses": f"{kept / 1e6:.0f} MB"}


def _copied(store: Repository, size: _Size) -> None:
    """The day again, for more databases and for the days before."""
    numbers = store.names.databases(
        [f"{'calm' if load == 'at rest' else 'storm'}{n}" for load in LOADS for n in range(size.databases // 2)]
    )
    sqlite = store.engine.dialect.name == "sqlite"
    store.partitions.ensure([millis(BEGAN - n * DAY) for n in range(min(size.days, 14))])
    for name, number in numbers.items():
        script = LOADS["at rest" if name.startswith("calm") else "storm"]
        with store.engine.begin() as connection:
            for day in range(size.days):
                _shifted(connection, script, name, number, day, sqlite)
        store.upkeep._thin(name, BEGAN + DAY)
    with store.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("analyze"))


def _shifted(connection: Connection, script: str, name: str, number: int, day: int, sqlite: bool) -> None:
    """The rows of a script as those of a database some days earlier."""
    of = {
        "script": script,
        "name": name,
        "number": number,
        "back": day * 86_400_000,
        "day": f"{BEGAN - day * DAY:%Y-%m-%d}",
    }
    earlier = (
        f"strftime('%Y-%m-%d %H:%M:%f', taken_at, '-{day} days') || '000'"
        if sqlite
        else f"taken_at - interval '{day} days'"
    )
    mine = "where database_id = (select id from databases where name = :script)"
    for table in ("polls", "hours") if day < 14 else ("hours",):
        columns = ", ".join(column for column in _columns(connection, table) if column not in ("database_id", "at"))
        copy = f"insert into {table} (database_id, at, {columns}) select :number, at - :back, {columns} from {table} {mine}"
        connection.execute(text(copy), of)
    connection.execute(text("insert into frames select :name, :day, body from frames where database = :script"), of)
    connection.execute(
        text(f"insert into snapshots select :name, {earlier}, body from snapshots where database = :script"), of
    )


def _columns(connection: Connection, table: str) -> list[str]:
    return list(connection.execute(text(f"select * from {table} where 1 = 0")).keys())


def _questions(store: Repository, hours: int) -> dict[str, Callable[[str], object]]:
    """What a page asks, by its name."""
    children = ("child_gets", "child_misses", "child_sleeps", "child_spin_gets")
    whole = timedelta(hours=hours)
    end, length = BEGAN + whole, min(timedelta(minutes=30), whole / 6)
    before, after = (Window(end - whole * part, end - whole * part + length) for part in (0.8, 0.4))
    stretch = Window(end - whole / 2, end - whole / 2 + timedelta(minutes=10))
    return {
        "24 h of one figure": lambda name: time_series(store, name, ["executions"], end - DAY, end, "5m").series[0],
        "90 days of one figure": lambda name: time_series(
            store, name, ["executions"], end - 90 * DAY, end, "1h", limit=5000
        ).series[0],
        "24 h of every child": lambda name: time_series(store, name, children, end - DAY, end, "5m").series[0],
        "90 days of every child": lambda name: time_series(
            store, name, children, end - 90 * DAY, end, "1h", limit=5000
        ).series[0],
        "before and after, 30 min each": lambda name: comparison(store, name, ComparedWindows(before, after)).changes[
            0
        ],
        "what differs in 10 min": lambda name: differences(store, name, stretch, now=end).groups[0],
    }


def _asked(ask: Callable[[str], object], names: Sequence[str], questions: int, server: int | None) -> str:
    taken, of_server = [], []
    for turn in range(questions + 1):
        began, before = time.process_time(), spent(server)
        ask(names[turn % len(names)])
        took = time.process_time() - began
        taken.append(1000 * took)
        of_server.append(1000 * max(spent(server) - before - took, 0.0))
    rest = f" ({statistics.median(of_server):.1f})" if server else ""
    return f"{statistics.median(taken[1:] or taken):.1f} ms{rest}"
