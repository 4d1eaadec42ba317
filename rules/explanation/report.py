"""The steps of the walk where a report was read: its own figures, no child latch, and a cache by shares."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain

from collectors.model import ROW_CACHE_LATCH, SCRIPT, Missing, Row, number
from rules.context import SURFACE_EVENTS, SignalContext
from rules.formatting import count, counted, exact, over, percent, sentence
from rules.miss_locations import shape_of
from rules.model import Figure, Severity, Step
from rules.statistics import ratio

FEWEST_PER_GET, MOST_PER_GET = 0.9, 3.3
"""Latch gets per dictionary get that can be: one of a subordinate, three of a parent, a tenth of slack either way."""


TO_NAME_IT = "The script that `latchscope script` prints adds the children and the caches they guard."


def quiet(scene: SignalContext) -> bool:
    """Whether the row cache waits of a report cost nothing, so that no cache has to be named."""
    return scene.printed and (scene.gate is Severity.INFO or (scene.gate is None and scene.latch.sleeps == 0))


def no_child(scene: SignalContext) -> Step:
    """Which child is hot, which a report that prints the latch as a whole cannot tell."""
    slept = scene.latch.sleeps
    told = f", with {counted(slept, 'sleeps')} {over(scene.delta.basis)}" if slept is not None else ""
    more = "" if quiet(scene) else f" {TO_NAME_IT}"
    figures = () if slept is None else (Figure(name="sleeps", value=int(slept), unit="sleeps", of="v$latch"),)
    return Step(
        step="hot child",
        statement=f"A report cannot name the child latch: it prints row cache objects as a whole{told}.{more}",
        figures=figures,
    )


NOTHING_TO_EXPLAIN = "No cache needs to be named: row cache waits cost next to nothing here."


def guessed_cache(scene: SignalContext) -> Step:
    """The caches that the sleeps may belong to, by their share of the gets and the shape of the miss locations."""
    gets = scene.by_name("gets")
    total = sum(gets.values())
    if not total:
        unknown = scene.why_unknown("v$rowcache", "gets")
        return Step(step="cache", statement=f"Cannot tell which cache: {unknown.why}. {sentence(unknown.way_out)}.")
    leading = list(gets.items())[:3]
    shares = ", ".join(f"{name} {percent(part / total)}" for name, part in leading)
    if quiet(scene):
        few = f"{NOTHING_TO_EXPLAIN} Of {count(total)} dictionary gets {shares}.{_plausible(scene, total)}"
        return Step(step="cache", statement=few)
    return Step(
        step="cache",
        statement=f"Which cache the sleeps belong to is a guess from shares: of {count(total)} dictionary gets {shares}."
        f"{_fitting(scene, leading[0][0])}{_plausible(scene, total)} To know it, {SCRIPT}.",
        figures=tuple(Figure(name=name, value=part / total, unit="ratio", of="v$rowcache") for name, part in leading),
    )


def _fitting(scene: SignalContext, busiest: str) -> str:
    """What the miss locations add to the shares."""
    shape = shape_of(scene)
    if shape is None or shape.fingerprint is None:
        return f" The busiest, {busiest}, comes first; there are too few sleeps by location to say more."
    if shape.fingerprint != "chain":
        return f" The busiest, {busiest}, comes first; the miss locations say: {shape.meaning}."
    entries = scene.by_name("usage")
    longest = next(iter(entries), busiest)
    held = f", and {longest} holds the most entries, {count(entries[longest])}" if entries else ""
    return f" The busiest, {busiest}, comes first; the miss locations say: {shape.meaning}{held}."


def _plausible(scene: SignalContext, dictionary_gets: float) -> str:
    """Whether the latch gets are what the dictionary gets take; a check of the figures, never a way to a cache."""
    latch_gets = scene.latch.gets
    if not latch_gets:
        return ""
    each = latch_gets / dictionary_gets
    fits = FEWEST_PER_GET <= each <= MOST_PER_GET
    verdict = (
        "within the 1 to 3 that are possible"
        if fits
        else "where one to three are possible: some of these counters are wrong"
    )
    return f" The latch had {each:.2f} gets for each dictionary get, {verdict}."


@dataclass(frozen=True, slots=True)
class _Told:
    """Some figures of the report in words."""

    words: str
    figures: tuple[Figure, ...] = ()


@dataclass(frozen=True, slots=True)
class _Cell:
    """A column of a view: what it counts, its unit, and how many of the view's own units make one of that."""

    column: str
    what: str
    unit: str
    scale: float = 1.0


WAITS = (_Cell("total_waits", "waits", "waits"), _Cell("time_waited_micro", "time waited", "s", 1e6))
OWN_WAITS = (_Cell("total_waits_fg", "waits", "waits"), _Cell("time_waited_micro_fg", "time waited", "s", 1e6))
LATCH = (
    *(_Cell(one, one.replace("_", " "), one.replace("_", " ")) for one in ("gets", "misses", "sleeps", "spin_gets")),
    _Cell("wait_time", "time waited", "s", 1e6),
)
HOLDERS = (_Cell("sleep_count", "sleeps", "sleeps"), _Cell("wtr_slp_count", "waiter sleeps", "waiter sleeps"))
MUTEX = (_Cell("sleeps", "sleeps", "sleeps"), _Cell("wait_time", "time waited", "ms", 1e3))
CACHE = (
    *(_Cell(one, one, one) for one in ("gets", "modifications")),
    _Cell("usage", "entries", "entries"),
)
BUSIEST = 4
ROUNDED_AWAY = "< 0.01 %"


