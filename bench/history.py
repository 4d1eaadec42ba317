"""The history store on both engines:

what a write costs, what figures weigh, and what a page's questions cost. The figures are of polls of databases that never
rest, over two days, of as many databases as `--figures` needs. Each figure has its own size over seven orders of magnitude.
They are packed and written as `Repository.write` does, without their snapshots. The product rolls up five minutes for the
databases that questions are about; hours of 90 days are packed directly. A write counts processor time of client and server,
a question that of the client.
"""

import random
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import numpy as np
from rich.table import Table
from sqlalchemy import text

from bench._options import parser
from bench._processor import spent
from bench._stores import store_place
from collectors.demo.database import ScriptedDatabase
from collectors.demo.scenarios import scenarios
from service.config.settings import DatabaseSettings
from service.state.board import MonitoredDatabase
from service.store.figures import ROLLED, FigureColumns, Items, pack
from service.store.record import CompleteDiagnoses, IngestRecord, record_of
from service.store.repository import Repository
from service.store.rows import insert_new, insert_raw, table_of
from service.store.series import Resolution, SeriesSelector
from service.store.tables import StoredBucket, StoredFigures, StoredPoll, Unrolled, millis, moment
from service.store.upkeep import put_rolled, roll_up
from service.watch.pipeline import PollContext, run_poll

TINY = "--figures 1 --interval 3600 --asked 1 --questions 1 --batches 1 --batch 2 --storm 2"
BEGAN = datetime(2026, 3, 1, tzinfo=UTC)
DAYS = 2
END = BEGAN + timedelta(days=DAYS)
BODIES = 500
"""Distinct polls of a database, which the fill repeats."""
STORM_INTERVAL = 15
"""Seconds between the polls of a scripted storm."""
EVERY_CHILD = [SeriesSelector("v$latch_children", name) for name in ("gets", "misses", "sleeps", "spin_gets")]
GOALS = {
    "figures alone, per processor second": "≥ 800,000 · 450,000",
    "whole write, ms of processor per poll": "– · ≤ 0.5",
    "bytes per figure of a poll": "≤ 4 · 5",
    "snapshot after the day's first, bytes": "≤ 1,000",
}


@dataclass(frozen=True, slots=True)
class _Size:
    """How much is stored and asked."""

    figures: int
    interval: int
    """Seconds between polls."""
    asked: int
    """Databases that the questions are about."""
    questions: int
    batches: int
    batch: int
    storm: int

    @property
    def polls(self) -> int:
        """Of each database."""
        return DAYS * 86400 // self.interval


@dataclass(frozen=True, slots=True)
class _Bench:
    """A store at work, and the first process of its server."""

    size: _Size
    store: Repository
    server: int | None

    def spent(self) -> float:
        return spent(self.server)


def figures(options: Sequence[str] = ()) -> Table:
    """The table of both engines."""
    wanted = parser("history", __doc__)
    wanted.add_argument("--figures", type=int, default=20_000_000, help="of polls, in all")
    wanted.add_argument("--interval", type=int, default=15, help="seconds between polls")
    wanted.add_argument("--asked", type=int, default=3, help="databases that the questions are about")
    wanted.add_argument("--questions", type=int, default=40, help="of each kind")
    wanted.add_argument("--batches", type=int, default=12, help="writes that are measured, after two that are not")
    wanted.add_argument("--batch", type=int, default=100, help="databases that a write has a poll of")
    wanted.add_argument("--storm", type=int, default=60, help="polls of a scripted storm, which the writes repeat")
    size = _Size(**vars(wanted.parse_args(options)))
    table = Table(title=f"history store, {size.figures:,} figures of polls every {size.interval} s")
    for name in ("figure", "sqlite", "postgresql", "goal"):
        table.add_column(name, justify="left" if name == "figure" else "right")
    polls = _polls(size.storm)
    measured = [_run(kind, size, polls) for kind in ("sqlite", "postgresql")]
    for name in measured[0]:
        table.add_row(name, *(each[name] for each in measured), GOALS.get(name, ""))
    return table


