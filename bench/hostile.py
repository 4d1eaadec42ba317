"""Files that somebody made to hurt: how time and memory of each reader grow with them, and what the service does meanwhile.

Every reader reads twenty shapes at sizes that double. Then a demo takes such files as uploads, while it polls and is scraped.
"""

import itertools
import json
import math
import multiprocessing
import random
import re
import resource
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Event
from typing import Any

import httpx
from rich.console import Group
from rich.table import Table

from bench._options import parser
from collectors.capture import FORMAT, VERSION
from service.intake.inputs import diagnose_data
from tests.collectors.logs import published
from tests.collectors.logs.dumps import LAYOUTS, hang, written
from tests.collectors.reports import test_cluster
from tests.collectors.sqlplus.sqlplus_standin import spooled
from tests.paths import REPORTS
from tests.service.running import Running, demo

TINY = "--sizes 0.02 0.04 --readers trace --shapes 2 --uploads 1 --megabytes 0.1 --before 2"
HEAD_LINES = 30
"""Of a whole file, before what is repeated, so that it is taken for one."""
TELLING_SECONDS, TELLING_MIB = 0.2, 32.0
"""Less than this is mostly what any file costs, and says nothing of growth."""
MOST_GROWTH = 2.2
POLLED = re.compile(r'^latchscope_last_poll_timestamp_seconds\{db="([^"]+)"[^}]*\} (\S+)', re.MULTILINE)
INTERVAL = 1.0
Shape = Callable[[Sequence[bytes], int], bytes]


