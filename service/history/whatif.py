"""The value of a change on one database: a child latch calibrated on its history, or on one change if there is no more."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import reduce
from math import exp
from statistics import mean, pvariance

from pydantic import BaseModel, ConfigDict, Field

from collectors.model import Delta, NotComparable
from rules.contention.holds import (
    HANDOFF,
    LatchCounts,
    NotPredictable,
    child_named,
    counts_of,
    fit_timed,
    hidden_spin_share,
    processors,
)
from rules.contention.prediction import UNCHANGED, Estimate, LatchModel, LoadChange, calibrate, predict
from rules.context import SignalContext
from rules.formatting import percent, predicted_share, predicted_sleeps
from service.store.repository import Repository

# The question about a change, and its answer. Field names are a contract.

CHANGES = ("gets", "children", "batch", "hold", "processes", "timer_ms")


class WhatIfIn(BaseModel):
    """A change to try on paper. A field left out stays as it is."""

    model_config = ConfigDict(json_schema_extra={"example": {"cache": "dc_rollback_segments", "gets": 0.2}})

    cache: str | None = Field(None, description="the cache of the child latch; default: the child with the most sleeps")
    gets: float | None = Field(None, gt=0, description="gets per unit of work, as a factor: 0.2 after a fall of 80 %")
    children: int | None = Field(None, ge=1, le=1024, description="latches instead of one, all used equally")
    batch: float | None = Field(None, ge=1, description="units of work per get, instead of one; needs a measured hold")
    hold: float | None = Field(None, gt=0, description="hold time, as a factor")
    processes: float | None = Field(None, gt=0, description="active sessions, as a factor of now")
    timer_ms: float | None = Field(
        None, gt=0, description="grain of the timer that waiters sleep on; with timer_now_ms it is tried alone"
    )
    timer_now_ms: float | None = Field(
        None, gt=0, description="its current grain; default: waiters are posted, as is standard"
    )

    def problem(self, written: Callable[[str], str] = str) -> str | None:
        """Why there is nothing to try, or too much at once. None if it can be tried. `written`: the form of a field's name."""
        others = (self.gets, self.children, self.batch, self.hold, self.processes)
        if self.timer_ms is None and self.timer_now_ms is not None:
            return f"give the new timer: {written('timer_ms')} with {written('timer_now_ms')}"
        if self.timer_now_ms is not None and any(change is not None for change in others):
            return "a timer that waiters sleep on is tried alone; try the other changes without it"
        if self.timer_ms is None and all(change is None for change in others):
            return f"name a change: {', '.join(map(written, CHANGES[:-1]))} or {written(CHANGES[-1])}; one is enough"
        return None


class EstimateOut(BaseModel):
    """A figure with the interval that should contain it 19 times in 20. `value` is null if only the interval is known."""

    now: float | None
    value: float | None
    low: float
    high: float


class SpinningOut(BaseModel):
    """Processor time now spent spinning for the latch, in seconds per second. wait_time leaves it out."""

    value: float
    low: float
    high: float


class WhatIfOut(BaseModel):
    """The effect of a change on a child latch."""

    database: str
    child: int
    cache: str
    statement: str
    intervals: int = Field(description="intervals the model was calibrated on")
    confidence: str = Field(description="low or medium")
    active_sessions: float
    hold_seconds: float = Field(
        description="time the latch is occupied per get, handoff included: 0–22 % more than the hold"
    )
    think_seconds: float = Field(description="time of a session between gets, which follows from the counters")
    work: EstimateOut = Field(description="work done per second, as a factor of now")
    miss_ratio: EstimateOut | None
    misses: EstimateOut | None = Field(description="misses per second, as a factor of now")
    utilisation: EstimateOut | None
    sleeps_per_second: EstimateOut | None
    spinning: SpinningOut | None = Field(
        None, description="null if sessions wait for processors, or if the latch is saturated"
    )
    notes: tuple[str, ...]


WINDOW = timedelta(minutes=10)
"""How much of the past a model uses. Older intervals had another load."""
MOST_INTERVALS = 12
LEAST_MISSES = 200
"""Misses per interval. Polls with fewer are merged."""
TIMER_APART = 1.25
"""The chain predicted the work of every emulated timer within this factor."""
WORK = (
    "work is the rate at which sessions get the latch. The time that they wait, and its share of DB time, is not predicted: "
    "compare before and after the change"
)
TIMED = "waiters sleep on a timer: a chain of processes awake and asleep gives the work"
POSTED = "a standard exclusive latch is posted by its holder since 9.2, so no waiter sleeps on a timer: nothing changes"


@dataclass(frozen=True, slots=True)
class Observed:
    """The counts of a child latch: the intervals, the last of them, and the host's processors."""

    database: str
    child: int
    cache: str
    rows: tuple[LatchCounts, ...]
    processors: int | None
    variation: float = 0.0
    since: datetime | None = None
    """When the trouble of the child began, where the intervals are those since then."""


