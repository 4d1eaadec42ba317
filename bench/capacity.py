"""How many databases one process polls: real driver, a stand-in with cached answers in a process of its own.

Closed loop: as fast as it can, nothing written. Open loop: the whole service every 15 s, SQLite, /metrics scraped.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import yaml
from rich.console import Group
from rich.table import Table

from tests.oracle_standin.scripted import PASSWORD, USER
from tests.ports import free_port

INTERVAL = 15.0
SCRAPE_EVERY = 5.0
HOME = Path(__file__).resolve().parents[1]


@dataclass
class StandIn:
    """The fleet of databases, and how to speak to it."""

    process: "subprocess.Popen[str]"
    port: int

    def tell(self, command: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{command}\n")
        self.process.stdin.flush()

    def polls(self) -> dict[str, Any]:
        """Moments of polls by database since this was last asked for, and statements answered in all."""
        self.tell("polls")
        assert self.process.stdout is not None
        found: dict[str, Any] = json.loads(self.process.stdout.readline())
        return found


@contextmanager
def fleet(databases: int, troubled: float, delay: float = 0.0) -> Iterator[StandIn]:
    """The databases db-0000 and on."""
    command = [sys.executable, "-m", "bench._capacity_standin", str(databases)]
    command += ["--troubled", str(troubled), "--delay", str(delay)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=HOME) as process:
        assert process.stdout is not None
        try:
            yield StandIn(process, int(process.stdout.readline()))
        finally:
            process.kill()


def closed(databases: int, troubled: float, seconds: float, *more: str) -> dict[str, Any]:
    """What the closed loop came to."""
    with fleet(databases, troubled) as standin:
        command = [sys.executable, "-m", "bench._capacity_loop", str(standin.port), str(databases), str(seconds), *more]
        done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=HOME)
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return found


@dataclass
class Watch:
    """What was seen of the whole service while it ran."""

    databases: int
    seconds: float = 0.0
    gaps: list[float] = field(default_factory=list)
    gaps_of_well: list[float] = field(default_factory=list)
    polls: int = 0
    polled: int = 0
    statements: int = 0
    processor: float = 0.0
    answers: list[float] = field(default_factory=list)
    memory: int = 0
    threads: int = 0
    descriptors: int = 0
    queue: float = 0.0


def opened(
    databases: int,
    troubled: float,
    seconds: float,
    *,
    hung: int = 0,
    delay: float = 0.0,
    tree: Path = HOME,
    warm: float = 60.0,
    interval: float = INTERVAL,
) -> Watch:
    """The whole service of a checkout for so long, after a start of `warm` seconds; the first `hung` hang after the start."""
    watch = Watch(databases)
    with (
        fleet(databases, troubled, delay) as standin,
        tempfile.TemporaryDirectory() as folder,
        serving(databases, standin.port, Path(folder), tree, interval) as (process, port),
    ):
        time.sleep(warm)
        if hung:
            standin.tell(f"hang {hung}")
        before, spent, began = standin.polls(), processor_of(process.pid), time.monotonic()
        while time.monotonic() - began < seconds:
            _scrape(watch, port)
            _look(watch, process.pid)
            time.sleep(SCRAPE_EVERY)
        after, watch.seconds = standin.polls(), time.monotonic() - began
        watch.processor = processor_of(process.pid) - spent
        watch.statements = after["statements"] - before["statements"]
        _count(watch, after["polls"], hung)
    return watch


def _count(watch: Watch, polls: Mapping[str, Sequence[float]], hung: int) -> None:
    """Gaps from poll to poll; the pause until the end counts where it is longer than any."""
    for name, moments in polls.items():
        gaps = [later - earlier for earlier, later in pairwise(moments)] or [watch.seconds]
        watch.gaps += gaps
        watch.gaps_of_well += gaps if int(name.removeprefix("db-")) >= hung else []
        watch.polls += len(moments)
        watch.polled += bool(moments)


def _scrape(watch: Watch, port: int) -> None:
    began = time.monotonic()
    page = httpx.get(f"http://127.0.0.1:{port}/metrics", timeout=120).text
    watch.answers.append(time.monotonic() - began)
    told = [line for line in page.splitlines() if line.startswith("latchscope_poll_queue_seconds ")]
    watch.queue = max(watch.queue, *(float(line.split()[1]) for line in told), 0.0)


def _look(watch: Watch, pid: int) -> None:
    status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    watch.memory = max(watch.memory, int(status["VmRSS"].split()[0]) // 1024)
    watch.threads = max(watch.threads, int(status["Threads"]))
    watch.descriptors = max(watch.descriptors, len(list(Path(f"/proc/{pid}/fd").iterdir())))


def processor_of(pid: int) -> float:
    """Seconds of processor a process has used."""
    cells = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(cells[11]) + int(cells[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def serving(
    databases: int, port: int, folder: Path, tree: Path, interval: float = INTERVAL
) -> Iterator[tuple["subprocess.Popen[bytes]", int]]:
    """A service of a checkout, its process and its port. A checkout with an environment of its own is run by that."""
    own = free_port()
    names = [f"db-{number:04}" for number in range(databases)]
    config = {
        "listen": f"127.0.0.1:{own}",
        "store": f"sqlite:///{folder}/store.db",
        "defaults": {"interval": f"{interval:g}s"},
        "databases": [
            {"name": name, "dsn": f"127.0.0.1:{port}/{name}", "user": USER, "password_env": "BENCH_PASSWORD"}
            for name in names
        ],
    }
    (folder / "latchscope.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    python = tree / ".venv" / "bin" / "python"
    command = [
        str(python) if python.exists() else sys.executable,
        "-m",
        "service",
        "serve",
        "--config",
        str(folder / "latchscope.yaml"),
    ]
    given = os.environ | {"BENCH_PASSWORD": PASSWORD, "PYTHONPATH": str(tree)}
    with subprocess.Popen(command, cwd=tree, env=given, stderr=(folder / "log").open("wb")) as process:
        try:
            yield process, own
        finally:
            process.kill()


def at(values: Sequence[float], share: float) -> float:
    """The value below which that share lies."""
    ordered = sorted(values) or [0.0]
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def figures(options: Sequence[str] = ()) -> Group:
    """Tables of the closed loop, of the steps of a poll, and of the open loop."""
    parser = argparse.ArgumentParser(prog="python -m bench capacity", description=__doc__)
    parser.add_argument("--closed", default="1,100", help="databases, several by commas; empty for none")
    parser.add_argument(
        "--open",
        default="1,100,150,300,1000",
        help="the same of the open loop; 300:0.33 with a share in a storm of its own",
    )
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--closed-seconds", type=float, help="those of the closed loop, else as --seconds")
    parser.add_argument("--warm", type=float, default=60.0, help="seconds of the open loop before it counts")
    parser.add_argument("--troubled", type=float, default=1 / 3, help="share of databases in a storm, of the open loop")
    parser.add_argument("--hung", type=int, default=0, help="databases that hang once all are polled")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds to each statement: distance")
    parser.add_argument(
        "--tree", type=Path, default=HOME, help="another checkout whose service is measured, open loop only"
    )
    parser.add_argument(
        "--table", action="store_true", help="every figure of the table in docs/benchmarks.md, 15 minutes"
    )
    given = parser.parse_args(options)
    if given.table:
        return Group(_closed_table([1, 100], 10.0), _steps_table(10.0), _whole_table(given.tree))
    counts = [int(each) for each in given.closed.split(",") if each]
    seconds = given.closed_seconds or given.seconds
    tables = [_closed_table(counts, seconds), _steps_table(seconds)] if counts else []
    if wanted := [each.partition(":") for each in given.open.split(",") if each]:
        fleets = [(int(count), float(share) if share else given.troubled) for count, _, share in wanted]
        tables.append(_open_table(fleets, given))
    return Group(*tables)


def _closed_table(counts: Sequence[int], seconds: float) -> Table:
    table = Table("closed loop", "databases", "polls", "polls per cpu second", "polls a second", "threads")
    for kind, troubled in (("storm", 1.0), ("healthy", 0.0)):
        for databases in counts:
            found = closed(databases, troubled, seconds)
            rate = found["polls"] / found["processor"]
            each = [
                f"{found['polls']:,}",
                f"{rate:.1f}",
                f"{found['polls'] / found['seconds']:.1f}",
                str(found["threads"]),
            ]
            table.add_row(kind, str(databases), *each)
    return table


def _steps_table(seconds: float) -> Table:
    table = Table("cpu ms per poll, one database", "storm", "healthy")
    found = [closed(1, troubled, seconds, "--steps") for troubled in (1.0, 0.0)]
    for step in sorted({step for one in found for step in one["steps"]}):
        table.add_row(step, *(f"{1000 * one['steps'].get(step, 0.0) / one['polls']:.2f}" for one in found))
    rest = [one["processor"] - sum(one["steps"].values()) for one in found]
    table.add_row(
        "driver, hand-over, the rest",
        *(f"{1000 * left / one['polls']:.2f}" for left, one in zip(rest, found, strict=True)),
    )
    table.add_row("all", *(f"{1000 * one['processor'] / one['polls']:.2f}" for one in found))
    return table


@dataclass(frozen=True)
class Run:
    """One run of the whole service: what is asked of it, and for how long it is watched."""

    what: str
    databases: int
    troubled: float
    hung: int = 0
    delay: float = 0.0
    interval: float = INTERVAL
    warm: float = 40.0
    seconds: float = 45.0

    def watched(self, tree: Path) -> Watch:
        """What was seen of it."""
        return opened(
            self.databases,
            self.troubled,
            self.seconds,
            hung=self.hung,
            delay=self.delay,
            tree=tree,
            warm=self.warm,
            interval=self.interval,
        )


BEST = Run("at its best", 1000, 1 / 3, interval=10.0, warm=75.0)
TWICE = Run("twice overloaded", 2000, 1 / 3, interval=10.0, warm=100.0)
"""As many polls as one core does of such databases, 100 a second when this was written, and twice as many."""
RUNS = (
    Run("12 ms of network", 10, 0.0, delay=0.012, warm=20.0),
    Run("whole service", 100, 1 / 3, warm=25.0, seconds=35.0),
    Run("whole service", 150, 1 / 3, warm=25.0, seconds=35.0),
    Run("whole service", 300, 1 / 3),
    Run("half of them hung", 300, 1 / 3, hung=150),
    Run("whole service", 1000, 0.05, warm=60.0, seconds=60.0),
    BEST,
    TWICE,
)


def _whole_table(tree: Path) -> Table:
    """Every run, then what overload leaves of the best throughput."""
    table, seen = _open_heads(), {}
    for run in RUNS:
        print(f"{run.what}, {run.databases} databases …", file=sys.stderr, flush=True)
        seen[run] = run.watched(tree)
        _open_row(table, run, seen[run])
        # Told as it comes: a run that fails later loses nothing.
        print(
            "  " + " · ".join(str(list(column.cells)[-1]) for column in table.columns[1:]), file=sys.stderr, flush=True
        )
    best, twice = seen[BEST], seen[TWICE]
    clock = (twice.polls / twice.seconds) / (best.polls / best.seconds)
    work = (twice.polls / twice.processor) / (best.polls / best.processor)
    table.add_row("twice overloaded ÷ best", "", f"{clock:.2f}", "", "", f"{work:.2f} polls per cpu s")
    return table


def _open_table(fleets: Sequence[tuple[int, float]], given: argparse.Namespace) -> Table:
    table = _open_heads()
    for databases, troubled in fleets:
        run = Run(
            "whole service",
            databases,
            troubled,
            hung=given.hung,
            delay=given.delay,
            warm=given.warm,
            seconds=given.seconds,
        )
        _open_row(table, run, run.watched(given.tree))
    return table


def _open_heads() -> Table:
    heads = ("databases", "polls/s, wanted", "gap p50, p99 s", "cores", "cpu ms per poll", "statements per poll")
    return Table("open loop", *heads, "/metrics p99 s", "queue s", "RSS MB", "threads", "descriptors")


def _open_row(table: Table, run: Run, one: Watch) -> None:
    gaps = one.gaps_of_well if run.hung else one.gaps
    table.add_row(
        run.what,
        f"{run.databases}" + f", {run.databases - one.polled} never polled" * (one.polled < run.databases),
        f"{one.polls / one.seconds:.1f}, {run.databases / run.interval:.1f}",
        f"{at(gaps, 0.5):.1f}, {at(gaps, 0.99):.1f}",
        f"{one.processor / one.seconds:.2f}",
        f"{1000 * one.processor / max(one.polls, 1):.1f}",
        f"{one.statements / max(one.polls, 1):.1f}",
        f"{at(one.answers, 0.99):.2f}",
        f"{one.queue:.1f}",
        *(str(figure) for figure in (one.memory, one.threads, one.descriptors)),
    )
