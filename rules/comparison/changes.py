"""From two readings of one figure to a Change: per unit of work, checked against noise and the usual, as a sentence."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from math import sqrt
from typing import Any, Literal

from pydantic import Field

from collectors.model import ROW_CACHE_LATCH, Missing, number
from rules.base import Frozen
from rules.baseline import UsualRange
from rules.context import LOOKUPS, Known, SignalContext, SignalValue, Unknown
from rules.formatting import function_of, percent, rough, sentence
from rules.model import DiagnosisBasis, Surface

# The words of a comparison: Side, Change, Comparison, and whether an episode's end is verified. JSON of the REST
# interface.

Direction = Literal["rose", "fell", "same", "cannot tell"]
ChangeVerdict = Literal["changed", "within noise", "within the usual", "cannot tell"]


def is_share(unit: str) -> bool:
    """Whether a unit names the whole that a figure is a share of."""
    return unit.startswith("of ")


class Side(Frozen):
    """One side of a comparison: what was read, over which time, and how much work was done then."""

    database: str
    release: str | None
    mechanism: Literal["latch", "mutex"] | None
    source: Literal["views", "report"]
    basis: DiagnosisBasis
    work: Mapping[str, float] = Field(description="kinds of work per second; empty if no rate is known")


class FigureChange(Frozen):
    """One figure on both sides, in a unit that both have."""

    name: str = Field(description="stable key, such as latch_sleeps or cache_gets")
    title: str
    of: str | None = Field(description="the cache or miss location it is about")
    surface: Surface | None
    before: float | None = Field(description="in `unit`; null if unknown, which is never zero")
    after: float | None
    unit: str
    counted_before: float | None = Field(description="the count or the seconds behind it, before it was put per unit")
    counted_after: float | None
    due_after: float | None = Field(description="the count to expect after, at the rate before; null for levels")
    factor: float | None = Field(description="after / before; null if either is zero or unknown")
    direction: Direction
    verdict: ChangeVerdict
    outside_usual: bool | None = Field(description="whether a side is outside the usual range; null without a baseline")
    why: str = Field("", description="why it is unknown")
    too_little: bool = Field(False, description="whether one side is too small to tell a change from chance")
    sentence: str

    @property
    def is_share(self) -> bool:
        """Whether both sides are shares of a whole, such as `of DB time`."""
        return is_share(self.unit)


class WorkDone(Frozen):
    """The work of both sides, by the first measure that both have."""

    name: str
    before: float = Field(description="per second")
    after: float
    factor: float
    same: bool = Field(description="whether it stayed within a fifth, so that the load is not the reason")


class CameBack(Frozen):
    """A trouble that a mark was meant to end, and that came back after it."""

    cause: str
    name: str
    at: datetime


class Comparison(Frozen):
    """Before against after, figure by figure."""

    database: str
    before: Side
    after: Side
    comparable: bool = Field(description="false where latches guard one side and mutexes the other")
    mark: str | None
    changes: tuple[FigureChange, ...]
    deciding: FigureChange | None = Field(
        None, description="the change that the sentence speaks of; null where the sides cannot be compared item by item"
    )
    work: WorkDone | None = Field(None, description="whether the work stayed the same; null if unknown")
    came_back: CameBack | None = Field(
        None, description="when the problem came back after the mark; null if it did not"
    )
    notes: tuple[str, ...]
    sentence: str

    def find(self, name: str, of: str | None = None) -> FigureChange | None:
        """The change of that name, for one cache or location if given."""
        return next((change for change in self.changes if change.name == name and of in (None, change.of)), None)


class ChangeVerification(Frozen):
    """The trouble of a cause is gone, or much smaller, while the work went on."""

    verdict: Literal["verified"] = "verified"
    cause: str
    because: str
    change: FigureChange


class NotVerified(Frozen):
    """The end of a cause's trouble cannot be put down to the change, and why not."""

    verdict: Literal["not verified"] = "not verified"
    cause: str
    reason: Literal["no data after", "too few events", "the load went too", "sleeps did not fall"]
    because: str


# What a count is divided by: a piece of work that both sides did, the second, or the whole it is part of.

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


# Whether two counts differ by more than chance and bursts explain.

BOUND = 4.0
"""Standard deviations: twice what independent events need, because sleeps come in bursts."""
ORDINARY_FACTOR = 1.25
"""Large counts differ by this factor from hour to hour without any reason."""


def deviations(before: float, after: float, exposure_before: float, exposure_after: float) -> float:
    """How many standard deviations of a Poisson count lie between two rates. Exchanged sides give the same.

    Anscombe's square root makes it valid for few events and for none. Exposures are seconds, executions, gets: the unit
    that the counts are divided by. Both are above zero.
    """
    share = exposure_after / exposure_before
    apart = sqrt(after + 3 / 8) - sqrt(share) * sqrt(before + 3 / 8)
    return 2 * abs(apart) / sqrt(1 + share)