def _repeated(what: bytes) -> Shape:
    return lambda lines, size: what * (size // len(what))


def _after_each(what: bytes) -> Shape:
    return lambda lines, size: _filled((line + what + b"x\n" for line in itertools.cycle(lines)), size)


def _filled(parts: Iterator[bytes], size: int) -> bytes:
    taken, total = [], 0
    while total < size:
        taken.append(next(parts))
        total += len(taken[-1])
    return b"".join(taken)


def _numbered(lines: Sequence[bytes], size: int) -> bytes:
    numbers = itertools.count(1)
    own = (re.sub(rb"\d+", lambda _: b"%d" % next(numbers), line) + b"\n" for line in itertools.cycle(lines))
    return _filled(own, size)


def _shuffled(lines: Sequence[bytes], size: int) -> bytes:
    chance = random.Random(1)
    return _filled((chance.choice(lines) + b"\n" for _ in itertools.count()), size)


def _chain(lines: Sequence[bytes], size: int) -> bytes:
    nodes = (b"[%d]/1/%d/1/0x1/5/NLEAF/[%d]\n" % (each, each, each + 1) for each in itertools.count(1))
    return b"HANG ANALYSIS:\nState of ALL nodes\n" + _filled(nodes, size)


SHAPES: Mapping[str, Shape] = {
    **{f"{name} on one line": _repeated(what) for name, what in {
        "letters": b"a", "digits": b"1", "blanks": b" ", "tabs": b"\t", "quotes": b"'\"", "dashes": b"-", "brackets": b"[({<",
        "footnotes": b" [1]", "letters beyond ASCII": "é".encode(), "tags": b"<table><tr><td>1",
    }.items()},
    **{f"its lines, each with {name} behind": _after_each(what * 4_000) for name, what in {
        "letters": b"a", "digits": b"1", "blanks": b" ", "brackets": b"(",
    }.items()},
    "blank lines": _repeated(b"\n"),
    "form feeds": _repeated(b"\f"),
    "its lines in any order": _shuffled,
    "its lines with ever new numbers": _numbered,
    "its lines on one line": lambda lines, size: _filled(itertools.cycle([b" ".join(lines) + b" "]), size),
    "a chain of sessions": _chain,
}  # fmt: skip


def _xml(lines: Sequence[bytes]) -> bytes:
    return b"".join(
        b"<msg time='2026-03-01T10:00:%02d.000+00:00' comp_id='rdbms'>\n <txt>%s\n </txt>\n</msg>\n"
        % (number % 60, line)
        for number, line in enumerate(lines)
    )


def _capture(data: bytes) -> bytes:
    """The lines of a file as names in a capture, which is taken only whole."""
    rows = [["row cache objects", line, 1, 1, 1] for line in data.decode("utf-8", "replace").split("\n")]
    columns = ["parent_name", "location", "nwfail_count", "sleep_count", "longhold_count"]
    shots = [
        {"taken_at": f"2026-03-01T10:0{minute}:00Z", "views": {"v$latch_misses": {"columns": columns, "rows": rows}}}
        for minute in range(2)
    ]
    return json.dumps({"format": FORMAT, "version": VERSION, "database": "a", "snapshots": shots}).encode()


def samples() -> Mapping[str, bytes]:
    """A whole file of each kind."""
    chance = random.Random(7)
    alert = "".join(one.log for one in published.PUBLISHED).encode()
    return {
        "alert log": alert,
        "log.xml": _xml(alert.split(b"\n")),
        "trace": b"".join(written(hang(chance), layout) for layout in LAYOUTS),
        "AWR, HTML": (REPORTS / "awr-19.0.0.0.0-cluster-users-mutex.html").read_bytes(),
        "AWR, text": (REPORTS / "awr-12.2.0.1.0-users-mutex.txt").read_bytes(),
        "Statspack": (REPORTS / "statspack-11.2.0.3.0-undo-storm-level-10.txt").read_bytes(),
        "cluster report": next(iter(test_cluster.LAYOUTS.values())).encode(),
        "output of the script": spooled().encode(),
        "capture": alert,
    }


def hostile(reader: str, sample: bytes, shape: Shape, size: int) -> bytes:
    """A file of that kind, and of so many bytes behind its head."""
    lines = sample.split(b"\n")
    if reader == "capture":
        return _capture(shape(lines, size // 2))
    return b"\n".join(lines[:HEAD_LINES]) + b"\n" + shape(lines, size)


def _read(line: "Connection[Any, Any]", data: bytes, limit: float) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(time.process_time() + limit), resource.RLIM_INFINITY))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.process_time()
    diagnose_data(data, "file")
    taken = time.process_time() - began
    line.send((taken, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024))


def measured(data: bytes, limit: float) -> tuple[float, float]:
    """Processor seconds and MiB of one reading, in a process of its own. Without an end within the limit both are endless."""
    fork = multiprocessing.get_context("fork")
    ours, its = fork.Pipe()
    process = fork.Process(target=_read, args=(its, data, limit))
    process.start()
    its.close()
    try:
        return ours.recv()  # type: ignore[no-any-return]
    except EOFError:
        return math.inf, math.inf
    finally:
        process.kill()
        process.join()


def growth(sizes: Sequence[float], readers: Sequence[str], shapes: Sequence[str], limit: float) -> Table:
    """One row a reader: its slowest shape, and the most that time and memory grow where the size doubles."""
    table = Table(
        title=f"{len(shapes)} shapes at {', '.join(f'{each:g}' for each in sizes)} MB: the worst of each reader"
    )
    for heading in (
        "reader",
        "slowest, s per MB",
        "time × a doubling",
        "memory × a doubling",
        f"beyond {MOST_GROWTH:g}",
    ):
        table.add_column(heading)
    for reader in readers:
        sample, pace, times, memory, beyond = samples()[reader], [], [], [], 0
        for shape in shapes:
            cost = [measured(hostile(reader, sample, SHAPES[shape], int(size * 1e6)), limit) for size in sizes]
            pace.append((cost[-1][0] / sizes[-1], shape))
            for earlier, later in itertools.pairwise(cost):
                grown = [0.0, 0.0]
                for which, telling in enumerate((TELLING_SECONDS, TELLING_MIB)):
                    if later[which] >= telling:
                        grown[which] = later[which] / max(earlier[which], telling / 2)
                times.append((grown[0], shape))
                memory.append((grown[1], shape))
                beyond += max(grown) > MOST_GROWTH
        table.add_row(reader, *(f"{most:.2f}, {shape}" for most, shape in map(max, (pace, times, memory))), str(beyond))
    return table


def _watched(url: str, path: str, over: Event, seen: Callable[[str], object]) -> list[float]:
    """Seconds of each request for a page, ten a second, until the end."""
    taken = []
    with httpx.Client(timeout=120) as client:
        while not over.wait(0.1):
            began = time.perf_counter()
            seen(client.get(url + path).text)
            taken.append(time.perf_counter() - began)
    return taken


def _meanwhile(running: Running, work: Callable[[], object]) -> tuple[list[float], list[float], list[float]]:
    """Seconds of /healthz and of /metrics, and by how much polls came late, while that work is done."""
    over, polls = Event(), defaultdict(set)

    def note(page: str) -> None:
        for name, at in POLLED.findall(page):
            polls[name].add(float(at))

    with ThreadPoolExecutor() as pool:
        asked = [
            pool.submit(_watched, running.url, path, over, see) for path, see in (("/healthz", len), ("/metrics", note))
        ]
        try:
            work()
        finally:
            over.set()
    late = [b - a - INTERVAL for times in polls.values() for a, b in itertools.pairwise(sorted(times))]
    return asked[0].result(), asked[1].result(), late


def delays(uploads: int, megabytes: float, before: float, folder: Path) -> Table:
    """The same figures without uploads, and with them."""
    kinds = list(samples().items())
    files = [
        hostile(*kinds[number % len(kinds)], list(SHAPES.values())[(7 * number) % len(SHAPES)], int(megabytes * 1e6))
        for number in range(uploads)
    ]
    answers: list[str] = []

    def send() -> None:
        def one(data: bytes) -> str:
            answer = httpx.post(f"{running.url}/api/v1/reports", files={"file": ("hostile", data)}, timeout=900)
            return str(answer.status_code)

        with ThreadPoolExecutor(uploads) as pool:
            answers.extend(pool.map(one, files))

    with demo(folder, "--interval", f"{INTERVAL:g}", fresh=True) as running:
        time.sleep(before)
        quiet = _meanwhile(running, lambda: time.sleep(before))
        busy = _meanwhile(running, send)
    table = Table(title=f"{uploads} uploads of {megabytes:g} MB at once ({', '.join(sorted(answers))})")
    for heading in ("seconds", "median before", "p99 before", "median", "p99", "most", "times"):
        table.add_column(heading)
    for what, one, two in zip(("/healthz", "/metrics", "delay of polls"), quiet, busy, strict=True):
        figures = (statistics.median(one), _p99(one), statistics.median(two), _p99(two), max(two))
        table.add_row(what, *(f"{each:.3f}" for each in figures), str(len(two)))
    return table


def _p99(values: Sequence[float]) -> float:
    return sorted(values)[math.ceil(len(values) * 0.99) - 1]


def figures(options: Sequence[str] = ()) -> Group:
    """Two tables: growth, and delays."""
    asked = parser("hostile", __doc__)
    asked.add_argument("--sizes", type=float, nargs="*", default=[1, 2, 4, 8, 16], help="MB, each twice the one before")
    asked.add_argument("--readers", nargs="*", default=list(samples()), choices=list(samples()), help="of files")
    asked.add_argument("--shapes", type=int, default=len(SHAPES), help="the first so many")
    asked.add_argument("--limit", type=float, default=120.0, help="processor seconds of one reading")
    asked.add_argument("--uploads", type=int, default=10, help="at once")
    asked.add_argument("--megabytes", type=float, default=8.0, help="of each upload")
    asked.add_argument("--before", type=float, default=20.0, help="seconds without uploads, to compare with")
    given = asked.parse_args(options)
    drawn = [growth(given.sizes, given.readers, list(SHAPES)[: given.shapes], given.limit)] if given.sizes else []
    if given.uploads:
        with tempfile.TemporaryDirectory() as folder:
            drawn.append(delays(given.uploads, given.megabytes, given.before, Path(folder)))
    return Group(*drawn)
