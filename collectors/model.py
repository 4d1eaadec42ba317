"""Data types of the collectors: what a view holds (Column, Collector), what one poll read (Snapshot), what changed (Delta).

Totals and changes are different types on purpose: a Snapshot holds Oracle's own running totals in `Rows`, a Delta holds
differences in `Changes`, and only `collectors.delta` makes the second from the first. Here are also the basis of a Delta,
durations in words, time zones, and the result of a confirming query.
"""

import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from functools import lru_cache, partial
from operator import itemgetter
from typing import Any, Literal, TypeVar

# Durations for people: in seconds, with hours and minutes where there are many.

LONG_SECONDS, HOURS = 600.0, 7200.0
"""From here on a duration is printed in whole seconds, and from the second value on in hours as well."""


def lasting(seconds: float) -> str:
    """A duration for people: 30.0 s, 3,600 s, 550,800 s (153 h 0 min)."""
    whole = f"{seconds:,.0f} s" if seconds >= LONG_SECONDS else f"{seconds:,.1f} s"
    return whole if seconds < HOURS else f"{whole} ({hours(seconds)})"


def hours(seconds: float) -> str:
    """A duration in hours and minutes: 153 h 0 min."""
    return "{} h {} min".format(*divmod(round(seconds / 60), 60))


def spoken(seconds: float) -> str:
    """A duration in one unit, rounded down: 45 seconds, 11 minutes, 3 hours."""
    for unit, length, least in (("hour", 3600, 7200), ("minute", 60, 120)):
        if seconds >= least:
            return f"{int(seconds // length)} {unit}s"
    return f"{int(seconds)} second{'s' * (int(seconds) != 1)}"


LONG_WINDOW = 2 * 3600.0
"""From this many seconds on an average hides what lasted minutes."""


def long_window(seconds: float) -> str:
    """A warning for averages over hours."""
    return f"a window of {seconds / 3600:,.1f} hours: averages over it hide short storms"


# Basis: the time that a Delta covers, an interval or totals.


@dataclass(frozen=True, slots=True)
class Basis:
    """The time that a Delta covers: an interval between polls; totals over a known uptime; totals of unknown age, which give
    shares and ratios but never a rate. Times are UTC by the database's clock; those of a report have no zone.
    """

    kind: Literal["interval", "since_startup", "totals"]
    begin: datetime | None
    end: datetime | None
    seconds: float | None

    def __str__(self) -> str:
        if self.kind == "totals":
            return "totals since an unknown instance start"
        if self.kind == "since_startup":
            return f"totals since instance start, {lasting(self.seconds or 0.0)}"
        return f"an interval of {lasting(self.seconds or 0.0)}"


# Whether the clock of SQL runs in the time zone of the host, in which Oracle's views keep their dates.
#
# SYSDATE and SYSTIMESTAMP follow the database's own time zone where TIME_AT_DBTIMEZONE (23ai and later) or
# SYSDATE_AT_DBTIMEZONE (Autonomous Database) is set. v$instance.startup_time and v$sga_resize_ops.start_time have no zone.
# So no difference between them and now is safe: it may be off by hours. Differences of `taken_at`, which is UTC, stay right.

HOST_TIME = {"OFF", "FALSE"}
"""Values of these parameters with which SQL uses the host's time zone."""
PARAMETERS = ("time_at_dbtimezone", "sysdate_at_dbtimezone")


def other_time_zone(parameters: Iterable[Mapping[str, object]], sessions: Iterable[Mapping[str, object]]) -> str | None:
    """The setting that may put the clock of SQL into another zone, as `name = value`. None if there is none.

    `parameters`: rows of v$parameter; `sessions`: the row of sys_context. Settings of other containers do not matter.
    """
    own = next(iter(sessions), {}).get("con_id")
    for row in parameters:
        name, value = row.get("name"), str(row.get("value") or "OFF")
        if name in PARAMETERS and value.upper() not in HOST_TIME and row.get("con_id") in (None, 0, own):
            return f"{name} = {value}"
    return None


