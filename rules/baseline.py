"""What is ordinary for a database at an hour of the week: medians and quantiles of its own history, never a verdict."""

from collections.abc import Iterable, Mapping
from math import isfinite
from statistics import quantiles
from typing import Literal

from collectors.model import Delta, Missing
from rules.base import Frozen
from rules.context import SignalContext
from rules.formatting import times
from rules.latch import ratio

Scope = Literal["hour of the week", "hour of the day", "all hours"]

ENOUGH: Mapping[Scope, int] = {"hour of the week": 8, "hour of the day": 8, "all hours": 24}
"""What to compare with, the closest first, and how many samples of it are enough."""

RATES: Mapping[str, str] = {
    "executions_per_second": "execute count",
    "hard_parses_per_second": "parse count (hard)",
    "logons_per_second": "logons cumulative",
}
"""Figures that are rates of a statistic in v$sysstat."""


class UsualRange(Frozen):
    """The ordinary range of one figure: its median, and the 5 % and 95 % quantiles, in the figure's own unit."""

    median: float
    low: float
    high: float
    samples: int
    scope: Scope

    @property
    def words(self) -> str:
        """The words for its scope: `the usual for this hour of the week`."""
        return "the usual of all hours" if self.scope == "all hours" else f"the usual for this {self.scope}"

    def holds(self, value: float) -> bool:
        """Whether a value is within the ordinary range, ends included."""
        return self.low <= value <= self.high


def ordinary(samples: Iterable[float], scope: Scope) -> UsualRange | None:
    """The ordinary range of the samples of a scope. None with too few; what is not finite does not count."""
    values = [value for value in samples if isfinite(value)]
    if len(values) < ENOUGH[scope]:
        return None
    twentieths = quantiles(values, n=20, method="inclusive")
    return UsualRange(median=twentieths[9], low=twentieths[0], high=twentieths[18], samples=len(values), scope=scope)


def against_usual(value: float | None, usual: UsualRange | None) -> str:
    """`12.0 × the usual for this hour of the week`. Empty if either is unknown or the usual is zero."""
    factor = None if value is None or usual is None else ratio(value, usual.median)
    return "" if factor is None or usual is None else f"{times(factor)} {usual.words}"


def figures(delta: Delta) -> Mapping[str, float]:
    """The figures that the history keeps for baselines, by name. Only those that this Delta has; none from totals."""
    context = SignalContext(delta)
    seconds = delta.basis.seconds if delta.basis.kind == "interval" else None
    impact = context.impact if seconds else None
    gets = context.sum_of(delta.rows("v$rowcache"), "gets")  # the load of latches and mutexes, without the fast way
    latch = context.latch if context.mechanism != "mutex" else None
    values = {
        "row_cache_wait_share": impact.share_of_db_time if impact else None,
        "row_cache_waiting_sessions": impact.waiting_sessions if impact else None,
        "sleeps_per_second": ratio(sleeps_of(context), seconds),
        "latch_gets_per_second": ratio(latch.gets, seconds) if latch else None,
        "dictionary_gets_per_second": ratio(gets, seconds),
        "db_time_per_second": ratio(context.seconds_of("DB time"), seconds),
        **{name: ratio(context.work(statistic), seconds) for name, statistic in RATES.items()},
    }
    return {name: value for name, value in values.items() if value is not None}


def sleeps_of(context: SignalContext) -> float | None:
    """Sleeps on what guards the row cache here: mutexes from 12.2 on, before that the latch. None if unknown."""
    if context.mechanism != "mutex":
        return context.latch.sleeps
    rows = context.delta.rows("v$mutex_sleep")
    if not rows:
        return None if isinstance(context.delta.read("v$mutex_sleep"), Missing) else 0.0
    return context.sum_of(rows, "sleeps")
