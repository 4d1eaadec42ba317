"""Whole snapshots: packed with the first of their day, the change between any two, and details such as children over time."""

import json
import logging
import zlib
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache, cached_property, lru_cache, partial
from itertools import chain, compress, pairwise, repeat
from operator import add, sub
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic_core import to_json
from sqlalchemy import Connection, Engine, select

from collectors.capture import ABSENT, dump_snapshot, load_snapshot
from collectors.delta import between, together
from collectors.errors import InputError
from collectors.model import ColumnKind, Delta, NotComparable, Snapshot, number
from collectors.registry import collectors
from service.store.polls import Times, Values
from service.store.record import Document
from service.store.rows import BulkRows, batched, insert_new
from service.store.tables import FRAMES, SNAPSHOTS, millis

log = logging.getLogger("latchscope.store")

# A snapshot is packed with the first of its day, its frame. What is as there is left out: a view, or the reasons why views are
# missing. Of a view with as many rows, `cells` in place of `columns` and `rows` are what each number grew by, and in a list what
# is no whole number. The frame's JSON is the dictionary of the zlib stream as well, because it has nearly all of the rest.
#
# A body of this form starts with a special byte, then the checksum of the dictionary. 0.2.0 wrote it too, with every view whole.
# Any other body is a snapshot without a frame.

WITH_FRAME = b"\x01"
"""No zlib stream starts with it."""
HEAD = 5
"""Bytes before the stream: the one above, and the checksum of the dictionary."""
REACH_BYTES = 32_768
"""zlib looks back this far, so more of a frame is useless."""
OPEN_FRAMES = 128
"""Frames that are kept ready, some 60 kB each. Another one takes a tenth of a millisecond."""
LEVEL = 3
Day = tuple[str, str]
"""Database and UTC date."""


class LostFrame(ValueError):
    """A snapshot whose frame is missing, or is not the one it was packed with, or that holds what no view gives."""


def day_of(database: str, at: datetime) -> Day:
    """The day whose frame a snapshot is packed with."""
    return database, at.astimezone(UTC).date().isoformat()


class Frames:
    """The current day's frame of each database, from the store."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[Day, bytes]] = {}
        self._new: dict[str, tuple[Day, bytes]] = {}
        """Those of the current transaction."""

    def rows(self, connection: Connection, snapshots: Iterable[tuple[str, datetime, Document]]) -> BulkRows:
        """The rows of these snapshots. The first of a day becomes its frame, within the current transaction."""
        self._new, rows = {}, []
        for database, at, document in snapshots:
            day = day_of(database, at)
            known, frame = self._new.get(database) or self._kept.get(database) or (None, None)
            if known != day:
                body = zlib.compress(to_json(document))
                insert_new(connection, FRAMES, [{"database": database, "day": day[1], "body": body}])
                frame = frame_of(connection, day)
                self._new[database] = day, frame or body
            rows.append({"database": database, "taken_at": at, "body": packed(document, frame or body)})
        return rows

    def remember(self) -> None:
        """After the commit."""
        self._kept |= self._new

    def forget(self) -> None:
        """Forget everything: an import may have brought others."""
        self._kept.clear()


def frame_of(connection: Connection, day: Day) -> bytes | None:
    """The frame of a day, or None."""
    of = (FRAMES.c.database == day[0], FRAMES.c.day == day[1])
    body: bytes | None = connection.scalar(select(FRAMES.c.body).where(*of))
    return body


class _View:
    """A view of a frame, with its whole numbers apart from its other cells."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.columns, self.rows = content["columns"], [tuple(row) for row in content["rows"]]
        cells = [*chain.from_iterable(self.rows)]
        self._counted = [type(cell) is int for cell in cells]
        self._rest = [not counted for counted in self._counted]
        self._counts, self._others = [*compress(cells, self._counted)], [*compress(cells, self._rest)]

    def less(self, content: Mapping[str, Any]) -> Mapping[str, Any]:
        """A view without what this one has of it."""
        rows = content["rows"]
        if len(rows) != len(self.rows) or [*content["columns"]] != self.columns:
            return content
        told = {name: member for name, member in content.items() if name not in ("columns", "rows")}
        if rows == self.rows:
            return told
        cells = [*chain.from_iterable(rows)]
        counts, others = [*compress(cells, self._counted)], [*compress(cells, self._rest)]
        if not {*map(type, counts)} <= {int}:
            return content
        told["grown"] = [*map(sub, counts, self._counts)]
        return told if others == self._others else told | {"others": others}

    def more(self, less: Mapping[str, Any]) -> Mapping[str, Any]:
        """The view that was made less."""
        if "rows" in less:
            return less
        told = dict(less)
        counts = map(add, self._counts, told.pop("grown", repeat(0)))
        others = iter(told.pop("others", self._others))
        cells = [next(counts) if counted else next(others) for counted in self._counted]
        wide = len(self.columns)
        return {"columns": self.columns, "rows": [cells[n * wide :][:wide] for n in range(len(self.rows))], **told}


