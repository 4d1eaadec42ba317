"""A counter-fact in words: the figure, its value now, and the value at which the verdict is another one."""

from collections.abc import Callable, Mapping

from collectors.model import Basis, ColumnKind, Row
from collectors.registry import collectors
from rules.base import meets
from rules.context import SignalContext, section_of
from rules.counter.figures import SESSIONS, PrintedFigure, value_of
from rules.formatting import count, measured, number, over
from rules.model import Becomes, CounterFact
from rules.signals import Signal
from rules.waits import WAITING_SESSIONS, cache_namer

BECOMES: Mapping[Becomes, str] = {
    "ruled out": "Ruled out",
    "open": "Open",
    "found": "Found",
    "costs nothing": "Found at no cost",
}


def counter_fact(
    context: SignalContext, figure: PrintedFigure, flips_at: float, becomes: Becomes, then: str
) -> CounterFact:
    """The counter-fact of a figure. `then` says what follows from it, and may be empty."""
    now = value_of(context, figure)
    assert now is not None
    unit, name = unit_of(figure), spelled(figure, context)
    place = section_of(figure.view) if context.printed else figure.view
    then_words, now_words = amounts(flips_at, now, unit)
    return CounterFact(
        figure=name,
        view=figure.view,
        row=dict(figure.row),
        column=figure.column,
        value=now,
        flips_at=flips_at,
        unit=unit,
        becomes=becomes,
        sentence=f"{BECOMES[becomes]} if {name} ({place}) had been {'at most' if flips_at < now else 'at least'} "
        f"{then_words} {_when(figure, context)}, not {now_words}{then}",
    )


def follows(signal: Signal, now: float, then: float, needs: str) -> str:
    """On which side of its bound a condition would be. Nothing where that is the figure itself."""
    bound = float(needs.split()[1])
    if signal.unit in ("entries", "sessions", "sleeps", "value"):
        return ""
    least, was = (measured(value, signal.unit, bound).replace(".0 %", " %") for value in (bound, now))
    sides = ("at least", "below") if needs.startswith(">=") else ("at most", "above")
    side = sides[not meets(then, needs)]
    return f": {signal.called} would be {side} {least.removesuffix(f' {signal.unit}')}, not {was}"


def unit_of(figure: PrintedFigure) -> str:
    """The unit that Oracle has for a figure."""
    if figure.column == SESSIONS:
        return "sessions"
    if figure.view == "v$osstat":
        name = str(figure.row[0][1])
        return "cs" if name.endswith("TIME") else "bytes" if name.endswith("BYTES") else ""
    unit = collectors()[figure.view].column(figure.column).unit
    return "" if unit == "mixed" else unit


def amounts(one: float, other: float, unit: str) -> tuple[str, str]:
    """Two figures for people: times in seconds, memory in MiB, with enough digits to tell them apart."""
    if unit in ("us", "cs", "bytes"):
        word, size = ("MiB", 2.0**20) if unit == "bytes" else ("s", 1e6 if unit == "us" else 100.0)
        digits = 3 if unit == "us" else 2
        first, second = (f"{each / size:,.{digits}f} {word}" for each in (one, other))
        return (first, second) if first != second else (f"{one / size:,.6f} {word}", f"{other / size:,.6f} {word}")
    if unit in ("count", "sessions", "entries"):
        return count(one), count(other)
    return f"{number(one)} {unit}".strip(), f"{number(other)} {unit}".strip()


def _when(figure: PrintedFigure, context: SignalContext) -> str:
    """When the figure was so: over the interval, in the looks, or at its end."""
    basis: Basis = context.delta.basis
    if figure.view == "v$session":
        looks = len({row.get("sample") for row in context.delta.rows("v$session")})
        return f"in {looks} {'look' if looks == 1 else 'looks'}"
    if figure.view == "v$osstat":
        return over(basis) if figure.column == "total" else "at the end"
    counter = figure.column != SESSIONS and collectors()[figure.view].column(figure.column).kind is ColumnKind.COUNTER
    return over(basis) if counter else "at the end"


COUNTED: Mapping[str, str] = {
    "usage": "entries",
    "getmisses": "get misses",
    "dlm_requests": "cluster requests",
    "dlm_conflicts": "cluster conflicts",
    "spin_gets": "gets by spinning",
    "wait_time": "time slept",
    "time_waited_micro": "time waited",
    "time_waited_micro_fg": "time waited",
    "total_waits": "waits",
    "total_waits_fg": "waits",
}


def spelled(figure: PrintedFigure, context: SignalContext) -> str:
    """What a figure is: sleeps of child 8, gets of dc_users, DB time."""
    row, counted = dict(figure.row), COUNTED.get(figure.column, figure.column.replace("_", " "))
    if figure.view == "v$latch_children":
        child = row.get("child#")
        cache = context.map.name(child) if isinstance(child, int) else "unknown"
        return f"{counted} of child {child}" + (f" ({cache})" if cache != "unknown" else "")
    if figure.view in _SPELLED:
        return _SPELLED[figure.view](row, counted)
    if figure.view == "v$session":
        return _waiters(row, context)
    if figure.view == WAITING_SESSIONS:
        return _waiting(row, figure.column)
    return f"{counted} of {' '.join(str(value) for value in row.values() if value is not None)}"


_SPELLED: Mapping[str, Callable[[Row, str], str]] = {
    "v$latch": lambda row, counted: f"{counted} of the latch {row.get('name')}",
    "v$latch_misses": lambda row, counted: f"sleeps with a holder at {row.get('location')}",
    "v$mutex_sleep": lambda row, counted: f"{counted} at {row.get('location')}",
    "v$rowcache": lambda row, counted: (
        f"{counted} of {row.get('parameter')}"
        + (f" (subordinate {row.get('subordinate#')})" if row.get("type") == "SUBORDINATE" else "")
    ),
    "v$system_event": lambda row, counted: f"{counted} for {row.get('event')}",
    "v$sys_time_model": lambda row, counted: str(row.get("stat_name")),
    "v$sysstat": lambda row, counted: str(row.get("name")),
    "v$osstat": lambda row, counted: str(row.get("stat_name")),
    "v$parameter": lambda row, counted: str(row.get("name")),
    "v$sgastat": lambda row, counted: f"memory of {row.get('name')}",
    "v$sga_resize_ops": lambda row, counted: f"size of the {row.get('component')} after it shrank",
    "v$undostat": lambda row, counted: counted,
    "row_cache_blockers": lambda row, counted: f"sessions that wait for session {row.get('sid')}",
}


def _waiters(row: Row, context: SignalContext) -> str:
    event = f"sampled waiters for {row.get('event')}"
    if "p1" in row:
        return f"{event} that name {cache_namer(context.delta, context.map, context.child_by_address)(row)}"
    if "p3" in row:
        return f"{event} that want it {'exclusively' if row['p3'] == 5 else 'shared'}"
    return f"{event} {'without a statement' if row.get('sql_id') is None else 'of statement ' + str(row['sql_id'])}"


def _waiting(row: Row, column: str) -> str:
    if column != SESSIONS:
        return f"the wait of session {row.get('sid')} that has not ended"
    behind = next((value for name, value in row.items() if name.endswith("_session")), None)
    return f"sessions that still wait for {row.get('event')}" + (
        f" behind session {behind}" if behind is not None else ""
    )
