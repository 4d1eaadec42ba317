"""Compares the load as Changes: the caches that were asked, the places that slept, and the work that was done."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from collectors.model import ROW_CACHE_LATCH, Missing, number
from rules.comparison.figures import ComparedFigure, ComparedSides, both, counted, known, level
from rules.comparison.model import FigureChange
from rules.comparison.units import DB_TIME, EXECUTIONS, HARD_PARSES, LOGONS, OF_WORK, SECONDS, fitting, transactions
from rules.context import SignalContext, SignalValue, Unknown
from rules.formatting import function_of
from rules.lookups import LOOKUPS
from rules.model import Surface

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
        yield counted(item, pair, both(pair, _work(kind)), (SECONDS,))


def _work(kind: WorkKind) -> Callable[[SignalContext], SignalValue]:
    view = "v$sys_time_model" if kind.name == "db_time" else "v$sysstat"
    return lambda context: known(context, kind.amount(context), view, kind.statistics)


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
        yield level(
            ComparedFigure("cache_entries", f"entries of {name}", of=name),
            pair,
            entries,
            "entries",
            ENTRIES_FACTOR,
            FEW_ENTRIES,
        )


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


def top_cache(context: SignalContext) -> tuple[str, float] | None:
    """The cache most asked for and its share of all known look-ups. None without any."""
    lookups = context.by_name(LOOKUPS)
    total = sum(lookups.values())
    return next(((name, part / total) for name, part in lookups.items()), None) if total else None


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
    sides = [places(context, surface) for context in (pair.before, pair.after)]
    leading = {location for side in sides if side for location in list(side)[:MOST_NAMED]}
    most = {location: max(side.get(location, 0.0) for side in sides if side) for location in leading}
    view = "v$latch_misses" if surface == "latch" else "v$mutex_sleep"
    for location in sorted(leading, key=lambda location: (-most[location], location)):
        first, second = (
            (known(context, _at(side, location), view, "sleeps"), known(context, _at(side), view, "sleeps"))
            for context, side in zip((pair.before, pair.after), sides, strict=True)
        )
        item = ComparedFigure("location_sleeps", f"sleeps at {location}", of=location, surface=surface)
        yield counted(item, pair, (first[0], second[0]), OF_WORK, (first[1], second[1], "all sleeps"))


def _at(side: Mapping[str, float] | None, location: str | None = None) -> float | None:
    """Sleeps at a place, or at all of them. A place that the view does not list has none."""
    return None if side is None else sum(side.values()) if location is None else side.get(location, 0.0)


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