def of_change(database: str, change: Delta | NotComparable, cache: str | None) -> Observed:
    """A child over one change. NotPredictable, with its subject, if it cannot be modelled."""
    if isinstance(change, NotComparable):
        raise NotPredictable(f"{database}: {change.why}: {change.way_out}")
    context = SignalContext(change)
    with _said_of(database):
        child = child_named(context, cache)
    guarded = context.map.children.get(child)
    name = (guarded.name if guarded else None) or "unknown"
    with _said_of(_latch_of(database, child, name)):
        return Observed(database, child, name, (counts_of(context, child),), processors(context))


@contextmanager
def _said_of(what: str) -> Iterator[None]:
    """A refusal names its subject."""
    try:
        yield
    except NotPredictable as error:
        raise NotPredictable(f"{what}: {error}") from None


def _latch_of(database: str, child: int, cache: str) -> str:
    return f"{database}, child {child} ({'cache unknown' if cache == 'unknown' else cache})"


def of_store(
    store: Repository, database: str, cache: str | None, now: datetime, window: timedelta = WINDOW
) -> Observed:
    """A child over the last stored intervals, each with at least LEAST_MISSES misses. NotPredictable as above.

    While its trouble lasts, the intervals are those since it began. Calm ones before it have another hold, and a fit over
    both would take the longer hold for an effect of the load: every cut of the load would then look too good.
    """
    polls = [poll for poll in store.history.polls(database, now - window, now + timedelta(seconds=1)) if poll.seconds]
    if not polls:
        minutes = window.total_seconds() / 60
        raise NotPredictable(f"nothing of {database} was kept in the last {minutes:.0f} min: wait until it is polled")
    whole = of_change(database, store.changes.delta_over(database, now - window, now), cache)
    since = _trouble_since(store, whole)
    groups = [] if since is None else intervals_between(store, database, whole.child, max(since, now - window), now)
    if sum(row.misses for group in groups for row in group) < LEAST_MISSES:
        since, groups = None, intervals_between(store, database, whole.child, now - window, now)
    merged = tuple(reduce(together, group) for group in groups)
    rows = merged or whole.rows
    return Observed(database, whole.child, whole.cache, rows, whole.processors, variation(groups), since)


def _trouble_since(store: Repository, observed: Observed) -> datetime | None:
    """When the open trouble of the child's cache began. None if it has none."""
    begins = [each.begin for each in store.episodes.open(observed.database) if each.cache == observed.cache]
    return min(begins, default=None)


