"""One poll in the form that waits for the store and is written to it: plain data, made in the poll's own thread.

Also how stored values of other releases are read: JSON with other members, causes with other ids, sentences without a kind.
"""

import dataclasses
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from operator import itemgetter
from typing import Any, TypeVar, cast

from pydantic import BaseModel, TypeAdapter
from pydantic_core import to_json

from collectors.capture import dump_snapshot
from collectors.delta import changes_of
from collectors.model import (
    ROW_CACHE_LATCH,
    ROW_CACHE_LOCK_EVENT,
    ROW_CACHE_MUTEX_EVENT,
    Delta,
    NotComparable,
    ObstacleKind,
    Snapshot,
    number,
)
from rules.base import Severity
from rules.model import Diagnosis, Impact, verdict_of
from rules.samples import LATCH_EVENT
from service.state.board import PollRecord
from service.state.episodes import KINDS, OF_ONE_POLL, Confirmed, Episode, EpisodeChange, MarkVerdict
from service.store.migrations.old_figures import numbers, wanted
from service.store.tables import NUMBERS

# The chosen figures of a poll, in the order of NUMBERS. Contains no SQL.

FROM = ("v$latch_children", "v$latch", "v$rowcache", "v$mutex_sleep", "v$system_event", "v$sys_time_model", "v$sysstat")
"""The views that they come from."""
_TIMED = (
    ("v$sys_time_model", "stat_name", "value", ("DB time", "DB CPU")),
    (
        "v$system_event",
        "event",
        "time_waited_micro",
        (LATCH_EVENT, ROW_CACHE_MUTEX_EVENT, ROW_CACHE_LOCK_EVENT, "latch free"),
    ),
)
_WORK = ("execute count", "parse count (total)", "parse count (hard)", "logons cumulative", "user commits")
Numbers = Sequence[float | None]
Cells = Sequence[Sequence[Any]]
"""Some cells of each row of a view."""
Document = Mapping[str, Any]
"""A snapshot in the form of a capture file."""


def numbers_of(delta: Delta, impact: Impact | None) -> list[float | None]:
    """What each figure is in the interval of a poll. None if it is unknown: absent is not zero."""
    whole = {oddity.view for oddity in delta.oddities if oddity.what in ("vanished", "repeated")}

    def read(view: str, *names: str) -> Cells | None:
        return None if view in whole else changes_of(delta, view, names)

    told = [impact.share_of_db_time, impact.waiting_sessions] if impact else [None, None]
    for view, key, column, names in _TIMED:
        found = _by_name(read(view, key, column), None if key == "stat_name" else 0.0, names)
        told += [None if value is None else value / 1e6 for value in found]
    told += _sums(read("v$rowcache", "gets", "getmisses", "modifications"), 3)
    latch = read("v$latch", "name", "gets", "misses", "sleeps")
    figures = next((figures for name, *figures in latch or () if name == ROW_CACHE_LATCH), [None] * 3)
    gets, misses, slept = map(number, figures)
    (mutexes,) = _sums(read("v$mutex_sleep", "sleeps"), 1)
    if latch is not None and not gets:
        gets, misses, slept = None, None, 0.0  # mutexes guard the row cache
    hot, most = _hottest(read("v$latch_children", "sleeps", "child#"))
    told += [gets, misses, None if slept is None or mutexes is None else slept + mutexes, most]
    return [*told, *_by_name(read("v$sysstat", "name", "value"), None, _WORK), hot]


def _by_name(read: Cells | None, absent: float | None, names: Sequence[str]) -> list[float | None]:
    """The figure of each of these rows; `absent` for one that the view does not have, and does not need to have."""
    if read is None:
        return [None] * len(names)
    known = {name: number(value) for name, value in read}
    return [known.get(name, absent) for name in names]


def _sums(read: Cells | None, columns: int) -> list[float | None]:
    """Each of so many columns over all rows. Unknown if one of them is."""
    if not read:
        return [None if read is None else 0.0] * columns
    return [None if None in each else float(sum(each)) for each in zip(*read, strict=True)]


def _hottest(read: Cells | None) -> tuple[int | None, float | None]:
    """The child latch with the most sleeps, and how many. No child if none slept; unknown without children."""
    if not read or any(sleeps is None for sleeps, _ in read):
        return None, None
    most, child = max(read, key=itemgetter(0))
    return (int(child) if most else None), float(most)


