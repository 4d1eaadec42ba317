"""What a poll costs beside the bare driver and beside the programs that people run instead, by turns on one stand-in.

In each turn everybody reads the same scripted databases a few times, in another order. Ours polls, judges, packs and stores, by
the service's own path. A peer (named by the path of its program; one without a path is named as not measured) scrapes five views,
which it reads whole and turns into metrics: it keeps and judges nothing. Times are ms of processor, user and system, of the
program's whole process; the stand-in is a process of its own. The floor is the driver alone, for a peer that of the healthy
database: the statements of a poll, executed and fetched on one thread without deadlines.
"""

import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median

import yaml
from rich.table import Table

from bench._options import parser
from bench._peers_standin import DATABASES, VIEWS, plain
from bench._processor import spent_by
from bench.poll import TOGETHER, Clock, TimedKeeper, floor
from collectors.model import Binds, ColumnKind
from collectors.oracle import ConnectTarget, OracleConnection, prepare
from collectors.poll import Answer, Grouping
from collectors.registry import collectors
from service.config.settings import DatabaseSettings
from service.state.board import MonitoredDatabase
from service.store.repository import Repository
from service.store.rows import batched
from service.watch.pipeline import PollContext, run_poll
from tests.oracle_standin.scripted import PASSWORD, USER
from tests.ports import free_port

TINY = "--turns 1 --polls 2"
HEALTHY = DATABASES[0]


@dataclass
class Turn:
    """Somebody who polls: what a few polls cost, in seconds of processor for each."""

    polls: Callable[[int], float]
    driver: Callable[[int], float] | None = None
    """The driver alone with the statements of such a poll."""
    memory: Callable[[], float] | None = None
    """MB, of a process of its own."""
    taken: list[float] = field(default_factory=list)
    floors: list[float] = field(default_factory=list)

    def take(self, polls: int) -> None:
        """One turn."""
        self.taken.append(self.polls(polls))
        if self.driver:
            self.floors.append(self.driver(polls))


def figures(options: Sequence[str] = ()) -> Table:
    """One row for everybody: median and 95 % interval over the turns, and how many times the floor of the same turns."""
    asked = parser("peers", __doc__)
    asked.add_argument("--turns", type=int, default=9)
    asked.add_argument("--polls", type=int, default=40, help="of everybody in each turn")
    for name, program in PEERS.items():
        asked.add_argument(f"--{program.option}", metavar="PATH", help=f"the program of {name}")
    given = asked.parse_args(options)
    prepare("thin")
    with ExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory()))
        port = opened.enter_context(_standin())
        turns = {name: opened.enter_context(_ours(name, port, folder)) for name in DATABASES}
        for name, program in PEERS.items():
            if path := getattr(given, program.option.replace("-", "_")):
                turns[name] = opened.enter_context(program.started(path, port, folder))
        for turn in turns.values():
            turn.polls(3)  # logs in, warms up
        order = list(turns.values())
        for _ in range(given.turns):
            random.shuffle(order)
            for turn in order:
                turn.take(given.polls)
        return _table(turns, given.turns, given.polls)


def _table(turns: Mapping[str, Turn], count: int, polls: int) -> Table:
    load = f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    table = Table(title=f"one poll: {count} turns of {polls}, medians, {load}", title_justify="left")
    for column in ("who", "ms of processor", "95 % of the median", "driver, ms", "× driver", "MB"):
        table.add_column(column, justify="left" if column == "who" else "right")
    for name, turn in turns.items():
        low, high = interval(turn.taken)
        floors = turn.floors or turns[HEALTHY].floors
        times = median(mine / least for mine, least in zip(turn.taken, floors, strict=True))
        table.add_row(
            name,
            f"{1000 * median(turn.taken):.2f}",
            f"{1000 * low:.2f} to {1000 * high:.2f}",
            f"{1000 * median(floors):.2f}",
            f"{times:.1f}",
            f"{turn.memory():.0f}" if turn.memory else "",
        )
    for name in PEERS.keys() - turns.keys():
        table.add_row(name, "not measured: no program given", "", "", "", "")
    return table


