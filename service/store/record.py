"""One poll in the form that waits for the store and is written to it: plain data, made in the poll's own thread.

Also how stored values of other releases are read: JSON with other members, causes with other ids, sentences without a kind.
"""

import dataclasses
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from functools import cache, lru_cache
from itertools import compress
from typing import Any, TypeVar, cast

from pydantic import BaseModel, TypeAdapter
from pydantic_core import to_json

from collectors.capture import dump_snapshot, load_snapshot
from collectors.model import (
    Collector,
    ColumnKind,
    Delta,
    Missing,
    NotComparable,
    ObstacleKind,
    Row,
    Snapshot,
    Value,
    cells,
    number,
)
from collectors.registry import collectors
from rules.base import Severity
from rules.changes import Change
from rules.model import Diagnosis, Impact, verdict_of
from service.state.board import PollRecord
from service.state.episodes import KINDS, OF_ONE_POLL, Confirmed, Episode, EpisodeChange, MarkVerdict

# Which figures are followed over time, and how one poll changed them. Contains no SQL.

COUNTED = (
    "v$latch_children",
    "v$latch",
    "v$latch_misses",
    "v$rowcache",
    "v$mutex_sleep",
    "v$system_event",
    "v$sys_time_model",
    "v$sysstat",
    "v$osstat",
)
"""Views whose counters are followed."""
LEVELS: Mapping[str, tuple[str, ...]] = {"v$rowcache": ("count", "usage")}
"""Gauges that are followed: kept when they change, and with the first poll of every hour."""
IMPACT = "impact"
"""Our own view: the cost of row cache waits, as a quantity that can be summed (share × seconds, sessions × seconds)."""
IMPACT_COLUMNS = ("share_of_db_time", "waiting_sessions")
_PASSING = ("addr",)
"""Text that changes with a restart and names nothing."""

SampleItem = tuple[str, str, str, bool]
"""View, key (JSON), column, and whether it is a gauge."""
Sample = tuple[SampleItem, float]


def key_of(collector: Collector, row: Row) -> str:
    """The name of a row, as JSON: its key columns, and the text that gives their meaning on this instance."""
    (named,) = _named(collector.view, (row,))
    return _encoded(_names_of(collector.view), *named)


_NO_CELL = object()
"""In place of a cell that a row does not have."""


def _named(view: str, rows: Sequence[Row]) -> list[tuple[object, ...]]:
    """The cells that name each row, which its key is made of."""
    return cells(rows, _names_of(view), _NO_CELL)


@lru_cache(16384, typed=True)  # 1.0 equals 1, but is written differently
def _encoded(names: tuple[str, ...], *named: object) -> str:
    """Created once, because the same caches, events and statistics come with every poll of every database."""
    return _ENCODED_ROW({name: cell for name, cell in zip(names, named, strict=True) if cell is not _NO_CELL})


_ENCODED_ROW = json.JSONEncoder(separators=(",", ":"), default=str).encode
"""One encoder for every row of every poll. `json.dumps` would create one each time."""


@lru_cache(8192, typed=True)
def _items(view: str, columns: tuple[str, ...], gauge: bool, *named: object) -> tuple[SampleItem, ...]:
    """The items of these columns of a row. Created once, as its key is."""
    key = _encoded(_names_of(view), *named)
    return tuple([(view, key, column, gauge) for column in columns])


@cache
def _names_of(view: str) -> tuple[str, ...]:
    columns = collectors()[view].columns
    return tuple(c.name for c in columns if c.kind in (ColumnKind.KEY, ColumnKind.TEXT) and c.name not in _PASSING)


def counters_of(collector: Collector) -> tuple[str, ...]:
    """The names of a view's counters."""
    return collector.counters


def changes_of(
    delta: Delta, snapshot: Snapshot, impact: Impact | None
) -> tuple[list[SampleItem], list[float], list[list[str]]]:
    """Every counter that changed, by how much, and what is unknown, so that its absence is not zero.

    A change of zero is left out. The impact comes as share × seconds and sessions × seconds. What is unknown is [view], or
    [view, key, column] for a single counter.
    """
    whole = {oddity.view for oddity in delta.oddities if oddity.what in ("vanished", "repeated")}
    changed: list[SampleItem] = []
    by: list[float] = []
    missing: list[list[str]] = []
    for view in COUNTED:
        reading = delta.read(view)
        if isinstance(reading, Missing):
            missing.append([view])
            continue
        counters = _read_of(view, frozenset().union(*snapshot.rows(view)))
        short = []
        for named, values in zip(_named(view, reading.rows), cells(reading.rows, counters), strict=True):
            if any(values):
                changed += compress(_items(view, counters, False, *named), values)
                by += filter(None, values)
            if None in values:
                short.append((named, values))
        if view in whole:
            missing.append([view])
        elif short:
            missing.extend(_untold(view, counters, short, snapshot))
    seconds = delta.basis.seconds or 0.0
    for column in IMPACT_COLUMNS:
        cost = getattr(impact, column) if impact else None
        if cost is None:
            missing.append([IMPACT, "{}", column])
        elif cost and seconds:
            changed.append((IMPACT, "{}", column, False))
            by.append(cost * seconds)
    return changed, by, missing


