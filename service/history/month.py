"""month(): what a month cost, and what ended it, for people who read no diagnosis. It keeps nothing.

An hour of DB time lost is one session that waited for an hour. The loss of an hour goes to the problems that were open in it, by
how long and how bad they were.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Literal

import numpy as np

from rules.base import Frozen
from rules.model import Severity
from service.history.comparison import SETTLE
from service.history.marks import mark_of
from service.state.episodes import Episode
from service.state.time_window import BadWindow, Window, moment
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
    """One problem. `end` is null while it is open, `hours_lost` where nothing of its time is known. `remedy` is the mark that
    ended it, by the figures; `lost_before` and `lost_after` are hours lost in an hour on both sides of it, null where the polls
    are gone."""

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
    """What one database or one cause lost. `hours_lost` is null where no hour is known; `hours_watched` is of databases alone."""

    name: str
    title: str
    troubles: int
    hours_lost: float | None
    hours_watched: float | None = None


class Month(Frozen):
    """One month of all databases. Problems are of notice or worse, the most costly first; `hours_lost` is null if unknown."""

    begin: datetime
    end: datetime
    title: str
    sentence: str
    hours_lost: float | None
    databases: tuple[MonthSum, ...]
    causes: tuple[MonthSum, ...]
    troubles: tuple[MonthTrouble, ...]

    def of(self, outcome: Outcome) -> list[MonthTrouble]:
        """The problems that ended so."""
        return [each for each in self.troubles if each.outcome == outcome]


def hours(value: float | None) -> str:
    """Hours to the tenth."""
    return "–" if value is None else "< 0.1" if 0 < value < 0.05 else f"{value:,.1f}"


def month_named(text: str, now: datetime) -> Window:
    """The month YYYY-MM up to now, or `this`, or `last`. Raises BadWindow."""
    first = now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    begin = {"this": first, "last": (first - timedelta(days=1)).replace(day=1)}.get(text)
    if begin is None:
        with suppress(BadWindow):
            begin = moment(f"{text}-01T00:00Z", now) if len(text) == 7 else None
        if begin is None or begin >= now:
            raise BadWindow(f"{text[:40]!r} is no month that has begun; write one such as {now:%Y-%m}, or last")
    return Window(begin, min((begin + timedelta(days=31)).replace(day=1), now))


def month(store: Repository, window: Window) -> Month:
    """What a window cost. Raises what the store raises."""
    found, cursor = list((page := store.episodes.between(None, window.begin, window.end)).items), page.cursor
    while cursor is not None:
        found += (page := store.episodes.between(None, window.begin, window.end, cursor)).items
        cursor = page.cursor
    databases, troubles = list[MonthSum](), list[MonthTrouble]()
    for name in sorted(store.names.all()):
        mine = [each for each in found if each.database == name and each.peak_severity is not Severity.INFO]
        steps = [store.history.page(name, ("waiting",), window.begin, window.end, "1h")]
        reached = times_of(steps[0].ends)[-1] if len(steps[0]) else window.begin  # what is not summed to hours yet
        steps += [store.history.page(name, ("waiting",), reached, window.end, "5m")] if reached < window.end else []
        lost = np.concatenate([page.values["waiting"] * page.seconds for page in steps])
        if len(lost) or mine:
            watched = sum(float(np.nansum(page.seconds)) for page in steps) / HOUR
            cost = {"hours_lost": _known(lost / HOUR), "hours_watched": watched}
            databases.append(MonthSum(name=name, title=name, troubles=len(mine), **cost))
            parts = _parts(mine, steps, lost, window)
            troubles += [_trouble(store, each, mine, part) for each, part in zip(mine, parts, strict=True)]
    causes = [
        MonthSum(name=cause, title=it[0].title, troubles=len(it), hours_lost=_known(each.hours_lost for each in it))
        for cause in {each.cause for each in troubles}
        if (it := [each for each in troubles if each.cause == cause])
    ]
    for costly in (databases, causes):
        costly.sort(key=lambda each: (-(each.hours_lost or 0.0), each.name))
    troubles.sort(key=lambda each: (-(each.hours_lost or 0.0), each.database, each.begin))
    whole = _known(each.hours_lost for each in databases)
    until = "" if window.end.day == 1 else f"{window.end:%d %b %H:%M}"
    of = [sum(each.outcome == outcome for each in troubles) for outcome in ("remedied", "over", "open")]
    lost_in_all = "The hours of DB time lost are unknown" if whole is None else f"{hours(whole)} hours of DB time lost"
    counts = f"remedied: {of[0]}; over by themselves: {of[1]}; open: {of[2]}"
    sentence = f"{lost_in_all}. Databases: {len(databases)}. Problems: {len(troubles)}; {counts}."
    return Month(
        begin=window.begin,
        end=window.end,
        title=f"{window.begin:%B %Y}{until and f', until {until} UTC'}",
        sentence=sentence if databases else "Nothing was watched.",
        hours_lost=whole,
        databases=tuple(databases),
        causes=tuple(causes),
        troubles=tuple(troubles),
    )


def _known(hours: Iterable[float | None]) -> float | None:
    """The sum of those that are known. None if none is."""
    known = np.array([*hours], dtype=float)
    return None if np.isnan(known).all() else float(np.nansum(known))


def _parts(mine: Sequence[Episode], steps: Sequence[CurvePage], lost: Values, window: Window) -> Sequence[float | None]:
    """The hours lost to each problem."""
    begins, ends = (np.concatenate([getattr(page, side) for page in steps]) for side in ("begins", "ends"))
    weights = np.zeros((len(mine), len(begins)))
    for place, each in enumerate(mine):
        open_for = np.minimum(ends, millis(each.end or window.end)) - np.maximum(begins, millis(each.begin))
        weights[place] = np.clip(open_for, 0, None) * max(each.peak_share_of_db_time or 0.0, LEAST_PEAK)
    shares = weights / np.maximum(weights.sum(axis=0), np.finfo(float).tiny)
    return [_known(np.where(share > 0, share * lost / HOUR, np.nan)) for share in shares]


def _trouble(store: Repository, each: Episode, beside: Sequence[Episode], lost: float | None) -> MonthTrouble:
    mark = mark_of(store, each) if each.verdict_kind == "verified" else None
    told = {name: getattr(each, name) for name in ("database", "cause", "title", "begin", "end", "peak_severity")}
    if mark is None:
        return MonthTrouble(**told, hours_lost=lost, outcome="over" if each.end else "open")

    def mean(begin: datetime, end: datetime) -> float | None:
        """Sessions that waited on average, which is hours lost in an hour."""
        page = store.history.page(each.database, ("waiting",), begin, end, "poll")
        known = ~np.isnan(page.values["waiting"] * page.seconds)
        return float(np.average(page.values["waiting"][known], weights=page.seconds[known])) if known.any() else None

    length = min(max(mark.at - each.begin, timedelta(minutes=1)), LONGEST_SIDE)
    after = max(mark.at + SETTLE, each.last_seen)
    until = min((after + length, *(other.begin for other in beside if other.begin > after)))
    return MonthTrouble(
        **told,
        hours_lost=lost,
        outcome="remedied",
        remedy=mark.text,
        remedied_after_seconds=max((mark.at - each.begin).total_seconds(), 0.0),
        lost_before=mean(mark.at - length, mark.at),
        lost_after=mean(after, until),
    )
