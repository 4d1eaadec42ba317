"""Whole snapshots: packed with the first of their day, the change between any two, and details such as children over time."""

import json
import logging
import zlib
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Engine, select

from collectors.capture import ABSENT
from collectors.delta import between, together
from collectors.errors import InputError
from collectors.model import ColumnKind, Delta, NotComparable, Snapshot, number
from collectors.registry import collectors
from service.store.polls import Times, Values
from service.store.record import plain, unpack
from service.store.rows import batched, insert_new, table_of
from service.store.tables import StoredFrame, StoredSnapshot, millis

log = logging.getLogger("latchscope.store")

# Each is packed with the first of its day as dictionary, which has nearly all of its content.
#
# A body of this form starts with a special byte, then the checksum of the dictionary. Any other is a snapshot without
# a dictionary: the first of a day, one of an older release, or one of a store that lost the frame.

WITH_FRAME = b"\x01"
"""No zlib stream starts with it."""
HEAD = 5
"""Bytes before the stream: the one above, and the checksum of the dictionary."""
REACH_BYTES = 32_768
"""zlib looks back this far, so more of a frame is useless."""
OPEN_FRAMES = 512
"""Frames that a writer keeps ready, some 10 kB each: as many as one process polls on a core."""
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
        self._bodies: dict[str, tuple[str, bytes]] = {}

    def of(self, connection: Connection, bodies: Iterable[tuple[str, datetime, bytes]]) -> dict[Day, bytes]:
        """The frames of these snapshots. The first of a day becomes its frame, within the current transaction."""
        first: dict[Day, bytes] = {}
        for database, at, body in bodies:
            first.setdefault(day_of(database, at), body)
        found = {
            (database, day): known[1]
            for database, day in first
            if (known := self._bodies.get(database)) and known[0] == day
        }
        new = {key: zlib.compress(body) for key, body in first.items() if key not in found}
        rows = [{"database": database, "day": day, "body": body} for (database, day), body in new.items()]
        insert_new(connection, table_of(StoredFrame), rows)
        for key, body in new.items():
            found[key] = frame_of(connection, key) or body
        return found

    def remember(self, frames: dict[Day, bytes]) -> None:
        """After the commit: the newest day of each database."""
        for (database, day), body in sorted(frames.items()):
            self._bodies[database] = (day, body)

    def forget(self) -> None:
        """Forget everything: an import may have brought others."""
        self._bodies.clear()


def frame_of(connection: Connection, day: Day) -> bytes | None:
    """The frame of a day, or None."""
    of = (StoredFrame.database == day[0], StoredFrame.day == day[1])
    body: bytes | None = connection.scalar(select(StoredFrame.body).where(*of))
    return body


def packed(body: bytes, frame: bytes) -> bytes:
    """A snapshot, given as JSON, packed with a frame. The first of a day is its frame, and needs no other."""
    first, head = _opened(frame)
    if body == first:
        return frame
    squeezer = zlib.compressobj(zdict=first[-REACH_BYTES:])
    return head + squeezer.compress(body) + squeezer.flush()


@lru_cache(OPEN_FRAMES)
def _opened(frame: bytes) -> tuple[bytes, bytes]:
    """The plain frame, and the head of snapshots packed with it."""
    first = zlib.decompress(frame)
    return first, WITH_FRAME + zlib.crc32(first[-REACH_BYTES:]).to_bytes(HEAD - 1, "big")


def plain_body(body: bytes, frame: bytes | None) -> bytes:
    """A stored body as JSON. Raises LostFrame, or zlib.error."""
    if body[:1] != WITH_FRAME:
        return zlib.decompress(body)
    if frame is None:
        raise LostFrame("the first snapshot of its day is missing")
    first, head = _opened(frame)
    if head != body[:HEAD]:
        raise LostFrame("the first snapshot of its day is another than the one it was packed with")
    return zlib.decompressobj(zdict=first[-REACH_BYTES:]).decompress(body[HEAD:])


def stored_snapshot(connection: Connection, database: str, at: datetime, body: bytes) -> Snapshot:
    """A row of `snapshots` as it was. Raises LostFrame, ValueError or zlib.error."""
    frame = frame_of(connection, day_of(database, at)) if body[:1] == WITH_FRAME else None
    try:
        return unpack(plain_body(body, frame), database)
    except InputError as error:  # an older release kept whatever a database answered
        raise LostFrame(str(error)) from None


