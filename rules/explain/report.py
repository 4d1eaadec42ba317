"""The steps of the walk for a report: its own figures, no child latch, and a cache by shares."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from collectors.model import ROW_CACHE_LATCH, SCRIPT, Missing, Row, number
from rules.context import SURFACE_EVENTS, SignalContext
from rules.formatting import count, counted, exact, over, percent, sentence
from rules.latch import ratio
from rules.miss_locations import shape_of
from rules.model import Figure, Severity, Step

FEWEST_PER_GET, MOST_PER_GET = 0.9, 3.3
"""Possible latch gets per dictionary get: one for a subordinate, three for a parent, with a tenth of slack either way."""


TO_NAME_IT = "The script that `latchscope script` prints adds the children and the caches they guard."


def quiet(context: SignalContext) -> bool:
    """Whether the row cache waits of a report cost nothing, so that there is no need to name a cache."""
    return context.printed and (context.gate is Severity.INFO or (context.gate is None and context.latch.sleeps == 0))


def no_child(context: SignalContext) -> Step:
    """The hot child, which a report cannot show because it prints the latch as a whole."""
    slept = context.latch.sleeps
    sleeps = f", with {counted(slept, 'sleeps')} {over(context.delta.basis)}" if slept is not None else ""
    more = "" if quiet(context) else f" {TO_NAME_IT}"
    figures = () if slept is None else (Figure(name="sleeps", value=int(slept), unit="sleeps", of="v$latch"),)
    return Step(
        step="hot child",
        statement=f"A report cannot name the child latch: it prints row cache objects as a whole{sleeps}.{more}",
        figures=figures,
    )


NOTHING_TO_EXPLAIN = "There is no need to name a cache: row cache waits cost next to nothing here."


def guessed_cache(context: SignalContext) -> Step:
    """The caches that the sleeps may belong to, by their share of the gets and the shape of the miss locations."""
    gets = context.by_name("gets")
    total = sum(gets.values())
    if not total:
        unknown = context.why_unknown("v$rowcache", "gets")
        return Step(step="cache", statement=f"Cannot tell which cache: {unknown.why}. {sentence(unknown.way_out)}.")
    leading = list(gets.items())[:3]
    shares = ", ".join(f"{name} {percent(part / total)}" for name, part in leading)
    if quiet(context):
        few = f"{NOTHING_TO_EXPLAIN} Of {count(total)} dictionary gets {shares}.{_plausible(context, total)}"
        return Step(step="cache", statement=few)
    return Step(
        step="cache",
        statement=f"Which cache the sleeps belong to is a guess from shares: of {count(total)} dictionary gets {shares}."
        f"{_fitting(context, leading[0][0])}{_plausible(context, total)} To know it, {SCRIPT}.",
        figures=tuple(Figure(name=name, value=part / total, unit="ratio", of="v$rowcache") for name, part in leading),
    )


def _fitting(context: SignalContext, busiest: str) -> str:
    """What the miss locations add to the shares."""
    shape = shape_of(context)
    if shape is None or shape.fingerprint is None:
        return f" The busiest, {busiest}, comes first; there are too few sleeps by location to say more."
    if shape.fingerprint != "chain":
        return f" The busiest, {busiest}, comes first; the miss locations say: {shape.meaning}."
    entries = context.by_name("usage")
    longest = next(iter(entries), busiest)
    held = f", and {longest} holds the most entries, {count(entries[longest])}" if entries else ""
    return f" The busiest, {busiest}, comes first; the miss locations say: {shape.meaning}{held}."


def _plausible(context: SignalContext, dictionary_gets: float) -> str:
    """Whether the latch gets fit the dictionary gets. A check of the figures; it never names a cache."""
    latch_gets = context.latch.gets
    if not latch_gets:
        return ""
    each = latch_gets / dictionary_gets
    if 1 <= round(each, 2) <= 3:
        verdict = "within the 1 to 3 that are possible"
    elif FEWEST_PER_GET <= each <= MOST_PER_GET:
        verdict = "near enough to the 1 to 3 that are possible, for other counters were read a moment later"
    else:
        verdict = "where one to three are possible: some of these counters are wrong"
    return f" The latch had {each:.2f} gets for each dictionary get, {verdict}."


@dataclass(frozen=True, slots=True)
class _Told:
    """Some figures of the report in words."""

    words: str
    figures: tuple[Figure, ...] = ()


@dataclass(frozen=True, slots=True)
class _Cell:
    """A column of a view: what it counts, its unit, and how many of the view's own units make one."""

    column: str
    what: str
    unit: str
    scale: float = 1.0


class _Section(NamedTuple):
    """A section of a report: its view, its name where it is not printed, its title, what to say without rows, its rows' cells."""

    view: str
    unprinted: str
    title: str
    none: str
    cells: tuple[_Cell, ...]


