"""month(): what a month cost, and what ended it, for people who read no diagnosis. It keeps nothing.

An hour of DB time lost is one session that waited for an hour. The loss of an hour goes to the problems that were open in it, by
how long and how bad they were.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Literal

import numpy as np

from rules.base import Frozen
from rules.formatting import rough
from rules.model import Severity
from service.history.comparison import SETTLE
from service.history.marks import mark_of
from service.state.episodes import Episode
from service.state.window import BadWindow, Window, moment
from service.store.polls import CurvePage, Values
from service.store.polls import moments as times_of
from service.store.repository import Repository
from service.store.tables import millis

HOUR = 3600.0
LEAST_PEAK = 0.001
"""The weight of a problem whose cost is unknown."""
LONGEST_SIDE = timedelta(hours=1)
"""How long before and after a change is measured at most."""
Outcome = Literal["remedied", "over", "open"]


class MonthTrouble(Frozen):
    """One problem. `end` is null while it is open, `hours_lost` where nothing of its time is known.

    `remedy` is the mark that ended it, by the figures; `lost_before` and `lost_after` are hours of DB time lost in an hour on
    both sides of it, null where the polls are gone.
    """

    database: str
    cause: str
    title: str
    begin: datetime
    end: datetime | None
    peak_severity: Severity
    hours_lost: float | None
    outcome: Outcome
    remedy: str | None = None
    remedied_after_seconds: float | None = None
    lost_before: float | None = None
    lost_after: float | None = None


class MonthSum(Frozen):
    """What one database or one cause lost. Of a database `hours_outside` is what it lost while no problem was open, and
    `hours_lost` is null where no hour is known; of a cause both shares of time are null."""

    name: str
    title: str
    troubles: int
    hours_lost: float | None
    hours_watched: float | None = None
    hours_outside: float | None = None


class Month(Frozen):
    """One month of all databases. Problems are those of notice or worse; the most costly of each list is first."""

    begin: datetime
    end: datetime
    databases: tuple[MonthSum, ...]
    causes: tuple[MonthSum, ...]
    troubles: tuple[MonthTrouble, ...]

    def of(self, outcome: Outcome) -> list[MonthTrouble]:
        """The problems that ended so."""
        return [each for each in self.troubles if each.outcome == outcome]

    @property
    def hours_lost(self) -> float:
        """Of all databases, where it is known."""
        return sum(each.hours_lost or 0.0 for each in self.databases)

    @property
    def title(self) -> str:
        """The month, and up to when if it is not over."""
        return f"{self.begin:%B %Y}" + ("" if self.end.day == 1 else f", until {self.end:%d %b %H:%M} UTC")

    @property
    def sentence(self) -> str:
        """The whole month in a line."""
        ended = self.of("remedied")
        times = sorted(each.remedied_after_seconds or 0.0 for each in ended)
        after = f" (half of them within {rough(times[len(times) // 2] / 60)} min)" if times else ""
        return (
            f"{hours(self.hours_lost)} hours of DB time lost. Databases: {len(self.databases)}. Problems: {len(self.troubles)}; "
            f"remedied by a change: {len(ended)}{after}; over by themselves: {len(self.of('over'))}; open: {len(self.of('open'))}."
        )


def hours(value: float | None) -> str:
    """Hours to the tenth."""
    return "–" if value is None else "< 0.1" if 0 < value < 0.05 else f"{value:,.1f}"


def month_named(text: str, now: datetime) -> Window:
    """The month YYYY-MM up to now, or `this`, or `last`. Raises BadWindow."""
    first = now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    named = {"this": first, "last": (first - timedelta(days=1)).replace(day=1)}
    try:
        begin = named.get(text) or moment(f"{text}-01T00:00Z", now)
        return Window(begin, _checked(begin, min((begin + timedelta(days=31)).replace(day=1), now)))
    except BadWindow:
        raise BadWindow(f"{text[:40]!r} is no month that has begun; write one such as {now:%Y-%m}, or last") from None


def _checked(begin: datetime, end: datetime) -> datetime:
    if end <= begin:
        raise BadWindow("")
    return end


def month(store: Repository, window: Window) -> Month:
    """What a window cost. Raises what the store raises."""
    found, cursor = [*(page := store.episodes.between(None, window.begin, window.end)).items], page.cursor
    while cursor is not None:
        found += (page := store.episodes.between(None, window.begin, window.end, cursor)).items
        cursor = page.cursor
    databases: list[MonthSum] = []
    troubles: list[MonthTrouble] = []
    for name in sorted(store.names.all_databases().values()):
        mine = [each for each in found if each.database == name and each.peak_severity is not Severity.INFO]
        steps = [store.history.page(name, ("waiting",), window.begin, window.end, "1h")]
        reached = times_of(steps[0].ends)[-1] if len(steps[0]) else window.begin  # what is not summed to hours yet
        steps += [store.history.page(name, ("waiting",), reached, window.end, "5m")] if reached < window.end else []
        lost = np.concatenate([_lost(page) for page in steps])
        if not len(lost) and not mine:
            continue
        outside, of_each = _shares(mine, steps, lost, window)
        known = not np.isnan(lost).all()
        databases.append(
            MonthSum(
                name=name,
                title=name,
                troubles=len(mine),
                hours_lost=float(np.nansum(lost)) / HOUR if known else None,
                hours_watched=sum(float(np.nansum(page.seconds)) for page in steps) / HOUR,
                hours_outside=outside / HOUR if known else None,
            )
        )
        troubles += [_trouble(store, each, mine, lost) for each, lost in zip(mine, of_each, strict=True)]
    causes = [
        MonthSum(
            name=of, title=some[0].title, troubles=len(some), hours_lost=sum(each.hours_lost or 0.0 for each in some)
        )
        for of in {each.cause for each in troubles}
        if (some := [each for each in troubles if each.cause == of])
    ]
    for costly in (databases, causes):
        costly.sort(key=lambda each: (-(each.hours_lost or 0.0), each.name))
    troubles.sort(key=lambda each: (-(each.hours_lost or 0.0), each.database, each.begin))
    return Month(begin=window.begin, end=window.end, databases=databases, causes=causes, troubles=troubles)


def _lost(page: CurvePage) -> Values:
    """Seconds of DB time lost in each step: sessions that waited on average, times its seconds."""
    return page.values["waiting"] * page.seconds


def _shares(
    mine: Sequence[Episode], steps: Sequence[CurvePage], lost: Values, window: Window
) -> tuple[float, list[float | None]]:
    """The seconds lost while no problem was open, and those of each."""
    begins, ends = (np.concatenate([getattr(page, side) for page in steps]) for side in ("begins", "ends"))
    weights = np.zeros((len(mine), len(begins)))
    for place, each in enumerate(mine):
        open_for = np.minimum(ends, millis(each.end or window.end)) - np.maximum(begins, millis(each.begin))
        weights[place] = np.clip(open_for, 0, None) * max(each.peak_share_of_db_time or 0.0, LEAST_PEAK)
    whole = weights.sum(axis=0)
    parts = np.where(weights > 0, weights / np.where(whole > 0, whole, 1) * lost, np.nan)
    return float(np.nansum(lost[whole == 0])), [None if np.isnan(of).all() else float(np.nansum(of)) for of in parts]


def _trouble(store: Repository, each: Episode, beside: Sequence[Episode], lost: float | None) -> MonthTrouble:
    mark = mark_of(store, each) if each.verdict_kind == "verified" else None
    told = {name: getattr(each, name) for name in ("database", "cause", "title", "begin", "end", "peak_severity")}
    outcome: Outcome = "open" if each.end is None else "remedied" if mark else "over"
    made = MonthTrouble(**told, hours_lost=None if lost is None else lost / HOUR, outcome=outcome)
    if mark is None:
        return made
    length = min(max(mark.at - each.begin, timedelta(minutes=1)), LONGEST_SIDE)
    after = max(mark.at + SETTLE, each.last_seen)
    until = min((after + length, *(other.begin for other in beside if other.begin > after)))
    sides = (mark.at - length, mark.at), (after, until)
    before, rest = (store.history.page(each.database, ("waiting",), *side, "poll") for side in sides)
    return made.model_copy(
        update={
            "remedy": mark.text,
            "remedied_after_seconds": max((mark.at - each.begin).total_seconds(), 0.0),
            "lost_before": _mean(before),
            "lost_after": _mean(rest),
        }
    )


def _mean(page: CurvePage) -> float | None:
    """Sessions that waited on average, which is hours lost in an hour. None where the polls are gone."""
    lost = _lost(page)
    seconds = float(np.nansum(page.seconds[~np.isnan(lost)]))
    return float(np.nansum(lost)) / seconds if seconds else None
