"""One scrape of /metrics for 10, 100 and 1,000 databases, beside the same samples through prometheus_client.

Real polls of the scripted databases appear under other names. Each run scrapes through `exposition` alone and over HTTP from
another process, then serves the same samples as counters and gauges of prometheus_client.
"""

import multiprocessing
import re
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

import uvicorn
from fastapi import FastAPI
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    disable_created_metrics,
    enable_created_metrics,
    generate_latest,
)
from rich.table import Table

from bench._options import parser
from bench._scraper import ask, timed
from collectors.demo.database import ScriptedDatabase
from collectors.demo.scenarios import scenarios
from collectors.model import Snapshot
from rules.model import Diagnosis
from service.config.settings import DatabaseSettings
from service.metrics.exposition import exposition, own_registry, render
from service.metrics.families import FAMILIES
from service.state.board import Board, MonitoredDatabase, Published
from service.watch.pipeline import run_poll
from service.web.access import Access
from service.web.api import live

TINY = "--fleets 2:50 --scrapes 2"
OF_LIVENESS = 5
"""Samples per database that a scrape adds to those of its last poll."""
LONG_AGO = 3600.0
"""An interval so long that nothing grows stale during the run."""
SAMPLE = re.compile(r"^([a-z_]+)\{(.*)\} (\S+)$")
LABEL = re.compile(r'([a-z_]+)="((?:[^"\\]|\\.)*)"')


class Forgetful:
    """A keeper that stores nothing."""

    def keep(self, snapshot: Snapshot, diagnosis: Diagnosis, poll_record: object = None) -> None:
        """Nothing."""


@dataclass(frozen=True)
class Figure:
    """The figures of one fleet; times in seconds."""

    databases: int
    series: int
    size: int
    joined: Sequence[float]
    asked: Sequence[float]
    stock: Sequence[float]
    rendered: float


def prototypes() -> list[Published]:
    """One published poll of every scripted database, two minutes into its script."""
    made = []
    for name, scenario in scenarios().items():
        at = [120.0]
        database = ScriptedDatabase(scenario, datetime(2026, 3, 1, tzinfo=UTC), lambda at=at: at[0])  # type: ignore[misc]
        watched = MonitoredDatabase(DatabaseSettings(name=name, dsn=f"demo:{name}"), LONG_AGO)
        run_poll(watched, database, Forgetful())
        at[0] += 15
        made.append(run_poll(watched, database, Forgetful()))
    return made


def cut(blocks: Mapping[str, bytes], most: int) -> dict[str, bytes]:
    """The first samples of a database, at most this many."""
    kept: dict[str, bytes] = {}
    for family, text in blocks.items():
        lines = text.splitlines(keepends=True)[:most]
        most -= len(lines)
        if lines:
            kept[family] = b"".join(lines)
    return kept


def fleet(databases: int, most: int | None, published: Sequence[Published]) -> tuple[Board, float]:
    """A board of databases, each with a limited number of samples, and the seconds to render one database."""
    watched, spent = [], 0.0
    for number in range(databases):
        source = published[number % len(published)]
        settings = DatabaseSettings(name=f"db{number:04}", dsn="demo:any", cluster=f"cluster{number // 4:03}")
        began = time.perf_counter()
        blocks = render(settings, source.snapshot, source.map, source.verdict)
        spent += time.perf_counter() - began
        if most is not None:
            blocks = cut(blocks, most - OF_LIVENESS)
        current = replace(source, render=partial(dict, blocks), published_at=time.monotonic(), clock=time.time())
        watched.append(MonitoredDatabase(settings, LONG_AGO, published=current))
    return Board(watched), spent / databases


def stock(page: str) -> CollectorRegistry:
    """Our samples as children of prometheus_client's own metrics."""
    samples = [match for match in map(SAMPLE.match, page.splitlines()) if match]
    parsed = [(match[1], dict(LABEL.findall(match[2])), float(match[3])) for match in samples]
    names: dict[str, list[str]] = {}
    for family, labels, _ in parsed:
        known = names.setdefault(family, [])
        known.extend(label for label in labels if label not in known)
    registry = CollectorRegistry(auto_describe=False)
    metrics = {
        family: (Counter if FAMILIES[family].type == "counter" else Gauge)(
            family, FAMILIES[family].help, names[family], registry=registry
        )
        for family in names
    }
    for family, labels, value in parsed:
        metrics[family].labels(*(labels.get(name, "") for name in names[family])).inc(value)
    return registry


def over_http(board: Board, scrapes: int) -> list[float]:
    """Scrapes of the real route on a real socket."""
    app = FastAPI()
    app.router.routes.extend(live.scrapes(board, own_registry(), Access(None)).routes)
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as other:
            return other.submit(ask, listener.getsockname()[1], scrapes).result()
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


def measure(databases: int, most: int | None, published: Sequence[Published], scrapes: int) -> Figure:
    """One fleet, ours and stock."""
    board, rendered = fleet(databases, most, published)
    own = own_registry()
    page = exposition(board, own)[0]
    joined = timed(scrapes, lambda: exposition(board, own))
    asked = over_http(board, scrapes)
    disable_created_metrics()  # type: ignore[no-untyped-call]
    try:
        registry = stock(exposition(board, None)[0].decode())
        series, expected = count(generate_latest(registry)), count(page)
        assert series == expected, f"{series} samples through prometheus_client, {expected} through ours"
        others = timed(min(scrapes, max(3, 300 // databases)), lambda: generate_latest(registry))
    finally:
        enable_created_metrics()  # type: ignore[no-untyped-call]  # it counts for the whole process, which may be that of the tests
    return Figure(databases, series, len(page), joined, asked, others, rendered)


def count(page: bytes) -> int:
    """Number of samples about databases on a page."""
    return sum(line.startswith(b"latchscope_") for line in page.splitlines())


def quantile(values: Sequence[float], share: float) -> float:
    """The value at or below which this share of all values lies."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def milliseconds(seconds: float) -> str:
    """With as many digits as are significant."""
    return f"{seconds * 1000:,.2f}" if seconds < 0.1 else f"{seconds * 1000:,.0f}"


def figures(options: Sequence[str] = ()) -> Table:
    """A row per size of the fleet; times in milliseconds."""
    asked = parser("metrics", __doc__)
    asked.add_argument(
        "--fleets",
        default="10:200,100:200,1000:200,1000",
        help="databases, and the samples of each; without these as many as the scripted databases give",
    )
    asked.add_argument("--scrapes", type=int, default=100, help="of each fleet")
    given = asked.parse_args(options)
    table = Table(
        title="/metrics: one scrape, in ms", caption=f"p99 of {given.scrapes} scrapes; render is paid once per poll"
    )
    heads = ("databases", "series", "MB", "p50", "p99", "HTTP p50", "HTTP p99", "stock p50", "ratio", "render/db")
    for head in heads:
        table.add_column(head, justify="right")
    published = prototypes()
    for databases, _, most in (fleet.partition(":") for fleet in given.fleets.split(",")):
        measured = measure(int(databases), int(most) if most else None, published, given.scrapes)
        ours, theirs = quantile(measured.joined, 0.5), quantile(measured.stock, 0.5)
        times = (
            ours,
            quantile(measured.joined, 0.99),
            quantile(measured.asked, 0.5),
            quantile(measured.asked, 0.99),
            theirs,
        )
        table.add_row(
            f"{measured.databases:,}",
            f"{measured.series:,}",
            f"{measured.size / 1e6:,.1f}",
            *(milliseconds(each) for each in times),
            f"{theirs / ours:,.0f} ×",
            milliseconds(measured.rendered),
        )
    return table
