"""The history store on both engines: what it takes in, how quickly a page has its charts, and what it weighs.

LATCHSCOPE_BENCH_ROWS sets the figures of polls (20,000,000 without it). The fleet's polls are 15 s apart over two days,
as many databases as that makes, with as many changed figures each as a busy scripted database has. Ingest goes through
`Repository.write`, roll-ups through `roll_up`; for queries the rest of the rows and 90 days of hours are made by the
engine itself.
"""

import os
import random
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from rich.table import Table
from sqlalchemy import Connection, text

from collectors.scenarios import scenarios
from collectors.simulator.database import ScriptedDatabase
from service.config.settings import DatabaseSettings
from service.state.board import MonitoredDatabase
from service.store.figures.codec import Items, pack
from service.store.figures.rows import ROLLED, FigureColumns, read
from service.store.ingest.bulk import insert_raw, table_of
from service.store.ingest.record import IngestRecord, record_of
from service.store.queries.series import SeriesSelector
from service.store.repository import Repository
from service.store.schema.history_tables import StoredFigures, millis
from service.store.upkeep.rollup import put_rolled, roll_up
from service.watch.pipeline import run_poll

ROWS = int(os.environ.get("LATCHSCOPE_BENCH_ROWS", "20000000"))
BEGAN = datetime(2026, 3, 1, tzinfo=UTC)
INTERVAL = 15
DAYS = 2
QUERIES = 100
BODIES = 500
"""Different polls of a database that the fill repeats."""
BATCH = 100
MEASURED = 300
"""Polls of the ingest measurement that go through the product's own path."""
SLEEPS = SeriesSelector("v$latch_children", "sleeps")
SHARE = SeriesSelector("impact", "share_of_db_time")
GETS = SeriesSelector("v$rowcache", "gets")


def figures() -> Table:
    """The table of both engines; PostgreSQL where its wheel is installed."""
    table = Table(title=f"history store, {ROWS:,} figures of polls, polls every {INTERVAL} s")
    for name in ("figure", "sqlite", "postgresql"):
        table.add_column(name, justify="left" if name == "figure" else "right")
    measured = [run(kind) for kind in ("sqlite", "postgresql")]
    for name in measured[0]:
        table.add_row(name, *(each.get(name, "–") for each in measured))
    return table


def run(kind: str) -> dict[str, str]:
    """The figures of one engine."""
    with _url(kind) as (url, folder):
        store = Repository(url)
        try:
            return _measured(store, folder)
        finally:
            store.close()


def _measured(store: Repository, folder: Path) -> dict[str, str]:
    poll = _poll()
    per_poll = len(poll.figures)
    found = {"changed figures per poll": f"{per_poll:,}", "snapshot, bytes": f"{len(poll.body):,}"}
    found |= _ingest(store, poll)
    empty = _size(store, folder)
    databases = _fill(store, per_poll)
    found["databases × days"] = f"{databases} × {DAYS}"
    began = time.perf_counter()
    buckets, late = 0, BEGAN + timedelta(days=DAYS, hours=2)
    while more := roll_up(store.engine, store.partitions, store.names, late):
        buckets += more
    found["roll-up, ms per bucket"] = f"{1000 * (time.perf_counter() - began) / max(buckets, 1):.1f}"
    _fill_rolled(store, databases)
    with store.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("analyze"))
    found["disk, all, MiB"] = f"{(_size(store, folder) - empty) / 2**20:,.0f}"
    found |= _weights(store)
    end = BEGAN + timedelta(days=DAYS)
    for name, resolution, hours, selectors in (
        ("2 h of polls, sleeps of every child", "poll", 2, [SLEEPS]),
        ("24 h of 5 minutes, sleeps of every child", "5m", 24, [SLEEPS]),
        ("24 h of 5 minutes, charts of the page", "5m", 24, [SLEEPS, SHARE, GETS]),
        ("90 days of hours, one child", "1h", 24 * 90, [SeriesSelector("v$latch_children", "sleeps", {"child#": 1})]),
        ("90 days of hours, DB time lost", "1h", 24 * 90, [SHARE]),
    ):
        found[f"{name}, p50 / p99 ms of our processor"] = _query(store, databases, end, resolution, hours, selectors)
    return found


