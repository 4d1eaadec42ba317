"""The tables behind the model: two of the examples, and the runs of a latch on real cores."""

import csv
from collections.abc import Iterator
from pathlib import Path

from rules.contention.holds import LatchCounts
from rules.contention.queue import TableCell
from tests.paths import DATA, TABLES


def rows_of(file: Path) -> Iterator[dict[str, str]]:
    with file.open(encoding="utf-8") as lines:
        yield from csv.DictReader(lines)


def freelist_cells() -> list[TableCell]:
    """The dynahash table, repeats averaged."""
    found: dict[tuple[int, int], list[float]] = {}
    for row in rows_of(TABLES / "dynahash-freelist.csv"):
        found.setdefault((int(row["global_partitions"]), int(row["items_per_refill"])), []).append(float(row["tps"]))
    return [TableCell(*key, sum(values) / len(values)) for key, values in found.items()]


def result_cache(machine: str) -> list[LatchCounts]:
    """Rows of a machine in the result cache table, with the buffer cache curve as h. Works are look-ups."""
    rows = [row for row in rows_of(TABLES / "result-cache-scaling.csv") if row["machine"].startswith(machine)]
    alone = float(rows[0]["buffer_cache_lookups_per_s"])
    return [_result_cache_row(row, alone) for row in rows]


def _result_cache_row(row: dict[str, str], alone: float) -> LatchCounts:
    processes = int(row["processes"])
    works = processes * float(row["lookups_per_process"])
    return LatchCounts(
        processes,
        works / float(row["result_cache_lookups_per_s"]),
        float(row["rc_latch_gets"]),
        float(row["rc_latch_misses"]),
        float(row["rc_latch_sleeps"]),
        wait_seconds=float(row["rc_latch_wait_us"]) / 1e6,
        speed=float(row["buffer_cache_lookups_per_s"]) / (processes * alone),
        works=works,
    )


def emulated(series: str, repeat: int) -> list[tuple[dict[str, str], LatchCounts]]:
    """Runs of the emulated latch with their settings."""
    rows = [row for name in ("runs.csv", "runs-2.csv") for row in rows_of(DATA / "latchlab" / name)]
    return [(row, _emulated(row)) for row in rows if row["series"] == series and int(row["repeat"]) == repeat]


def _emulated(row: dict[str, str]) -> LatchCounts:
    return LatchCounts(
        int(row["n"]),
        float(row["seconds"]),
        float(row["gets"]),
        float(row["misses"]),
        float(row["sleeps"]),
        wait_seconds=float(row["wait_us"]) / 1e6,
        works=float(row["works"]),
    )


def emulated_cells(repeat: int) -> list[TableCell]:
    """The emulated table of latches × batch."""
    runs = emulated("batch", repeat)
    return [
        TableCell(int(settings["p"]), int(settings["batch"]), (row.works or 0.0) / row.seconds)
        for settings, row in runs
    ]
