"""What a page costs: processor time and bytes of the fleet and of a database, with a thousand databases on the board.

Ten of them have a month in the store: two weeks of polls and thirty days of hours. Their last hour is real polls of the scripted
databases. The time before has random figures and no snapshots.
"""

import gzip
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from rich.table import Table

from bench._options import parser
from collectors.demo.scenarios import scenarios
from service.config.settings import DatabaseSettings
from service.store.repository import Repository
from service.store.rows import insert_new
from service.store.tables import HOURS, MEANS, POLLS, SUMS, millis
from tests.service.stage import BEGAN, Client, Stage

TINY = "--databases 1 --times 1 --filled 1 --minutes 1 --days 0.1"
INTERVAL = 15
ASKED = ("undo-storm", "busy-but-fine")
"""The databases whose pages the bench asks for. They are among those with a month in the store."""
SHARES = {"poll": 7 / 15, "1h": 1.0}
"""How much of the time in the store each covers: of 30 days fourteen, and all."""
PAGES = ("/", "/?state=critical", "/db/undo-storm", "/db/busy-but-fine", "/db/undo-storm/history", "/causes")


def figures(options: Sequence[str] = ()) -> Table:
    """Each page, several times after a first request."""
    asked = parser("pages", __doc__)
    asked.add_argument("--databases", type=int, default=1000, help="on the board; at least the scripted ones")
    asked.add_argument("--times", type=int, default=10, help="requests of each page")
    asked.add_argument("--filled", type=int, default=10, help="databases with a past in the store")
    asked.add_argument(
        "--minutes", type=int, default=60, help="of real polls of the databases whose pages are requested"
    )
    asked.add_argument("--days", type=float, default=30.0, help="of the past before these")
    given = asked.parse_args(options)
    names = list(scenarios())
    databases, polls = max(given.databases, len(names)), range(40, 40 + 60 * given.minutes, INTERVAL)
    table = Table("page", "processor ms", "KB", "KB compressed", title=f"Pages with {databases:,} databases")
    with tempfile.TemporaryDirectory() as folder:
        patch = pytest.MonkeyPatch()
        stage = Stage(patch, Path(folder))
        more = [f"{names[number % len(names)]}-{number}" for number in range(databases - len(names))]
        settings = [DatabaseSettings(name=name, dsn=f"demo:{name}", interval=INTERVAL) for name in names]
        settings += [
            DatabaseSettings(name=name, dsn=f"demo:{name.rpartition('-')[0]}", interval=INTERVAL) for name in more
        ]
        stage.watch(*settings)
        for name in ASKED:
            for at in polls:
                stage.poll(name, at)
        stage.poll_all(polls[-2], polls[-1])
        url = f"sqlite:///{folder}/store.db"
        stage.keeper.write(url)
        store = Repository(url)
        for number in store.names.databases(
            list(dict.fromkeys((*ASKED, *(each.name for each in settings))))[: given.filled]
        ).values():
            _past(store, number, given.days)
        store.close()
        app = stage.app(url)
        for path in PAGES:
            table.add_row(path, *_cost(app, path, given.times))
        stage.close()
        patch.undo()
    return table


def _past(store: Repository, number: int, days: float) -> None:
    """Fill the store of one database with the time before the polls of the bench."""
    chance, end = np.random.default_rng(number), millis(BEGAN)
    for table, share, step in ((POLLS, SHARES["poll"], INTERVAL * 1000), (HOURS, SHARES["1h"], 3_600_000)):
        times = range(end - int(days * share * 86_400_000), end, step)
        counts = 10 ** chance.uniform(0, 7, (len(times), len(SUMS)))
        told = [(0.003, 0.1, *sums) for sums in np.rint(counts).tolist()]
        names = ("database_id", "at", "seconds", *MEANS, *SUMS)
        with store.engine.begin() as connection:
            if table is POLLS:
                rows = [(number, at, INTERVAL, *row, "info", "[]") for at, row in zip(times, told, strict=True)]
                named: tuple[str, ...] = (*names, "severity", "missing")
            else:
                rows = [(number, at, 3600.0, *row, *row, 240) for at, row in zip(times, told, strict=True)]
                named = (*names, *(f"{name}_most" for name in (*MEANS, *SUMS)), "polls")
            insert_new(connection, table, [dict(zip(named, row, strict=True)) for row in rows])


def _cost(app: Client, path: str, times: int) -> tuple[str, str, str]:
    body = app.get(path).content
    began = time.process_time()
    for _ in range(times):
        app.get(path)
    spent = (time.process_time() - began) / times
    return f"{1000 * spent:.1f}", f"{len(body) / 1024:.0f}", f"{len(gzip.compress(body, 4)) / 1024:.1f}"