@lru_cache(OPEN_FRAMES)
def _opened(frame: bytes) -> tuple[Mapping[str, _View], object, bytes, bytes]:
    """Of a frame its views, why others are missing, the dictionary of streams, and the head of what is packed with it."""
    plain = zlib.decompress(frame)
    first, dictionary = json.loads(plain), plain[-REACH_BYTES:]
    views = {name: _View(content) for name, content in first["views"].items()}
    return views, first.get("missing"), dictionary, WITH_FRAME + zlib.crc32(dictionary).to_bytes(HEAD - 1, "big")


def head_of(frame: bytes | None) -> bytes | None:
    """How each body starts that is packed with a frame. None without one."""
    return None if frame is None else _opened(frame)[-1]


def packed(document: Document, frame: bytes) -> bytes:
    """A snapshot as it is stored."""
    first, missing, dictionary, head = _opened(frame)
    views = {
        name: first[name].less(content) if name in first else content for name, content in document["views"].items()
    }
    less = {**document, "views": views}
    if less.get("missing") == missing:
        less.pop("missing", None)
    squeezer = zlib.compressobj(LEVEL, zdict=dictionary)
    return head + squeezer.compress(to_json(less)) + squeezer.flush()


def unpacked(body: bytes, frame: bytes | None, views: Collection[str] | None = None) -> Document:
    """A stored snapshot, or only some of its views. Raises LostFrame, ValueError or zlib.error."""
    if body[:1] != WITH_FRAME:
        found: Document = json.loads(zlib.decompress(body))
        return found
    if frame is None:
        raise LostFrame("the first snapshot of its day is missing")
    first, missing, dictionary, head = _opened(frame)
    if head != body[:HEAD]:
        raise LostFrame("the first snapshot of its day is another than the one it was packed with")
    less = json.loads(zlib.decompressobj(zdict=dictionary).decompress(body[HEAD:]))
    asked = [name for name in less["views"] if views is None or name in views]
    whole = {name: first[name].more(less["views"][name]) if name in first else less["views"][name] for name in asked}
    return {**less, "views": whole, "missing": less.get("missing", missing or {})}


# The change of a database between two times: the difference of the nearest snapshots, across a restart by parts.

REACH = timedelta(minutes=65)
"""Old snapshots are an hour apart, so the nearest may be so far outside."""
AT_ONCE = 500
"""Snapshots per query."""
MOST_POINTS, ALL_WITHIN = 300, timedelta(hours=2)
"""Snapshots that are read for a curve, of a longer time than this."""
Detail = tuple[str, str]
"""View and column."""
BOTH_ENDS = "the difference of the snapshots at both ends"


