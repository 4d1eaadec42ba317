"""The effect of a change on a calibrated latch: work, misses, sleeps, each with its interval. Or a refusal, or only bounds."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from functools import lru_cache
from math import sqrt

import numpy as np

from rules.cause import Cause
from rules.contention.holds import (
    HANDOFF,
    MOST_EXPONENT,
    MOST_HANDOFF,
    HoldModel,
    LatchCounts,
    NotPredictable,
    SleepModel,
    SleepRegime,
    between,
    counts_of,
    fit_hold,
    fit_sleeps,
    log_mean,
    middle,
    normal,
    ordinary_hold,
    processors,
    sleeps_per_get,
    spin_budget,
    times_of,
    uniform,
)
from rules.contention.queue import Array, HoldDraws, Settled, settle, stacked, unstacked
from rules.context import SignalContext
from rules.formatting import percent, predicted_share, predicted_sleeps, rough
from rules.model import Finding
from rules.remedy import PredictedEffect, PredictedFigure, PredictionScore, RemedyEffect, ScoredFigure

# From counted intervals to a model of one latch, or the reason why there is none.

LEAST_MISSES = 200
"""Total misses below which chance dominates."""
LEAST_ROWS = 3
"""From this many intervals on, a model has more than low confidence."""
SATURATED = 0.93
"""Above this share of gets that miss, counters no longer show the think time."""
LEAST_HOLD = 1e-6
"""Seconds. A shorter hold is mostly handoff, so predictions for more load get wider."""


@dataclass(frozen=True, slots=True)
class LatchModel:
    """One latch with its calibration."""

    processes: int
    think: float
    """Seconds between gets of one process now, at full processor speed, without sleeps."""
    think_spread: float
    """Standard deviation of ln think."""
    hold: HoldModel
    sleep: SleepModel | None
    """None if processes wait for processors: they sleep for that too, so the law of sleeps does not hold."""
    speed: float
    """h(N) now."""
    sleep_cost: float
    """Seconds that a sleep costs besides the queue: spins before it and the sleep, if holders stall; else 0."""
    miss_ratio: float
    """Now."""
    gets_per_second: float
    rows: int
    anchored: bool
    """Whether one interval gave the figures of now. Otherwise the model gives them."""
    processors: int | None = None
    sleeps_per_second: float = 0.0
    """Now."""

    @property
    def saturated(self) -> bool:
        """Whether the counters give only bounds."""
        return self.miss_ratio > SATURATED

    @property
    def low_confidence(self) -> bool:
        """Whether it is based on fewer intervals than a fit needs."""
        return self.rows < LEAST_ROWS


def calibrate(
    rows: Sequence[LatchCounts],
    now: LatchCounts | None = None,
    budget: float | None = None,
    processors: int | None = None,
) -> LatchModel:
    """A model from intervals of one latch. NotPredictable if they do not support one.

    `now` is the interval that a change starts from. Without it all rows count as one load. `budget` is the spin before a sleep in
    seconds. `processors` limits the processes.
    """
    if not rows:
        raise NotPredictable("no interval of this latch was counted")
    kept = [capped(row, processors) for row in rows]
    _told(kept)
    usable = [row for row in kept if row.miss_ratio <= SATURATED] or kept
    base = capped(now, processors) if now is not None else None
    state, of_now = base or _pooled(usable), [base] if base is not None else usable
    crowded = processors is not None and any(row.processes >= processors for row in (*rows, *([now] if now else ())))
    sleep = None
    if not crowded or not full(state.population, processors):
        sleep = fit_sleeps(usable, spin_budget() if budget is None else budget)
    hold = fit_hold(usable)
    cost = 0.0 if crowded or sleep is None else _sleep_cost(usable, sleep)
    thinks, weights = [_think(row, cost) for row in of_now], [row.miss_ratio for row in of_now]
    return LatchModel(
        state.population,
        log_mean(thinks, weights),
        # The scatter of the mean; 2 % for one interval.
        float(np.std(np.log(thinks), ddof=1)) / sqrt(len(thinks)) if len(thinks) > 1 else 0.02,
        hold,
        sleep,
        state.speed,
        cost,
        state.miss_ratio,
        state.gets_per_second,
        len(rows),
        base is not None or len(rows) == 1,
        processors,
        state.sleeps / state.seconds,
    )


def capped(row: LatchCounts, processors: int | None) -> LatchCounts:
    """More processes than processors cannot collide at once: the others wait for a processor, not for the latch."""
    if processors is not None and row.processes > processors:
        return replace(row, processes=float(processors))
    return row


def full(processes: int, processors: int | None) -> bool:
    """Whether processes use all processors, so that any more would wait for one."""
    return processors is not None and processes >= processors


def _told(rows: Sequence[LatchCounts]) -> None:
    """NotPredictable if the counters say too little."""
    if any(row.population < 2 for row in rows):
        raise NotPredictable("fewer than two sessions use the latch on average: there are no collisions to model")
    if any(row.gets <= 0 or row.seconds <= 0 or row.misses <= 0 for row in rows):
        raise NotPredictable("an interval has no gets, no misses or no length: leave it out")
    if any(row.misses > row.gets for row in rows):
        raise NotPredictable("an interval counts more misses than gets: its counters do not belong together")
    misses = sum(row.misses for row in rows)
    if misses < LEAST_MISSES:
        raise NotPredictable(f"{misses:.0f} misses are too few (at least {LEAST_MISSES}): take a longer interval")


def _think(row: LatchCounts, cost: float) -> float:
    """Seconds of think at full speed, without what sleeps cost besides the queue."""
    apparent = times_of(row).think
    return max(apparent - row.sleeps_per_get * cost, 0.05 * apparent) * row.speed


def _sleep_cost(rows: Sequence[LatchCounts], sleep: SleepModel) -> float:
    """τ + wait_time/sleeps if holders stall. Exhausted spins are waits of the queue, which the model includes."""
    sleeps = sum(row.sleeps for row in rows)
    if sleep.regime is SleepRegime.SPINS or not sleep.point:
        return 0.0
    return sleep.budget + sum(row.wait_seconds for row in rows) / sleeps


def _pooled(rows: Sequence[LatchCounts]) -> LatchCounts:
    """All rows as one interval."""
    return LatchCounts(
        float(np.average([row.processes for row in rows], weights=[row.seconds for row in rows])),
        sum(row.seconds for row in rows),
        sum(row.gets for row in rows),
        sum(row.misses for row in rows),
        sum(row.sleeps for row in rows),
        wait_seconds=sum(row.wait_seconds for row in rows),
        speed=float(np.average([row.speed for row in rows], weights=[row.seconds for row in rows])),
    )


# A change of a latch's load, and how far a model of counters reaches.

FARTHEST = 5.0
"""Beyond this factor of the observed gets or processes there is no prediction."""
SLACK = 1 + 1e-9
"""Tolerance, so that five eighths over an eighth is not more than five."""


@dataclass(frozen=True, slots=True)
class LoadChange:
    """The change. Any field left alone stays as it is."""

    gets: float = 1.0
    """Gets per unit of work, as a factor: 0.2 after a fall of 80 %."""
    hold: float = 1.0
    """Hold time as a factor."""
    hold_seconds: float | None = None
    """Hold time itself, if it is known from elsewhere. Then `hold` is left alone."""
    processes: int | None = None
    speed: float | None = None
    """h(N) at the new number of processes."""
    gets_spread: float = 0.0
    """Standard deviation of ln gets, if the factor is a guess."""
    hold_spread: float = 0.0
    """The same for the hold."""


def in_effect(model: LatchModel, change: LoadChange) -> LoadChange:
    """The change without anything that is so already; `LoadChange()` if nothing is left. NotPredictable beyond the limits."""
    _within_reach(model, change)
    return replace(
        change,
        processes=None if change.processes == model.processes else change.processes,
        speed=None if change.speed == model.speed else change.speed,
    )


def loads_more(model: LatchModel, change: LoadChange) -> bool:
    """Whether the change increases the load of the latch."""
    return change.gets > 1 or change.hold > 1 or (change.processes or 0) > model.processes


def _within_reach(model: LatchModel, change: LoadChange) -> None:
    """NotPredictable if the change is beyond what a model of counters can predict."""
    if min(change.gets, change.hold) <= 0:
        raise NotPredictable("gets and hold are factors above 0")
    # The load is gets times hold. The queue depends on nothing else of either.
    load = "gets" if change.hold == 1 else "the load (gets by hold)"
    for what, factor in (("hold", change.hold), (load, change.gets * change.hold)):
        if not 1 / FARTHEST <= factor * SLACK <= FARTHEST * SLACK**2:
            raise NotPredictable(
                f"{what} × {factor:g} is beyond ×{FARTHEST:g} of what was observed: "
                f"change it in steps and measure between"
            )
    _enough_processors(model, change.processes or model.processes)


def _enough_processors(model: LatchModel, processes: int) -> None:
    if processes < 2:
        raise NotPredictable("one session alone has no collisions: there is nothing to predict")
    if processes > FARTHEST * model.processes:
        raise NotPredictable(
            f"{processes} processes are more than ×{FARTHEST:g} of the {model.processes} observed: "
            "add them in steps and measure between"
        )
    if processes > model.processes and model.processors is not None and processes > model.processors:
        raise NotPredictable(
            f"{processes} processes are more than the {model.processors} processors: "
            "the rest wait for a processor, which this model does not cover"
        )


LOWER_WORK, UPPER_WORK = 0.93, 1.12
"""Bounds of the work factor of a saturated latch whose gets fall by g: from the first, to the second over g."""
SHORT_LOW, SHORT_HIGH = 0.65, 1.05
"""Range of work for more load if the hold is under a microsecond: −35 % to +5 %."""
LEAST_THINK_SPREAD = 0.015
"""Standard deviation of ln think from before a change to after it."""
FEEDBACK_ROUNDS, DAMPING, CLOSE = 30, 0.4, 3e-3
UNCHANGED = "nothing changes: these are the current figures, as counted"
AGAIN = 3.0
"""With more sleeps per miss, wake-ups in vain are no explanation."""
MOST_SLEEPS = 3.0
"""With more sleeps per get, the law of stalls does not apply."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with the interval that contains it 19 times in 20. Without a value only the interval is known."""

    value: float | None
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Prediction:
    """A latch after a change."""

    work: Estimate
    """Work done per second, as a factor of now."""
    gets_per_second: Estimate
    miss_ratio: Estimate
    utilisation: Estimate
    misses: Estimate
    """Misses per second, as a factor of now."""
    sleeps_per_second: Estimate | None
    """None if no figure of sleeps can be given."""
    hold: float | None
    """Seconds, handoff included. None if only bounds are known."""
    notes: tuple[str, ...]
    """What widened or weakened it, one sentence each."""