def interval(taken: Sequence[float]) -> tuple[float, float]:
    """The 95 % interval of the median, from the turns drawn again."""
    drawn = random.Random(0)
    again = sorted(median(drawn.choices(taken, k=len(taken))) for _ in range(2000))
    return again[50], again[-51]


@contextmanager
def _standin() -> Iterator[int]:
    """The port of the scripted databases."""
    command = [sys.executable, "-m", "bench._peers_standin"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        yield int(process.stdout.readline())
        process.stdin.close()


def _connected(name: str, port: int) -> OracleConnection:
    return OracleConnection("bench", ConnectTarget(f"127.0.0.1:{port}/{name}", USER, PASSWORD))


@dataclass
class Noted:
    """A connection that notes the statements that were answered."""

    connection: OracleConnection
    asked: list[tuple[str, Binds]] = field(default_factory=list)

    def query(self, sql: str, binds: Binds) -> Answer:
        answer = self.connection.query(sql, binds)
        self.asked.append((sql, binds))
        return answer

    def close(self) -> None:
        self.connection.close()


@contextmanager
def _ours(name: str, port: int, folder: Path) -> Iterator[Turn]:
    """Our poll of one database, written by a writer of its own."""
    named = name.replace(",", "").replace(" ", "-")
    store = Repository(f"sqlite:///{folder}/{named}.db")
    keeper = TimedKeeper(Clock())
    connection, grouping = Noted(_connected(named, port)), Grouping(named)
    watched = MonitoredDatabase(DatabaseSettings(name=named, dsn="stand-in"), 15.0)

    def polls(count: int) -> float:
        began = time.process_time()
        for _ in range(count):
            connection.asked.clear()
            run_poll(watched, connection, keeper, PollContext(grouping=grouping))
        for some in batched(keeper.records, TOGETHER):
            store.write(some)
        keeper.records.clear()
        return (time.process_time() - began) / count

    yield Turn(polls, lambda count: sum(floor(connection.connection, connection.asked) for _ in range(count)) / count)
    connection.close()
    store.close()


@dataclass(frozen=True)
class Peer:
    """A program that scrapes Oracle, its command line, and its files: name and content."""

    option: str
    command: Callable[[int, Path], Sequence[str]]
    """Given the port that it is to listen on and its folder."""
    files: Callable[[int, int], Mapping[str, object]]
    """Given the port of the databases and its own."""

    @contextmanager
    def started(self, path: str, port: int, folder: Path) -> Iterator[Turn]:
        """Its process with its own folder, once it answers with figures of every view."""
        home = folder / self.option
        home.mkdir()
        listens = free_port()
        for name, content in self.files(port, listens).items():
            (home / name).write_text(content if isinstance(content, str) else yaml.safe_dump(content))
        program = shutil.which(path) or path
        command = [program, *self.command(listens, home)]
        account = {"DB_USERNAME": USER, "DB_PASSWORD": PASSWORD, **os.environ}
        with (
            (home / "log").open("w") as log,
            subprocess.Popen(command, stdout=log, stderr=log, cwd=home, env=account) as process,
        ):
            try:
                url = f"http://127.0.0.1:{listens}/metrics"
                until = time.monotonic() + 60
                while not _scraped(url):
                    if time.monotonic() > until or process.poll() is not None:
                        raise SystemExit(
                            f"{path} gave no figures within a minute:\n{(home / 'log').read_text()[-3000:]}"
                        )
                    time.sleep(0.5)
                yield Turn(partial(_scrapes, process.pid, url), memory=partial(_memory, process.pid))
            finally:
                process.kill()


def _scraped(url: str) -> bool:
    """Whether a scrape has figures of every view, not only their descriptions."""
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:
            text = answer.read().decode()
    except OSError:
        return False
    return all(re.search(rf"^\w*{_metric(view)}\w*\{{", text, re.MULTILINE) for view in VIEWS)


def _scrapes(process: int, url: str, count: int) -> float:
    """Seconds of processor of another process for each scrape."""
    began = spent_by(process)
    for _ in range(count):
        assert _scraped(url)
    return (spent_by(process) - began) / count


def _memory(process: int) -> float:
    held = Path(f"/proc/{process}/status").read_text().partition("VmRSS:")[2].split()[0]
    return int(held) / 1024


def _columns(view: str) -> tuple[list[str], list[str]]:
    """Names of the columns that label a row, and of those that are figures."""
    columns = collectors()[view].columns
    figures = (ColumnKind.COUNTER, ColumnKind.GAUGE)
    labels = [_name(column.name) for column in columns if column.kind not in figures]
    return labels, [_name(column.name) for column in columns if column.kind in figures]


def _name(column: str) -> str:
    return column.replace("#", "_number")


def _metric(view: str) -> str:
    return view.replace("$", "_")


def _official(port: int, listens: int) -> dict[str, object]:
    metrics = "".join(
        f"[[metric]]\ncontext = '{_metric(view)}'\nlabels = {labels!r}\n"
        f"metricsdesc = {{ {', '.join(f'{name} = {name!r}' for name in figures)} }}\nrequest = '''{plain(view)}'''\n"
        for view in VIEWS
        for labels, figures in [_columns(view)]
    )
    where = {"username": USER, "password": PASSWORD, "url": f"127.0.0.1:{port}/plain", "queryTimeout": 5}
    config = {
        "databases": {"bench": where},
        "metrics": {"default": "metrics.toml"},
        "log": {"disable": 1},  # it would copy the alert log, to a file elsewhere
        "web": {"listenAddresses": [f"127.0.0.1:{listens}"]},
    }
    return {"metrics.toml": metrics, "config.yaml": config}


def _sql_exporter(port: int, _: int) -> dict[str, object]:
    made = [
        {
            "metric_name": f"{_metric(view)}",
            "type": "gauge",
            "help": view,
            "key_labels": labels,
            "value_label": "figure",
            "values": figures,
            "query": plain(view, {name: f'"{name}"' for name in labels + figures}),  # it heeds the case of a name
        }
        for view in VIEWS
        for labels, figures in [_columns(view)]
    ]
    target = {"data_source_name": f"oracle://{USER}:{PASSWORD}@127.0.0.1:{port}/plain", "collectors": ["bench"]}
    return {
        "config.yaml": {
            "global": {"scrape_timeout": "20s", "min_interval": "0s", "max_connections": 1},
            "target": target,
            "collectors": [{"collector_name": "bench", "metrics": made}],
        }
    }


def _query_exporter(port: int, _: int) -> dict[str, object]:
    metrics, queries = dict[str, object](), dict[str, object]()
    for view in VIEWS:
        labels, figures = _columns(view)
        named = {figure: f"{_metric(view)}_{figure}" for figure in figures}
        metrics |= {name: {"type": "gauge", "labels": labels, "description": name} for name in named.values()}
        queries[_metric(view)] = {
            "databases": ["bench"],
            "metrics": [*named.values()],
            "sql": plain(view, named),
        }
    dsn = f"oracle+oracledb://{USER}:{PASSWORD}@127.0.0.1:{port}/?service_name=plain"
    return {"config.yaml": {"databases": {"bench": {"dsn": dsn}}, "metrics": metrics, "queries": queries}}


PEERS = {
    "oracle-db-appdev-monitoring": Peer("official", lambda _, home: (f"--config.file={home}/config.yaml",), _official),
    "sql_exporter": Peer(
        "sql-exporter",
        lambda listens, home: (f"--config.file={home}/config.yaml", f"--web.listen-address=127.0.0.1:{listens}"),
        _sql_exporter,
    ),
    "query-exporter": Peer(
        "query-exporter",
        lambda listens, home: ("-H", "127.0.0.1", "-p", str(listens), "--config", f"{home}/config.yaml"),
        _query_exporter,
    ),
}