class Snapshots:
    """Reads the snapshots of one store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def times(self, database: str, begin: datetime, end: datetime) -> list[datetime]:
        """When there are snapshots, both ends included."""
        at = SNAPSHOTS.c.taken_at
        query = select(at).where(SNAPSHOTS.c.database == database, at.between(begin, end)).order_by(at)
        with self._engine.connect() as connection:
            return list(connection.scalars(query))

    def nearest(self, database: str, at: datetime, earlier: int = 0) -> list[datetime]:
        """The time of the snapshot that is nearest to a moment, after those of so many before it."""
        times = self.times(database, at - REACH, at + REACH)
        place = _nearest(times, at) if times else 0
        return times[max(place - earlier, 0) : place + 1]

    def latest(self, database: str, n: int = 2) -> tuple[Snapshot, ...]:
        """The newest of a database, newest first, without any whose frame is lost."""
        query = select(SNAPSHOTS.c.taken_at).where(SNAPSHOTS.c.database == database)
        with self._engine.connect() as connection:
            times = connection.scalars(query.order_by(SNAPSHOTS.c.taken_at.desc()).limit(n)).all()
        return tuple(found for at in times if (found := self.at(database, at)) is not None)

    def at(self, database: str, at: datetime) -> Snapshot | None:
        """The snapshot of this time. None if there is none that can be read."""
        for _, document in self._read(database, [at]):
            try:
                return load_snapshot(document, database, f"store, {database}")
            except InputError as error:  # an older release kept whatever a database answered
                log.warning("store: a snapshot of %s cannot be read: %s", database, error)
        return None

    def delta_over(
        self,
        database: str,
        begin: datetime,
        end: datetime,
        not_before: datetime | None = None,
        not_after: datetime | None = None,
    ) -> Delta | NotComparable:
        """The change between the snapshots that are nearest to two times, and not beyond two others.

        Its notes give their times where they are others, and restarts of the instance, whose sides are summed.
        """
        if end <= begin:
            return NotComparable(database, None, "the end is not after the begin", "give the earlier time first")
        times = self.times(database, not_before or begin - REACH, not_after or end + REACH)
        why = f"nothing of {database} is kept between {begin:%Y-%m-%d %H:%M} and {end:%Y-%m-%d %H:%M} UTC"
        nothing = NotComparable(database, None, why, "choose a time at which latchscope watched it")
        load = cache(partial(self.at, database))
        while (pair := _ends(times, begin, end)) is not None:
            inside = times[pair[0] : pair[1] + 1]
            lost = [at for at in (inside[0], inside[-1]) if load(at) is None]
            if not lost:
                return _whole(load, inside, begin, end)
            times = [at for at in times if at not in lost]
        return nothing

    def details(
        self,
        database: str,
        wanted: Iterable[Detail],
        begin: datetime,
        end: datetime,
        newest: Snapshot | None = None,
        most: int | None = MOST_POINTS,
    ) -> "Details":
        """Columns of views from the snapshot before `begin` to the one after `end`. `newest`: a poll that may not be stored."""
        if most == MOST_POINTS and end - begin <= ALL_WITHIN:
            most = None
        views: dict[str, list[str]] = {}
        for view, column in dict.fromkeys(wanted):
            views.setdefault(view, []).append(column)
        rows = [_Rows(view, columns) for view, columns in views.items()]
        times = _spread(self.times(database, begin - REACH, end + REACH), begin, end, most) if rows else []
        read = list(self._read(database, times, {*views, LIFE}))
        if newest and newest.taken_at and rows:
            last, at = dump_snapshot(newest), newest.taken_at
            if begin < at <= end + REACH and (not read or at > read[-1][0]):
                read.append((at, last))
            for each in rows:  # a row that is not met in this time has its name
                if (content := last["views"].get(each.view)) is not None:
                    each.name(content)
        for _, document in read:
            for each in rows:
                each.add(document["views"].get(each.view))
        times_read = np.array([millis(at) for at, _ in read], np.int64)
        return Details.of(times_read, [_life(document) for _, document in read], rows)

    def _read(
        self, database: str, times: Sequence[datetime], views: Collection[str] | None = None
    ) -> Iterator[tuple[datetime, Document]]:
        """The snapshots of these times, or some views of them. One that cannot be read is left out."""
        frames, lost, why = dict[Day, bytes | None](), 0, ""
        query = select(SNAPSHOTS.c.taken_at, SNAPSHOTS.c.body).where(SNAPSHOTS.c.database == database)
        with self._engine.connect() as connection:
            for some in batched(times, AT_ONCE):
                wanted = query.where(SNAPSHOTS.c.taken_at.in_(some)).order_by(SNAPSHOTS.c.taken_at)
                for at, body in connection.execute(wanted).all():
                    day = day_of(database, at)
                    if body[:1] == WITH_FRAME and day not in frames:
                        frames[day] = frame_of(connection, day)
                    try:
                        yield at, unpacked(body, frames.get(day), views)
                    except (ValueError, zlib.error) as error:
                        lost, why = lost + 1, str(error)
        if lost:
            log.warning("store: %d snapshots of %s cannot be read: %s", lost, database, why)


def _whole(
    load: Callable[[datetime], Snapshot | None], times: Sequence[datetime], begin: datetime, end: datetime
) -> Delta | NotComparable:
    """The change from the first of these times to the last, with its notes."""
    parts = list(_parts(load, times))
    deltas = [part for part in parts if isinstance(part, Delta)]
    broken = [part for part in parts if isinstance(part, NotComparable)]
    if not deltas:
        return broken[0]
    notes = [BOTH_ENDS]
    if abs(times[0] - begin) + abs(times[-1] - end) > (end - begin) / 20:
        notes.append(f"the nearest that are kept: {times[0]:%Y-%m-%d %H:%M:%S} and {times[-1]:%Y-%m-%d %H:%M:%S} UTC")
    notes += [f"{part.why}; what was counted before and after is summed" for part in broken]
    whole = together(deltas)
    return replace(whole, notes=(*whole.notes, *notes))


def _nearest(times: Sequence[datetime], at: datetime) -> int:
    """The place of the time that is nearest; of two, the earlier."""
    place = bisect_left(times, at)
    around = [each for each in (place - 1, place) if 0 <= each < len(times)]
    return min(around, key=lambda each: abs(times[each] - at))


def _ends(times: Sequence[datetime], begin: datetime, end: datetime) -> tuple[int, int] | None:
    """The places of the two times for a stretch: the nearest to its ends, else those around its middle. None if none overlap."""
    if len(times) < 2:
        return None
    first, last = _nearest(times, begin), _nearest(times, end)
    if first == last:
        first, last = (first - 1, last) if times[first] > begin + (end - begin) / 2 else (first, last + 1)
        if first < 0 or last == len(times):
            return None
    return (first, last) if times[first] < end and times[last] > begin else None


def _parts(load: Callable[[datetime], Snapshot | None], times: Sequence[datetime]) -> Iterator[Delta | NotComparable]:
    """The change from the first of these times to the last; across restarts that of each life, and what stands between."""
    earlier, later = load(times[0]), load(times[-1])
    if earlier is None or later is None:
        return
    whole = between(earlier, later)
    if isinstance(whole, Delta) or whole.kind != "restart" or len(times) == 2:
        yield whole
        return
    # Nothing says where the restarts are when polls are gone, so the half with each is looked for.
    middle = len(times) // 2
    yield from _parts(load, times[: middle + 1])
    yield from _parts(load, times[middle:])


# Details over time: child latches, caches, places and events, from as many snapshots as a drawing needs.

_PASSING = ("addr",)
"""Text that changes with a restart and names nothing."""


@lru_cache(64)
def _naming(view: str) -> tuple[str, ...]:
    columns = collectors()[view].columns
    return tuple(c.name for c in columns if c.kind in (ColumnKind.KEY, ColumnKind.TEXT) and c.name not in _PASSING)


class _Rows:
    """The rows of a view in one snapshot after the other: what names each, and cells of some columns."""

    def __init__(self, view: str, columns: Sequence[str]) -> None:
        self.view, self.columns = view, columns
        self.places: dict[tuple[Any, ...], int] = {}
        self._last: tuple[list[tuple[Any, ...]], NDArray[np.intp]] = [], np.zeros(0, np.intp)
        self.read: list[tuple[NDArray[np.intp], Values] | None] = []
        """Of each snapshot the places of its rows, and their cells; None where it could not read the view."""

    def add(self, content: Mapping[str, Any] | None) -> None:
        """One more snapshot; None if it could not read the view."""
        if content is None:
            self.read.append(None)
            return
        rows, listed = content["rows"], self.name(content)
        cells = [[row[listed[name]] if name in listed else None for name in self.columns] for row in rows]
        try:
            values = np.array(cells, float).reshape(len(rows), len(self.columns))
        except TypeError:
            known = [[number(None if cell == ABSENT else cell) for cell in row] for row in cells]
            values = np.array(known, float).reshape(len(rows), len(self.columns))
        self.read.append((self._last[1], values))

    def name(self, content: Mapping[str, Any]) -> Mapping[str, int]:
        """Learn what its rows are called. Returns the places of its columns."""
        listed = {name: place for place, name in enumerate(content["columns"])}
        naming = _naming(self.view)
        names = [tuple([row[listed[name]] if name in listed else None for name in naming]) for row in content["rows"]]
        if names != self._last[0]:  # nearly every snapshot has the rows of the one before
            places = [self.places.setdefault(name, len(self.places)) for name in names]
            self._last = names, np.array(places, np.intp)
        return listed

    def matrix(self) -> Values:
        """Column, row and snapshot. NaN is unknown."""
        whole = np.full((len(self.columns), len(self.places), len(self.read)), np.nan)
        absent = 0.0 if collectors()[self.view].starts_at_zero else np.nan
        for place, found in enumerate(self.read):
            if found is not None:
                whole[:, :, place] = absent
                whole[:, found[0], place] = found[1].T
        return whole


@dataclass(frozen=True, slots=True, eq=False)
class DetailSeries:
    """A column of one row over time. `totals`: the counter or level in each snapshot, NaN if unknown."""

    view: str
    column: str
    key: Mapping[str, Any]
    totals: Values


@dataclass(frozen=True, eq=False)
class Details:
    """Some columns of some views over time.

    `same`: which intervals between two snapshots are within one life of the instance; `read`: of each view those at whose both
    ends it was read.
    """

    times: Times
    same: NDArray[np.bool_]
    read: Mapping[str, NDArray[np.bool_]]
    series: Mapping[Detail, Sequence[DetailSeries]]

    @classmethod
    def of(cls, times: Times, lives: Sequence[object], rows: Sequence[_Rows]) -> "Details":
        """From the rows of each view in the snapshots of these times, in these lives."""
        series: dict[Detail, list[DetailSeries]] = {}
        for view in rows:
            matrix, naming = view.matrix(), _naming(view.view)
            named = (
                {name: cell for name, cell in zip(naming, key, strict=True) if cell is not None} for key in view.places
            )
            keys = list(named)
            for column, totals in zip(view.columns, matrix, strict=True):
                of = zip(keys, totals, strict=True)
                series[view.view, column] = [DetailSeries(view.view, column, key, values) for key, values in of]
        same = np.array([one == other is not None for one, other in pairwise(lives)], bool)
        read = {view.view: np.array([None not in ends for ends in pairwise(view.read)], bool) for view in rows}
        return cls(times, same, read, series)

    @cached_property
    def seconds(self) -> Values:
        """How long each interval is."""
        return np.diff(self.times) / 1000.0

    def changes(self, series: DetailSeries) -> Values:
        """How much the counter grew in each interval. NaN where that is unknown: at a restart, a fall, a view not read."""
        grown = np.diff(series.totals)
        return np.where(self.same & (grown >= 0), grown, np.nan)

    def rates(self, series: DetailSeries, begins: Times, ends: Times) -> Values:
        """The counter per second over any stretches, of what is known of each. NaN where nothing is."""
        if len(self.times) < 2:
            return np.full(len(begins), np.nan)
        grown = self.changes(series)
        known = np.where(np.isnan(grown), 0.0, self.seconds)
        sums = [np.concatenate(([0.0], np.cumsum(each))) for each in (np.nan_to_num(grown), known)]
        more, seconds = (np.interp(ends, self.times, each) - np.interp(begins, self.times, each) for each in sums)
        return np.where(seconds > 1e-3, more / np.where(seconds > 1e-3, seconds, 1.0), np.nan)

    def levels(self, series: DetailSeries, ends: Times) -> Values:
        """The level at some moments: as of the last snapshot before each."""
        place = np.searchsorted(self.times, ends + 50, side="right") - 1
        return np.append(series.totals, np.nan)[place]  # -1, before the first, is unknown


def _spread(times: Sequence[datetime], begin: datetime, end: datetime, most: int | None) -> list[datetime]:
    """Those from the last before `begin` to the first after `end`, at most so many, spread evenly over the time."""
    first, last = max(bisect_left(times, begin + timedelta(milliseconds=1)) - 1, 0), bisect_left(times, end)
    inside = list(times[first : last + 1])
    if most is None or len(inside) <= most:
        return inside
    step = (inside[-1] - inside[0]) / (most - 1)
    places = {max(bisect_left(inside, inside[0] + n * step + timedelta(microseconds=1)) - 1, 0) for n in range(most)}
    return [inside[place] for place in sorted(places | {len(inside) - 1})]


LIFE = "v$instance"


def _life(document: Document) -> object:
    """What says whether two snapshots are of one life of one instance."""
    content = document["views"].get(LIFE)
    if not content or not content["rows"]:
        return None
    row = dict(zip(content["columns"], content["rows"][0], strict=True))
    return row.get("startup_time") and (row["startup_time"], row.get("instance_number"))
