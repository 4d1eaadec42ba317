"""From two readings of one figure to a Change: per unit of work, checked against noise and the usual, as a sentence."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from rules.baseline import UsualRange
from rules.comparison.model import ChangeVerdict, Direction, FigureChange, is_share
from rules.comparison.significance import beyond_noise, factor_apart
from rules.comparison.units import DB_TIME, CommonUnit, Unit, common
from rules.context import Known, SignalContext, SignalValue, Unknown
from rules.formatting import percent, rough, sentence
from rules.model import Surface

LITTLE_DB_TIME = 60.0
"""With less DB time, in seconds, a share of it means nothing: one wait more or less would change it."""
NOTICED_SHARE = 0.005
"""A smaller share of DB time is not worth a word; see the severities."""
TWICE, UNEQUAL, MANY_EVENTS = 2.0, 3.0, 20.0
"""If two rates differ by this factor, sides this many times as large, with this many events, must show it."""


@dataclass(frozen=True, slots=True)
class ComparedSides:
    """Both sides of a comparison, and the usual figures of each, by their names in `baseline.figures`."""

    before: SignalContext
    after: SignalContext
    usual: Mapping[str, UsualRange] = field(default_factory=dict)
    figures: tuple[Mapping[str, float], Mapping[str, float]] = ({}, {})

    def outside_usual(self, figure: str | None) -> bool | None:
        """Whether a side of a figure is outside the usual range. None without a baseline or a figure."""
        usual = self.usual.get(figure or "")
        values = [side[figure] for side in self.figures if figure in side] if figure else []
        return None if usual is None or len(values) < 2 else not all(usual.holds(value) for value in values)


@dataclass(frozen=True, slots=True)
class ComparedFigure:
    """What is compared: its key, its words, its surface, and its name in the baselines."""

    name: str
    title: str
    of: str | None = None
    surface: Surface | None = None
    figure: str | None = None


def both(pair: ComparedSides, read: Callable[[SignalContext], SignalValue]) -> tuple[SignalValue, SignalValue]:
    return read(pair.before), read(pair.after)


def known(context: SignalContext, value: float | None, view: str, column: str) -> SignalValue:
    """A number as a Reading. None becomes the reason why it is unknown."""
    return context.why_unknown(view, column) if value is None else Known(value)


def counted(
    item: ComparedFigure,
    pair: ComparedSides,
    readings: tuple[SignalValue, SignalValue],
    units: Sequence[Unit],
    share_of: tuple[SignalValue, SignalValue, str] | None = None,
    size: float = 1.0,
) -> FigureChange:
    """A count, or seconds made of waits of `size` seconds each, per the first unit that both sides have.

    Totals of unknown age may have no unit. Then it is a share of a whole, given by its two readings and its name.
    """
    before, after = readings
    if isinstance(before, Unknown) or isinstance(after, Unknown):
        return untold(item, before, after)
    measure = common(units, pair.before, pair.after) or _share(share_of)
    if measure is None:
        return incomparable(item, before.value, after.value, "no measure of work is known on both sides")
    scale = measure.unit.scale
    rates = before.value / measure.before * scale, after.value / measure.after * scale
    beyond = beyond_noise(before.value / size, after.value / size, measure.before, measure.after)
    due = before.value / measure.before * measure.after
    found = _judged(item, pair, readings, rates, measure.unit, beyond, due)
    why = None if beyond else _too_little(measure, (before.value / size, after.value / size), rates)
    return found if why is None else _unjudged(found, why)


def _too_little(measure: CommonUnit, counts: tuple[float, float], rates: tuple[float, float]) -> str | None:
    """Which side is too small to show a change: it could not tell a rate of at least twice the other's from noise."""
    low, high = sorted(rates)
    if high < TWICE * low or high == low or (measure.unit is DB_TIME and high < NOTICED_SHARE):
        return None
    short, long = sorted((measure.before, measure.after))
    little_time = measure.unit is DB_TIME and short < LITTLE_DB_TIME
    if not little_time and not (long >= UNEQUAL * short and max(counts) >= MANY_EVENTS):
        return None
    side = "before" if measure.before == short else "after"
    return f"{measure.unit.amount_in_words(short)} {side}: too little to compare"


def _unjudged(found: FigureChange, why: str) -> FigureChange:
    """A change with two known sides that may be chance."""
    words = sentence(f"{found.title} cannot be compared: {why}.")
    unjudged = {"verdict": "cannot tell", "direction": "cannot tell", "factor": None, "why": why, "sentence": words}
    return found.model_copy(update={**unjudged, "too_little": True})