@lru_cache(256)
def predict(model: LatchModel, change: LoadChange) -> Prediction:
    """The effect of the change on the latch. NotPredictable if the model does not support it."""
    change = in_effect(model, change)
    if change == LoadChange():
        return _unchanged(model)
    if model.saturated:
        return _bounds(model, change)
    before, after = _before_and_after(model, change)
    work = (after.gets_per_second / before.gets_per_second) / change.gets
    rate, missed = after.gets_per_second, after.miss_ratio
    if model.anchored:
        rate = rate / before.gets_per_second * model.gets_per_second
        missed = np.minimum(missed / before.miss_ratio * model.miss_ratio, 1.0)
    misses = _estimate(after.gets_per_second * after.miss_ratio / (before.gets_per_second * before.miss_ratio))
    sleeps = _sleeps(model, change, after, float(rate[0]), misses.high)
    low, high = between(work)
    notes = [*_notes(model, sleeps), *_notes_of_change(model, change)]
    if model.hold.hold < LEAST_HOLD and loads_more(model, change):
        low, high = min(low, float(work[0]) * SHORT_LOW), max(high, float(work[0]) * SHORT_HIGH)
        notes.append(
            "the hold is under a microsecond, mostly handoff between cores: for more load work may be 35 % less or 5 % more"
        )
    return Prediction(
        Estimate(float(work[0]), low, high),
        _estimate(rate),
        _estimate(missed),
        _estimate(after.utilisation),
        misses,
        sleeps,
        float(after.hold[0]),
        tuple(notes),
    )