# When something happened, in UTC, as SQL says it for the timeline of changes. The same row gives the same text at every reading.
#
# A column with a time zone is exact. A column without one has the host's clock, so it is shifted by what that clock differs
# from UTC now; where another zone may be in force (`other_time_zone`), the result may be off by hours.

CHANGES_MINUTES = 70
"""How far back a reading of changes looks: it comes once an hour, and a little late."""
_FORMAT = "'YYYY-MM-DD HH24:MI:SS'"
_SHIFT = "(cast(sys_extract_utc(systimestamp) as date) - cast(systimestamp as date))"


def utc_of_zoned(column: str) -> str:
    """SQL: a TIMESTAMP WITH TIME ZONE as text in UTC."""
    return f"to_char(sys_extract_utc({column}), {_FORMAT})"


def utc_of_local(column: str) -> str:
    """SQL: a DATE or TIMESTAMP of the host's clock as text in UTC."""
    return f"to_char(cast({column} as date) + {_SHIFT}, {_FORMAT})"


def by_container(text: str) -> Mapping[str, str]:
    """A statement for 12.1 and later, and the same for older releases, which have neither con_id nor CDB_ views."""
    return {"11.2": text.replace("con_id, ", "").replace("cdb_", "dba_"), "12.1": text}


def lately(column: str, *, zoned: bool) -> str:
    """SQL: the condition that it happened within the time that a reading of changes looks back."""
    if zoned:
        return f"{column} > systimestamp - interval '{CHANGES_MINUTES}' minute"
    return f"{column} > cast(systimestamp as date) - {CHANGES_MINUTES} / 1440"


# ConfirmationResult: the number that a confirming query gave, or why it was refused, and the container it ran in.

NamedRow = Mapping[str, str | float | None]
"""One row of names: column → cell."""


@dataclass(frozen=True, slots=True)
class ConfirmationResult:
    """The number of a confirming query, and up to five rows that say what it counted."""

    value: float | None
    """None if it was refused."""
    container: str | None = None
    """Name of the container it ran in. None without containers, or if the query did not ask."""
    con_id: int | None = None
    """0 no CDB, 1 CDB$ROOT, above 2 a PDB. None before 12.1, or if the query did not ask."""
    names: tuple[NamedRow, ...] = ()
    unnamed: str | None = None
    """Why the rows of names are missing."""
    refused: tuple[str, ...] = ()
    """Views that the user may not read, so the query gave no number."""
    at: float | None = None
    """When the query ran, as Unix time. None if that was not kept."""


Value = int | float | str | datetime | None
"""What a cell may hold. None is Oracle's NULL. A column that was not read is absent from its row."""

Row = Mapping[str, Value]
Key = tuple[Value, ...]

ROW_CACHE_LATCH = "row cache objects"
RESULT_CACHE_LATCH = "Result Cache: RC Latch"
ROW_CACHE_MUTEX_EVENT = "row cache mutex"
ROW_CACHE_LOCK_EVENT = "row cache lock"


class ColumnKind(StrEnum):
    """How a column changes with time, which decides what `between` does with it."""

    KEY = "key"  # names the row
    COUNTER = "counter"  # a total since instance start; only its change over an interval says anything about now
    GAUGE = "gauge"  # a level at the time of the poll
    TEXT = "text"  # describes the row


