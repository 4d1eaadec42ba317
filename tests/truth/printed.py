"""Two snapshots as the figures of a report, which the writers of tests/recordings print as AWR or Statspack."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import datetime

from collectors.model import Rows, Snapshot
from tests.recordings.reports.interval import Cache, Interval, Latch, Mutex, Source, Wait

LATCH = ("gets", "misses", "sleeps", "spin_gets")
SLEPT = ("sleep_count", "wtr_slp_count", "nwfail_count")
CACHE = ("gets", "in use", "getmisses", "scans", "scanmisses", "modifications")
Cells = Mapping[str, object]


def interval(begin: Snapshot, end: Snapshot, release: str | None = None) -> Interval:
    """What a report prints of two snapshots: no sessions, no settings at their defaults, no map of child latches.

    `release` is printed instead of the instance's own.
    """
    (instance,) = rows(end, "v$instance")
    mutexed = not any(row["name"] == "row cache objects" for row in rows(end, "v$latch"))
    times = {str(row["stat_name"]): moved["value"] / 1e6 for row, moved in changes(begin, end, "v$sys_time_model")}
    host: dict[str, tuple[int, int | None]] = {
        str(row["stat_name"]): (round(moved["total"] if "total" in moved else _number(row["level_now"])), None)
        for row, moved in changes(begin, end, "v$osstat")
    }
    foreground, background = _waits(begin, end)
    return Interval(
        database=end.database.upper(),
        release=release or str(instance["version"]),
        begin=_local(begin),
        minutes=(_local(end) - _local(begin)).total_seconds() / 60,
        db_time=times.pop("DB time"),
        latches=tuple(
            Latch(str(row["name"]), *(round(moved[name]) for name in LATCH), seconds=moved["wait_time"] / 1e6)
            for row, moved in changes(begin, end, "v$latch")
        ),
        caches=tuple(_caches(begin, end)),
        foreground=foreground,
        background=background,
        sources=tuple(
            Source(str(row["parent_name"]), str(row["location"]), *(round(moved.get(name, 0)) for name in SLEPT))
            for row, moved in changes(begin, end, "v$latch_misses")
            if moved["sleep_count"] or moved["wtr_slp_count"]
        ),
        mutexes=tuple(
            Mutex("Row Cache", str(row["location"]), round(moved["sleeps"]), round(moved["wait_time"] / 1000))
            for row, moved in changes(begin, end, "v$mutex_sleep")
            if mutexed and moved["sleeps"]
        ),
        time_model=times,
        activity={str(row["name"]): round(moved["value"]) for row, moved in changes(begin, end, "v$sysstat")},
        host=host,
        parameters={
            str(row["name"]): str(row["value"])
            for row in rows(end, "v$parameter")
            if row.get("isdefault") == "FALSE" and row.get("con_id") in (0, 1, None)
        },
        startup=datetime.fromisoformat(str(instance["startup_time"])),
        cluster=instance["parallel"] == "YES",
        cpus=host.get("NUM_CPUS", (16, None))[0],
    )


def rows(snapshot: Snapshot, view: str) -> tuple[Cells, ...]:
    """The rows of a view; none if it was not read."""
    reading = snapshot.readings.get(view)
    return reading.rows if isinstance(reading, Rows) else ()


def changes(begin: Snapshot, end: Snapshot, view: str) -> Iterator[tuple[Cells, dict[str, float]]]:
    """Each row of a view at the end, and by how much its numbers grew. A new row grew from zero."""
    first = {_name(row): row for row in rows(begin, view)}
    for row in rows(end, view):
        old = first.get(_name(row), {})
        yield (
            row,
            {
                column: value - _number(old.get(column))
                for column, value in row.items()
                if isinstance(value, int | float) and not column.endswith("#")
            },
        )


def _name(row: Cells) -> tuple[object, ...]:
    """What names a row: its texts and its numbered members."""
    return tuple(value for column, value in row.items() if isinstance(value, str) or column.endswith("#"))


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _local(snapshot: Snapshot) -> datetime:
    assert snapshot.taken_at is not None
    return snapshot.taken_at.replace(tzinfo=None)


def _caches(begin: Snapshot, end: Snapshot) -> Iterator[Cache]:
    """Parent and subordinates of a name together, as a report prints them; those without a get are left out."""
    sums: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for row, moved in changes(begin, end, "v$rowcache"):
        for column, value in moved.items():
            sums[str(row["parameter"])][column] += value
        sums[str(row["parameter"])]["in use"] += _number(row["usage"])
    for name, total in sums.items():
        if total["gets"] or total["modifications"]:
            cluster = tuple(round(total[f"dlm_{what}"]) for what in ("requests", "conflicts", "releases"))
            yield Cache(name, *(round(total[column]) for column in CACHE), cluster=cluster if cluster[0] else None)


def _waits(begin: Snapshot, end: Snapshot) -> tuple[tuple[Wait, ...], tuple[Wait, ...]]:
    """The waits of sessions and those of background processes."""
    foreground, background = [], []
    for row, moved in changes(begin, end, "v$system_event"):
        event = str(row["event"])
        every, own = round(moved["total_waits"]), round(moved.get("total_waits_fg", moved["total_waits"]))
        seconds = moved["time_waited_micro"] / 1e6
        of_own = moved.get("time_waited_micro_fg", moved["time_waited_micro"]) / 1e6 if every > own else seconds
        if own > 0:
            foreground.append(Wait(event, own, of_own, min(own, round(moved.get("total_timeouts", 0)))))
        if every > own:
            background.append(Wait(event, every - own, max(0.0, seconds - of_own)))
    return tuple(foreground), tuple(background)