def _poll() -> IngestRecord:
    """A poll of the undo storm, with its figures."""
    turns: list[Any] = []
    watched = MonitoredDatabase(DatabaseSettings(name="undo-storm", dsn="demo:undo-storm"), INTERVAL)
    clock = [40.0, 40.0 + INTERVAL]
    database = ScriptedDatabase(scenarios()["undo-storm"], BEGAN, lambda: clock[0], ())
    keeper = SimpleNamespace(keep=lambda *poll: turns.append(poll))
    while clock:
        run_poll(watched, database, keeper, lambda: 0.0)
        clock.pop(0)
    record = record_of(*turns[-1])
    assert record is not None
    return record


def _ingest(store: Repository, poll: IngestRecord) -> dict[str, str]:
    """Rows per second through the product's own path."""
    records = [
        replace(poll, database="ingest", at=BEGAN + timedelta(seconds=INTERVAL * n), episodes=[])
        for n in range(MEASURED)
    ]
    began = time.perf_counter()
    for first in range(0, MEASURED, BATCH):
        store.write(records[first : first + BATCH])
    seconds = time.perf_counter() - began
    rows = MEASURED * len(poll.figures)
    return {"ingest, rows/s": f"{rows / seconds:,.0f}", "ingest, polls/s": f"{MEASURED / seconds:,.0f}"}


def _fill(store: Repository, per_poll: int) -> int:
    """Rows by the engine itself, up to ROWS; how many databases that makes."""
    polls = DAYS * 86400 // INTERVAL
    databases = max(1, round(ROWS / (polls * per_poll)))
    numbers = store.names.databases(f"db{n:04}" for n in range(databases))
    store.partitions.ensure("polls", [millis(BEGAN + timedelta(days=d)) for d in range(DAYS + 1)])
    store.partitions.ensure("figures", [millis(BEGAN + timedelta(days=d)) for d in range(DAYS + 1)])
    counters = _counters(store, per_poll)
    chance = np.random.default_rng(16)
    scale = 10 ** chance.uniform(0, 7, len(counters))
    bodies = [pack(counters, np.rint(scale * chance.uniform(0.5, 1.5, len(counters))) + 1) for _ in range(BODIES)]
    for number in numbers.values():
        with store.engine.begin() as connection:
            _series(connection, "n", polls)
            at = f"{millis(BEGAN)} + n.n * {INTERVAL * 1000}"
            connection.execute(
                text(
                    "insert into polls (database_id, at, seconds, severity, share, waiting, missing) "
                    f"select {number}, {at}, {INTERVAL}, 'critical', 0.3, 12, '[]' from n"
                )
            )
            rows = [(number, millis(BEGAN) + n * INTERVAL * 1000, bodies[n % BODIES]) for n in range(polls)]
            insert_raw(connection, table_of(StoredFigures), rows)
            connection.execute(
                text(
                    "insert into unrolled (width, database_id, at, times) "
                    f"select 300, {number}, {millis(BEGAN)} + n.n * 300000, 1 from n where n.n < {DAYS * 288}"
                )
            )
            connection.execute(text("drop table n"))
    return databases