_PER_SECOND = {"us": 1e6, "cs": 100.0, "s": 1.0}
LONGEST_NAME = 128
"""Characters of a name: Oracle takes as many bytes, and no program, machine, event or code location has more."""
LONGEST_UPTIME = 50 * 365 * 86400.0
"""Seconds; an instance that claims to be older has a broken clock, and its start counts as unknown."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column we read: its name as our statement returns it, how it changes, its Oracle unit, and its meaning."""

    name: str
    kind: ColumnKind
    unit: Literal["", "count", "us", "cs", "s", "bytes", "entries", "date", "mixed"]
    about: str
    signed: bool = False  # may be below zero; the difference of two such totals is sound all the same
    long: bool = False  # a value or words, not a name: what is longer than LONGEST_NAME is whole all the same

    def holds(self, cell: object) -> bool:
        """Whether it can have this cell. Oracle counts with 64 bits, and no single time is longer than an instance lives."""
        if cell is None or self.unit == "date":
            return cell is None or (isinstance(cell, datetime) and dated(cell))
        numeric = self.kind in (ColumnKind.COUNTER, ColumnKind.GAUGE)
        if isinstance(cell, str):
            return not numeric and not self.name.endswith("#") and encodable(cell)
        alone = self.kind is ColumnKind.GAUGE and self.unit in _PER_SECOND
        most = LONGEST_UPTIME * _PER_SECOND[self.unit] if alone else 2.0**64
        return isinstance(cell, int | float) and not isinstance(cell, bool) and -most <= cell <= most

    def odd(self, cells: Sequence[object]) -> list[object]:
        """Those of the cells that it cannot have. Most polls have none, so all are looked at together first."""
        known: list[Any] = [cell for cell in cells if cell is not None]
        kinds = {*map(type, known)}
        if kinds == {str} and self.holds("".join(known)):
            return []
        if known and kinds <= {int, float} and self.holds(min(known)) and self.holds(max(known)):
            known = [] if (total := sum(known)) == total else known  # else one is not a number
        return [cell for cell in known if not self.holds(cell)]


def dated(moment: datetime) -> bool:
    """Whether something can have happened then. It leaves room for every difference."""
    return 1970 <= moment.year < 2200


def encodable(text: str) -> bool:
    """Whether it can be written anywhere: half of a surrogate pair cannot."""
    return text.isascii() or text.encode("utf-8", "replace").decode() == text


@dataclass(frozen=True, slots=True)
class Missing:
    """A view that gave nothing, and why; never to be read as zero rows.

    `kind` says which cure applies: refused (a grant), not_asked (the release has no such thing), failed (the statement
    broke), unread (the source, a capture or a report, does not hold it).
    """

    view: str
    kind: Literal["refused", "not_asked", "failed", "unread"]
    why: str
    way_out: str


@dataclass(frozen=True, slots=True)
class Cost:
    """What reading one view cost the database and the network."""

    seconds: float
    rows: int
    round_trips: int


@dataclass(frozen=True, slots=True)
class Rows:
    """Totals as one view gave them. `notes` has what the transcriber assumed."""

    view: str
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    read_at: datetime | None = field(default=None, compare=False)
    """When an earlier poll read these rows, by the database's clock in UTC. None if this poll read them itself."""


Reading = Rows | Missing
Binds = Mapping[str, Value]


T = TypeVar("T")


class MadeOnRequest(Mapping[str, T]):
    """What is known by view. That of a view which nobody has asked for is made when somebody does."""

    def __init__(
        self, views: Collection[str], make: Callable[[str], T], known: Mapping[str, T], of: Mapping[str, Any]
    ) -> None:
        """`views`: in order, those of `known` included; `of`: by view, what it is made of without names."""
        self._views, self._make, self._known, self.of = views, make, known, of
        self._made = dict[str, T]()

    def __getitem__(self, view: str) -> T:
        if view in self._known:
            return self._known[view]
        if view not in self._views:
            raise KeyError(view)
        made = self._made  # once, for another thread may let go of it
        if view not in made:
            made[view] = self._make(view)
        return made[view]

    def release(self) -> None:
        """Give up what was made, several times as large as what it is made of. A later question makes it again."""
        self._made = {}

    def __contains__(self, view: object) -> bool:
        return view in self._views  # what a mapping does by itself would make it

    def __iter__(self) -> Iterator[str]:
        return iter(self._views)

    def __len__(self) -> int:
        return len(self._views)