@lru_cache(512)
def _read_of(view: str, columns: frozenset[str]) -> tuple[str, ...]:
    """The counters among the columns that a poll read: older releases have fewer."""
    return tuple([name for name in collectors()[view].counters if name in columns])


def _untold(
    view: str,
    counters: tuple[str, ...],
    short: Sequence[tuple[tuple[object, ...], tuple[Value, ...]]],
    snapshot: Snapshot,
) -> Iterator[list[str]]:
    """Counters that the poll read and whose change is unknown: they fell, wrapped, or are new."""
    rows = snapshot.rows(view)
    read = dict(zip(_named(view, rows), rows, strict=True))
    for named, values in short:
        row = read.get(named, {})
        for name, value in zip(counters, values, strict=True):
            if value is None and number(row.get(name)) is not None:
                yield [view, key_of(collectors()[view], row), name]


def levels_of(snapshot: Snapshot, previous: Snapshot | None) -> Iterator[Sample]:
    """Every followed gauge that differs from the previous poll's. All of them at the start of an hour or of a life."""
    anew = previous is None or _hour(previous.taken_at) != _hour(snapshot.taken_at)
    for view, columns in LEVELS.items():
        known = () if anew or previous is None else previous.rows(view)
        before = dict(zip(_named(view, known), cells(known, columns), strict=True))
        rows, none = snapshot.rows(view), (None,) * len(columns)
        for named, levels in zip(_named(view, rows), cells(rows, columns), strict=True):
            old = before.get(named, none)
            if levels != old:
                for item, level, was in zip(_items(view, columns, True, *named), levels, old, strict=True):
                    if (value := number(level)) is not None and value != number(was):
                        yield item, value


def _hour(at: datetime | None) -> object:
    return None if at is None else (at.date(), at.hour)


DETAILS = ("container", "con_id", "names", "unnamed", "refused")
"""What the store keeps of a confirmation beside its number, as JSON."""
_CHANGES = TypeAdapter(list[EpisodeChange])
_NOT_KEPT = {"__all__": {"episode": OF_ONE_POLL}}
_ENCODED = json.JSONEncoder(separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class IngestRecord:
    """One poll for the store. `body` is its snapshot as JSON; `diagnosis` is empty if it is unchanged; `seconds` is
    None if the poll has no interval; `why` says why."""

    database: str
    at: datetime
    body: bytes
    diagnosis: str
    severity: str
    headline: str
    seconds: float | None
    share: float | None
    waiting: float | None
    missing: str
    startup_time: str | None
    why: str | None
    items: list[SampleItem] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    """The figure of each item."""
    episodes: list[dict[str, Any]] = field(default_factory=list)
    confirmed: list[dict[str, Any]] = field(default_factory=list)
    changes: list[dict[str, Any]] = field(default_factory=list)
    happened: list[dict[str, Any]] = field(default_factory=list)
    """Changes of the database for its timeline."""
    kind: ObstacleKind | None = None
    """Of `why`; None in a file of the spool that latchscope 0.2 or older left."""


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
    snapshot: Snapshot, verdict: Diagnosis, poll_record: PollRecord | None, *, complete: bool = True
) -> IngestRecord | None:
    """The record of a poll, with its `complete` diagnosis or none. None for a poll without a time, because time is the key."""
    if snapshot.taken_at is None:
        return None
    delta = poll_record.change if poll_record and isinstance(poll_record.change, Delta) else None
    gap = poll_record.change if poll_record and isinstance(poll_record.change, NotComparable) else None
    impact = verdict.impact
    stored = poll_record.examined.diagnosis if complete and poll_record and poll_record.examined else verdict
    items, values, missing = changes_of(delta, snapshot, impact) if delta else ([], [], [])
    if poll_record:
        for item, level in levels_of(snapshot, poll_record.previous):
            items.append(item)
            values.append(level)
    return IngestRecord(
        database=snapshot.database,
        at=snapshot.taken_at,
        body=plain(snapshot),
        diagnosis=stored.without_commands().model_dump_json() if complete else "",
        severity=verdict.severity.value,
        headline=verdict.headline,
        seconds=delta.basis.seconds if delta else None,
        share=impact.share_of_db_time if impact and delta else None,
        waiting=impact.waiting_sessions if impact and delta else None,
        missing=_ENCODED(missing),
        startup_time=snapshot.startup_time,
        why=gap.why if gap else None,
        kind=gap.kind if gap else None,
        items=items,
        values=values,
        episodes=[_episode(episode) for episode in poll_record.episodes] if poll_record else [],
        confirmed=[_confirmed(result) for result in poll_record.confirmed] if poll_record else [],
        changes=_CHANGES.dump_python(list(poll_record.episode_changes), mode="json", exclude=_NOT_KEPT)
        if poll_record
        else [],
        happened=[change.model_dump(mode="json") for change in poll_record.happened] if poll_record else [],
    )


