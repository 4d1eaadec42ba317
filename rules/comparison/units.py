"""What a count is divided by: a piece of work that both sides did, the second, or the whole it is part of."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rules.context import SignalContext

MINIMUM_WORK = 100
"""Fewer executions, transactions, logons or parses than this are not a measure."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A measure of work: its name, how many of it a rate is per, and how much of it a Scene has."""

    each: str
    words: str
    scale: float
    least: float
    amount: Callable[[SignalContext], float | None]

    def amount_in_words(self, amount: float) -> str:
        """An amount in words: 31 s of DB time, 120 executions."""
        if self.words in ("of DB time", "per second"):
            return f"{amount:,.0f} s{' of DB time' if self.words == 'of DB time' else ''}"
        return f"{amount:,.0f} {self.words.removeprefix('per 1,000 ').removeprefix('per ').removesuffix('s')}s"


def transactions(context: SignalContext) -> float | None:
    """Commits and rollbacks by users. None if either is unknown."""
    commits, rollbacks = context.work("user commits"), context.work("user rollbacks")
    return None if commits is None or rollbacks is None else commits + rollbacks


def _of(statistic: str) -> Callable[[SignalContext], float | None]:
    return lambda context: context.work(statistic)


EXECUTIONS = Unit("per execution", "per 1,000 executions", 1000, MINIMUM_WORK, _of("execute count"))
TRANSACTIONS = Unit("per transaction", "per 1,000 transactions", 1000, MINIMUM_WORK, transactions)
LOGONS = Unit("per logon", "per logon", 1, MINIMUM_WORK, _of("logons cumulative"))
HARD_PARSES = Unit("per hard parse", "per hard parse", 1, MINIMUM_WORK, _of("parse count (hard)"))
DB_TIME = Unit("per second of DB time", "of DB time", 1, 0.0, lambda context: context.seconds_of("DB time"))
SECONDS = Unit("per second", "per second", 1, 0.0, lambda context: context.delta.basis.seconds)

OF_WORK: Sequence[Unit] = (EXECUTIONS, TRANSACTIONS, SECONDS)
"""For what any statement may cause, the best first."""
OF_TIME: Sequence[Unit] = (DB_TIME, SECONDS)
OF_CACHES: Sequence[tuple[str, Unit]] = (
    ("dc_rollback_segments", TRANSACTIONS),
    ("dc_profiles", LOGONS),
    ("dc_histogram_", HARD_PARSES),
)
"""The kind of work that uses a cache, where it is not any statement: transactions use undo segments, logons use profiles."""


def fitting(cache: str) -> Sequence[Unit]:
    """The units for the traffic of a cache, the best first."""
    own = [unit for name, unit in OF_CACHES if cache.startswith(name)]
    return (*own, *OF_WORK)


@dataclass(frozen=True, slots=True)
class CommonUnit:
    """A unit with its amounts on both sides, each above zero."""

    unit: Unit
    before: float
    after: float


def common(units: Sequence[Unit], before: SignalContext, after: SignalContext) -> CommonUnit | None:
    """The first of some units of which both sides have enough, or None."""
    for unit in units:
        amounts = unit.amount(before), unit.amount(after)
        if amounts[0] and amounts[1] and min(amounts[0], amounts[1]) >= unit.least:
            return CommonUnit(unit, amounts[0], amounts[1])
    return None