@dataclass(frozen=True, slots=True)
class Collector:
    """One dynamic view: what latchscope reads of it, by which statement per release, and what is lost without it.

    `statements` maps the lowest release a text is for ("11.2") to the text; the nearest lower release wins.
    `binds` receives the readings taken so far in this poll and returns the bind values, or Missing if there is
    nothing to ask. `after` names the views it needs: v$instance at least, whose release chooses the text.
    """

    view: str
    about: str
    columns: tuple[Column, ...]
    statements: Mapping[str, str]
    without: str
    granted_on: str
    once: bool = False  # read once per instance start; later polls carry the rows over
    every_seconds: float | None = None
    """For rows that hardly ever change: the longest time between two reads, in seconds. Polls in between carry the rows over."""
    repeats: Literal["sum", "kept", "unknown"] = "unknown"
    """Rows with the same key: summed, kept apart, or unexpected, which makes the view missing."""
    most_rows: int = 1_000  # ten times what a large instance gives; more are odd
    starts_at_zero: bool = False  # rows appear on first use, so one that was not there earlier counts from zero
    formerly: str = ""  # the name that older releases of latchscope granted; tried once per start
    sampled: bool = False  # read in short bursts between polls (`collectors.ondemand.sampling`), never by `poll`
    on_request: bool = False  # read when something calls for it (`collectors.ondemand.blockers`) and by the script
    optional: bool = (
        False  # read on request where it is granted; the diagnosis says less without it, and nothing is lacking
    )
    for_changes: bool = False
    """Read for the timeline of changes (`collectors.ondemand.changes`), never while sessions hang."""
    setting: str = ""  # the setting that is off unless somebody turns it on, without which the view is not read
    momentary: bool = False  # describes the moment of the poll only; a Delta keeps the earlier reading as `at_begin`
    after: tuple[str, ...] = ("v$instance",)
    binds: Callable[[Mapping[str, Reading]], Binds | Missing] | None = None
    unneeded: Callable[[Mapping[str, Reading]], Missing | None] | None = None
    """By the readings taken so far: what stands in for a refused view that this instance has no use for."""
    key: tuple[str, ...] = field(init=False)  # the names of the columns that identify a row
    counters: tuple[str, ...] = field(init=False)  # the names of its counters
    names: frozenset[str] = field(init=False)  # the names of the columns that have names

    def __post_init__(self) -> None:
        for name, kind in (("key", ColumnKind.KEY), ("counters", ColumnKind.COUNTER)):
            object.__setattr__(self, name, tuple(column.name for column in self.columns if column.kind is kind))
        named = (column for column in self.columns if column.kind in (ColumnKind.KEY, ColumnKind.TEXT))
        object.__setattr__(self, "names", frozenset(column.name for column in named if not column.long))

    def column(self, name: str) -> Column:
        """The declared column of that name. KeyError if the view has none."""
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(f"{self.view} declares no column {name}")


optional_view = partial(Collector, on_request=True, optional=True, momentary=True)
"""A view that a hang, an hour or a problem calls for, where it is granted."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What one poll read. `taken_at` is the database's own clock in UTC, or None if the source does not say."""

    database: str
    taken_at: datetime | None
    readings: Mapping[str, Reading]
    costs: Mapping[str, Cost] = field(default_factory=dict)
    login_release: str | None = None

    def read(self, view: str) -> Reading:
        """The reading of a view. Missing (unread) if this snapshot did not read it."""
        return self.readings.get(view) or unread(view)

    def rows(self, view: str) -> tuple[Row, ...]:
        """The rows of a view, empty when it is missing. Use `read` where the difference matters."""
        reading = self.read(view)
        return reading.rows if isinstance(reading, Rows) else ()

    @property
    def instance(self) -> Row:
        """The one row of v$instance, empty when it could not be read."""
        return next(iter(self.rows("v$instance")), {})

    @property
    def release(self) -> str | None:
        """The release as v$instance.version prints it, e.g. 11.2.0.4.0. Without that view, the release from the login."""
        return text(self.instance.get("version")) or self.login_release

    @property
    def startup_time(self) -> str | None:
        """v$instance.startup_time, in the database host's local time. A new value means that every counter was reset."""
        return text(self.instance.get("startup_time"))

    @property
    def uptime_seconds(self) -> float | None:
        """Seconds since instance start by the database's clock. None if unknown, as in another time zone than the host's."""
        elsewhere = other_time_zone(self.rows("v$parameter"), self.rows("sys_context"))
        seconds = number(self.instance.get("uptime_seconds"))
        return seconds if seconds is not None and not elsewhere and seconds < LONGEST_UPTIME else None