def level(
    item: ComparedFigure,
    pair: ComparedSides,
    readings: tuple[SignalValue, SignalValue],
    unit: str,
    least: float,
    apart: float = 0.0,
) -> FigureChange:
    """A figure that is not a count, such as an index. It changed if it differs by at least this factor and this amount."""
    before, after = readings
    if isinstance(before, Unknown) or isinstance(after, Unknown):
        return untold(item, before, after)
    values = before.value, after.value
    return _judged(
        item, pair, readings, values, Unit("", unit, 1, 0, lambda _: None), factor_apart(*values, least, apart)
    )


def untold(item: ComparedFigure, before: SignalValue, after: SignalValue) -> FigureChange:
    """A figure that one side lacks."""
    sides = {"before": before, "after": after}
    why = "; ".join(f"not known {name}: {side.why}" for name, side in sides.items() if isinstance(side, Unknown))
    values = [value.value if isinstance(value, Known) else None for value in (before, after)]
    return incomparable(item, values[0], values[1], why)


def _share(share_of: tuple[SignalValue, SignalValue, str] | None) -> CommonUnit | None:
    if share_of is None:
        return None
    before, after, of = share_of
    if isinstance(before, Unknown) or isinstance(after, Unknown) or not before.value or not after.value:
        return None
    return CommonUnit(Unit(f"as a share of {of}", f"of {of}", 1, 0, lambda _: None), before.value, after.value)


def _judged(
    item: ComparedFigure,
    pair: ComparedSides,
    readings: tuple[SignalValue, SignalValue],
    rates: tuple[float, float],
    unit: Unit,
    beyond: bool,
    due: float | None = None,
) -> FigureChange:
    outside = pair.outside_usual(item.figure)
    verdict: ChangeVerdict = "within noise" if not beyond else "within the usual" if outside is False else "changed"
    direction: Direction = "same" if rates[0] == rates[1] else "rose" if rates[1] > rates[0] else "fell"
    before, after = (reading.value if isinstance(reading, Known) else None for reading in readings)
    return FigureChange(
        name=item.name,
        title=item.title,
        of=item.of,
        surface=item.surface,
        before=rates[0],
        after=rates[1],
        unit=unit.words,
        counted_before=before,
        counted_after=after,
        due_after=due,
        factor=rates[1] / rates[0] if rates[0] and rates[1] else None,
        direction=direction,
        verdict=verdict,
        outside_usual=outside,
        sentence=sentence(f"{item.title} {moved(rates, unit, verdict, direction)}."),
    )


def incomparable(item: ComparedFigure, before: float | None, after: float | None, why: str) -> FigureChange:
    """A figure that cannot be compared. What was counted is kept."""
    return FigureChange(
        name=item.name,
        title=item.title,
        of=item.of,
        surface=item.surface,
        before=None,
        after=None,
        unit="",
        counted_before=before,
        counted_after=after,
        due_after=None,
        factor=None,
        direction="cannot tell",
        verdict="cannot tell",
        outside_usual=None,
        why=why,
        sentence=sentence(f"{item.title} cannot be compared: {why}."),
    )


def moved(rates: tuple[float, float], unit: Unit, verdict: ChangeVerdict, direction: Direction) -> str:
    """How a figure changed, as the end of a sentence: `fell 41-fold per execution (8,210 → 200 per 1,000 executions)`."""
    if rates == (0.0, 0.0):
        return "stayed at zero"
    bracket = f"({_spelled(rates[0], unit)} → {_spelled(rates[1], unit)} {unit.words})".replace(" )", ")")
    if direction == "same":
        return f"did not change {bracket}"
    if verdict == "within noise":
        return f"changed within noise {bracket}"
    if verdict == "within the usual":
        return f"changed within what is usual here {bracket}"
    each = f" {unit.each}" if unit.each else ""
    return f"{direction}{_fold(rates)}{each} {bracket}"


def _fold(rates: tuple[float, float]) -> str:
    low, high = sorted(rates)
    if not low:
        return " from none" if rates[0] == low else " to none"
    if high >= 2 * low:
        return f" {rough(high / low)}-fold"
    return f" by {abs(rates[1] / rates[0] - 1):.0%}".replace("%", " %")


def _spelled(value: float, unit: Unit) -> str:
    return percent(value) if is_share(unit.words) else rough(value)
