"""What changed on a database, as one timeline: DDL, parameters, statistics, jobs, containers, patches, starts, marks.

A change is listed and never blamed: the words say only whether it came before or after the waits began.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Literal

from pydantic import Field

from collectors.model import Row, Rows, Snapshot, dated, number, other_time_zone, text
from rules.base import Frozen

ChangeKind = Literal["ddl", "parameter", "statistics", "job", "window", "pdb_open", "patch", "instance_start", "mark"]
MOST = 50
"""Changes of a timeline at most."""
BEFORE = timedelta(hours=1)
"""How long before the waits began a change is still listed."""
LONGEST = 300
"""Characters kept of a name or a value."""
SAME = timedelta(seconds=5)
"""Two readings of one event may differ by this much."""


class Change(Frozen):
    """One change of a database, which may have nothing to do with its waits."""

    at: datetime = Field(description="when it happened, UTC; for a difference of two polls when the later one saw it")
    kind: ChangeKind
    text: str = Field(description="what changed, in words")
    source: str = Field(description="the view it was read from; `marks` for a change mark")
    con_id: int | None = Field(None, description="its container, 12.1 and later; 0 without containers")
    not_before: datetime | None = Field(
        None, description="for a difference of two polls: when the earlier one read it; it happened between both"
    )
    unsure: str | None = Field(None, description="why `at` may be off by hours; null if it is sure")

    def same(self, other: "Change") -> bool:
        """Whether both are one event, read twice."""
        return (self.kind, self.text) == (other.kind, other.text) and abs(self.at - other.at) <= SAME


# From two polls: parameters, the start of the instance, its release.


def between_polls(earlier: Snapshot | None, later: Snapshot) -> tuple[Change, ...]:
    """What two polls of an instance show without a statement of their own. Nothing without times."""
    if earlier is None or earlier.taken_at is None or later.taken_at is None or later.taken_at <= earlier.taken_at:
        return ()
    return (*_start(earlier, later), *_release(earlier, later), *_parameters(earlier, later))


def _start(earlier: Snapshot, later: Snapshot) -> Iterator[Change]:
    if later.taken_at is None or later.startup_time is None or earlier.startup_time in (None, later.startup_time):
        return
    known = {"kind": "instance_start", "text": "the instance started", "source": "v$instance"}
    if later.uptime_seconds is None:
        yield Change(at=later.taken_at, not_before=earlier.taken_at, **known)
    else:
        started = later.taken_at - timedelta(seconds=later.uptime_seconds)
        yield Change(at=started.replace(microsecond=0), **known)


def _release(earlier: Snapshot, later: Snapshot) -> Iterator[Change]:
    before, now = (text(one.instance.get("version_full")) or one.release for one in (earlier, later))
    if later.taken_at and before and now and before != now:
        yield Change(
            at=later.taken_at,
            not_before=earlier.taken_at,
            kind="patch",
            text=f"release: {before} → {now}",
            source="v$instance",
        )


def _parameters(earlier: Snapshot, later: Snapshot) -> Iterator[Change]:
    """Values that differ. A poll may carry the rows of an older one, and then nothing new was read."""
    before, now = earlier.read("v$parameter"), later.read("v$parameter")
    if not isinstance(before, Rows) or not isinstance(now, Rows):
        return
    since, at = before.read_at or earlier.taken_at, now.read_at or later.taken_at
    if since is None or at is None or at <= since:
        return
    old, new = ({(row.get("con_id"), row.get("name")): row for row in one.rows} for one in (before, now))
    for key in sorted({*old, *new}, key=str):
        values = [text(side[key].get("value")) if key in side else None for side in (old, new)]
        if (key in old) == (key in new) and values[0] == values[1]:
            continue
        con_id = _con_id({"con_id": key[0]})
        yield Change(
            at=at,
            not_before=since,
            kind="parameter",
            text=f"{key[1]}: {_value(key in old, values[0])} → {_value(key in new, values[1])}{_within(con_id)}",
            source="v$parameter",
            con_id=con_id,
        )


def _value(listed: bool, value: str | None) -> str:
    return _short(value or "no value") if listed else "not set"


def _short(words: str) -> str:
    """Without the one character that no store takes, and not longer than a line of a page."""
    return words.replace("\0", "")[:LONGEST]


# From a reading of `collectors.ondemand.changes`.


def from_readings(readings: Mapping[str, object], snapshot: Snapshot) -> tuple[Change, ...]:
    """The changes that a reading brought. `snapshot`: the poll before it, which knows the zone of the clock of SQL."""
    setting = other_time_zone(snapshot.rows("v$parameter"), snapshot.rows("sys_context"))
    local = f"{setting} may put the clock of SQL into another time zone" if setting else None
    found = []
    for view, (kind, said, zoned) in _READ.items():
        reading = readings.get(view)
        for row in reading.rows if isinstance(reading, Rows) else ():
            at, con_id = _moment(row), _con_id(row)
            if at is not None:
                words = f"{_short(said(row))}{_within(con_id)}"
                unsure = None if zoned else local
                found.append(Change(at=at, kind=kind, text=words, source=view, con_id=con_id, unsure=unsure))
    return tuple(sorted(found, key=lambda change: change.at))


def _object(row: Row) -> str:
    done = "created" if row.get("is_new") == "YES" else "changed"
    return f"{row.get('object_type')} {row.get('owner')}.{row.get('object_name')} {done} by DDL"


def _statistics(row: Row) -> str:
    target = text(row.get("target"))
    return f"statistics: {row.get('operation')}{f' on {target}' if target else ''} began"


def _patch(row: Row) -> str:
    patch = number(row.get("patch_id"))
    done = "rolled back" if row.get("action") == "ROLLBACK" else "applied"
    failed = "" if row.get("status") == "SUCCESS" else f", status {row.get('status')}"
    return f"patch {patch:.0f} {done}{failed}" if patch is not None else f"a patch {done}{failed}"


_JOB = "job {owner}.{job_name} began".format_map
_READ: Mapping[str, tuple[ChangeKind, Callable[[Row], str], bool]] = {
    "dba_objects": ("ddl", _object, False),
    "dba_optstat_operations": ("statistics", _statistics, True),
    "dba_scheduler_job_run_details": ("job", _JOB, True),
    "jobs_begun": ("job", _JOB, True),
    "dba_scheduler_window_log": ("window", "window {window_name}: {operation}".format_map, True),
    "v$pdbs": ("pdb_open", "container {name} opened {open_mode}".format_map, False),
    "patches_applied": ("patch", _patch, False),
}
"""View → the kind of its changes, their words, and whether its times are exact whatever zone the clock of SQL has."""


def _moment(row: Row) -> datetime | None:
    try:
        at = datetime.strptime(str(row.get("happened_at")), "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
    except ValueError:
        return None
    return at if dated(at) else None


def _con_id(row: Row) -> int | None:
    place = number(row.get("con_id"))
    return None if place is None else int(place)


def _within(con_id: int | None) -> str:
    return f" in container {con_id}" if con_id and con_id > 1 else ""


# The timeline, and its words.


def timeline(changes: Iterable[Change], begin: datetime | None, now: datetime) -> tuple[Change, ...]:
    """The changes from an hour before the waits began, or without waits of the last hour, to now; newest last, at most `MOST`.

    If there are more, those nearest to the begin stay.
    """
    since = (begin or now) - BEFORE
    inside = [change for change in changes if since <= change.at <= now]
    nearest = sorted(inside, key=lambda change: abs(change.at - (begin or now)))[:MOST]
    return tuple(sorted(nearest, key=lambda change: (change.at, change.kind, change.text)))


def clock(change: Change) -> str:
    """When it happened, for people."""
    between = f"between {change.not_before:%H:%M:%S} and " if change.not_before else ""
    return f"{between}{change.at:%H:%M:%S}"


def order(change: Change, begin: datetime | None) -> str:
    """How it stands to the begin of the waits, in words of time alone. Empty without waits."""
    if begin is None:
        return ""
    if change.unsure:
        return f"before or after the waits began is unknown: {change.unsure}"
    if change.not_before is not None and change.not_before < begin <= change.at:
        return "before or after the waits began is unknown: they began between two readings"
    seconds = (begin - change.at).total_seconds()
    if abs(seconds) < 1:
        return "as the waits began"
    return f"{_length(abs(seconds))} {'before' if seconds > 0 else 'after'} the waits began"


def told(change: Change, begin: datetime | None) -> str:
    """A change in one line: `14:02:00 TABLE APP.ORDERS changed by DDL, 20 s before the waits began`."""
    return ", ".join(part for part in (f"{clock(change)} {change.text}", order(change, begin)) if part)


def nearest_to(changes: Sequence[Change], begin: datetime, most: int) -> tuple[Change, ...]:
    """The changes nearest to a moment, in order of time."""
    near = sorted(changes, key=lambda change: abs(change.at - begin))[:most]
    return tuple(sorted(near, key=lambda change: change.at))


def _length(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
