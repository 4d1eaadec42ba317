"""Two snapshots as the interval of a report, which the writers of tests/recordings print as AWR or Statspack."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from zlib import crc32

from collectors.model import Rows, Snapshot
from tests.recordings.reports.as_html import page
from tests.recordings.reports.as_text import awr, statspack
from tests.recordings.reports.interval import Cache, Interval, Latch, Mutex, Source, Wait

CLASSES = {
    "db file": "User I/O",
    "log file": "Commit",
    "enq: TX": "Application",
    "library cache": "Concurrency",
    "cursor:": "Concurrency",
    "row cache": "Concurrency",
    "latch:": "Concurrency",
    "resmgr": "Scheduler",
}
"""The wait class of an event, by the beginning of its name; Other for the rest."""
WRITERS = {"awr-html": page, "awr-text": awr, "statspack": statspack}
ONE_DBID = "3141592653"
"""What the writers print as DB Id. Each question gets its own, or a tool takes all of them for one database."""
Cells = Mapping[str, object]


def printed(kind: str, name: str, begin: Snapshot, end: Snapshot, release: str | None = None) -> str:
    """The report of an interval for a database of this name. `release` is printed instead of the instance's own."""
    made = interval(name, begin, end)
    text: str = WRITERS[kind](replace(made, release=release) if release else made)
    return text.replace(ONE_DBID, str(10**9 + crc32(name.encode()) % 10**9))


def interval(name: str, begin: Snapshot, end: Snapshot) -> Interval:
    """What a report prints of two snapshots: no sessions, no settings at their defaults, no map of child latches."""
    (instance,) = rows(end, "v$instance")
    startup = datetime.fromisoformat(str(instance["startup_time"]))
    last = _local(end)
    mutexed = not any(row["name"] == "row cache objects" for row in rows(end, "v$latch"))
    times = {str(row["stat_name"]): moved["value"] / 1e6 for row, moved in changes(begin, end, "v$sys_time_model")}
    levels = {str(row["stat_name"]): row for row in rows(end, "v$osstat")}
    host: dict[str, tuple[int, int | None]] = {
        stat: (round(_number(row["level_now"])), None)
        for stat, row in levels.items()
        if row.get("level_now") is not None
    }
    host |= {
        str(row["stat_name"]): (round(moved["total"]), None)
        for row, moved in changes(begin, end, "v$osstat")
        if row.get("total") is not None
    }
    foreground, background = _waits(begin, end)
    return Interval(
        database=name,
        release=str(instance["version"]),
        begin=_local(begin),
        minutes=(last - _local(begin)).total_seconds() / 60,
        db_time=times.pop("DB time"),
        latches=tuple(_latches(begin, end)),
        caches=tuple(_caches(begin, end)),
        foreground=foreground,
        background=background,
        sources=tuple(
            Source(
                str(row["parent_name"]),
                str(row["location"]),
                round(moved["sleep_count"]),
                round(moved["wtr_slp_count"]),
                round(moved.get("nwfail_count", 0)),
            )
            for row, moved in changes(begin, end, "v$latch_misses")
            if moved["sleep_count"] or moved["wtr_slp_count"]
        ),
        mutexes=tuple(
            Mutex(
                str(row["mutex_type"]), str(row["location"]), round(moved["sleeps"]), round(moved["wait_time"] / 1000)
            )
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
        startup=startup,
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


def _latches(begin: Snapshot, end: Snapshot) -> Iterator[Latch]:
    for row, moved in changes(begin, end, "v$latch"):
        gets, misses, sleeps, spins = (round(moved[column]) for column in ("gets", "misses", "sleeps", "spin_gets"))
        yield Latch(str(row["name"]), gets, misses, sleeps, spins, moved["wait_time"] / 1e6)


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
            yield Cache(
                name,
                round(total["gets"]),
                round(total["in use"]),
                round(total["getmisses"]),
                round(total["scans"]),
                round(total["scanmisses"]),
                round(total["modifications"]),
                (cluster[0], cluster[1], cluster[2]) if cluster[0] else None,
            )


def _waits(begin: Snapshot, end: Snapshot) -> tuple[tuple[Wait, ...], tuple[Wait, ...]]:
    """The waits of sessions and those of background processes."""
    foreground, background = [], []
    for row, moved in changes(begin, end, "v$system_event"):
        event = str(row["event"])
        kind = next((name for start, name in CLASSES.items() if event.startswith(start)), "Other")
        every, own = round(moved["total_waits"]), round(moved.get("total_waits_fg", moved["total_waits"]))
        seconds = moved["time_waited_micro"] / 1e6
        of_own = moved.get("time_waited_micro_fg", moved["time_waited_micro"]) / 1e6 if every > own else seconds
        if own > 0:
            foreground.append(Wait(event, own, of_own, min(own, round(moved.get("total_timeouts", 0))), kind))
        if every > own:
            background.append(Wait(event, every - own, max(0.0, seconds - of_own), 0, kind))
    return tuple(foreground), tuple(background)