def as_printed(scene: SignalContext) -> Step | None:
    """The report's own figures of the row cache, to be compared with the page; nothing where no report was read."""
    if not scene.printed:
        return None
    told = [_db_time(scene), _waits(scene), _latch(scene)]
    told += [_sources(scene)] if scene.mechanism != "mutex" else []
    told += [_mutexes(scene)] if scene.mechanism != "latch" else []
    told += [_busiest_caches(scene)]
    return Step(
        step="as printed",
        statement=". ".join(sentence(one.words) for one in told) + ".",
        figures=tuple(chain.from_iterable(one.figures for one in told)),
    )


def _db_time(scene: SignalContext) -> _Told:
    seconds = scene.seconds_of("DB time")
    if seconds is None:
        return _Told("DB time is not printed")
    return _Told(f"DB time {seconds:,.1f} s", (Figure(name="DB time", value=seconds, unit="s", of="v$sys_time_model"),))


def _waits(scene: SignalContext) -> _Told:
    """Waits of foreground sessions for the row cache; of all processes where the report has them in one list."""
    view = "v$system_event"
    if isinstance(scene.delta.read(view), Missing):
        return _Told("row cache waits are not printed")
    listed = {row.get("event"): row for row in scene.delta.rows(view)}
    rows = [listed[event] for event in SURFACE_EVENTS.values() if event in listed]
    return _list("waits", "no wait for the row cache is listed", [_waits_of(scene, row, view) for row in rows])


def _waits_of(scene: SignalContext, row: Row, view: str) -> _Told:
    event = str(row.get("event"))
    apart = "time_waited_micro_fg" in row
    if apart and "total_waits_fg" not in row:
        return _Told(f"{event} by background processes alone")
    told = _row(event, row, OWN_WAITS if apart else WAITS, view)
    share = ratio(scene.waited_seconds((event,)), scene.seconds_of("DB time"))
    # Zero seconds of a printed wait are rounded ones.
    cost = f" ({percent(share, 2) if share else ROUNDED_AWAY} of DB time)" if share is not None and apart else ""
    return _Told(
        f"{told.words}{cost}" if apart else f"{told.words}, background processes perhaps among them", told.figures
    )


def _latch(scene: SignalContext) -> _Told:
    """The latch as a whole; from 12.2 on it lives on by name only, and its gets show that."""
    row = next((one for one in scene.delta.rows("v$latch") if one.get("name") == ROW_CACHE_LATCH), None)
    if row is None:
        return _Told(f"the latch {ROW_CACHE_LATCH} is not printed")
    # Without the breakdown, which alone has spin gets, misses are no printed figure but come from a rounded share.
    own = row if "spin_gets" in row else {name: cell for name, cell in row.items() if name != "misses"}
    told = _row(ROW_CACHE_LATCH, own, LATCH if scene.mechanism != "mutex" else LATCH[:1], "v$latch")
    return _Told(f"latch {told.words}", told.figures)


def _sources(scene: SignalContext) -> _Told:
    view = "v$latch_misses"
    if isinstance(scene.delta.read(view), Missing):
        return _Told("miss sources are not printed")
    rows = [row for row in scene.delta.rows(view) if row.get("parent_name") == ROW_CACHE_LATCH]
    return _list("miss sources", "no miss source of it is listed", _named(rows, "location", HOLDERS, view))


def _mutexes(scene: SignalContext) -> _Told:
    view = "v$mutex_sleep"
    if isinstance(scene.delta.read(view), Missing):
        return _Told("mutex sleeps are not printed")
    rows = scene.delta.rows(view)
    return _list("Row Cache mutexes", "no Row Cache mutex is listed", _named(rows, "location", MUTEX, view))


def _busiest_caches(scene: SignalContext) -> _Told:
    view = "v$rowcache"
    if isinstance(scene.delta.read(view), Missing):
        return _Told("dictionary caches are not printed")
    busy = sorted(scene.delta.rows(view), key=lambda row: (-(number(row.get("gets")) or 0.0), str(row)))[:BUSIEST]
    told = _named(busy, "parameter", CACHE, view)
    return _list("busiest dictionary caches", "no dictionary cache is listed", told)


def _named(rows: Iterable[Row], name: str, cells: tuple[_Cell, ...], view: str) -> list[_Told]:
    return [_row(str(row.get(name)), row, cells, view) for row in rows]


def _list(title: str, none: str, told: list[_Told]) -> _Told:
    words = f"{title}: {'; '.join(one.words for one in told)}" if told else none
    return _Told(words, tuple(chain.from_iterable(one.figures for one in told)))


def _row(name: str, row: Row, cells: tuple[_Cell, ...], view: str) -> _Told:
    """A row of a view: its cells in whole units, as reports print them; a cell that is not there is said."""
    words: list[str] = []
    figures: list[Figure] = []
    for cell in cells:
        value = number(row.get(cell.column))
        words.append(f"{cell.what} not known" if value is None else counted(value / cell.scale, cell.unit))
        if value is not None:
            value = exact(value / cell.scale)
            figures.append(Figure(name=f"{name}: {cell.what}", value=value, unit=cell.unit, of=view))
    return _Told(f"{name} {', '.join(words)}", tuple(figures))