WAITED = (_Cell("total_waits", "waits", "waits"), _Cell("time_waited_micro", "time waited", "s", 1e6))
BY_SESSIONS = (_Cell("total_waits_fg", "waits", "waits"), _Cell("time_waited_micro_fg", "time waited", "s", 1e6))
SLEPT = (_Cell("sleep_count", "sleeps", "sleeps"), _Cell("wtr_slp_count", "waiter sleeps", "waiter sleeps"))
ASLEEP = (_Cell("sleeps", "sleeps", "sleeps"), _Cell("wait_time", "time waited", "ms", 1e3))
COUNTED = (*(_Cell(name, name, name) for name in ("gets", "modifications")), _Cell("usage", "entries", "entries"))
WAITS = _Section("v$system_event", "row cache waits", "waits", "no wait for the row cache is listed", WAITED)
HOLDERS = _Section("v$latch_misses", "miss sources", "miss sources", "no miss source of it is listed", SLEPT)
MUTEXES = _Section("v$mutex_sleep", "mutex sleeps", "Row Cache mutexes", "no Row Cache mutex is listed", ASLEEP)
CACHES = _Section(
    "v$rowcache", "dictionary caches", "busiest dictionary caches", "no dictionary cache is listed", COUNTED
)
LATCH = (
    *(
        _Cell(name, name.replace("_", " "), name.replace("_", " "))
        for name in ("gets", "misses", "sleeps", "spin_gets")
    ),
    _Cell("wait_time", "time waited", "s", 1e6),
)
BUSIEST = 4
ROUNDED_AWAY = "< 0.01 %"


def as_printed(context: SignalContext) -> Step | None:
    """The report's own figures of the row cache, to compare with the page. None without a report."""
    if not context.printed:
        return None
    rows = context.delta.rows
    listed = {row.get("event"): row for row in rows(WAITS.view)}
    waits = [_waits_of(context, listed[event]) for event in SURFACE_EVENTS.values() if event in listed]
    holders = [row for row in rows(HOLDERS.view) if row.get("parent_name") == ROW_CACHE_LATCH]
    busiest = sorted(rows(CACHES.view), key=lambda row: (-(number(row.get("gets")) or 0.0), str(row)))[:BUSIEST]
    parts = [_db_time(context), _section(context, WAITS, waits), _latch(context)]
    if context.mechanism != "mutex":
        parts.append(_section(context, HOLDERS, _named(HOLDERS, "location", holders)))
    if context.mechanism != "latch":
        parts.append(_section(context, MUTEXES, _named(MUTEXES, "location", rows(MUTEXES.view))))
    parts.append(_section(context, CACHES, _named(CACHES, "parameter", busiest)))
    return Step(
        step="as printed",
        statement=". ".join(sentence(part.words) for part in parts) + ".",
        figures=tuple(chain.from_iterable(part.figures for part in parts)),
    )


def _section(context: SignalContext, of: _Section, rows: Sequence[_Told]) -> _Told:
    """The rows of a section; or that it is not printed, or lists nothing of the row cache."""
    if isinstance(context.delta.read(of.view), Missing):
        return _Told(f"{of.unprinted} are not printed")
    words = f"{of.title}: {'; '.join(row.words for row in rows)}" if rows else of.none
    return _Told(words, tuple(chain.from_iterable(row.figures for row in rows)))


def _named(of: _Section, name: str, rows: Iterable[Row]) -> list[_Told]:
    return [_row(str(row.get(name)), row, of.cells, of.view) for row in rows]


def _db_time(context: SignalContext) -> _Told:
    seconds = context.seconds_of("DB time")
    if seconds is None:
        return _Told("DB time is not printed")
    return _Told(f"DB time {seconds:,.1f} s", (Figure(name="DB time", value=seconds, unit="s", of="v$sys_time_model"),))


def _waits_of(context: SignalContext, row: Row) -> _Told:
    """Waits of foreground sessions for an event; of all processes if the report has them in one list."""
    event = str(row.get("event"))
    apart = "time_waited_micro_fg" in row
    if apart and "total_waits_fg" not in row:
        return _Told(f"{event} by background processes alone")
    part = _row(event, row, BY_SESSIONS if apart else WAITS.cells, WAITS.view)
    share = ratio(context.waited_seconds((event,)), context.seconds_of("DB time"))
    # A printed wait of zero seconds is rounded.
    cost = f" ({percent(share, 2) if share else ROUNDED_AWAY} of DB time)" if share is not None and apart else ""
    return _Told(
        f"{part.words}{cost}" if apart else f"{part.words}, background processes perhaps among them", part.figures
    )


def _latch(context: SignalContext) -> _Told:
    """The latch as a whole. From 12.2 on only its name is left, and its gets show that."""
    row = next((row for row in context.delta.rows("v$latch") if row.get("name") == ROW_CACHE_LATCH), None)
    if row is None:
        return _Told(f"the latch {ROW_CACHE_LATCH} is not printed")
    # Only the breakdown has spin gets. Without it misses are not printed but computed from a rounded share.
    own = row if "spin_gets" in row else {name: cell for name, cell in row.items() if name != "misses"}
    part = _row(ROW_CACHE_LATCH, own, LATCH if context.mechanism != "mutex" else LATCH[:1], "v$latch")
    return _Told(f"latch {part.words}", part.figures)


def _row(name: str, row: Row, cells: tuple[_Cell, ...], view: str) -> _Told:
    """A row of a view: its cells in whole units, as reports print them. An absent cell is marked."""
    words: list[str] = []
    figures: list[Figure] = []
    for cell in cells:
        value = number(row.get(cell.column))
        words.append(f"{cell.what} not known" if value is None else counted(value / cell.scale, cell.unit))
        if value is not None:
            value = exact(value / cell.scale)
            figures.append(Figure(name=f"{name}: {cell.what}", value=value, unit=cell.unit, of=view))
    return _Told(f"{name} {', '.join(words)}", tuple(figures))
