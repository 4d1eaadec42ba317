"""How long a waiter sleeps that polls on a timer: E = g / (1 − exp(−g/m)) for a granularity g and an exponential need m.

A waiter that the holder posts does not poll, so the granularity of the timer does not matter to it. A standard
exclusive latch has been posted since 9.2.
"""

from math import ceil
from typing import Literal

from rules.contention.processor import timed_poll_seconds
from rules.frozen import Frozen
from rules.studies.table import BadStudy

STEPS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
"""Granularities in addition to the requested ones, in milliseconds."""
NOTHING = 0.05
"""A smaller change than this share is negligible."""


class TimerPoint(Frozen):
    """One granularity: the mean sleep of a need that varies (exponential), and of a constant one."""

    granularity_seconds: float
    mean_sleep_seconds: float
    constant_need_seconds: float


class TimerStudy(Frozen):
    """The effect of another granularity on a waiter with a timer, and on one that is posted."""

    study: Literal["timer"] = "timer"
    need_seconds: float
    before: TimerPoint
    after: TimerPoint
    factor: float
    """Mean sleep after over before, for a waiter on a timer."""
    posted_factor: float = 1.0
    """The same for a waiter that is posted."""
    curve: tuple[TimerPoint, ...]


def timer_study(granularity: float, need: float, before: float) -> TimerStudy:
    """The sleep of both granularities, all in seconds. Raises BadStudy."""
    for name, value in (("granularity", granularity), ("need", need), ("before", before)):
        if not value > 0:
            raise BadStudy(f"the {name} must be more than 0; write it like 1ms")
    then, now = _point(before, need), _point(granularity, need)
    others = {step / 1000 for step in STEPS} | {granularity, before}
    return TimerStudy(
        need_seconds=need,
        before=then,
        after=now,
        factor=now.mean_sleep_seconds / then.mean_sleep_seconds,
        curve=tuple(_point(each, need) for each in sorted(others)),
    )


def _point(granularity: float, need: float) -> TimerPoint:
    return TimerPoint(
        granularity_seconds=granularity,
        mean_sleep_seconds=timed_poll_seconds(granularity, need),
        # Rounding of the quotient must not add a whole tick to a need that is a multiple of the granularity.
        constant_need_seconds=ceil(round(need / granularity, 9)) * granularity,
    )
