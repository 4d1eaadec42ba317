"""The file of a run, which a person may send: figures, verdicts and releases. It has no name of a user, host or object.

Only names that Oracle or latchscope gave are in it: events, caches, causes, views, codes of errors. A figure that could not
be read is null.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from collectors.model import Delta, Missing, Snapshot, number
from rules.model import Diagnosis

MOST_ROWS = 8
"""Events of a poll that cost most, and caches that were asked or changed most."""


@dataclass(frozen=True, slots=True)
class Polled:
    """One good poll of the main path. `change` is None before the second poll."""

    snapshot: Snapshot
    change: Delta | None
    diagnosis: Diagnosis
    at: float
    """time.monotonic() of its end."""


def poll_seen(snapshot: Snapshot, change: Delta, verdict: Diagnosis) -> dict[str, object]:
    """One poll whose whole interval lies within the load."""
    library_cache = verdict.library_cache
    return {
        "interval_seconds": change.basis.seconds,
        "statement_seconds": round(sum(cost.seconds for cost in snapshot.costs.values()), 3),
        "round_trips": sum(cost.round_trips for cost in snapshot.costs.values()),
        "missing": {
            view: reading.kind
            for view, reading in sorted(snapshot.readings.items())
            if isinstance(reading, Missing) and reading.kind in ("refused", "failed")
        },
        "oddities": len(change.oddities),
        "severity": verdict.severity.value,
        "findings": [one.cause for one in verdict.findings],
        "troubles": sorted({one.surface for one in verdict.troubles}),
        "candidates": [one.cause for one in verdict.candidates],
        "waiting": [
            {"event": one.event, "cache": one.cache, "sessions": one.sessions, "seconds": round(one.longest_seconds, 1)}
            for one in verdict.waiting
        ],
        "blockers_found": len(verdict.blockers.blockers) if verdict.blockers else None,
        "library_cache_waiting": library_cache.met if library_cache else None,
        "db_time_seconds": _seconds(change.cell("v$sys_time_model", "stat_name", "DB time", "value")),
        "waits": _most(change, "v$system_event", ("event",), ("total_waits", "time_waited_micro")),
        "caches": _most(change, "v$rowcache", ("parameter", "type"), ("gets", "getmisses", "modifications")),
    }


def load_seen(
    expected: tuple[str, ...], polls: Iterable[Polled], counts: Mapping[str, int], error: str | None
) -> dict[str, object]:
    """A load with the polls that lie within it. `counts`: statements and logons by code of error, "done" for no error."""
    judged = [(one.change, one) for one in polls if one.change is not None]
    findings = [finding for _, one in judged for finding in one.diagnosis.findings]
    outcome = "no cause"
    if error is not None:
        outcome = "not made"
    elif not judged:
        outcome = "not judged"
    elif {finding.cause for finding in findings} & set(expected):
        outcome = "as expected"
    elif any(finding.severity != "info" for finding in findings):
        outcome = "another cause"
    return {
        "expected": expected,
        "outcome": outcome,
        "error": error,
        "counts": dict(sorted(counts.items())),
        "polls": [poll_seen(one.snapshot, change, one.diagnosis) for change, one in judged],
    }


def result_of(version: str, last: Polled | None, loads: Mapping[str, Mapping[str, object]]) -> dict[str, Any]:
    """The whole file; `last` is the last poll, None if there was none."""
    figures = last.snapshot.rows("v$osstat") if last else ()
    return {
        "kind": "latchscope test-live-load",
        "latchscope": version,
        "oracle": last.snapshot.release if last else None,
        "mechanism": last.diagnosis.mechanism if last else None,
        "processors": next((number(row["level_now"]) for row in figures if row["stat_name"] == "NUM_CPUS"), None),
        "loads": loads,
    }


def _most(change: Delta, view: str, names: tuple[str, ...], figures: tuple[str, ...]) -> list[dict[str, object]] | None:
    """The rows of a view that are the largest by any of these figures. None if it could not be read."""
    if isinstance(change.read(view), Missing):
        return None
    rows = list(change.rows(view))
    largest = [sorted(rows, key=lambda row: -(number(row.get(name)) or 0))[:MOST_ROWS] for name in figures]
    return [
        {name: row[name] for name in names} | {name: number(row.get(name)) for name in figures}
        for row in rows
        if any(row in top for top in largest) and any(row.get(name) for name in figures)
    ]


def _seconds(microseconds: object) -> float | None:
    return round(microseconds / 1e6, 3) if isinstance(microseconds, int | float) else None