def beyond_noise(before: float, after: float, exposure_before: float, exposure_after: float) -> bool:
    """Whether two rates differ by more than noise: by at least an ordinary factor, and by more than chance."""
    low, high = sorted((before / exposure_before, after / exposure_after))
    if high < ORDINARY_FACTOR * low or high == low:
        return False
    return deviations(before, after, exposure_before, exposure_after) >= BOUND


def factor_apart(before: float, after: float, least: float = ORDINARY_FACTOR, apart: float = 0.0) -> bool:
    """Whether two levels, which are not counts, differ by at least a factor and an amount."""
    low, high = sorted((before, after))
    return high > low and high >= least * low and high - low >= apart


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

    def change(self, **known: Any) -> FigureChange:
        """What is known of it, all else null."""
        unknown = ("before", "after", "counted_before", "counted_after", "due_after", "factor", "outside_usual")
        own = {"name": self.name, "title": self.title, "of": self.of, "surface": self.surface}
        return FigureChange(**{**dict.fromkeys(unknown), **own, **known})


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
    if why is None:
        return found
    words = sentence(f"{found.title} cannot be compared: {why}.")
    unjudged = {"verdict": "cannot tell", "direction": "cannot tell", "factor": None, "why": why, "sentence": words}
    return found.model_copy(update={**unjudged, "too_little": True})


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
    values, whole = (before.value, after.value), Unit("", unit, 1, 0, lambda _: None)
    return _judged(item, pair, readings, values, whole, factor_apart(*values, least, apart))


