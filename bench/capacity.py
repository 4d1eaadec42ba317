"""How many databases one process can poll, with the real driver and a stand-in with cached answers in its own process.

Closed loop: as fast as it can, nothing written. Open loop: the whole service every 15 s, SQLite, /metrics scraped.
"""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.table import Column, Table

from bench._capacity_closed import Window, closed, ratio, total
from bench._capacity_service import HOME, Run, Watch, opened

T = TypeVar("T")

BEST = Run("at its best", 1000, 1 / 3, interval=10.0, warm=75.0)
TWICE = Run("twice overloaded", 2000, 1 / 3, interval=10.0, warm=100.0, seconds=90.0)
"""As many databases as one core can poll (100 polls a second when this was written), and twice as many."""
RUNS: tuple[Run, ...] = (
    Run("12 ms of network", 10, 0.0, delay=0.012, warm=70.0),
    Run("whole service", 100, 1 / 3, warm=25.0, seconds=35.0),
    Run("whole service", 150, 1 / 3, warm=25.0, seconds=35.0),
    Run("whole service", 300, 1 / 3),
    Run("half of them hung", 300, 1 / 3, hung=150),
    Run("whole service", 1000, 0.05, warm=60.0, seconds=60.0),
    BEST,
    TWICE,
)
TINY = "--closed 1 --closed-seconds 1 --loads storm --open 1:1 --warm 1 --seconds 0.1"
TABLES = ("closed", "open")
CLOSED = {"storm": 1.0, "healthy": 0.0}
OPEN_HEADS = (
    "polls/s of",
    "gap p50, p99 s",
    "cores",
    "cpu ms a poll",
    "SQL",
    "/metrics s",
    "queue s",
    "RSS MB",
    "threads",
    "files",
)
"""Columns of the open loop: polls a second of those wanted, ..., statements a poll, p99 of a scrape, longest wait for a turn."""


def figures(options: Sequence[str] = ()) -> Group:
    """Tables of the closed loop and of the open loop."""
    given = _parser().parse_args(options)
    if given.table:
        counts, seconds, runs = [1, 100], given.closed_seconds or 10.0, RUNS
    else:
        counts = [int(each) for each in given.closed.split(",") if each]
        seconds = given.closed_seconds or given.seconds or 60.0
        asked = [each.partition(":") for each in given.open.split(",") if each]
        runs = tuple(
            Run(
                "whole service",
                int(count),
                float(share or given.troubled),
                given.hung,
                given.delay,
                warm=60.0,
                seconds=60.0,
            )
            for count, _, share in asked
        )
    runs = tuple(_lasting(run, given.warm, given.seconds) for run in runs)
    made = [_closed_table(counts, seconds, given.loads)] if counts and "closed" in given.tables else []
    return Group(*made, *([_open_table(runs, given.tree)] if runs and "open" in given.tables else []))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench capacity", description=__doc__)
    parser.add_argument("--closed", default="1,100", help="databases, several by commas; empty for none")
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=TABLES, help="of the closed and the open loop")
    parser.add_argument(
        "--loads", nargs="+", choices=tuple(CLOSED), default=tuple(CLOSED), help="of the closed loop, else both"
    )
    parser.add_argument(
        "--open",
        default="1,100,150,300,1000",
        help="the same of the open loop; 300:0.33 with a share in a storm of its own",
    )
    parser.add_argument("--seconds", type=float, help="seconds of a run of the open loop, 60; with --table of each row")
    parser.add_argument("--closed-seconds", type=float, help="those of the closed loop, else as --seconds")
    parser.add_argument("--warm", type=float, help="seconds of the open loop before it counts, as --seconds")
    parser.add_argument("--troubled", type=float, default=1 / 3, help="share of databases in a storm, of the open loop")
    parser.add_argument("--hung", type=int, default=0, help="databases that hang once all are polled")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds to each statement: distance")
    parser.add_argument(
        "--tree", type=Path, default=HOME, help="another checkout whose service is measured, open loop only"
    )
    parser.add_argument(
        "--table", action="store_true", help="every figure of the table in docs/benchmarks.md, 16 minutes"
    )
    return parser


