"""The whole service against the databases of `bench capacity`, each in its own process, and what it shows."""

import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import yaml

from tests.oracle_standin.scripted import PASSWORD, USER
from tests.ports import free_port

SCRAPE_EVERY = 5.0
START_SECONDS = 120.0
"""A service that does not answer by then has not started."""
HOME = Path(__file__).resolve().parents[1]


@dataclass
class StandIn:
    """The process with the databases, and the commands for it."""

    process: "subprocess.Popen[str]"
    port: int

    def tell(self, command: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{command}\n")
        self.process.stdin.flush()

    def polls(self) -> dict[str, Any]:
        """Times of polls by database since the last call, and the number of statements answered in all."""
        self.tell("polls")
        assert self.process.stdout is not None
        found: dict[str, Any] = json.loads(self.process.stdout.readline())
        return found


@contextmanager
def fleet(databases: int, troubled: float, delay: float = 0.0, *, alike: bool = False) -> Iterator[StandIn]:
    """The databases db-0000 and on. `alike`: those without trouble all play the same."""
    command = [sys.executable, "-m", "bench._capacity_standin", str(databases)]
    command += ["--troubled", str(troubled), "--delay", str(delay), *["--alike"] * alike]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=HOME) as process:
        assert process.stdout is not None
        try:
            if not (port := process.stdout.readline()):
                raise RuntimeError("the stand-in did not start")
            yield StandIn(process, int(port))
        finally:
            process.kill()


@dataclass(frozen=True)
class Run:
    """One run of the whole service: its load, and how long we watch it."""

    what: str
    databases: int
    troubled: float
    hung: int = 0
    """This many databases hang once the service is warm."""
    delay: float = 0.0
    """Seconds that each statement takes."""
    interval: float = 15.0
    warm: float = 40.0
    """Seconds before the measurement begins.

    If not every database was polled by then, it waits for that, at most twice as long.
    """
    seconds: float = 45.0


@dataclass
class Watch:
    """The figures of the whole service during a run."""

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


def opened(run: Run, tree: Path = HOME) -> Watch:
    """A run with the service of a checkout."""
    watch = Watch(run.databases)
    with (
        fleet(run.databases, run.troubled, run.delay) as standin,
        tempfile.TemporaryDirectory() as folder,
        serving(run.databases, standin.port, Path(folder), tree, run.interval) as (process, port),
    ):
        last = _warmed(standin, run)
        if run.hung:
            standin.tell(f"hang {run.hung}")
        before, spent, began = standin.polls(), processor_of(process.pid), time.monotonic()
        last |= {name: moments[-1] for name, moments in before["polls"].items() if moments}
        while time.monotonic() - began < run.seconds:
            _scrape(watch, port)
            _look(watch, process.pid)
            time.sleep(SCRAPE_EVERY)
        after, ended = standin.polls(), time.monotonic()
        watch.seconds = ended - began
        watch.processor = processor_of(process.pid) - spent
        watch.statements = after["statements"] - before["statements"]
        for name, moments in after["polls"].items():
            _count(watch, [last.get(name, began), *moments], ended, well=int(name.removeprefix("db-")) >= run.hung)
    return watch


def _warmed(standin: StandIn, run: Run) -> dict[str, float]:
    """Wait until the service is warm. Returns the last poll of each database by then."""
    began, last = time.monotonic(), dict[str, float]()
    while (waited := time.monotonic() - began) < run.warm or (len(last) < run.databases and waited < 2 * run.warm):
        time.sleep(1.0)
        last |= {name: moments[-1] for name, moments in standin.polls()["polls"].items() if moments}
    return last


def _count(watch: Watch, moments: Sequence[float], ended: float, *, well: bool) -> None:
    """Gaps from poll to poll, the first from the last poll before the watch.

    A database without a poll has one gap, up to the end of the watch.
    """
    gaps = [later - earlier for earlier, later in pairwise(moments)] or [ended - moments[0]]
    watch.gaps += gaps
    watch.gaps_of_well += gaps if well else []
    watch.polls += len(moments) - 1
    watch.polled += len(moments) > 1 or not well  # nobody expects polls of a database that hangs


def _scrape(watch: Watch, port: int) -> None:
    """Seconds of a scrape until its last byte. Unpacking is our own time and does not count."""
    began, squeezed = time.monotonic(), bytearray()
    with httpx.stream("GET", f"http://127.0.0.1:{port}/metrics", timeout=120) as answer:
        for piece in answer.iter_raw():
            squeezed += piece
    watch.answers.append(time.monotonic() - began)
    page = gzip.decompress(squeezed) if answer.headers.get("content-encoding") == "gzip" else bytes(squeezed)
    told = re.findall(rb"^latchscope_poll_queue_seconds (\S+)$", page, re.MULTILINE)
    watch.queue = max(watch.queue, *map(float, told), 0.0)


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
    databases: int, port: int, folder: Path, tree: Path, interval: float
) -> Iterator[tuple["subprocess.Popen[bytes]", int]]:
    """A service of a checkout, its process and its port. A checkout with its own environment runs in that."""
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
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen(command, cwd=tree, env=given, stderr=log) as process,
    ):
        try:
            _await_start(process, own, folder / "log")
            yield process, own
        finally:
            process.kill()


def _await_start(process: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    began = time.monotonic()
    while process.poll() is None and time.monotonic() - began < START_SECONDS:
        try:
            httpx.get(f"http://127.0.0.1:{port}/healthz", timeout=10)
        except httpx.TransportError:
            time.sleep(0.2)
        else:
            return
    said = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    raise RuntimeError(f"the service did not start: {said[-1] if said else 'it said nothing'}")
