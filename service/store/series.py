"""Figures over time: points of series, at a suitable resolution, with what was watched and what was not."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property, lru_cache
from typing import Any, Literal, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import BigInteger, Connection, Engine, Select, literal, select, type_coerce

from collectors.delta import between
from collectors.model import Basis, Changes, Collector, Delta, Missing, NotComparable, ObstacleKind, Row, Rows, Snapshot
from collectors.registry import collectors
from service.config.settings import HistorySettings
from service.state.window import YEARS
from service.store.figures import FigureColumns, Items, Values, once, read
from service.store.record import COUNTED, LEVELS, SampleItem, counters_of, key_of, obstacle_kind, unpack
from service.store.rows import LostFrame, NameTables, stored_snapshot
from service.store.tables import EPOCH, StoredBucket, StoredFrame, StoredPoll, StoredSnapshot, millis, moment
from service.store.upkeep import FIVE_MINUTES, HOUR

# The stretches of a page of history, as arrays; single ones as objects.

Times = NDArray[np.int64]
"""Milliseconds since 1970."""


class HistorySpan(NamedTuple):
    """One watched stretch: a poll (`at` is the end of its interval) or a bucket (`at` is its begin).

    `seconds` is what its figures cover, None or 0 without an interval. `missing` has views, and single counters
    as "view key column".
    """

    at: datetime
    seconds: float | None
    polls: int
    missing: frozenset[str]
    why: str | None = None

    def lacks(self, view: str, key: str, column: str) -> bool:
        """Whether the figure is unknown here."""
        return view in self.missing or f"{view} {key} {column}" in self.missing


@dataclass(frozen=True, eq=False)
class HistorySpans(Sequence[HistorySpan]):
    """Spans in order of time: an array for each member, and a span object on request."""

    times: Times
    intervals: Values
    """What the figures cover in seconds; NaN where a poll has no interval."""
    polls: NDArray[np.int64]
    texts: Sequence[str]
    """What is unknown, as stored, for each span."""
    reasons: Sequence[str | None] = ()
    """Why a poll has no interval, for each; empty for buckets."""

    @classmethod
    def of(cls, rows: Sequence[Sequence[Any]]) -> "HistorySpans":
        """Rows of time in milliseconds, seconds, polls, what is missing, and of polls why."""
        times, seconds, polls, texts, *why = zip(*rows, strict=True) if rows else ((), (), (), ())
        return cls(np.array(times, np.int64), np.array(seconds, float), np.array(polls, np.int64), texts, *why)

    def __len__(self) -> int:
        return len(self.times)

    @overload
    def __getitem__(self, place: int) -> HistorySpan: ...
    @overload
    def __getitem__(self, place: slice) -> "HistorySpans": ...
    def __getitem__(self, place: int | slice) -> "HistorySpan | HistorySpans":
        if isinstance(place, slice):
            arrays = self.times[place], self.intervals[place], self.polls[place]
            return HistorySpans(*arrays, self.texts[place], self.reasons[place])
        seconds, why = float(self.intervals[place]), self.reasons[place] if self.reasons else None
        known = None if np.isnan(seconds) else seconds
        missing = self._unknown[self.texts[place]]
        return HistorySpan(moment(int(self.times[place])), known, int(self.polls[place]), missing, why)

    @cached_property
    def at(self) -> list[datetime]:
        """The time of each."""
        return moments(self.times)

    @cached_property
    def seconds(self) -> Values:
        """What each covers. NaN without an interval."""
        return np.where(self.intervals > 0, self.intervals, np.nan)

    @cached_property
    def missing(self) -> frozenset[str]:
        """What is unknown in some of them."""
        return frozenset[str]().union(*self._unknown.values())

    @cached_property
    def _unknown(self) -> Mapping[str, frozenset[str]]:
        """What each text says."""
        return {text: missing_in(text) for text in set(self.texts)}

    def lack(self, name: str) -> NDArray[np.bool_]:
        """Where a view, or a single counter as "view key column", is unknown."""
        if name not in self.missing:
            return np.zeros(len(self), bool)
        without = {text for text, unknown in self._unknown.items() if name in unknown}
        return np.array([text in without for text in self.texts], bool)


def moments(times: Times) -> list[datetime]:
    """Milliseconds as aware times."""
    return [EPOCH + since for since in times.astype("m8[ms]").tolist()]


def missing_in(text: str) -> frozenset[str]:
    """What a poll does not know, from its stored form. The same few texts are in every poll, so they are read once.

    A long one is of a database that names something new in each poll, and no other poll has the same.
    """
    return _missing_in(text) if len(text) <= REMEMBERED else _missing_in.__wrapped__(text)


REMEMBERED = 4096
"""Characters of a text that is remembered."""


@lru_cache(1000)
def _missing_in(text: str) -> frozenset[str]:
    return frozenset(" ".join(load) for load in json.loads(text))


# Requests and results for figures: which series, over which spans, as arrays of one number per span.

Resolution = Literal["poll", "5m", "1h"]


@dataclass(frozen=True, slots=True)
class SeriesSelector:
    """Which figures: a column of a view; of the rows whose key has these members, or of every row."""

    view: str
    column: str
    match: Mapping[str, object] = field(default_factory=dict)

    def takes(self, item: SampleItem) -> bool:
        """Whether the item is one of them."""
        view, key, column, _ = item
        if (view, column) != (self.view, self.column):
            return False
        return not self.match or self.match.items() <= json.loads(key).items()


@dataclass(frozen=True, slots=True, eq=False)
class StoredSeries:
    """The stored figures of one item, one for each span of its page. If a span has none, the counter did not change.

    `totals` is the growth of a counter, or the level of a gauge; `mosts` the highest rate per second, or the highest level.
    """

    view: str
    key: Mapping[str, Any]
    column: str
    gauge: bool
    name: str
    """The key as it is stored."""
    totals: Values
    mosts: Values

    def last(self) -> float | None:
        """The newest figure that is stored."""
        known = self.totals[~np.isnan(self.totals)]
        return float(known[-1]) if len(known) else None


@dataclass(frozen=True)
class HistoryPage:
    """Series over a stretch of time. `cursor` asks for the rest, None if that is all."""

    resolution: Resolution
    begin: datetime
    end: datetime
    spans: HistorySpans
    series: tuple[StoredSeries, ...]
    cursor: str | None = None

    @cached_property
    def _nothing(self) -> Values:
        return np.full(len(self.spans), np.nan)

    @cached_property
    def _covered(self) -> dict[str, Values]:
        return {}

    def covered(self, view: str, name: str, column: str) -> Values:
        """The seconds of each span over which this counter is known. NaN if it is unknown."""
        if view not in self._covered:
            self._covered[view] = self._without(self.spans.seconds, view)
        return self._without(self._covered[view], f"{view} {name} {column}")

    def _without(self, seconds: Values, missing: str) -> Values:
        return np.where(self.spans.lack(missing), np.nan, seconds) if missing in self.spans.missing else seconds

    def rates(self, series: StoredSeries) -> Values:
        """A counter per second over each span. 0 if it did not change, NaN if it is unknown."""
        covered = self.covered(series.view, series.name, series.column)
        return np.where(np.isnan(series.totals), 0.0, series.totals) / covered

    def still(self, view: str, name: str, column: str, gauge: bool = False) -> StoredSeries:
        """A series without stored figures: the counter did not change, or the level stayed."""
        return StoredSeries(view, json.loads(name), column, gauge, name, self._nothing, self._nothing)


@dataclass(frozen=True, slots=True)
class Poll:
    """One poll as it was kept."""

    at: datetime
    seconds: float | None
    severity: str
    share: float | None
    waiting: float | None
    missing: frozenset[str]
    startup_time: str | None
    why: str | None
    kind: ObstacleKind | None
    """Of `why`."""


@dataclass(frozen=True, slots=True)
class Break:
    """A poll that had no interval, and why."""

    at: datetime
    why: str
    kind: ObstacleKind


def chosen(selectors: Sequence[SeriesSelector], items: Mapping[int, SampleItem]) -> dict[int, SampleItem]:
    """The items that a selector matches, by number."""
    by_column: dict[tuple[str, str], list[SeriesSelector]] = {}
    for selector in selectors:
        by_column.setdefault((selector.view, selector.column), []).append(selector)
    return {
        number: item
        for number, item in items.items()
        if any(selector.takes(item) for selector in by_column.get((item[0], item[2]), ()))
    }


WIDTHS: Mapping[str, int] = {"5m": FIVE_MINUTES, "1h": HOUR}
FINEST_FOR: Sequence[tuple[timedelta, Resolution]] = ((timedelta(hours=2), "poll"), (timedelta(days=3), "5m"))
"""The longest time with an automatic resolution. Beyond it, hours."""
FINER: Mapping[Resolution, Resolution] = {"1h": "5m", "5m": "poll"}
LEVELS_FOR = timedelta(hours=1)
"""A gauge is kept when it changes, and at least this often."""


class BadCursor(ValueError):
    """A cursor that this store did not give."""


class History:
    """Reads the figures of one store."""

    def __init__(self, engine: Engine, names: NameTables, kept_for: HistorySettings) -> None:
        self._engine = engine
        self._names = names
        self._kept_for = kept_for

    def points(
        self,
        database: str,
        selectors: Sequence[SeriesSelector],
        begin: datetime,
        end: datetime,
        resolution: Literal["auto", "poll", "5m", "1h"] = "auto",
        cursor: str | None = None,
        limit: int = 20_000,
    ) -> HistoryPage:
        """Series of a database from `begin` up to and without `end`; at most `limit` spans at once.

        Raises BadCursor. A database without any stored poll gives no spans.
        """
        tier = self.resolution(begin, end) if resolution == "auto" else resolution
        begin = after(cursor) if cursor else begin
        number = self._names.database(database)
        if number is None:
            return HistoryPage(tier, begin, end, HistorySpans.of(()), ())
        with self._engine.connect() as connection:
            spans = _spans(connection, tier, number, begin, end, limit + 1)
            more = spans[limit].at if len(spans) > limit else None
            spans = spans[:limit]
            wanted = _Choice(self._names, selectors)
            columns = {(selector.view, selector.column) for selector in selectors}
            figures = read(connection, tier, number, millis(begin), millis(more or end), columns, wanted)
        wanted(np.unique(figures.items))
        series = tuple(_series(wanted.items, figures, spans.times))
        return HistoryPage(tier, begin, more or end, spans, series, more.isoformat() if more else None)

    def polls(self, database: str, begin: datetime, end: datetime, limit: int = 20_000) -> tuple[Poll, ...]:
        """Polls of a database, oldest first."""
        number = self._names.database(database)
        table = StoredPoll
        query = select(table).where(table.database_id == number, table.at >= begin, table.at < end).order_by(table.at)
        with self._engine.connect() as connection:
            rows = connection.execute(query.limit(limit)).all() if number is not None else []
        spans = [
            (
                r.at,
                r.seconds,
                r.severity,
                r.share,
                r.waiting,
                missing_in(r.missing),
                r.startup_time,
                r.why,
                obstacle_kind(r.kind, r.why),
            )
            for r in rows
        ]
        return tuple(Poll(*each) for each in spans)

    def breaks(self, database: str, begin: datetime, end: datetime, limit: int = 200) -> tuple[Break, ...]:
        """Polls without an interval, as after a restart; oldest first, as long as polls are kept."""
        number = self._names.database(database)
        table = StoredPoll
        query = select(table.at, table.why, table.kind).where(
            table.database_id == number, table.at >= begin, table.at < end
        )
        query = query.where(table.seconds.is_(None), table.why.is_not(None)).order_by(table.at).limit(limit)
        with self._engine.connect() as connection:
            rows = connection.execute(query).all() if number is not None else []
        return tuple(Break(at, why or "", obstacle_kind(kind, why) or "not_comparable") for at, why, kind in rows)

    def row(
        self, database: str, tier: Resolution, at: datetime | None = None
    ) -> tuple[datetime | None, list[tuple[SampleItem, float, float]]]:
        """The figures of the newest stored poll or bucket, not later than `at`: its time, and item, total, most."""
        number = self._names.database(database)
        if number is None:
            return None, []
        end = (at or datetime.now(UTC) + timedelta(days=1)) + timedelta(milliseconds=1)
        width = WIDTHS.get(tier, 0)
        table: type[StoredPoll] | type[StoredBucket] = StoredBucket if width else StoredPoll
        newest = select(table.at).where(table.database_id == number, table.at < end).order_by(table.at.desc()).limit(1)
        with self._engine.connect() as connection:
            found = connection.scalar(newest.where(StoredBucket.width == width) if width else newest)
            if found is None:
                return None, []
            figures = once(read(connection, tier, number, millis(found), millis(found) + 1))
        items = self._names.named(figures.items.tolist())
        rows = zip(figures.items.tolist(), figures.totals.tolist(), figures.mosts.tolist(), strict=True)
        return found, sorted((items[item], total, most) for item, total, most in rows if item in items)

    def levels_before(
        self, database: str, selectors: Sequence[SeriesSelector], begin: datetime, resolution: Resolution
    ) -> dict[tuple[str, str, str], float]:
        """The gauges in force at `begin`, by view, key and column. From a finer resolution if this one has none yet."""
        before = self.points(database, selectors, begin - LEVELS_FOR, begin, resolution)
        levels = {
            (series.view, series.name, series.column): level
            for series in before.series
            if series.gauge and (level := series.last()) is not None
        }
        if levels or resolution not in FINER:
            return levels
        return self.levels_before(database, selectors, begin, FINER[resolution])

    def resolution(self, begin: datetime, end: datetime, now: datetime | None = None) -> Resolution:
        """The resolution for a stretch: fine for a short one, and never finer than what is still kept at its begin."""
        age = ((now or datetime.now(UTC)) - begin).total_seconds()
        kept = {"poll": self._kept_for.polls, "5m": self._kept_for.five_minutes}
        for longest, resolution in FINEST_FOR:
            if end - begin <= longest and age <= kept[resolution]:
                return resolution
        return "1h"


def after(cursor: str, time: str | None = None) -> datetime:
    """The time of a cursor: all of it, or this part. Raises BadCursor."""
    try:
        at = datetime.fromisoformat(cursor if time is None else time)
    except ValueError:
        at = None
    if at is None or at.tzinfo is None or not YEARS[0] <= at.year < YEARS[1]:
        raise BadCursor(f"{cursor!r} is not a cursor; use the one from the last answer")
    return at


def _spans(
    connection: Connection, resolution: str, database: int, begin: datetime, end: datetime, limit: int
) -> HistorySpans:
    query: Select[*tuple[Any, ...]]
    if resolution == "poll":
        poll = StoredPoll
        at = poll.at
        query = select(type_coerce(at, BigInteger), poll.seconds, literal(1), poll.missing, poll.why)
        query = query.where(poll.database_id == database)
    else:
        bucket = StoredBucket
        at = bucket.at
        query = select(type_coerce(at, BigInteger), bucket.seconds, bucket.polls, bucket.missing)
        query = query.where(bucket.width == WIDTHS[resolution], bucket.database_id == database)
    return HistorySpans.of(connection.execute(query.where(at >= begin, at < end).order_by(at).limit(limit)).all())


class _Choice:
    """The requested items. Each is looked up once, whatever number of rows it is in."""

    def __init__(self, names: NameTables, selectors: Sequence[SeriesSelector]) -> None:
        self._names = names
        self._selectors = selectors
        self._verdicts = np.zeros(0, np.int8)
        self._last: tuple[Items, NDArray[np.bool_]] | None = None
        self.items: dict[int, SampleItem] = {}

    def __call__(self, items: Items) -> NDArray[np.bool_]:
        if self._last is None or self._last[0] is not items:
            self._last = items, self._of(items)
        return self._last[1]

    def _of(self, items: Items) -> NDArray[np.bool_]:
        highest = int(items[-1]) if len(items) else 0
        if highest >= len(self._verdicts):
            self._verdicts = np.pad(self._verdicts, (0, highest + 1 - len(self._verdicts)))
        new = items[self._verdicts[items] == 0]
        if len(new):
            taken = chosen(self._selectors, self._names.named(new.tolist()))
            self.items |= taken
            self._verdicts[new] = _NO
            self._verdicts[list(taken)] = _YES
        verdicts: NDArray[np.bool_] = self._verdicts[items] == _YES
        return verdicts


_NO, _YES = 1, 2


def _series(items: Mapping[int, SampleItem], figures: FigureColumns, times: Times) -> Iterator[StoredSeries]:
    """A series for each item, its figures laid out by span; those of no span are of a poll that is gone."""
    numbers = np.array(sorted(items), np.int64)
    totals, mosts = figures.matrix(numbers, times)
    for place, number in enumerate(numbers.tolist()):
        view, key, name, gauge = items[number]
        yield StoredSeries(view, json.loads(key), name, gauge, key, totals[place], mosts[place])


# delta_over(): the change of a database between two times, rebuilt from the store, with a note on its source.

SLACK = 0.1
"""Stored snapshots may fall short of the requested interval by this share and still be used for it."""
EVERY = 1_000_000
FROM: Mapping[str, str] = {
    "poll": "computed from the polls between",
    "5m": "computed from roll-ups of five minutes; begin and end are rounded to them",
    "1h": "computed from roll-ups of an hour; begin and end are rounded to them",
}


class IntervalDeltas:
    """Makes Deltas from the figures of one store."""

    def __init__(self, engine: Engine, names: NameTables, history: History) -> None:
        self._engine = engine
        self._names = names
        self._history = history

    def delta_over(self, database: str, begin: datetime, end: datetime) -> Delta | NotComparable:
        """The change between two times: from the snapshots at both ends if they are kept, else the sum of figures.

        Its notes give its source, the time that nobody watched, and restarts of the instance.
        """
        if end <= begin:
            return NotComparable(database, None, "the end is not after the begin", "give the earlier time first")
        if (whole := self.between_snapshots(database, begin, end)) is not None:
            return replace(whole, notes=(*whole.notes, "the difference of the snapshots at both ends"))
        for resolution in self._resolutions(begin, end):
            points = self._history.points(database, EVERYTHING, begin, end, resolution, limit=EVERY)
            if any(span.seconds for span in points.spans):
                frame = self._frame(database, end)
                return summed(database, frame, points, begin, end)
        why = f"nothing of {database} is kept between {begin:%Y-%m-%d %H:%M} and {end:%Y-%m-%d %H:%M} UTC"
        return NotComparable(database, None, why, "choose a time at which latchscope watched it")

    def between_snapshots(
        self, database: str, begin: datetime, end: datetime, covered: float = 1 - SLACK
    ) -> Delta | None:
        """The change between the first and the last snapshot of an interval, if they are that part of it apart.

        None if they are not kept or cannot be compared.
        """
        ends = self._ends(database, begin, end, covered)
        whole = between(*ends) if ends else None
        return None if isinstance(whole, NotComparable) else whole

    def _resolutions(self, begin: datetime, end: datetime) -> list[Resolution]:
        """The best fit first, then the coarser, then the finer, in case those have nothing yet."""
        finest: list[Resolution] = ["poll", "5m", "1h"]
        fits = finest.index(self._history.resolution(begin, end))
        return [*finest[fits:], *reversed(finest[:fits])]

    def _ends(self, database: str, begin: datetime, end: datetime, covered: float) -> tuple[Snapshot, Snapshot] | None:
        """The first and the last stored snapshot within the interval, if they cover this part of it."""
        table = StoredSnapshot
        inside = select(table.taken_at, table.body).where(
            table.database == database, table.taken_at >= begin, table.taken_at <= end
        )
        with self._engine.connect() as connection:
            first = connection.execute(inside.order_by(table.taken_at).limit(1)).first()
            last = connection.execute(inside.order_by(table.taken_at.desc()).limit(1)).first()
            if first is None or last is None or first.taken_at == last.taken_at:
                return None
            if last.taken_at - first.taken_at < covered * (end - begin):
                return None
            with suppress(LostFrame):
                begun, ended = (stored_snapshot(connection, database, row.taken_at, row.body) for row in (first, last))
                return begun, ended
        return None

    def _frame(self, database: str, end: datetime) -> Snapshot | None:
        """A snapshot that names the rows: the last one before the end, else the first of a nearby day."""
        table, day = StoredSnapshot, StoredFrame
        newest = select(table.taken_at, table.body).where(table.database == database, table.taken_at <= end)
        of_day = select(day.body).where(day.database == database)
        before = of_day.where(day.day <= end.date().isoformat()).order_by(day.day.desc())
        with self._engine.connect() as connection:
            last = connection.execute(newest.order_by(table.taken_at.desc()).limit(1)).first()
            if last is not None:
                with suppress(LostFrame):
                    return stored_snapshot(connection, database, last.taken_at, last.body)
            for query in (before, of_day.order_by(day.day)):
                if (body := connection.scalar(query.limit(1))) is not None:
                    return unpack(body, database)
        return None


EVERYTHING = tuple(
    SeriesSelector(view, column)
    for view in COUNTED
    for column in (*counters_of(collectors()[view]), *LEVELS.get(view, ()))
)


def summed(
    database: str, frame: Snapshot | None, points: HistoryPage, begin: datetime, end: datetime
) -> Delta | NotComparable:
    """The sum of figures over spans, in the rows of the frame."""
    if frame is None:
        return NotComparable(database, None, "no snapshot names the rows of these figures", "choose a later time")
    spans = [span for span in points.spans if span.seconds]
    first, last = _extent(points.resolution, spans)
    seconds = sum(span.seconds or 0.0 for span in spans)
    totals: dict[tuple[str, str, str], float] = {}
    levels: dict[tuple[str, str, str], float] = {}
    for series in points.series:
        name = (series.view, series.name, series.column)
        if not series.gauge:
            totals[name] = float(np.nansum(series.totals))
        elif (level := series.last()) is not None:
            levels[name] = level
    readings = {
        view: _reading(collector, frame, spans, totals, levels) if view in COUNTED else _not_followed(collector)
        for view, collector in collectors().items()
    }
    readings |= {view: Changes(view, rows) for view in ONCE if (rows := frame.rows(view))}
    basis = Basis("interval", first, last, seconds)
    notes = (FROM[points.resolution], *_notes(points, seconds, begin, end))
    return Delta(database, frame.release, basis, readings, notes=notes)


ONCE = ("v$instance", "v$latchname", "x$kqrst")
"""Views that describe the rows, taken from the frame unchanged."""


def _reading(
    collector: Collector,
    frame: Snapshot,
    spans: Sequence[HistorySpan],
    totals: Mapping[tuple[str, str, str], float],
    levels: Mapping[tuple[str, str, str], float],
) -> Changes | Missing:
    view = collector.view
    without = sum(view in span.missing for span in spans)
    if without:
        why = f"{view} was missing in {without} of {len(spans)} polls or roll-ups of this time"
        return Missing(view, "unread", why, "choose a time at which it could be read")
    reading = frame.read(view)
    if not isinstance(reading, Rows):
        return reading
    lost = frozenset().union(*(span.missing for span in spans)) if spans else frozenset()
    rows = {key_of(collector, row): row for row in reading.rows}
    for known_view, key, _ in totals:
        if known_view == view and key not in rows:
            rows[key] = json.loads(key)
    return Changes(view, tuple(_row(collector, key, row, totals, levels, lost) for key, row in rows.items()))


def _row(
    collector: Collector,
    key: str,
    row: Row,
    totals: Mapping[tuple[str, str, str], float],
    levels: Mapping[tuple[str, str, str], float],
    lost: Iterable[str],
) -> Row:
    """A row of the frame with the change of each counter. A counter that was unknown at any time is left out."""
    kept = dict(row)
    for column in counters_of(collector):
        name = (collector.view, key, column)
        if f"{collector.view} {key} {column}" in lost or (row.get(column) is None and name not in totals):
            kept.pop(column, None)
        else:
            kept[column] = totals.get(name, 0.0)
    for column in LEVELS.get(collector.view, ()):
        if (collector.view, key, column) in levels:
            kept[column] = levels[collector.view, key, column]
    return kept


def _not_followed(collector: Collector) -> Missing:
    why = f"the history keeps no figures of {collector.view}"
    return Missing(collector.view, "unread", why, "choose a time whose snapshots are still kept")


def _extent(resolution: str, spans: Sequence[HistorySpan]) -> tuple[datetime, datetime]:
    """From when to when the spans reach."""
    if resolution == "poll":
        return spans[0].at - timedelta(seconds=spans[0].seconds or 0.0), spans[-1].at
    return spans[0].at, spans[-1].at + timedelta(seconds=WIDTHS[resolution])


def _notes(points: HistoryPage, seconds: float, begin: datetime, end: datetime) -> Iterable[str]:
    asked = (end - begin).total_seconds()
    if seconds < 0.95 * asked:
        yield f"{seconds:,.0f} of {asked:,.0f} s were watched; the rest is not in these figures"
    broken = [span for span in points.spans if not span.seconds and span.why]
    yield from (f"{span.at:%Y-%m-%d %H:%M:%S} UTC: {span.why}" for span in broken)