def _before_and_after(model: LatchModel, change: LoadChange) -> tuple[Settled, Settled]:
    """The latch now and after the change. Solved together if the change leaves processes alone."""
    none = LoadChange()
    if change.processes is not None:
        return after_change(model, none), after_change(model, change)
    before, after = _after_changes(model, (none, change))
    return before, after


def _calm(model: LatchModel, change: LoadChange) -> Array:
    """Seconds between gets after the change, sleeps not counted."""
    speed = change.speed if change.speed is not None else model.speed
    apart = max(model.think_spread, LEAST_THINK_SPREAD) * normal(3) * (change != LoadChange())
    calm: Array = model.think * np.exp(apart - change.gets_spread * normal(8)) / (change.gets * speed)
    return calm


@lru_cache(64)
def after_change(model: LatchModel, change: LoadChange) -> Settled:
    """The latch after the change, the point first, then the draws. Nobody may write into these arrays, as others get them too."""
    return _after_changes(model, (change,))[0]


def _after_changes(model: LatchModel, changes: Sequence[LoadChange]) -> list[Settled]:
    """The latch after each change, solved together. They must agree on processes."""
    hold = stacked([_hold(model, change) for change in changes])
    calm = np.stack([_calm(model, change) for change in changes])
    processes = changes[0].processes or model.processes
    after = settle(processes, calm, hold)
    if not model.sleep_cost or model.sleep is None:
        return unstacked(after)
    lost = _slept(model.sleep, after) * model.sleep_cost
    moving = np.ones((len(changes), 1), dtype=bool)
    for _ in range(FEEDBACK_ROUNDS):  # sleeping costs time, which lowers the load, which lowers the sleeps
        after = settle(processes, calm + lost, hold)
        apart = np.log(_slept(model.sleep, after) * model.sleep_cost / lost)
        moving &= np.abs(apart).max(axis=-1, keepdims=True) >= CLOSE  # a load that has settled does not change
        if not moving.any():
            break
        lost = lost * np.where(moving, np.exp(DAMPING * apart), 1.0)
    return unstacked(after)


