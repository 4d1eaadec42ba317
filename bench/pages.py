"""What a page costs: processor time and bytes of the fleet and of a database, with a thousand databases on the board.

Ten of them have a month in the store: two days of polls, two weeks of five minutes and thirty days of hours. Their last hour
is real polls of the scripted databases. The time before repeats one poll, with random totals.
"""

import gzip
import tempfile
import time
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from rich.table import Table

from collectors.scenarios import scenarios
from service.config.settings import DatabaseSettings
from service.store.figures.codec import Items, pack
from service.store.figures.rows import ROLLED, FigureColumns
from service.store.ingest.bulk import insert_new, insert_raw, table_of
from service.store.repository import Repository
from service.store.schema.history_tables import StoredBucket, StoredFigures, StoredPoll, millis, moment
from service.store.upkeep.rollup import put_rolled
from tests.service.stage import BEGAN, Client, Stage

DATABASES = 1000
TIMES = 10
INTERVAL = 15
POLLS = range(40, 3640, INTERVAL)
"""An hour of polls for the databases whose pages the bench asks for."""
FILLED = 10
ASKED = ("undo-storm", "busy-but-fine")
"""The databases whose pages the bench asks for. They are among those with a month in the store."""
DAYS = {"poll": 2, "5m": 14, "1h": 30}
"""Seconds of each resolution in the store. The default retention keeps hours longer."""
PAGES = ("/", "/?state=critical", "/db/undo-storm", "/db/busy-but-fine", "/db/undo-storm/history", "/causes")


def figures() -> Table:
    """Each page, several times after a first request."""
    table = Table("page", "processor ms", "KB", "KB compressed", title=f"Pages with {DATABASES:,} databases")
    with tempfile.TemporaryDirectory() as folder:
        patch = pytest.MonkeyPatch()
        stage = Stage(patch, Path(folder))
        names = list(scenarios())
        more = [f"{names[number % len(names)]}-{number}" for number in range(DATABASES - len(names))]
        settings = [DatabaseSettings(name=name, dsn=f"demo:{name}", interval=INTERVAL) for name in names]
        settings += [
            DatabaseSettings(name=name, dsn=f"demo:{name.rpartition('-')[0]}", interval=INTERVAL) for name in more
        ]
        stage.watch(*settings)
        for name in ASKED:
            for at in POLLS:
                stage.poll(name, at)
        stage.poll_all(POLLS[-2], POLLS[-1])
        url = f"sqlite:///{folder}/store.db"
        stage.keeper.write(url)
        store = Repository(url)
        for number in store.names.databases(
            list(dict.fromkeys((*ASKED, *(each.name for each in settings))))[:FILLED]
        ).values():
            _month(store, number)
        store.close()
        app = stage.app(url)
        for path in PAGES:
            table.add_row(path, *_cost(app, path))
        stage.close()
        patch.undo()
    return table


def _month(store: Repository, number: int) -> None:
    """Fill the store of one database with the time before the polls of the bench."""
    counters: Items = np.array([id for id, item in store.names.named(range(1, 2000)).items() if not item[3]], np.int64)
    chance, end = np.random.default_rng(number), millis(BEGAN)
    body = pack(counters, np.rint(10 ** chance.uniform(0, 7, len(counters))))
    times = range(millis(BEGAN - timedelta(days=DAYS["poll"])), end, INTERVAL * 1000)
    for table in ("polls", "figures"):
        store.partitions.ensure(table, times[:: 86_400 // INTERVAL])
    with store.engine.begin() as connection:
        polls = [(number, at, INTERVAL, "info", 0.003, 0.1, "[]", None, None, None) for at in times]
        insert_raw(connection, table_of(StoredPoll), polls)
        insert_raw(connection, table_of(StoredFigures), [(number, at, body) for at in times])
    for resolution in ("5m", "1h"):
        tier = ROLLED[resolution]
        begins = np.arange(end - DAYS[resolution] * 86_400_000, end, tier.bucket, dtype=np.int64)
        store.partitions.ensure(tier.table.__tablename__, begins[:: 86_400_000 // tier.bucket].tolist())
        totals = np.rint(10 ** chance.uniform(0, 7, len(counters) * len(begins)))
        at, items = np.tile(begins, len(counters)), np.repeat(counters, len(begins))
        width = tier.bucket // 1000
        buckets = [
            {"width": width, "database_id": number, "at": moment(begin), "polls": width // INTERVAL}
            | {"seconds": float(width), "missing": "[]"}
            for begin in begins.tolist()
        ]
        with store.engine.begin() as connection:
            put_rolled(
                connection, store.names, tier, number, FigureColumns(items, at, totals, totals / INTERVAL), over=True
            )
            insert_new(connection, table_of(StoredBucket), buckets)


def _cost(app: Client, path: str) -> tuple[str, str, str]:
    body = app.get(path).content
    began = time.process_time()
    for _ in range(TIMES):
        app.get(path)
    spent = (time.process_time() - began) / TIMES
    return f"{1000 * spent:.1f}", f"{len(body) / 1024:.0f}", f"{len(gzip.compress(body, 4)) / 1024:.1f}"