def _run(kind: str, size: _Size, polls: Sequence[IngestRecord]) -> dict[str, str]:
    """The figures of one engine."""
    with store_place(kind) as (place, server):
        bench = _Bench(size, Repository(place.url), server)
        found = _writes(bench, polls)
        databases, per_poll = _fill(bench)
        found["databases × polls × figures"] = f"{len(databases)} × {size.polls:,} × {per_poll}"
        found["bytes per figure of a poll"] = f"{_size(bench.store) / (len(databases) * size.polls * per_poll):.2f}"
        asked = databases[: size.asked]
        found["roll-up, ms of processor per bucket"] = _rolled_up(bench, asked)
        _hours(bench.store, asked)
        with bench.store.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("analyze"))
        one = [SeriesSelector("v$latch_children", "gets", {"child#": 1})]
        for name, resolution, span, selectors in (
            ("2 h of polls, every child", "poll", timedelta(hours=2), EVERY_CHILD),
            ("24 h of 5 minutes, every child", "5m", timedelta(hours=24), EVERY_CHILD),
            ("90 days of hours, one child", "1h", timedelta(days=90), one),
        ):
            found[f"{name}: ms of processor, median"] = _question(bench, resolution, span, selectors)  # type: ignore[arg-type]
        bench.store.close()
        return found


def _polls(count: int) -> list[IngestRecord]:
    """Polls of the undo storm, each with its snapshot, figures, verdict and episodes."""
    turns: list[Any] = []
    complete = CompleteDiagnoses()
    watched = MonitoredDatabase(DatabaseSettings(name="undo-storm", dsn="demo:undo-storm"), STORM_INTERVAL)
    clock = [40.0]
    database = ScriptedDatabase(scenarios()["undo-storm"], BEGAN, lambda: clock[0], ())
    keeper = SimpleNamespace(keep=lambda *poll: turns.append(poll))
    for _ in range(count + 1):
        run_poll(watched, database, keeper, PollContext(clock=lambda: 0.0))
        clock[0] += STORM_INTERVAL
    records = (record_of(*turn, complete=complete.due(*turn[:2])) for turn in turns)
    return [record for record in records if record is not None][1:]


def _writes(bench: _Bench, polls: Sequence[IngestRecord]) -> dict[str, str]:
    """Whole writes of the polls of many databases at a time, as a busy writer has them, and writes of figures alone."""
    whole, alone, figures, batch = [], [], 0, bench.size.batch
    for turn in range(2 + bench.size.batches):
        at = BEGAN - timedelta(days=1) + timedelta(seconds=STORM_INTERVAL * turn)
        records = [_of_database(polls[(turn + n) % len(polls)], f"write{n}", at) for n in range(batch)]
        began = bench.spent()
        bench.store.write(records)
        whole.append((bench.spent() - began) / batch)
        began = bench.spent()
        _figures_alone(bench.store, records, turn)
        alone.append(bench.spent() - began)
        figures = sum(len(record.values) for record in records)
    query = "select avg(length(body)) from snapshots where taken_at > (select min(taken_at) from snapshots)"
    with bench.store.engine.connect() as connection:
        snapshot = float(connection.scalar(text(query)) or 0.0)
    return {
        "figures alone, per processor second": f"{figures / statistics.median(alone[2:]):,.0f}",
        "whole write, ms of processor per poll": f"{1000 * statistics.median(whole[2:]):.3f}",
        "snapshot after the day's first, bytes": f"{snapshot:,.0f}",
    }


def _of_database(poll: IngestRecord, name: str, at: datetime) -> IngestRecord:
    episodes = [episode | {"database": name} for episode in poll.episodes]
    return replace(poll, database=name, at=at, episodes=episodes, changes=[])


def _figures_alone(store: Repository, records: Sequence[IngestRecord], turn: int) -> None:
    """The part of a write that handles figures, measured alone."""
    rows = []
    for place, (record, items) in enumerate(
        zip(records, store.names.numbers([record.items for record in records]), strict=True)
    ):
        numbers, values = np.array(items, np.int64), np.array(record.values, np.float64)
        order = numbers.argsort()
        rows.append((20_000 + place, millis(record.at) + turn, pack(numbers[order], values[order])))
    with store.engine.begin() as connection:
        insert_raw(connection, table_of(StoredFigures), rows)


