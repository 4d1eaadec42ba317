"""What is compared of the load: the caches that were asked, the places that slept, and the work that was done, as Changes."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from collectors.model import ROW_CACHE_LATCH, Missing, number
from rules.comparison.figures import ComparedFigure, ComparedSides, both, counted, known, level
from rules.comparison.model import FigureChange
from rules.comparison.units import DB_TIME, EXECUTIONS, HARD_PARSES, LOGONS, OF_WORK, SECONDS, fitting, transactions
from rules.context import SignalContext, SignalValue, Unknown
from rules.formatting import function_of
from rules.model import Surface

MOST_NAMED = 5
"""Caches and places told of each side, the most used first."""
NAMED = {"gets": (0.01, 1.0), "modifications": (0.1, 20.0)}
"""A cache is told from this share, and this number, of all gets or changes on."""
ENTRIES_FACTOR = 1.1
FEW_ENTRIES = 20.0
TRAFFIC = {"gets": "gets of", "getmisses": "entries loaded into", "modifications": "changes of"}


@dataclass(frozen=True, slots=True)
class WorkKind:
    """A kind of work: its key, its words, the statistics it comes from, how a Scene has it, its figure in the baselines."""

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


def work_per_second(scene: SignalContext) -> Mapping[str, float]:
    """Each kind of work per second; only what is known, none for totals of unknown age."""
    seconds = scene.delta.basis.seconds
    amounts = {kind.name: kind.amount(scene) for kind in WORK}
    return {name: done / seconds for name, done in amounts.items() if done is not None and seconds}


def work_changes(pair: ComparedSides) -> Iterator[FigureChange]:
    """How much work was done per second."""
    for kind in WORK:
        item = ComparedFigure(kind.name, kind.words, figure=kind.figure)
        yield counted(item, pair, both(pair, _work(kind)), (SECONDS,))


def _work(kind: WorkKind) -> Callable[[SignalContext], SignalValue]:
    view = "v$sys_time_model" if kind.name == "db_time" else "v$sysstat"
    return lambda scene: known(scene, kind.amount(scene), view, kind.statistics)


def cache_changes(pair: ComparedSides) -> Iterator[FigureChange]:
    """Traffic and entries of the caches most asked for or most changed on either side, each by its name."""
    for name in _named(pair):
        for column, words in TRAFFIC.items():
            item = ComparedFigure(f"cache_{column}", f"{words} {name}", of=name)
            whole = (*both(pair, _all(column)), f"all {column}")
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


def _named(pair: ComparedSides) -> list[str]:
    """The caches to speak of, the most asked for first."""
    told: dict[str, float] = {}
    for scene in (pair.before, pair.after):
        for column, (share, fewest) in NAMED.items():
            values = scene.by_name(column)
            least = max(share * sum(values.values()), fewest)
            leading = [(name, value) for name, value in values.items() if value >= least][:MOST_NAMED]
            told |= {name: max(told.get(name, 0.0), value) for name, value in leading}
    return sorted(told, key=lambda name: (-told[name], name))


def top_cache(scene: SignalContext) -> tuple[str, float] | None:
    """The cache most asked for and its share of all gets that are known; None without any."""
    gets = scene.by_name("gets")
    total = sum(gets.values())
    return next(((name, part / total) for name, part in gets.items()), None) if total else None


def _of_cache(name: str, column: str) -> Callable[[SignalContext], SignalValue]:
    def read(scene: SignalContext) -> SignalValue:
        rows = [row for row in scene.delta.rows("v$rowcache") if row.get("parameter") == name]
        if rows or isinstance(scene.delta.read("v$rowcache"), Missing):
            return known(scene, scene.sum_of(rows, column), "v$rowcache", column)
        why = f"the report does not list {name}" if scene.printed else f"no cache named {name} there"
        return Unknown("v$rowcache", why, "nothing to do")

    return read


def _all(column: str) -> Callable[[SignalContext], SignalValue]:
    return lambda scene: known(scene, scene.sum_of(scene.delta.rows("v$rowcache"), column), "v$rowcache", column)


def location_changes(pair: ComparedSides) -> Iterator[FigureChange]:
    """Sleeps by location, of the latch or of the mutexes, whichever guards both sides."""
    if pair.before.mechanism != pair.after.mechanism or pair.before.mechanism is None:
        return
    surface: Surface = pair.before.mechanism
    sides = [places(scene, surface) for scene in (pair.before, pair.after)]
    leading = {place for side in sides if side for place in list(side)[:MOST_NAMED]}
    most = {place: max(side.get(place, 0.0) for side in sides if side) for place in leading}
    view = "v$latch_misses" if surface == "latch" else "v$mutex_sleep"
    for place in sorted(leading, key=lambda one: (-most[one], one)):
        first, second = (
            (known(scene, _at(side, place), view, "sleeps"), known(scene, _at(side), view, "sleeps"))
            for scene, side in zip((pair.before, pair.after), sides, strict=True)
        )
        item = ComparedFigure("location_sleeps", f"sleeps at {place}", of=place, surface=surface)
        yield counted(item, pair, (first[0], second[0]), OF_WORK, (first[1], second[1], "all sleeps"))


def _at(side: Mapping[str, float] | None, place: str | None = None) -> float | None:
    """Sleeps at a place, or at all of them; a place the view does not list has none."""
    return None if side is None else sum(side.values()) if place is None else side.get(place, 0.0)


def places(scene: SignalContext, surface: Surface) -> Mapping[str, float] | None:
    """Sleeps by location, most first; mutex locations by function, as their numbers move. None where not known.

    The views list a place once somebody slept there, so one they do not list has none.
    """
    view, column = ("v$latch_misses", "sleep_count") if surface == "latch" else ("v$mutex_sleep", "sleeps")
    if isinstance(scene.delta.read(view), Missing):
        return None
    slept: dict[str, float] = {}
    for row in scene.delta.rows(view):
        cell = number(row.get(column))
        if surface == "latch" and row.get("parent_name") != ROW_CACHE_LATCH:
            continue
        if cell is None:
            return None
        place = str(row.get("location"))
        place = place if surface == "latch" else function_of(place)
        slept[place] = slept.get(place, 0.0) + cell
    return dict(sorted(slept.items(), key=lambda item: (-item[1], item[0])))