def happened_in(record: IngestRecord) -> list[Change]:
    """What changed on the database between its poll before and the poll of a record."""
    return [Change.model_validate(members, extra="ignore") for members in record.happened]


def changes_in(record: IngestRecord) -> list[EpisodeChange]:
    """The changes of episodes by the poll of a record."""
    return _CHANGES.validate_python(record.changes)


def plain(snapshot: Snapshot) -> bytes:
    """A snapshot in the form of a capture file's, as JSON: the writer packs it with its day's first.

    pydantic's encoder takes a quarter of the time of Python's own. The samples of a storm are the largest part of its polls.
    """
    return to_json(dump_snapshot(snapshot))


def snapshot_of(record: IngestRecord) -> Snapshot:
    """The snapshot of a poll that waits for the store. Raises InputError or ValueError if it is not one."""
    return load_snapshot(json.loads(record.body), record.database, f"spool, {record.database}")


def unpack(body: bytes, database: str) -> Snapshot:
    """A stored snapshot as it was. Raises InputError, ValueError or zlib.error if it is not one."""
    return load_snapshot(json.loads(zlib.decompress(body)), database, f"store, {database}")


def to_bytes(record: IngestRecord) -> bytes:
    members = asdict(record) | {"at": record.at.isoformat(), "body": zlib.compress(record.body, 1).hex()}
    members["figures"] = [*zip(members.pop("items"), members.pop("values"), strict=True)]
    return zlib.compress(json.dumps(members).encode(), 3)


def from_bytes(data: bytes) -> IngestRecord:
    """The record back. Raises ValueError, KeyError, TypeError or zlib.error if the data is not one."""
    members = json.loads(zlib.decompress(data))
    figures = members.pop("figures")
    converted = {
        "at": datetime.fromisoformat(members["at"]),
        "body": zlib.decompress(bytes.fromhex(members["body"])),
        "items": [(view, key, column, gauge) for (view, key, column, gauge), _ in figures],
        "values": [value for _, value in figures],
    }
    return IngestRecord(**known_members(IngestRecord, members | converted))


def _episode(episode: Episode) -> dict[str, Any]:
    return {
        "database": episode.database,
        "cause": episode.cause,
        "began": episode.begin.isoformat(),
        "ended": episode.end.isoformat() if episode.end else None,
        "last_seen": episode.last_seen.isoformat(),
        "cache": episode.cache,
        "title": episode.title,
        "severity": episode.severity.value,
        "peak_severity": episode.peak_severity.value,
        "peak_at": episode.peak_at.isoformat(),
        "peak_share": episode.peak_share_of_db_time,
        "headline": episode.headline,
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


def current(cause: str, renamed: Mapping[str, str] | None = None) -> str:
    """The current id of a cause."""
    known = RENAMED if renamed is None else renamed
    seen = {cause}
    while (newer := known.get(cause)) is not None and newer not in seen:
        cause = newer
        seen.add(cause)
    return cause


def former(cause: str) -> list[str]:
    """Every id under which rows of this cause may be stored, including the current one."""
    return [cause, *(old for old in RENAMED if current(old) == cause and old != cause)]


def read_diagnosis(body: str) -> Diagnosis:
    """A stored Diagnosis with current cause ids."""
    diagnosis = read(Diagnosis, body)
    if not RENAMED:
        return diagnosis
    names = ("findings", "ruled_out", "undetermined", "candidates")
    return diagnosis.model_copy(
        update={
            name: tuple(one.model_copy(update={"cause": current(one.cause)}) for one in getattr(diagnosis, name))
            for name in names
        }
    )


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