def _slept(sleep: SleepModel, state: Settled) -> Array:
    """Sleeps per get by stalls."""
    slept: Array = sleep.per_get * (state.miss_ratio / sleep.miss_ratio) ** sleep.power
    return np.minimum(slept, MOST_SLEEPS)


def _hold(model: LatchModel, change: LoadChange) -> HoldDraws:
    fit = model.hold
    speed = change.speed if change.speed is not None else model.speed
    exponent = np.clip(fit.exponent + fit.exponent_spread * normal(1), 0.0, MOST_EXPONENT)
    handoff: Array = uniform(2) * MOST_HANDOFF
    handoff[0] = HANDOFF
    if change.hold_seconds is not None:
        drawn = change.hold_seconds * np.exp(change.hold_spread * normal(9))
        measured = np.zeros_like(exponent)  # at its own load nothing gets longer
        return HoldDraws(drawn, model.gets_per_second * change.hold_seconds, measured, handoff)
    apart = fit.noise * sqrt(1 + 1 / fit.weight) * fit.tail * normal(0) * (change != LoadChange())
    drawn = fit.hold * np.exp(apart + change.hold_spread * normal(9)) * change.hold / speed
    return HoldDraws(drawn, fit.utilisation, exponent, handoff)


def _sleeps(model: LatchModel, change: LoadChange, after: Settled, rate: float, most_misses: float) -> Estimate | None:
    """Sleeps per second. None if processes wait for processors. Only a get that misses sleeps, so misses bound them.

    `most_misses` is the upper end of misses, as a factor of now.
    """
    if model.sleep is None or full(model.processes, model.processors):
        return None
    forecast = sleeps_per_get(model.sleep, change.processes or model.processes, after)
    most = most_misses * model.gets_per_second * model.miss_ratio * model.sleep.most_per_miss
    value, low, high = (min(ratio * rate, most) for ratio in (forecast.value, forecast.low, forecast.high))
    return Estimate(value, low, high) if forecast.point else Estimate(None, 0.0, high)


def _unchanged(model: LatchModel) -> Prediction:
    """The current figures, for a change of nothing. They were counted, so they have no interval."""
    state = after_change(model, LoadChange())
    return Prediction(
        _counted(1.0),
        _counted(model.gets_per_second),
        _counted(model.miss_ratio),
        _counted(float(state.utilisation[0])),
        _counted(1.0),
        _counted(model.sleeps_per_second),
        float(state.hold[0]),
        (UNCHANGED,),
    )