@dataclass(frozen=True, slots=True)
class Oddity:
    """A counter or row that misbehaved. It is left out of the Delta, not clamped."""

    view: str
    key: Key
    column: str
    what: Literal["fell", "wrapped", "negative", "vanished", "repeated"]
    before: Value
    after: Value

    def __str__(self) -> str:
        row = " ".join(str(part) for part in self.key if part is not None)
        if self.what == "vanished":
            return f"{self.view} row {row} is gone; its change is unknown"
        if self.what == "repeated":
            return f"{self.view} row {row} occurs more than once, which is unexpected; the view is not used"
        if self.what == "negative":
            return f"{self.view} {self.column} of {row} is negative ({self.after}); a corrupt counter is not used"
        how = "wrapped at 32 bits" if self.what == "wrapped" else "fell"
        return f"{self.view} {self.column} of {row} {how} ({self.before} → {self.after}); its change is not used"


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes of one view over a Delta's basis. Counters are differences; gauges are the later level.

    A counter with an unknown change is absent from its row, and an Oddity says why.
    """

    view: str
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    read_at: datetime | None = field(default=None, compare=False)
    """When an earlier poll read these rows, as in `Rows`."""


EventKind = Literal[
    "row_cache_timeout",  # WAITED TOO LONG FOR A ROW CACHE ENQUEUE LOCK, or the header of its trace
    "library_cache_timeout",  # the same of a library cache lock, pin or load; ORA-04020 and ORA-04021
    "deadlock",  # ORA-00060
    "shared_pool",  # ORA-04031 of the shared pool
    "other_pool",  # ORA-04031 of the large, java, streams or another pool
    "internal_error",  # ORA-00600 and ORA-07445
    "latch_timeout",
    "enqueue_timeout",
    "hang",  # hang manager or blocker resolver, ORA-32701: found, or what was done about it
    "wait_chain",  # who waits behind whom, as a hang analysis, a system state or a table of Hang Manager shows
    "traced_wait",  # waits of a statement in a SQL trace
    "parse_errors",
    "processes",  # ORA-00018 and ORA-00020: no session or process is left
    "space",  # ORA-01652 to ORA-01654, ORA-30036
    "resize",
    "undo_switch",
    "instance_start",
    "instance_stop",
    "patch",
    "parameter",
    "ddl",
    "other",  # another ORA error, listed beside the others
]


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """One line or block of an alert log or a trace file."""

    at: datetime | None
    """When, with a zone only if the file prints one. None where no time could be read."""
    kind: EventKind
    text: str
    """What it says, in our own words and with its figures; no SQL text and no secret."""
    line: int
    """Number of its first line in the file, from 1."""
    facts: Row = field(default_factory=dict)
    """What was read of it: cache_id, cache, lock_mode, lock_request, pid, ospid, instance, sid, serial#, error, argument,
    seconds, trace_file (base name of the trace to bring next), times (how many such lines in a row it stands for)."""

    @property
    def times(self) -> int:
        """How many lines it stands for."""
        times = self.facts.get("times")
        return times if isinstance(times, int) and times > 0 else 1

    @property
    def trace_file(self) -> str | None:
        """Base name of the trace file that has more. None if no line names one."""
        name = self.facts.get("trace_file")
        return str(name) if name else None


DeltaSource = Literal["views", "report", "alert log", "trace"]
"""Oracle's views; a printed report, which rounds and leaves out; or a log file, which has no counters."""