def _lasting(run: Run, warm: float | None, seconds: float | None) -> Run:
    """The run with the lengths that the arguments give."""
    return replace(run, warm=warm or run.warm, seconds=seconds or run.seconds)


def _table(what: str, *heads: str) -> Table:
    table = Table(
        Column(what, no_wrap=True),
        *(Column(head, no_wrap=True) for head in heads[:2]),
        *heads[2:],
        box=SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    table.caption_justify = "left"
    return table


def _attempt(table: Table, what: str, measure: Callable[[], T], row: Callable[[T], Sequence[str]]) -> T | None:
    """One row, printed as soon as it is measured.

    If the measurement fails, the row says so, and the others follow all the same.
    """
    print(f"{what} …", file=sys.stderr, flush=True)
    try:
        found = measure()
        cells = row(found)
    except Exception as error:  # noqa: BLE001  whatever it is, it must not cost the other rows
        found, cells = None, ["failed"]
        table.caption = "\n".join(
            filter(None, [str(table.caption or ""), f"{what} failed: {type(error).__name__}: {error}"])
        )
    print(table.caption if found is None else "  " + " · ".join(cells), file=sys.stderr, flush=True)
    table.add_row(what, *cells)
    return found


def _closed_table(counts: Sequence[int], seconds: float, loads: Sequence[str] = tuple(CLOSED)) -> Table:
    heads = ("polls", "polls per cpu second", f"÷ {counts[0]}", "polls a second", "threads")
    table = _table("closed loop", *heads)
    for kind, troubled in ((load, CLOSED[load]) for load in loads):
        first = partial(_closed_cells, counts[0], counts[0])
        found = _attempt(table, f"{kind}, {counts[0]}", partial(closed, counts, troubled, seconds), first)
        for count in counts[1:] if found else ():
            table.add_row(f"{kind}, {count}", *_closed_cells(count, counts[0], found or {}))
    return table


def _closed_cells(count: int, first: int, found: Mapping[int, Sequence[Window]]) -> Sequence[str]:
    windows = found[count]
    polls, threads = total(windows, "polls"), max(window["threads"] for window in windows)
    return (
        f"{polls:,.0f}",
        f"{polls / total(windows, 'processor'):.1f}",
        f"{ratio(windows, found[first]):.2f}",
        f"{polls / total(windows, 'seconds'):.1f}",
        str(threads),
    )


def _open_table(runs: Sequence[Run], tree: Path) -> Table:
    """Every run, then the share of the best throughput that overload leaves."""
    table = _table("open loop", *OPEN_HEADS)
    seen = {
        run: _attempt(table, f"{run.what}, {run.databases}", partial(opened, run, tree), partial(_open_cells, run))
        for run in runs
    }
    best, twice = (next((seen[run] for run in runs if run.what == each.what), None) for each in (BEST, TWICE))
    if best is not None and twice is not None:
        clock = (twice.polls / twice.seconds) / (best.polls / best.seconds)
        work = (twice.polls / twice.processor) / (best.polls / best.processor)
        table.add_row("twice overloaded ÷ best", f"{clock:.2f}", "", "", f"{work:.2f} per cpu s")
    return table


def _open_cells(run: Run, one: Watch) -> Sequence[str]:
    gaps = one.gaps_of_well if run.hung else one.gaps
    return (
        f"{one.polls / one.seconds:.1f} of {run.databases / run.interval:.1f}"
        + f"; {run.databases - one.polled} not polled" * (one.polled < run.databases),
        f"{at(gaps, 0.5):.1f}, {at(gaps, 0.99):.1f}",
        f"{one.processor / one.seconds:.2f}",
        f"{1000 * one.processor / max(one.polls, 1):.1f}",
        f"{one.statements / max(one.polls, 1):.1f}",
        f"{at(one.answers, 0.99):.2f}",
        f"{one.queue:.1f}",
        *(str(figure) for figure in (one.memory, one.threads, one.descriptors)),
    )


def at(values: Sequence[float], share: float) -> float:
    """The value below which this share of the values lies."""
    ordered = sorted(values) or [0.0]
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