def _bounds(model: LatchModel, change: LoadChange) -> Prediction:
    """A saturated latch hides its think time: bounds of the work, no point."""
    lower, upper = 1.0, 1.0
    hold = change.hold if change.hold_seconds is None else change.hold_seconds / model.hold.hold
    if change.gets < 1 or hold < 1:
        lower, upper = LOWER_WORK, UPPER_WORK / (change.gets * min(hold, 1.0))
    if upper <= 1.0 or loads_more(model, change):
        raise NotPredictable("the latch is saturated now: its counters say nothing about a greater load")
    rate = model.gets_per_second * change.gets
    return Prediction(
        Estimate(None, lower, upper),
        Estimate(None, lower * rate, upper * rate),
        Estimate(None, 0.0, 1.0),
        Estimate(None, 0.0, 1.0),
        Estimate(None, 0.0, upper * change.gets / model.miss_ratio),
        None,
        None,
        (
            "the latch is saturated: its counters no longer show how much work waits behind it, so there are only bounds",
        ),
    )


def _counted(value: float) -> Estimate:
    return Estimate(value, value, value)


def _estimate(values: Array) -> Estimate:
    return Estimate(float(values[0]), *between(values))


def _notes(model: LatchModel, sleeps: Estimate | None) -> list[str]:
    """What a reader must know about it."""
    notes = []
    if model.low_confidence:
        notes.append(f"low confidence: it is based on {model.rows} of the 3 intervals that a fit needs")
    if sleeps is None:
        notes.append(
            "no figure of sleeps: as many sessions are active as there are processors, and those also sleep for a processor"
        )
    elif sleeps.value is None:
        notes.append("too few sleeps now for more than a bound")
    elif model.sleep is not None and model.sleep.regime is SleepRegime.STALLS:
        notes.append("waiters sleep because holders stall: sleeps follow the miss ratio, with a wide interval")
    return notes


def _notes_of_change(model: LatchModel, change: LoadChange) -> list[str]:
    """What the change assumes besides the latch."""
    notes = []
    if (change.processes or 0) > model.processes:
        if model.processors is None:
            notes.append(
                "the number of processors is unknown (v$osstat was not read): sessions beyond it wait for a processor, "
                "and this holds only while there is one for each"
            )
        if change.speed is None:
            notes.append(
                "each session is assumed to run as fast as now: if more of them share caches, memory or the threads of "
                "a core, they run slower and do less work than this"
            )
    if model.sleep is not None and model.sleep.per_miss > 1:
        again = "a session that wakes and finds the latch held sleeps again"
        rare = ", which cannot come so often at this utilisation: doubt the figures of sleeps"
        much = model.sleep.per_miss > AGAIN
        notes.append(f"{model.sleep.per_miss:.3g} sleeps per miss were counted: {again}{rare if much else ''}")
    return notes


# What a cause's remedy is worth on this Delta, and whether such a prediction came true.


def prediction_of(
    context: SignalContext, causes: Mapping[str, Cause], findings: Iterable[Finding]
) -> PredictedEffect | None:
    """What the remedy of the first finding on a child latch is worth. None if no remedy says what it does to a child latch."""
    for found in findings:
        effect = causes[found.cause].remedy_effect
        if effect is not None and found.surface == "latch":
            return predicted_effect(context, found.cause, effect, found.child, found.cache)
    return None


def predicted_effect(
    context: SignalContext, cause: str, effect: RemedyEffect, child: int | None, cache: str | None
) -> PredictedEffect:
    """The effect of the remedy on the child. Refused, with the reason, if no prediction is possible."""
    words = _in_words(effect)
    try:
        if child is None:
            raise NotPredictable("the child latch behind the problem is unknown")
        now = counts_of(context, child)
        change, ordinary = _change(context, effect, child)
        model = calibrate([now], now, processors=processors(context))
        predicted = predict(model, change)
    except NotPredictable as error:
        told = {"statement": f"no prediction: {error}", "refused": str(error)}
        return PredictedEffect(cause=cause, child=child, cache=cache, change=words, **told)
    figures = tuple(_figures(now, predicted))
    return PredictedEffect(
        cause=cause,
        child=child,
        cache=cache,
        change=words if ordinary is None else f"{words} ({ordinary * 1e9:.0f} ns)",
        statement=_statement(figures),
        figures=figures,
        confidence="low" if model.low_confidence else "medium",
        intervals=model.rows,
        notes=predicted.notes,
    )


