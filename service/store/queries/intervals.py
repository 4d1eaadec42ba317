"""delta_over(): the change of a database between two times, rebuilt from the store, with a note on its source."""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np
from sqlalchemy import Engine, select

from collectors.delta import between
from collectors.model import Basis, Changes, Collector, Delta, Missing, NotComparable, Row, Rows, Snapshot
from collectors.registry import collectors
from service.store.ingest.names import NameTables
from service.store.ingest.record import unpack
from service.store.ingest.samples import COUNTED, LEVELS, counters_of, key_of
from service.store.ingest.snapshots import LostFrame, stored_snapshot
from service.store.queries.history import WIDTHS, History
from service.store.queries.series import HistoryPage, Resolution, SeriesSelector
from service.store.queries.spans import HistorySpan
from service.store.schema.history_tables import StoredFrame
from service.store.schema.poll_tables import StoredSnapshot

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
        ends = self._ends(database, begin, end)
        if ends is not None and not isinstance(whole := between(*ends), NotComparable):
            return replace(whole, notes=(*whole.notes, "the difference of the snapshots at both ends"))
        for resolution in self._resolutions(begin, end):
            points = self._history.points(database, EVERYTHING, begin, end, resolution, limit=EVERY)
            if any(span.seconds for span in points.spans):
                frame = self._frame(database, end)
                return summed(database, frame, points, begin, end)
        why = f"nothing of {database} is kept between {begin:%Y-%m-%d %H:%M} and {end:%Y-%m-%d %H:%M} UTC"
        return NotComparable(database, None, why, "choose a time at which latchscope watched it")

    def _resolutions(self, begin: datetime, end: datetime) -> list[Resolution]:
        """The best fit first, then the coarser, then the finer, in case those have nothing yet."""
        finest: list[Resolution] = ["poll", "5m", "1h"]
        fits = finest.index(self._history.resolution(begin, end))
        return [*finest[fits:], *reversed(finest[:fits])]

    def _ends(self, database: str, begin: datetime, end: datetime) -> tuple[Snapshot, Snapshot] | None:
        """The first and the last stored snapshot within the interval, if they cover nearly all of it."""
        table = StoredSnapshot
        inside = select(table.taken_at, table.body).where(
            table.database == database, table.taken_at >= begin, table.taken_at <= end
        )
        with self._engine.connect() as connection:
            first = connection.execute(inside.order_by(table.taken_at).limit(1)).first()
            last = connection.execute(inside.order_by(table.taken_at.desc()).limit(1)).first()
            if first is None or last is None or first.taken_at == last.taken_at:
                return None
            if last.taken_at - first.taken_at < (1 - SLACK) * (end - begin):
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
