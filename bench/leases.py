"""Five thousand leases held by three bare workers, of which one is killed: how soon another polls, and whether two ever did.

Each worker is a process with the product's own `FleetCoordinator` and `SharedLeases` on one PostgreSQL. Its polls are no
polls: it asks the server whether its lease holds, as a worker does before each poll, and notes that it does. So what is
measured is who may poll what, at an interval of 15 s.

"""

import argparse
import json
import multiprocessing
import os
import signal
import statistics
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from rich.table import Table

from bench._options import parser
from bench._stores import store_place
from service.config.settings import DatabaseSettings
from service.fleet.coordinator import FleetCoordinator
from service.state.board import Board, MonitoredDatabase
from service.state.replicas import Lease
from service.store.replicas import SharedLeases

TINY = "--databases 6 --interval 0.5 --workers 2"
SETTLED_SECONDS = 240.0
TAKEN_SECONDS = 120.0
"""Seconds to wait at most until the workers hold all leases, and hold them again."""
Note = tuple[float, str, str]
"""A line of a worker's notes: when (the machine's clock since its start), the word `got` or `left`, and the database."""


def figures(options: Sequence[str] = ()) -> Table:
    """Kill one of three workers, and read their notes."""
    asked = parser("leases", __doc__)
    asked.add_argument("--databases", type=int, default=5000, help="leases")
    asked.add_argument("--interval", type=float, default=15.0, help="seconds between polls")
    asked.add_argument("--workers", type=int, default=3, help="one of them is killed")
    given = asked.parse_args(options)
    with store_place("postgresql") as (place, _):
        return _measured(place.url, place.folder, given)


def _measured(url: str, folder: Path, given: argparse.Namespace) -> Table:
    databases, interval = given.databases, given.interval
    context = multiprocessing.get_context("spawn")
    files = [folder / f"worker{number}" for number in range(given.workers)]
    workers = [context.Process(target=_work, args=(url, str(file), databases, interval), daemon=True) for file in files]
    for worker in workers:
        worker.start()
    try:
        _until(files, databases, databases // given.workers - 1, SETTLED_SECONDS)
        settled = [len(_held(file)) for file in files]
        killed = time.monotonic()
        assert workers[0].pid is not None
        os.kill(workers[0].pid, signal.SIGKILL)
        workers[0].join()
        lost = _held(files[0])
        _until(files[1:], databases, 0, TAKEN_SECONDS)
        time.sleep(2 * interval)
        notes = [list(_notes(file)) for file in files]
    finally:
        for worker in workers:
            worker.kill()
            worker.join()
    taken = sorted(
        at - killed for told in notes[1:] for at, word, name in told if word == "got" and name in lost and at > killed
    )
    table = Table(
        "figure", "measured", "goal", title=f"{databases:,} leases, {given.workers} workers, every {interval:g} s"
    )
    table.add_row("held by each before", " · ".join(f"{count:,}" for count in settled), "")
    table.add_row("held by the one that was killed, taken by others", f"{len(lost):,} · {len(taken):,}", "all")
    spans = (statistics.median(taken), taken[-1])
    table.add_row("taken after: median · longest", " · ".join(f"{span:.1f} s" for span in spans), "")
    table.add_row("the same in intervals", " · ".join(f"{span / interval:.2f}" for span in spans), "≤ 1.5")
    table.add_row("held by two at once", str(_twice(notes, killed)), "0")
    return table


def _work(url: str, file: str, databases: int, interval: float) -> None:
    """A bare worker: it takes its share, and notes what it may poll and what it may no longer poll."""
    every = [DatabaseSettings(name=f"db{n:04}", dsn="demo:undo-storm") for n in range(databases)]
    board = Board([MonitoredDatabase(settings, interval) for settings in every])
    leases = SharedLeases(url, Path(file).name, None, max(5.0, interval / 2))
    with open(file, "a", buffering=1, encoding="utf-8") as notes:

        def make(taken: Sequence[tuple[MonitoredDatabase, Lease]]) -> list["_Bare"]:
            return [_Bare(watched.name, lease, notes) for watched, lease in taken]

        FleetCoordinator(board, leases, make).start()  # type: ignore[arg-type]
        signal.pause()


class _Bare:
    """A worker that polls nothing. It may poll as long as its lease holds."""

    def __init__(self, name: str, lease: Lease, notes: object) -> None:
        self._name, self._lease, self._notes = name, lease, notes
        self.alive = False

    def start(self) -> None:
        self.alive = self._lease.held()
        if self.alive:
            self._say("got")

    def stop(self) -> None:
        if self.alive:
            self.alive = False
            self._say("left")

    def join(self, timeout: float) -> None:
        """It ends at once."""

    def _say(self, word: str) -> None:
        self._notes.write(json.dumps([time.monotonic(), word, self._name]) + "\n")  # type: ignore[attr-defined]


def _notes(file: Path) -> Iterator[Note]:
    """The notes of a worker. The kill may have cut the last line off; such a line does not count."""
    for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else ():
        try:
            at, word, name = json.loads(line)
        except ValueError:
            continue
        yield at, word, name


def _held(file: Path) -> set[str]:
    """The databases that a worker held last."""
    last = {name: word for _, word, name in _notes(file)}
    return {name for name, word in last.items() if word == "got"}


def _until(files: Sequence[Path], databases: int, least: int, seconds: float) -> None:
    """Wait until the workers hold all databases, and each at least this many."""
    end = threading.Event()
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        held = [_held(file) for file in files]
        if len(set().union(*held)) == databases and min(map(len, held)) >= least:
            return
        end.wait(0.5)
    raise AssertionError(f"not all are held: {[len(_held(file)) for file in files]} of {databases}")


def _twice(notes: Sequence[Sequence[Note]], killed: float) -> int:
    """How many databases two workers held at the same moment. The leases of the killed worker end with its kill."""
    spans: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for place, told in enumerate(notes):
        begun: dict[str, float] = {}
        for at, word, name in told:
            if word == "got":
                begun[name] = at
            elif name in begun:
                spans[name].append((begun.pop(name), at))
        for name, at in begun.items():
            spans[name].append((at, killed if place == 0 else float("inf")))
    return sum(
        any(later[0] < earlier[1] for earlier, later in pairwise(ordered)) for ordered in map(sorted, spans.values())
    )