def untold(item: ComparedFigure, before: SignalValue, after: SignalValue) -> FigureChange:
    """A figure that one side lacks."""
    sides = {"before": before, "after": after}
    why = "; ".join(f"not known {name}: {side.why}" for name, side in sides.items() if isinstance(side, Unknown))
    first, second = (side.value if isinstance(side, Known) else None for side in sides.values())
    return incomparable(item, first, second, why)


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
    return item.change(
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
    return item.change(
        unit="",
        counted_before=before,
        counted_after=after,
        direction="cannot tell",
        verdict="cannot tell",
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


# Compares the load as Changes: the caches that were asked, the places that slept, and the work that was done.

MOST_NAMED = 5
"""How many caches and places each side lists, the most used first."""
NAMED = {"gets": (0.01, 1.0), "modifications": (0.1, 20.0)}
"""A cache is listed if it has at least this share and this number of all gets, look-ups or changes."""
ENTRIES_FACTOR = 1.1
FEW_ENTRIES = 20.0
TRAFFIC = {"gets": "gets of", "getmisses": "entries loaded into", "modifications": "changes of"}


@dataclass(frozen=True, slots=True)
class WorkKind:
    """A kind of work: its key, its words, its statistics, its reading from a Scene, its name in the baselines."""

    name: str
    words: str
    statistics: str
    amount: Callable[[SignalContext], float | None]
    figure: str | None = None

    def read(self, context: SignalContext) -> SignalValue:
        """How much of it was done, or why that is unknown."""
        view = "v$sys_time_model" if self.name == "db_time" else "v$sysstat"
        return known(context, self.amount(context), view, self.statistics)


WORK = (
    WorkKind("executions", "executions", "execute count", EXECUTIONS.amount, "executions_per_second"),
    WorkKind("transactions", "transactions", "user commits and user rollbacks", transactions),
    WorkKind("hard_parses", "hard parses", "parse count (hard)", HARD_PARSES.amount, "hard_parses_per_second"),
    WorkKind("logons", "logons", "logons cumulative", LOGONS.amount, "logons_per_second"),
    WorkKind("db_time", "seconds of DB time", "DB time", DB_TIME.amount, "db_time_per_second"),
)


def work_per_second(context: SignalContext) -> Mapping[str, float]:
    """Each kind of work per second. Only what is known; none for totals of unknown age."""
    seconds = context.delta.basis.seconds
    amounts = {kind.name: kind.amount(context) for kind in WORK}
    return {name: done / seconds for name, done in amounts.items() if done is not None and seconds}


def work_changes(pair: ComparedSides) -> Iterator[FigureChange]:
    """How much work was done per second."""
    for kind in WORK:
        item = ComparedFigure(kind.name, kind.words, figure=kind.figure)
        yield counted(item, pair, both(pair, kind.read), (SECONDS,))


def cache_changes(pair: ComparedSides) -> Iterator[FigureChange]:
    """Traffic and entries of the caches most asked for or most changed on either side, each by its name."""
    for name in _named(pair):
        for figure, words in TRAFFIC.items():
            column = _compared(pair, figure)
            measured = "look-ups in" if column == LOOKUPS else words
            item = ComparedFigure(f"cache_{figure}", f"{measured} {name}", of=name)
            whole = (*both(pair, _all(column)), f"all {'look-ups' if column == LOOKUPS else column}")
            yield counted(item, pair, both(pair, _of_cache(name, column)), fitting(name), whole)
        entries = both(pair, _of_cache(name, "usage"))
        item = ComparedFigure("cache_entries", f"entries of {name}", of=name)
        yield level(item, pair, entries, "entries", ENTRIES_FACTOR, FEW_ENTRIES)


def _compared(pair: ComparedSides, figure: str) -> str:
    """What gets are compared by: look-ups, unless both sides count gets alike and one lacks the fast way.

    Gets mean something else on a release with the fast way than on one without, though the name is the same.
    """
    if figure != "gets":
        return figure
    sides = (pair.before, pair.after)
    measured = all(any(LOOKUPS in row for row in context.rowcache) for context in sides)
    alike = sides[0].fast_way == sides[1].fast_way
    return figure if alike and not (measured and sides[0].fast_way) else LOOKUPS


def _named(pair: ComparedSides) -> list[str]:
    """The caches to mention, the most asked for first."""
    amounts: dict[str, float] = {}
    for context in (pair.before, pair.after):
        for figure, (share, fewest) in NAMED.items():
            values = context.by_name(_compared(pair, figure))
            least = max(share * sum(values.values()), fewest)
            leading = [(name, value) for name, value in values.items() if value >= least][:MOST_NAMED]
            amounts |= {name: max(amounts.get(name, 0.0), value) for name, value in leading}
    return sorted(amounts, key=lambda name: (-amounts[name], name))


def _of_cache(name: str, column: str) -> Callable[[SignalContext], SignalValue]:
    def read(context: SignalContext) -> SignalValue:
        rows = [row for row in context.rowcache if row.get("parameter") == name]
        if rows or isinstance(context.delta.read("v$rowcache"), Missing):
            return known(context, context.sum_of(rows, column), "v$rowcache", column)
        why = f"the report does not list {name}" if context.printed else f"no cache named {name} there"
        return Unknown("v$rowcache", why, "nothing to do")

    return read


def _all(column: str) -> Callable[[SignalContext], SignalValue]:
    return lambda context: known(context, context.sum_of(context.rowcache, column), "v$rowcache", column)


def location_changes(pair: ComparedSides) -> Iterator[FigureChange]:
    """Sleeps by location, of the latch or the mutexes: of whichever guards both sides."""
    if pair.before.mechanism != pair.after.mechanism or pair.before.mechanism is None:
        return
    surface: Surface = pair.before.mechanism
    view = "v$latch_misses" if surface == "latch" else "v$mutex_sleep"
    sides = [places(context, surface) for context in (pair.before, pair.after)]

    def slept(at: Callable[[Mapping[str, float]], float]) -> tuple[SignalValue, SignalValue]:
        first, second = (None if side is None else at(side) for side in sides)
        return known(pair.before, first, view, "sleeps"), known(pair.after, second, view, "sleeps")

    leading = {location for side in sides if side for location in list(side)[:MOST_NAMED]}
    most = {location: max(side.get(location, 0.0) for side in sides if side) for location in leading}
    everywhere = (*slept(lambda side: sum(side.values())), "all sleeps")
    for location in sorted(leading, key=lambda location: (-most[location], location)):
        item = ComparedFigure("location_sleeps", f"sleeps at {location}", of=location, surface=surface)
        # A place that the view does not list has none.
        own = slept(lambda side, here=location: side.get(here, 0.0))  # type: ignore[misc]
        yield counted(item, pair, own, OF_WORK, everywhere)


def places(context: SignalContext, surface: Surface) -> Mapping[str, float] | None:
    """Sleeps by location, most first; mutex locations by function, because their numbers change. None if unknown.

    The views list a place once a session slept there. A place they do not list has no sleeps.
    """
    view, column = ("v$latch_misses", "sleep_count") if surface == "latch" else ("v$mutex_sleep", "sleeps")
    if isinstance(context.delta.read(view), Missing):
        return None
    slept: dict[str, float] = {}
    for row in context.delta.rows(view):
        cell = number(row.get(column))
        if surface == "latch" and row.get("parent_name") != ROW_CACHE_LATCH:
            continue
        if cell is None:
            return None
        location = str(row.get("location"))
        location = location if surface == "latch" else function_of(location)
        slept[location] = slept.get(location, 0.0) + cell
    return dict(sorted(slept.items(), key=lambda item: (-item[1], item[0])))