def _in_words(effect: RemedyEffect) -> str:
    gets = "" if effect.gets == (1.0, 1.0) else f"gets × {_range(*effect.gets)}"
    hold = "" if effect.hold == (1.0, 1.0) else "held as briefly as the other children"
    if hold and effect.hold != "ordinary":
        hold = f"hold × {_range(*effect.hold)}"
    return ", ".join(part for part in (gets, hold) if part) or "nothing"


def _range(least: float, most: float) -> str:
    return f"{least:g}" if least == most else f"{least:g}–{most:g}"


def _change(context: SignalContext, effect: RemedyEffect, child: int) -> tuple[LoadChange, float | None]:
    """The change with its scatter, and the ordinary hold if that is its result."""
    gets, gets_spread = middle(*effect.gets)
    gets = max(gets, 1 / FARTHEST)
    if effect.hold != "ordinary":
        hold, hold_spread = middle(*effect.hold)
        return LoadChange(gets=gets, hold=hold, gets_spread=gets_spread, hold_spread=hold_spread), None
    ordinary, scatter = ordinary_hold(context, child)
    return LoadChange(gets=gets, hold_seconds=ordinary, gets_spread=gets_spread, hold_spread=scatter), ordinary


def _figures(now: LatchCounts, predicted: Prediction) -> Iterator[PredictedFigure]:
    rate, factor, slept = now.misses / now.seconds, predicted.misses, predicted.sleeps_per_second
    misses = Estimate(None if factor.value is None else factor.value * rate, factor.low * rate, factor.high * rate)
    yield PredictedFigure(name="miss_ratio", unit="of gets", now=now.miss_ratio, **asdict(predicted.miss_ratio))
    yield PredictedFigure(name="misses_per_second", unit="1/s", now=rate, **asdict(misses))
    if slept is not None:
        per_second = now.sleeps / now.seconds
        yield PredictedFigure(name="sleeps_per_second", unit="1/s", now=per_second, **asdict(slept))


def _statement(figures: Sequence[PredictedFigure]) -> str:
    missed = figures[0]
    parts = [f"misses {predicted_share(missed.now, missed.value, missed.low, missed.high)} of gets"]
    slept = next((figure for figure in figures if figure.name == "sleeps_per_second"), None)
    if slept is not None:
        fewer = missed.now >= (missed.high if missed.value is None else missed.value)
        parts.append(predicted_sleeps(slept.now, slept.high, fewer))
    return "; ".join(parts)


def score(effect: PredictedEffect, after: LatchCounts, made_at: datetime | None = None) -> PredictionScore | None:
    """How a prediction stood to what was counted after the change; None where nothing was predicted.

    Of sleeps only the bound is a promise: fewer are no failure.
    """
    promised = [
        ScoredFigure(
            name=figure.name,
            unit=figure.unit,
            before=figure.now,
            low=figure.low if figure.name == "miss_ratio" else 0.0,
            high=figure.high,
            came=0.0,
            inside=False,
        )
        for figure in effect.figures
        if figure.name == "miss_ratio" or figure.name == "sleeps_per_second"
    ]
    return _scored(promised, after, effect.intervals, made_at, effect.child) if promised else None


def scored_again(kept: PredictionScore, after: LatchCounts) -> PredictionScore:
    """The same promise held against what is counted by now."""
    return _scored(kept.figures, after, kept.intervals, kept.made_at, kept.child)


def _scored(
    promised: Sequence[ScoredFigure], after: LatchCounts, intervals: int, made_at: datetime | None, child: int | None
) -> PredictionScore:
    seen = {"miss_ratio": after.miss_ratio, "sleeps_per_second": after.sleeps / after.seconds}
    figures = tuple(
        each.model_copy(update={"came": seen[each.name], "inside": each.low <= seen[each.name] <= each.high})
        for each in promised
    )
    held = all(figure.inside for figure in figures)
    missed, *slept = figures
    words = f"{percent(missed.came)} of gets missed where {percent(missed.low)} to {percent(missed.high)} was predicted"
    for figure in slept:
        words += f", {rough(figure.came)} sleeps a second where at most {rough(figure.high)} were"
    made = "before" if made_at is None else f"at {made_at:%H:%M:%S} UTC"
    return PredictionScore(
        held=held,
        statement=f"the prediction made {made} {'held' if held else 'failed'}: {words}",
        intervals=intervals,
        figures=figures,
        made_at=made_at,
        child=child,
    )