@dataclass(frozen=True, slots=True)
class Delta:
    """The change between two snapshots of one instance, or one snapshot read as totals. Made by `collectors.delta`."""

    database: str
    release: str | None
    basis: Basis
    readings: Mapping[str, Changes | Missing]
    oddities: tuple[Oddity, ...] = ()
    confirmations: Mapping[str, ConfirmationResult] = field(default_factory=dict)
    """Results of confirming queries by cause id, where somebody ran them."""
    source: DeltaSource = "views"
    events: tuple[LoggedEvent, ...] = ()
    """What a log file says happened, the oldest first; undated ones in the order of the file."""
    notes: tuple[str, ...] = ()  # what a reader must know about the source: a layout not verified, a very long window
    dbid: str | None = None
    """The DB Id that a report prints, digits. None for captures and polls, which name their database otherwise."""
    lost: str = ""  # what a damaged file, or one that ends too early, no longer has of that its verdict needs; in words
    at_begin: Mapping[str, Changes] = field(default_factory=dict)  # momentary views when the interval began
    missing: frozenset[str] = frozenset()
    """Views of each poll that have no changes here, such as one that could not be read at the begin."""
    steady: bool = False
    """Whether from poll to poll no row came or went, no counter misbehaved, and the same views are missing for one reason."""

    def read(self, view: str) -> Changes | Missing:
        """The changes of a view, or Missing with its reason."""
        return self.readings.get(view) or unread(view)

    def rows(self, view: str) -> tuple[Row, ...]:
        """The rows of a view, empty when it is missing. Use `read` where the difference matters."""
        reading = self.read(view)
        return reading.rows if isinstance(reading, Changes) else ()

    def without(self, gaps: Mapping[str, Missing]) -> "Delta":
        """The Delta without the views that have these gaps."""
        return replace(self, readings={**self.readings, **gaps}) if gaps else self

    def column(self, view: str, name: str) -> list[Value]:
        """One column of a view, a cell per row."""
        return [row.get(name) for row in self.rows(view)]

    def cell(self, view: str, key: str, name: str, column: str) -> float | None:
        """One number of the row whose `key` is `name`. None if the view, the row or the number is missing."""
        for row in self.rows(view):
            if row.get(key) == name:
                return number(row.get(column))
        return None

    @property
    def inside_pdb(self) -> bool:
        """Whether the session was inside a PDB. False for the root, without containers, and if it was not captured."""
        return any((number(row.get("con_id")) or 0) > 1 for row in self.rows("sys_context"))

    def by_number(self, view: str, key: str, column: str) -> Mapping[int, float]:
        """One column by the number that names its row, e.g. gets by child#. Rows that lack either are left out."""
        each = ((number(row.get(key)), number(row.get(column))) for row in self.rows(view))
        return {int(name): value for name, value in each if name is not None and value is not None}


ObstacleKind = Literal["first_poll", "restart", "not_comparable"]
"""What stands between two snapshots; `why` says it to people, in words that may change."""


@dataclass(frozen=True, slots=True)
class NotComparable:
    """Two snapshots that must not be compared, such as across a restart. A first poll is one too; nothing is wrong with it."""

    database: str
    release: str | None
    why: str
    way_out: str
    dbid: str | None = None
    kind: ObstacleKind = "not_comparable"


SCRIPT = "run the script that `latchscope script` prints on the instance while it is slow, and diagnose its output"
"""The way out for a view that a printed report does not have. The script reads all views."""


def unread(view: str) -> Missing:
    return Missing(view, "unread", f"{view} was not read", f"capture {view} as well")


_NUMBERS = (int, float)
LARGEST = sys.float_info.max


def number(value: object) -> float | None:
    """The cell as a number. None if it is NULL, absent, text, or no number that can be counted with."""
    return float(value) if isinstance(value, _NUMBERS) and -LARGEST <= value <= LARGEST else None


def cells(rows: Sequence[Row], names: tuple[str, ...], absent: object = None) -> list[tuple[Any, ...]]:
    """These cells of each row, with `absent` in place of one that a row does not have.

    They are taken a row at a time, because a loop over the thousand cells of a poll takes three times as long.
    """
    take = taker(names)
    try:
        return list(map(take, rows))
    except KeyError:
        lacking = dict.fromkeys(names, absent)
        return [take({**lacking, **row}) for row in rows]


@lru_cache(512)
def taker(names: tuple[str, ...] | tuple[int, ...]) -> Callable[[Any], tuple[Any, ...]]:
    """Takes these cells of a row, by their names or places."""
    if len(names) > 1:
        return itemgetter(*names)
    return lambda row: tuple([row[name] for name in names])  # itemgetter would give the bare cell


def text(value: Value) -> str | None:
    """The cell as text. None if it is NULL or absent."""
    return None if value is None else str(value)
