"""What a cause's remedy is worth on this Delta, and whether such a prediction came true."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from rules.cause import Cause
from rules.contention.calibration import calibrate
from rules.contention.change import FARTHEST, LoadChange
from rules.contention.prediction import Estimate, Prediction, predict
from rules.contention.readings import LatchCounts, NotPredictable, counts_of, middle, ordinary_hold, processors
from rules.context import SignalContext
from rules.formatting import percent, predicted_share, predicted_sleeps, rough
from rules.model import Finding
from rules.predicted import PredictedEffect, PredictedFigure, PredictionScore, RemedyEffect, ScoredFigure


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
    context: SignalContext,
    cause: str,
    effect: RemedyEffect,
    child: int | None,
    cache: str | None,
    earlier: Sequence[LatchCounts] = (),
) -> PredictedEffect:
    """The effect of the remedy on the child. Refused, with the reason, if no prediction is possible.

    `earlier` are intervals of the same child under the same trouble, for the calibration.
    """
    words = _in_words(effect)
    try:
        if child is None:
            raise NotPredictable("the child latch behind the trouble is unknown")
        now = counts_of(context, child)
        change, ordinary = _change(context, effect, child)
        model = calibrate([*earlier, now], now, processors=processors(context))
        predicted = predict(model, change)
    except NotPredictable as error:
        refused = str(error)
        return PredictedEffect(
            cause=cause, child=child, cache=cache, change=words, statement=f"no prediction: {refused}", refused=refused
        )
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
    hold = (
        ""
        if effect.hold == (1.0, 1.0)
        else "held as briefly as the other children"
        if effect.hold == "ordinary"
        else f"hold × {_range(*effect.hold)}"
    )
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


def _figures(now: LatchCounts, predicted: Prediction) -> list[PredictedFigure]:
    rate = now.misses / now.seconds
    misses = Estimate(
        None if predicted.misses.value is None else predicted.misses.value * rate,
        predicted.misses.low * rate,
        predicted.misses.high * rate,
    )
    found = [
        _figure("miss_ratio", "of gets", now.miss_ratio, predicted.miss_ratio),
        _figure("misses_per_second", "1/s", rate, misses),
    ]
    if predicted.sleeps_per_second is not None:
        found.append(_figure("sleeps_per_second", "1/s", now.sleeps / now.seconds, predicted.sleeps_per_second))
    return found


def _figure(name: str, unit: str, now: float, estimate: Estimate) -> PredictedFigure:
    return PredictedFigure.model_validate(
        {"name": name, "unit": unit, "now": now, "value": estimate.value, "low": estimate.low, "high": estimate.high}
    )


def _statement(figures: Sequence[PredictedFigure]) -> str:
    missed = figures[0]
    parts = [f"misses {predicted_share(missed.now, missed.value, missed.low, missed.high)} of gets"]
    slept = next((figure for figure in figures if figure.name == "sleeps_per_second"), None)
    if slept is not None:
        parts.append(
            predicted_sleeps(
                slept.now, slept.high, missed.now >= (missed.high if missed.value is None else missed.value)
            )
        )
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