def head_of(frame: bytes | None) -> bytes | None:
    """How each body starts that is packed with a frame. None without one."""
    return None if frame is None else _opened(frame)[1]


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
        table = StoredSnapshot
        query = select(table.taken_at).where(table.database == database, table.taken_at.between(begin, end))
        with self._engine.connect() as connection:
            return list(connection.scalars(query.order_by(table.taken_at)))

    def nearest(self, database: str, at: datetime, earlier: int = 0) -> list[datetime]:
        """The time of the snapshot that is nearest to a moment, after those of so many before it."""
        times = self.times(database, at - REACH, at + REACH)
        place = _nearest(times, at) if times else 0
        return times[max(place - earlier, 0) : place + 1]

    def latest(self, database: str, n: int = 2) -> tuple[Snapshot, ...]:
        """The newest of a database, newest first, without any whose frame is lost."""
        table = StoredSnapshot
        query = select(table.taken_at).where(table.database == database).order_by(table.taken_at.desc()).limit(n)
        with self._engine.connect() as connection:
            times = list(connection.scalars(query))
        return tuple(found for at in times if (found := self.at(database, at)) is not None)

    def at(self, database: str, at: datetime) -> Snapshot | None:
        """The snapshot of this time. None if there is none that can be read."""
        table = StoredSnapshot
        with self._engine.connect() as connection:
            body = connection.scalar(select(table.body).where(table.database == database, table.taken_at == at))
            try:
                return None if body is None else stored_snapshot(connection, database, at, body)
            except (LostFrame, zlib.error) as error:
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
        while (pair := _ends(times, begin, end)) is not None:
            first, last = pair
            read = {at: self.at(database, at) for at in (times[first], times[last])}
            if None in read.values():  # its frame is lost
                times = [at for at in times if read.get(at, at) is not None]
                continue
            return self._whole(database, times[first : last + 1], read, begin, end)
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
        read = list(self._read(database, times))
        if newest and newest.taken_at and rows:
            last, at = plain(newest).decode(), newest.taken_at
            if begin < at <= end + REACH and (not read or at > read[-1][0]):
                read.append((at, last))
            for each in rows:  # a row that is not met in this time has its name
                if (content := _view(last, each.view)) is not None:
                    each.name(content)
        for _, snapshot in read:
            for each in rows:
                each.add(_view(snapshot, each.view))
        times_read = np.array([millis(at) for at, _ in read], np.int64)
        return Details.of(times_read, [_life(snapshot) for _, snapshot in read], rows)

    def _read(self, database: str, times: Sequence[datetime]) -> Iterator[tuple[datetime, str]]:
        """The snapshots of these times as JSON. One whose frame is lost is left out."""
        table, frames = StoredSnapshot, dict[Day, bytes | None]()
        with self._engine.connect() as connection:
            for some in batched(times, AT_ONCE):
                query = select(table.taken_at, table.body).where(table.database == database, table.taken_at.in_(some))
                for at, body in connection.execute(query.order_by(table.taken_at)).all():
                    day = day_of(database, at)
                    if body[:1] == WITH_FRAME and day not in frames:
                        frames[day] = frame_of(connection, day)
                    with suppress(ValueError, zlib.error):
                        yield at, plain_body(body, frames.get(day)).decode()

    def _whole(
        self,
        database: str,
        times: Sequence[datetime],
        read: dict[datetime, Snapshot | None],
        begin: datetime,
        end: datetime,
    ) -> Delta | NotComparable:
        def load(at: datetime) -> Snapshot | None:
            if at not in read:
                read[at] = self.at(database, at)
            return read[at]

        parts = list(_parts(load, times))
        deltas = [part for part in parts if isinstance(part, Delta)]
        broken = [part for part in parts if isinstance(part, NotComparable)]
        if not deltas:
            return broken[0]
        notes = [BOTH_ENDS]
        off = abs(times[0] - begin) + abs(times[-1] - end)
        if off > (end - begin) / 20:
            notes.append(
                f"the nearest that are kept: {times[0]:%Y-%m-%d %H:%M:%S} and {times[-1]:%Y-%m-%d %H:%M:%S} UTC"
            )
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


@dataclass(frozen=True, slots=True, eq=False)
class _Cells:
    """The rows of a view in one snapshot: the place of each, and its cells."""

    places: NDArray[np.intp]
    values: Values


class _Rows:
    """The rows of a view in one snapshot after the other: what names each, and cells of some columns."""

    def __init__(self, view: str, columns: Sequence[str]) -> None:
        self.view, self.columns = view, columns
        self.places: dict[tuple[Any, ...], int] = {}
        self._last: tuple[list[tuple[Any, ...]], NDArray[np.intp]] = [], np.zeros(0, np.intp)
        self.read: list[_Cells | None] = []

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
        self.read.append(_Cells(self._last[1], values))

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
                whole[:, found.places, place] = found.values.T
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
        return (
            np.where(place < 0, np.nan, series.totals[np.maximum(place, 0)])
            if len(self.times)
            else np.full(len(ends), np.nan)
        )


def _spread(times: Sequence[datetime], begin: datetime, end: datetime, most: int | None) -> list[datetime]:
    """Those from the last before `begin` to the first after `end`, at most so many, spread evenly over the time."""
    first, last = max(bisect_left(times, begin + timedelta(milliseconds=1)) - 1, 0), bisect_left(times, end)
    inside = list(times[first : last + 1])
    if most is None or len(inside) <= most:
        return inside
    step = (inside[-1] - inside[0]) / (most - 1)
    places = {max(bisect_left(inside, inside[0] + n * step + timedelta(microseconds=1)) - 1, 0) for n in range(most)}
    return [inside[place] for place in sorted(places | {len(inside) - 1})]


def _view(snapshot: str, view: str) -> Mapping[str, Any] | None:
    """The columns and rows of a view in a snapshot's JSON, without a look at the rest. None if it could not be read.

    No text in it can look like this key, because its quotes are escaped.
    """
    at = snapshot.find(f'"{view}":')
    if at < 0:
        return None
    content, _ = _DECODER.raw_decode(snapshot, snapshot.index("{", at))
    return content if "rows" in content else None


_DECODER = json.JSONDecoder()


def _life(snapshot: str) -> object:
    """What says whether two snapshots are of one life of one instance."""
    content = _view(snapshot, "v$instance")
    if not content or not content["rows"]:
        return None
    row = dict(zip(content["columns"], content["rows"][0], strict=True))
    return row.get("startup_time") and (row["startup_time"], row.get("instance_number"))