def _fill(bench: _Bench) -> tuple[list[int], int]:
    """Fill empty tables with the figures of polls. Returns the numbers of the databases and the figures per poll."""
    store, size = bench.store, bench.size
    with store.engine.begin() as connection:
        for table in ("figures", "polls", "unrolled"):
            connection.execute(text(f"delete from {table}"))
    counters = _counters(store)
    databases = max(size.asked, round(size.figures / (size.polls * len(counters))))
    numbers = sorted(store.names.databases(f"db{n:04}" for n in range(databases)).values())
    days = [millis(BEGAN + timedelta(days=day)) for day in range(-1, DAYS + 1)]
    for table in ("polls", "figures"):
        store.partitions.ensure(table, days)
    with store.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("vacuum full" if connection.dialect.name == "postgresql" else "vacuum"))
    chance = np.random.default_rng(16)
    scale = 10 ** chance.uniform(0, 7, len(counters))
    bodies = [pack(counters, np.rint(scale * chance.uniform(0.5, 1.5, len(counters))) + 1) for _ in range(BODIES)]
    times = [millis(BEGAN) + n * size.interval * 1000 for n in range(size.polls)]
    for number in numbers:
        with store.engine.begin() as connection:
            polls = [(number, at, size.interval, "critical", 0.3, 12.0, "[]", None, None, None) for at in times]
            insert_raw(connection, table_of(StoredPoll), polls)
            rows = [(number, at, bodies[n % BODIES]) for n, at in enumerate(times)]
            insert_raw(connection, table_of(StoredFigures), rows)
    return numbers, len(counters)


def _counters(store: Repository) -> Items:
    """The numbers of the items that are counters."""
    return np.array([id for id, item in store.names.named(range(1, 2000)).items() if not item[3]], np.int64)


def _rolled_up(bench: _Bench, databases: Sequence[int]) -> str:
    """Roll up the filled polls with the product's own code."""
    due = [(300, number, millis(BEGAN) + 300_000 * n, 1) for number in databases for n in range(DAYS * 288)]
    with bench.store.engine.begin() as connection:
        insert_raw(connection, table_of(Unrolled), due)
    began, buckets, late = bench.spent(), 0, END + timedelta(hours=2)
    while more := roll_up(bench.store.engine, bench.store.partitions, bench.store.names, late):
        buckets += more
    return f"{1000 * (bench.spent() - began) / max(buckets, 1):.1f}"


def _hours(store: Repository, databases: Sequence[int]) -> None:
    """Fill in the hours of the 90 days before."""
    hours = 90 * 24
    begin = millis(BEGAN - timedelta(hours=hours))
    store.partitions.ensure("figures_1h", range(begin, millis(BEGAN) + 1, 86_400_000))
    counters = _counters(store)
    chance = np.random.default_rng(17)
    times = begin + 3_600_000 * np.arange(hours, dtype=np.int64)
    at, items = np.tile(times, len(counters)), np.repeat(counters, hours)
    for number in databases:
        totals = np.rint(10 ** chance.uniform(0, 7, len(items)))
        buckets = [
            {"width": 3600, "database_id": number, "at": moment(hour), "polls": 240, "seconds": 3600.0, "missing": "[]"}
            for hour in times.tolist()
        ]
        with store.engine.begin() as connection:
            put_rolled(
                connection,
                store.names,
                ROLLED["1h"],
                number,
                FigureColumns(items, at, totals, totals / 15.0),
                over=True,
            )
            insert_new(connection, table_of(StoredBucket), buckets)


def _question(bench: _Bench, resolution: Resolution, span: timedelta, selectors: list[SeriesSelector]) -> str:
    chance = random.Random(span.total_seconds())
    taken, series = [], 0
    for _ in range(bench.size.questions):
        name = f"db{chance.randrange(bench.size.asked):04}"
        last = END - timedelta(minutes=chance.randrange(60 if resolution == "1h" else 600))
        began = time.process_time()
        points = bench.store.history.points(name, selectors, last - span, last, resolution)
        taken.append(1000 * (time.process_time() - began))
        series = len(points.series)
        assert points.spans and series, f"{name} {last} {resolution}: nothing found measures nothing"
    return f"{statistics.median(taken):.1f} ({series} series)"


def _size(store: Repository) -> int:
    """Bytes of the figures of polls."""
    with store.engine.connect() as connection:
        if store.engine.dialect.name == "sqlite":
            return int(connection.scalar(text("select sum(pgsize) from dbstat where name = 'figures'")) or 0)
        query = "select sum(pg_total_relation_size(inhrelid)) from pg_inherits where inhparent = 'figures'::regclass"
        return int(connection.scalar(text(query)) or 0)