class KeptSnapshots:
    """Which polls keep their snapshot: one a minute, each of a trouble and of some minutes after it or after a mark, and both
    sides of what cannot be compared, such as a restart, and of a trouble's begin and end."""

    EVERY = timedelta(minutes=1)
    AFTER = timedelta(minutes=5)

    def __init__(self, every: bool = False) -> None:
        """`every`: each poll keeps its own, because snapshots are to be kept for longer than the minutes are."""
        self._every = every
        self._minutes: dict[str, int] = {}
        self._until: dict[str, datetime] = {}
        """Database → until when each is kept, by its clock."""
        self._left_out: dict[str, datetime] = {}
        """Database → its last poll, if that kept none."""
        self._marked: set[str] = set()

    def mark(self, database: str) -> None:
        """Somebody set a mark: both sides of it are kept."""
        self._marked.add(database)

    def of(self, at: datetime, name: str, poll_record: PollRecord | None, trouble: bool) -> tuple[bool, bool]:
        """Whether this poll keeps its snapshot, and whether the one before it, which did not, is to get it now."""
        marked = name in self._marked
        self._marked.discard(name)
        side = (
            marked
            or poll_record is None
            or bool(poll_record.episode_changes)
            or isinstance(poll_record.change, NotComparable)
        )
        # A comparison after a change needs what came right after it.
        if side or trouble:
            self._until[name] = at + self.AFTER
        minute = int(at.timestamp() // self.EVERY.total_seconds())
        kept = self._every or at <= self._until.get(name, at - self.AFTER) or self._minutes.get(name) != minute
        earlier = poll_record.previous.taken_at if poll_record and poll_record.previous else None
        before = side and earlier is not None and self._left_out.get(name) == earlier
        self._minutes[name] = minute
        if kept:
            self._left_out.pop(name, None)
        else:
            self._left_out[name] = at
        return kept, before


DETAILS = ("container", "con_id", "names", "unnamed", "refused")
"""What the store keeps of a confirmation beside its number, as JSON."""
EPISODE_CHANGES_IN = TypeAdapter(list[EpisodeChange])
_NOT_KEPT = {"__all__": {"episode": OF_ONE_POLL}}
_ENCODED = json.JSONEncoder(separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class IngestRecord:
    """One poll for the store. `snapshot` is whole, in the form of a capture file, or None if it keeps none; `diagnosis` is empty
    if it is unchanged; `seconds` is None if the poll has no interval; `why` says why; `numbers` are its figures."""

    database: str
    at: datetime
    diagnosis: str
    severity: str
    headline: str
    seconds: float | None
    missing: str
    startup_time: str | None
    why: str | None
    numbers: Numbers = field(default_factory=lambda: [None] * len(NUMBERS))
    episodes: list[dict[str, Any]] = field(default_factory=list)
    confirmed: list[dict[str, Any]] = field(default_factory=list)
    changes: list[dict[str, Any]] = field(default_factory=list)
    happened: list[dict[str, Any]] = field(default_factory=list)
    """Changes of the database for its timeline."""
    kind: ObstacleKind | None = None
    """Of `why`; None in a file of the spool that latchscope 0.2 or older left."""
    snapshot: Document | None = None
    before: Document | None = None
    """The snapshot of the poll before, which kept none, if this one is the other side of something."""


class CompleteDiagnoses:
    """Which polls are stored with their complete diagnosis: those with a new verdict or severity, and one an hour.

    The reasons cost as much as several polls, so each database has its own moment of the hour.
    """

    EVERY = timedelta(hours=1)

    def __init__(self) -> None:
        self._last: dict[str, tuple[int, Severity, list[Any]]] = {}
        """Database → hour, severity and verdict of its last poll, by the database's clock."""

    def due(self, snapshot: Snapshot, verdict: Diagnosis) -> bool:
        """Whether this poll is one of them. True is remembered. A poll without an interval always is."""
        at, name = snapshot.taken_at, snapshot.database
        if at is None or verdict.basis is None:
            self._last.pop(name, None)
            return True
        hour = int(at.timestamp() / self.EVERY.total_seconds() + zlib.crc32(name.encode()) / 2**32)
        now = hour, verdict.severity, verdict_of(verdict)
        last, self._last[name] = self._last.get(name), now
        return now != last


def record_of(
    snapshot: Snapshot,
    verdict: Diagnosis,
    poll_record: PollRecord | None,
    *,
    complete: bool = True,
    kept: KeptSnapshots | None = None,
) -> IngestRecord | None:
    """The record of a poll, with its `complete` diagnosis or none, and its snapshot if it is `kept`. None for a poll without a
    time, because time is the key."""
    at = snapshot.taken_at
    if at is None:
        return None
    delta = poll_record.change if poll_record and isinstance(poll_record.change, Delta) else None
    gap = poll_record.change if poll_record and isinstance(poll_record.change, NotComparable) else None
    impact = poll_record.examined.told.impact if poll_record and poll_record.examined else verdict.impact
    stored = poll_record.examined.diagnosis if complete and poll_record and poll_record.examined else verdict
    episodes = poll_record.episodes if poll_record else ()
    whole, before = True, False
    if kept is not None:
        whole, before = kept.of(
            at, snapshot.database, poll_record, bool(episodes) or verdict.severity is not Severity.INFO
        )
    return IngestRecord(
        database=snapshot.database,
        at=at,
        snapshot=dump_snapshot(snapshot) if whole else None,
        before=dump_snapshot(poll_record.previous) if before and poll_record and poll_record.previous else None,
        diagnosis=stored.without_commands().model_dump_json() if complete else "",
        severity=verdict.severity.value,
        headline=stored.headline if complete else "",
        seconds=delta.basis.seconds if delta else None,
        missing=_ENCODED([[view] for view in FROM if changes_of(delta, view, ()) is None]) if delta else "[]",
        startup_time=snapshot.startup_time,
        why=gap.why if gap else None,
        kind=gap.kind if gap else None,
        numbers=numbers_of(delta, impact) if delta else [None] * len(NUMBERS),
        episodes=[row_of(episode) for episode in episodes],
        confirmed=[_confirmed(result) for result in poll_record.confirmed] if poll_record else [],
        changes=EPISODE_CHANGES_IN.dump_python(list(poll_record.episode_changes), mode="json", exclude=_NOT_KEPT)
        if poll_record
        else [],
        happened=[change.model_dump(mode="json") for change in poll_record.happened] if poll_record else [],
    )


def to_bytes(record: IngestRecord) -> bytes:
    """A poll for a file of the spool."""
    return zlib.compress(to_json(record), 3)


def from_bytes(data: bytes) -> IngestRecord:
    """The record back, or one of an older release. Raises ValueError, KeyError, TypeError or zlib.error if it is not one."""
    members = json.loads(zlib.decompress(data))
    if "figures" in members:
        found = ((wanted(*item[:3]), value, 0.0) for item, value in members["figures"])
        chosen = [(place, value, most) for place, value, most in found if place is not None]
        members["numbers"], _ = numbers(chosen, members["missing"], members["seconds"])
    if body := members.get("body"):
        members |= {"snapshot": json.loads(zlib.decompress(bytes.fromhex(body)) or b"null"), "before": None}
    return IngestRecord(**known_members(IngestRecord, members | {"at": datetime.fromisoformat(members["at"])}))


def row_of(episode: Episode) -> dict[str, Any]:
    """An episode as the store takes it, in JSON's types."""
    same = ("database", "cause", "cache", "title", "headline", "severity", "peak_severity")
    times = {"began": episode.begin, "ended": episode.end, "last_seen": episode.last_seen, "peak_at": episode.peak_at}
    return {
        **{name: getattr(episode, name) for name in same},
        **{name: at.isoformat() if at else None for name, at in times.items()},
        "peak_share": episode.peak_share_of_db_time,
    }


def _confirmed(confirmed: Confirmed) -> dict[str, Any]:
    return {
        "cause": confirmed.cause,
        "at": confirmed.at,
        "sql": confirmed.sql,
        "value": confirmed.value,
        "startup_time": confirmed.startup_time,
        "details": json.dumps({name: getattr(confirmed, name) for name in DETAILS}, separators=(",", ":")),
    }


# JSON in the store that another release may have written: a replica beside this one, or a newer one before it.
#
# Newer releases add members. They are left out, at any depth, and everything else is read as it is.

Model = TypeVar("Model", bound=BaseModel)


def read(kind: type[Model], body: str) -> Model:
    """A stored value. Raises ValidationError if a member that this release needs is missing."""
    return kind.model_validate_json(body, extra="ignore")


def known_members(kind: type, members: Mapping[str, Any]) -> dict[str, Any]:
    """The members that a dataclass of this release has."""
    names = {field.name for field in dataclasses.fields(kind)}
    return {name: value for name, value in members.items() if name in names}


RENAMED: dict[str, str] = {}
"""Old cause id → its current id. A released id that is renamed gets a line here, for good."""


def current(cause: str) -> str:
    """The current id of a cause."""
    return RENAMED.get(cause, cause)


def former(cause: str) -> list[str]:
    """Every id under which rows of this cause may be stored, including the current one."""
    return [cause, *(old for old, new in RENAMED.items() if new == cause)]


# The kind of what is kept with a sentence. Rows from before migration 0011 have the sentence alone, which tells the
# kind.

Kind = TypeVar("Kind")
_OBSTACLES: Mapping[str, ObstacleKind] = {
    "the first poll has nothing to compare with": "first_poll",
    "the instance restarted": "restart",
    "": "not_comparable",
}


def obstacle_kind(kind: str | None, why: str | None) -> ObstacleKind | None:
    """Of a poll without an interval; None where it has one."""
    return cast(ObstacleKind, kind) if kind else _by_beginning(_OBSTACLES, why)


def verdict_kind(kind: str | None, verdict: str | None) -> MarkVerdict | None:
    """Of a verdict; None without one."""
    return cast(MarkVerdict, kind) if kind else _by_beginning(KINDS, verdict)


def _by_beginning(kinds: Mapping[str, Kind], sentence: str | None) -> Kind | None:
    if sentence is None:
        return None
    return next(kind for beginning, kind in kinds.items() if sentence.startswith(beginning))