def intervals_between(
    store: Repository, database: str, child: int, begin: datetime, end: datetime
) -> list[list[LatchCounts]]:
    """The counts of a child from poll to poll. Neighbours are merged until there are enough misses."""
    polls = [poll for poll in store.history.polls(database, begin, end + timedelta(seconds=1)) if poll.seconds]
    step = max(len(polls) // MOST_INTERVALS, 1)
    ends = [poll.at for poll in polls[::-1]][::step][::-1]
    rows = []
    for first, last in zip([begin, *ends], ends, strict=False):
        delta = store.changes.delta_over(database, first, last)
        if isinstance(delta, Delta) and delta.basis.seconds:
            rows.append(counts_of(SignalContext(delta), child))
    return grouped(rows)


def grouped(rows: Sequence[LatchCounts]) -> list[list[LatchCounts]]:
    """Intervals in order. Neighbours are in one group until it has enough misses."""
    found: list[list[LatchCounts]] = []
    for row in rows:
        if found and sum(each.misses for each in found[-1]) < LEAST_MISSES:
            found[-1].append(row)
        else:
            found.append([row])
    if len(found) > 1 and sum(each.misses for each in found[-1]) < LEAST_MISSES:
        last = found.pop()
        found[-1] += last
    return found


def variation(groups: Sequence[Sequence[LatchCounts]]) -> float:
    """CV² of the gets per second within groups, the mean over them. A group of one interval counts as steady."""
    squares = [
        pvariance(rates) / mean(rates) ** 2 for group in groups if mean(rates := [r.gets_per_second for r in group])
    ]
    return mean(squares) if squares else 0.0


def together(first: LatchCounts, other: LatchCounts) -> LatchCounts:
    """Two intervals as one."""
    seconds = first.seconds + other.seconds
    spins = None if first.spin_gets is None or other.spin_gets is None else first.spin_gets + other.spin_gets
    return LatchCounts(
        (first.processes * first.seconds + other.processes * other.seconds) / seconds,
        seconds,
        first.gets + other.gets,
        first.misses + other.misses,
        first.sleeps + other.sleeps,
        spins,
        first.wait_seconds + other.wait_seconds,
    )


def answer(observed: Observed, asked: WhatIfIn) -> WhatIfOut:
    """The effect of the change on the child. NotPredictable if there is none, in one sentence with the way out."""
    with _said_of(_latch_of(observed.database, observed.child, observed.cache)):
        return _answered(observed, asked)


def _answered(observed: Observed, asked: WhatIfIn) -> WhatIfOut:
    now = observed.rows[-1]
    if asked.timer_ms is not None and asked.model_fields_set <= {"cache", "timer_ms", "timer_now_ms"}:
        return _timed(observed, asked, now)
    model = calibrate(observed.rows, now, variation=observed.variation, processors=observed.processors)
    predicted = predict(model, change_of(asked, model))
    return WhatIfOut(
        database=observed.database,
        child=observed.child,
        cache=observed.cache,
        statement=f"misses {percent(now.miss_ratio)} of gets, as now"
        if predicted.notes == (UNCHANGED,)
        else _statement(now, predicted.work, predicted.miss_ratio, predicted.sleeps_per_second),
        intervals=model.rows,
        confidence="low" if model.low_confidence else "medium",
        active_sessions=now.processes,
        hold_seconds=model.hold.hold * (1 + HANDOFF * now.miss_ratio),
        think_seconds=model.think,
        work=_out(1.0, predicted.work),
        miss_ratio=_out(now.miss_ratio, predicted.miss_ratio),
        misses=_out(1.0, predicted.misses),
        utilisation=_out(None, predicted.utilisation),
        sleeps_per_second=_out(now.sleeps / now.seconds, predicted.sleeps_per_second)
        if predicted.sleeps_per_second
        else None,
        spinning=spinning(model, now),
        notes=(
            *predicted.notes,
            *_said_beside(observed),
            *((f"the timer: {POSTED}",) if asked.timer_ms is not None else ()),
        ),
    )


def _said_beside(observed: Observed) -> Iterator[str]:
    """What the figures are not about, and from when on intervals count."""
    yield WORK
    if observed.since is not None:
        yield f"the intervals are those since the problem began, {observed.since:%H:%M:%S} UTC"


def spinning(model: LatchModel, now: LatchCounts) -> SpinningOut | None:
    """The current cost of spinning. None if the waits of the queue are unknown."""
    if model.sleep is None or model.saturated or now.miss_ratio <= 0:
        return None
    apart = exp(2 * model.sleep.budget_spread)
    budget = model.sleep.budget
    value, low, high = hidden_spin_share(now, (budget, budget / apart, budget * apart))
    return SpinningOut(value=value, low=low, high=high)


def change_of(asked: WhatIfIn, model: LatchModel) -> LoadChange:
    """The change in the model's terms. NotPredictable if the question lacks something it needs."""
    gets, processes = asked.gets or 1.0, None
    if asked.batch is not None and asked.batch > 1:
        if asked.hold is None:
            raise NotPredictable(
                "a batch also lengthens the hold, and these counters do not show by how much: measure two sizes of batch "
                "(`latchscope study partitions` fits such a table), and give the factor as hold, such as `--hold 1.3`"
            )
        gets /= asked.batch
    if asked.processes is not None:
        processes = max(round(model.processes * asked.processes), 1)
    return LoadChange(gets=gets, hold=asked.hold or 1.0, latches=asked.children, processes=processes)


def _timed(observed: Observed, asked: WhatIfIn, now: LatchCounts) -> WhatIfOut:
    """Another grain of the timer. A posted latch gains nothing; for a timed one the chain of sleepers gives the work."""
    model = calibrate(observed.rows, now, variation=observed.variation, processors=observed.processors)
    factor, low, high, note = 1.0, 1.0, 1.0, POSTED
    if asked.timer_now_ms is not None and asked.timer_now_ms == asked.timer_ms:
        note = "the timer stays as it is"
    elif asked.timer_now_ms is not None and asked.timer_ms is not None:
        try:
            latch = fit_timed(now, asked.timer_now_ms / 1e3)
        except ValueError as error:
            raise NotPredictable(str(error)) from None
        factor = latch.work(asked.timer_ms / 1e3) / latch.work()
        low, high, note = (
            factor / TIMER_APART,
            factor * TIMER_APART,
            TIMED,
        )
    return WhatIfOut(
        database=observed.database,
        child=observed.child,
        cache=observed.cache,
        statement=f"work × {factor:.2f} ({low:.2f} to {high:.2f}): {note}" if factor != 1.0 else f"no change: {note}",
        intervals=model.rows,
        confidence="low" if model.low_confidence else "medium",
        active_sessions=now.processes,
        hold_seconds=model.hold.hold * (1 + HANDOFF * now.miss_ratio),
        think_seconds=model.think,
        work=EstimateOut(now=1.0, value=factor, low=low, high=high),
        miss_ratio=None,
        misses=None,
        utilisation=None,
        sleeps_per_second=None,
        spinning=None,
        notes=(),
    )


def _out(now: float | None, estimate: Estimate) -> EstimateOut:
    return EstimateOut(now=now, value=estimate.value, low=estimate.low, high=estimate.high)


def _statement(now: LatchCounts, work: Estimate, missed: Estimate, slept: Estimate | None) -> str:
    share = predicted_share(now.miss_ratio, missed.value, missed.low, missed.high)
    reach = f"{work.low:.2f} to {work.high:.2f}"
    parts = [f"misses {share} of gets", f"work × {reach if work.value is None else f'{work.value:.2f} ({reach})'}"]
    if slept is not None:
        relieved = now.miss_ratio >= (missed.high if missed.value is None else missed.value)
        parts.append(predicted_sleeps(now.sleeps / now.seconds, slept.high, relieved))
    return "; ".join(parts)