def _fill_rolled(store: Repository, databases: int) -> None:
    """Hours of 90 days before, for a few databases."""
    hours = 90 * 24
    begin = millis(BEGAN - timedelta(hours=hours))
    store.partitions.ensure("figures_1h", range(begin, millis(BEGAN) + 1, 86_400_000))
    counters = _counters(store, 10**6)
    chance = np.random.default_rng(17)
    at = np.tile(begin + 3_600_000 * np.arange(hours, dtype=np.int64), len(counters))
    items = np.repeat(counters, hours)
    for number in sorted(store.names.all_databases())[: min(databases, 20) + 1]:
        totals = np.rint(10 ** chance.uniform(0, 7, len(items)))
        with store.engine.begin() as connection:
            figures = FigureColumns(items, at, totals, totals / 15.0)
            put_rolled(connection, store.names, ROLLED["1h"], number, figures, over=True)
            _series(connection, "n", hours)
            connection.execute(
                text(
                    "insert into buckets (width, database_id, at, polls, seconds, missing) "
                    f"select 3600, {number}, {begin} + n.n * 3600000, 240, 3600, '[]' from n"
                )
            )
            connection.execute(text("drop table n"))


def _counters(store: Repository, most: int) -> Items:
    """The numbers of the items that are counters."""
    return np.array([id for id, item in store.names.named(range(1, 2000)).items() if not item[3]][:most], np.int64)


def _series(connection: Connection, name: str, count: int) -> None:
    """A temporary table of the numbers below `count`."""
    connection.execute(text(f"create temporary table {name} (n bigint primary key)"))
    numbers = "with recursive c(n) as (select 0 union all select n + 1 from c where n + 1 < :count) select n from c"
    connection.execute(text(f"insert into {name} {numbers}"), {"count": count})


def _query(
    store: Repository, databases: int, end: datetime, resolution: Any, hours: int, selectors: list[SeriesSelector]
) -> str:
    chance = random.Random(hours)
    span = timedelta(hours=hours)
    taken = []
    for _ in range(QUERIES):
        name = f"db{chance.randrange(min(databases, 20)):04}"
        last = end - timedelta(minutes=chance.randrange(60 if hours > 24 else 600))
        began = time.process_time()
        points = store.history.points(name, selectors, last - span, last, resolution)
        taken.append(1000 * (time.process_time() - began))
        assert points.spans and points.series, f"{name} {last} {resolution}: nothing found measures nothing"
    ordered = sorted(taken)
    return f"{statistics.median(ordered):.1f} / {ordered[int(0.99 * QUERIES) - 1]:.1f}"


def _weights(store: Repository) -> dict[str, str]:
    """Bytes per figure of each tier."""
    weights = {}
    for tier, table in (("poll", "figures"), ("5m", "figures_5m"), ("1h", "figures_1h")):
        with store.engine.connect() as connection:
            rows = sum(
                len(read(connection, tier, number, day, day + 86_400_000))  # type: ignore[arg-type]
                for number in store.names.all_databases()
                for day in range(
                    millis(BEGAN - timedelta(days=91)), millis(BEGAN + timedelta(days=DAYS + 1)), 86_400_000
                )
            )
            if store.engine.dialect.name == "sqlite":
                size = connection.scalar(text(f"select sum(pgsize) from dbstat where name = '{table}'"))
            else:
                size = connection.scalar(
                    text(
                        f"select sum(pg_total_relation_size(inhrelid)) from pg_inherits where inhparent = '{table}'::regclass"
                    )
                )
        weights[f"{table}, bytes per figure"] = f"{float(size) / rows:.1f}"
    return weights


def _size(store: Repository, folder: Path) -> int:
    """Bytes on disk."""
    if store.engine.dialect.name == "sqlite":
        with store.engine.connect() as connection:
            connection.exec_driver_sql("pragma wal_checkpoint(truncate)")
        return sum(path.stat().st_size for path in folder.glob("store.db*"))
    with store.engine.connect() as connection:
        return int(connection.scalar(text("select pg_database_size(current_database())")) or 0)


@contextmanager
def _url(kind: str) -> Iterator[tuple[str, Path]]:
    """An empty store of this kind."""
    with tempfile.TemporaryDirectory(prefix="latchscope-bench-") as name:
        folder = Path(name)
        if kind == "sqlite":
            yield f"sqlite:///{folder}/store.db", folder
            return
        from tests.service.stores import Postgres

        server = Postgres()
        try:
            server.query("create database bench")
            yield server.url("bench"), folder
        finally:
            server.stop()
