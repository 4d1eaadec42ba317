"""Curves of the chosen figures: polls one by one, in steps of five minutes, or hours; and the polls themselves."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, Engine, Select, Table, case, func, literal, select

from collectors.model import ObstacleKind
from service.config.settings import HistorySettings
from service.state.time_window import YEARS
from service.store.record import obstacle_kind
from service.store.rows import NameTables
from service.store.tables import EPOCH, HOURS, MEANS, POLLS, millis, moment

Times = NDArray[np.int64]
"""Milliseconds since 1970."""
Values = NDArray[np.float64]
"""Numbers. In a time or a stretch, NaN means that there is none."""
Resolution = Literal["poll", "5m", "1h"]
WIDTHS: Mapping[str, int] = {"5m": 300, "1h": 3600}
"""Seconds of a step."""
FINEST_FOR: Sequence[tuple[timedelta, Resolution]] = ((timedelta(hours=2), "poll"), (timedelta(days=3), "5m"))
"""The longest time with an automatic resolution. Beyond it, hours."""


class BadCursor(ValueError):
    """A cursor that this store did not give."""


@dataclass(frozen=True, eq=False)
class CurvePage:
    """Figures over a stretch of time. `times` are the ends of polls, or the begins of steps; `cursor` asks for the rest.

    `seconds` is what the figures of each cover, NaN of a poll without an interval; `reasons` says why. `values` are means and
    rates per second by figure, `highest` those of the highest single poll in a step.
    """

    resolution: Resolution
    begin: datetime
    end: datetime
    times: Times
    seconds: Values
    polls: Times
    values: Mapping[str, Values]
    highest: Mapping[str, Values] = field(default_factory=dict)
    cursor: str | None = None

    def __len__(self) -> int:
        return len(self.times)

    @property
    def begins(self) -> Times:
        """When what each covers begins."""
        if self.resolution != "poll":
            return self.times
        return self.times - np.rint(1000 * np.nan_to_num(self.seconds)).astype(np.int64)

    @property
    def ends(self) -> Times:
        return self.times + 1000 * WIDTHS.get(self.resolution, 0)


def moments(times: Times) -> list[datetime]:
    """Milliseconds as aware times."""
    return [EPOCH + since for since in times.astype("m8[ms]").tolist()]


@dataclass(frozen=True, slots=True)
class Poll:
    """One poll as it was kept."""

    at: datetime
    seconds: float | None
    severity: str
    share: float | None
    waiting: float | None
    why: str | None
    kind: ObstacleKind | None
    """Of `why`."""


def together(name: str, most: bool = False) -> ColumnElement[Any]:
    """A figure over the polls of a group, or its highest single one. NULL if a poll with an interval lacks it."""
    column, seconds = POLLS.c[name], POLLS.c.seconds
    if name in MEANS:
        found = func.max(column) if most else func.sum(column * seconds) / func.nullif(func.sum(seconds), 0)
    else:
        found = func.max(column / func.nullif(seconds, 0)) if most else func.sum(column)
    return case((func.count(column) == func.count(seconds), found))


class Curves:
    """Reads the polls and hours of one store."""

    def __init__(self, engine: Engine, names: NameTables, kept_for: HistorySettings) -> None:
        self._engine = engine
        self._names = names
        self._kept_for = kept_for

    def page(
        self,
        database: str,
        names: Sequence[str],
        begin: datetime,
        end: datetime,
        resolution: Literal["auto", "poll", "5m", "1h"] = "auto",
        cursor: str | None = None,
        limit: int = 20_000,
    ) -> CurvePage:
        """Figures of a database from `begin` up to and without `end`, at most `limit` times at once. Raises BadCursor.

        `auto` takes what fits the stretch and has anything in it.
        """
        begin = after(cursor) if cursor else begin
        number = self._names.database(database)
        tier = self.resolution(begin, end) if resolution == "auto" else resolution
        found = self._page(number, names, begin, end, tier, limit)
        for other in ("1h", "5m", "poll") if resolution == "auto" else ():
            if not len(found):
                found = self._page(number, names, begin, end, other, limit)
        return found

    def _page(
        self, number: int | None, names: Sequence[str], begin: datetime, end: datetime, tier: Resolution, limit: int
    ) -> CurvePage:
        query = _query(tier, names).limit(limit + 1)
        table = HOURS if tier == "1h" else POLLS
        inside = query.where(table.c.database_id == number, table.c.at >= millis(begin), table.c.at < millis(end))
        with self._engine.connect() as connection:
            rows = connection.execute(inside).all() if number is not None else []
        more = moment(rows[limit][0]) if len(rows) > limit else None
        width = 3 + len(names) * (1 if tier == "poll" else 2)
        columns = zip(*rows[:limit], strict=True) if rows else [()] * width
        read = [np.array(column, float) for column in columns]
        times, seconds, polls = read[0].astype(np.int64), read[1], read[2].astype(np.int64)
        covered = np.where(seconds > 0, seconds, np.nan)
        each = {name: read[3 + place] for place, name in enumerate(names)}
        values = {name: found if name in MEANS else found / covered for name, found in each.items()}
        highest = {name: read[3 + len(names) + place] for place, name in enumerate(names)} if tier != "poll" else {}
        return CurvePage(
            tier, begin, more or end, times, seconds, polls, values, highest, more.isoformat() if more else None
        )

    def polls(
        self, database: str, begin: datetime, end: datetime, limit: int = 20_000, broken: bool = False
    ) -> tuple[Poll, ...]:
        """Polls of a database, oldest first; or only those that say why they have no interval, as after a restart."""
        of = POLLS.c
        query = select(of.at, of.seconds, of.severity, of.share, of.waiting, of.why, of.kind)
        inside = (of.database_id == self._names.database(database), of.at >= millis(begin), of.at < millis(end))
        said = (of.seconds.is_(None), of.why.is_not(None)) if broken else ()
        with self._engine.connect() as connection:
            rows = connection.execute(query.where(*inside, *said).order_by(of.at).limit(limit))
            return tuple(Poll(moment(r.at), *r[1:-1], obstacle_kind(r.kind, r.why)) for r in rows)

    def row(self, database: str, hours: bool, at: datetime | None = None) -> Mapping[str, Any] | None:
        """The newest stored poll or hour, not later than `at`, by the names of its columns."""
        table: Table = HOURS if hours else POLLS
        end = millis(at or datetime.now(UTC) + timedelta(days=1))
        newest = select(table).where(table.c.database_id == self._names.database(database), table.c.at <= end)
        with self._engine.connect() as connection:
            found = connection.execute(newest.order_by(table.c.at.desc()).limit(1)).mappings().first()
        return None if found is None else {**found, "at": moment(found["at"])}

    def resolution(self, begin: datetime, end: datetime, now: datetime | None = None) -> Resolution:
        """The resolution for a stretch: fine for a short one, and never finer than what is still kept at its begin."""
        age = ((now or datetime.now(UTC)) - begin).total_seconds()
        for longest, resolution in FINEST_FOR:
            if end - begin <= longest and age <= self._kept_for.polls:
                return resolution
        return "1h"


def _query(tier: Resolution, names: Sequence[str]) -> Select[Any]:
    """Time in milliseconds, seconds, polls, each figure, and of steps the highest of each."""
    if tier == "1h":
        most = [HOURS.c[f"{name}_most"] for name in names]
        every = select(HOURS.c.at, HOURS.c.seconds, HOURS.c.polls, *(HOURS.c[name] for name in names), *most)
        return every.order_by(HOURS.c.at)
    if tier == "poll":
        return select(POLLS.c.at, POLLS.c.seconds, literal(1), *(POLLS.c[name] for name in names)).order_by(POLLS.c.at)
    # Summed when somebody asks: polls are kept as long as roll-ups would be.
    step = POLLS.c.at - POLLS.c.at % literal(1000 * WIDTHS[tier], POLLS.c.at.type)
    found = [together(name) for name in names], [together(name, most=True) for name in names]
    every = select(step, func.coalesce(func.sum(POLLS.c.seconds), 0.0), func.count(), *found[0], *found[1])
    return every.group_by(step).order_by(step)


def after(cursor: str, time: str | None = None) -> datetime:
    """The time of a cursor: all of it, or this part. Raises BadCursor."""
    try:
        at = datetime.fromisoformat(cursor if time is None else time)
    except ValueError:
        at = None
    if at is None or at.tzinfo is None or not YEARS[0] <= at.year < YEARS[1]:
        raise BadCursor(f"{cursor!r} is not a cursor; use the one from the last answer")
    return at
