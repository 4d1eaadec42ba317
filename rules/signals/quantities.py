"""What signals are made of: one function a quantity. It gives Known with its number, or Unknown with its way out, never zero
for a figure that could not be read.

Requests to a cache are counted in look-ups: gets and fastgets together. Gets alone are the load on a latch or mutex.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from collectors.model import RESULT_CACHE_LATCH, SCRIPT, Missing, Row, number
from rules.base import meets
from rules.context import (
    LOOKUPS,
    MINIMUM_CACHE_GETS,
    MINIMUM_SLEEPS,
    OF_THE_WHOLE_CDB,
    ROW_CACHE_SURFACES,
    Known,
    SignalContext,
    SignalValue,
    Unknown,
)
from rules.contradictions import contradictions
from rules.formatting import count, listed, part_of
from rules.model import Surface
from rules.waiting_sessions import SURFACE_OF


@dataclass(frozen=True, slots=True)
class Subject:
    """The subject of a condition: cache names and surfaces of its cause, a miss location, a parameter, and the comparison."""

    caches: tuple[str, ...] = ()
    location: str | None = None
    parameter: str | None = None
    surfaces: tuple[Surface, ...] = ()
    needs: str = ">="
    """The direction of its bound. If containers set a parameter differently, the value closest to it counts."""


def already_enough(least: float, needs: str) -> bool:
    """Whether a value meets a comparison whatever is added to it."""
    return needs.startswith(">= ") and meets(least, needs)


def certain(least: float, most: float, needs: str) -> bool:
    """Whether a comparison gives the same for every possible value."""
    return " " not in needs or meets(least, needs) == meets(most, needs)


def enough(context: SignalContext, events: SignalValue, least: float, called: str, view: str) -> SignalValue:
    """The events as a whole for shares. Unknown if there are too few."""
    if isinstance(events, Unknown) or events.value >= least:
        return events
    why = f"too few events: {count(events.value)} {called}, at least {count(least)} are needed"
    return Unknown(view, why, context.busier)


def enough_sleeps(context: SignalContext, sleeps: float, view: str) -> SignalValue:
    """The sleeps as a whole for shares."""
    return enough(context, Known(sleeps), MINIMUM_SLEEPS, "sleeps", view)


# A quantity as signals.yaml asks for it, and the quotient of two.


@dataclass(frozen=True, slots=True)
class Quantity:
    """How a quantity is read, its view, its number in words, and the word between a part and it as the whole."""

    read: Callable[..., SignalValue]
    view: str
    told: str = "{:,.0f}"
    joint: str = "of"


QUANTITIES: dict[str, Quantity] = {}
Read = Callable[..., SignalValue]


def quantity(view: str, told: str = "{:,.0f}", joint: str = "of") -> Callable[[Read], Read]:
    """Register a function as the quantity of its name."""

    def register(read: Read) -> Read:
        QUANTITIES[read.__name__] = Quantity(read, view, told, joint)
        return read

    return register


@dataclass(frozen=True, slots=True)
class Operand:
    """A quantity, and what is asked of it: `{time: DB time}`."""

    quantity: Quantity
    asked: tuple[str | tuple[str, ...], ...]

    def __call__(self, context: SignalContext, subject: Subject) -> SignalValue:
        return self.quantity.read(context, subject, *self.asked)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, statistics or events that are asked of a view."""
        each = (asked if isinstance(asked, tuple) else (asked,) for asked in self.asked)
        return tuple(name for names in each for name in names) if self.quantity.view else ()

    @property
    def events(self) -> str:
        """The name of the events that are counted."""
        asked = str(self.asked[0])
        return EVENTS.get((self.quantity.read.__name__, asked), asked)


EVENTS: Mapping[tuple[str, str], str] = {
    ("latch", "gets"): "latch gets",
    ("result_cache", "gets"): "latch gets",
    ("caches", LOOKUPS): "look-ups",
    ("all_caches", LOOKUPS): "dictionary look-ups",
    ("all_caches", "gets"): "dictionary gets",
}


@dataclass(frozen=True, slots=True)
class Unsure(Known):
    """A part that may be more, or a whole that may be less. Their quotient is Unknown unless it is enough already."""

    unless: Unknown | None = None


@dataclass(frozen=True, slots=True)
class Quotient:
    """Part by whole. `least`, `empty` and `says` as in signals.yaml."""

    part: Operand
    whole: Operand
    least: float = 0
    empty: float | None = None
    says: str = ""
    shown: float = field(init=False, default=1.0)
    """Divides the part in the words: milliseconds stand there as seconds."""

    def __post_init__(self) -> None:
        milliseconds = self.part.asked == ("wait_time",)
        says = self.says or f"{{part}} {self.whole.quantity.joint} {{whole}}"
        for name, told in (
            ("part", "{:,.1f} s" if milliseconds else self.part.quantity.told),
            ("whole", self.whole.quantity.told),
        ):
            says = says.replace(f"{{{name}}}", told.replace("{", f"{{{name}"))
        object.__setattr__(self, "says", says)  # once, because every poll says it of every database
        object.__setattr__(self, "shown", 1000.0 if milliseconds else 1.0)

    def __call__(self, context: SignalContext, subject: Subject) -> SignalValue:
        part = self.part.quantity.read(context, subject, *self.part.asked)
        # Without its part a signal has nothing to say of the whole, so the part names what is missing.
        if isinstance(part, Unknown):
            return part
        whole = self.whole.quantity.read(context, subject, *self.whole.asked)
        view = self.whole.quantity.view
        if isinstance(whole, Unknown):
            return whole
        if whole.value < self.least:
            return enough(context, whole, self.least, self.whole.events, view)
        if not whole.value:
            if self.empty is not None:
                return Known(self.empty, f"no {self.whole.events}")
            return context.why_unknown(view, " or ".join(self.whole.names))
        value = part.value / whole.value
        for each in (part, whole):
            if isinstance(each, Unsure) and each.unless and not already_enough(value, subject.needs):
                return each.unless
        words = self.says.format(part=part.value / self.shown, whole=whole.value) + whole.derivation
        return Known(value, words, part.value, whole.value)


def left_by(others: Collection[str]) -> str:
    """For a share of what other troubles leave: which they are. Empty without any."""
    return f" that {listed(sorted(others))} leave{'s' * (len(others) == 1)}" if others else ""


def share(part: SignalValue, whole: SignalValue, others: Collection[str] = ()) -> SignalValue:
    """part / whole, or the first of the two that is unknown. `others`: the troubles that the whole leaves out."""
    if isinstance(part, Unknown):
        return part
    if isinstance(whole, Unknown):
        return whole
    of = part_of(part.value, whole.value) + left_by(others)
    return Known(part.value / whole.value, of, part.value, whole.value)


# Time: what sessions spent, what they waited, and how long the interval was.


@quantity("v$sys_time_model", "{:,.1f} s")
def time(context: SignalContext, subject: Subject, statistic: str) -> SignalValue:
    """Seconds of a statistic of v$sys_time_model."""
    spent = context.seconds_of(statistic)
    return context.why_unknown("v$sys_time_model", statistic) if spent is None else Known(spent)


@quantity("v$sys_time_model", "{:,.1f} s")
def db_time(context: SignalContext, subject: Subject) -> SignalValue:
    """DB time as a whole. Unknown if it was not captured, and if other figures prove it wrong."""
    if seconds := context.seconds_of("DB time"):
        return Known(seconds)
    if wrong := contradictions(context.delta):
        return Unknown("v$sys_time_model", wrong[0], context.another, absent=True)
    return context.why_unknown("v$sys_time_model", "DB time")


@quantity("v$system_event", "{:,.2f} s")
def waited(context: SignalContext, subject: Subject, events: Sequence[str]) -> SignalValue:
    """Seconds that sessions waited in some events together."""
    seconds = context.waited_seconds(events)
    return context.why_unknown("v$system_event", "time_waited_micro") if seconds is None else Known(seconds)


def waited_or(context: SignalContext, seconds: float | None, view: str, column: str) -> SignalValue:
    """Seconds waited. `view` and `column` say what was missing if they are unknown."""
    return context.why_unknown(view, column) if seconds is None else Known(seconds)


@quantity("v$system_event", "{:,.2f} s")
def printed_waits(context: SignalContext, subject: Subject, events: Sequence[str]) -> SignalValue:
    """As `waited`. Unknown for a report that prints none of the events: it may leave out short ones."""
    printed = {row.get("event") for row in context.delta.rows("v$system_event")}
    if context.printed and printed.isdisjoint(events):
        return Unknown("v$system_event", f"the report prints none of {' and '.join(events)}", SCRIPT)
    return waited(context, subject, events)


@quantity("v$system_event", "{:,.2f} s of row cache waits", "against")
def row_cache_waits(context: SignalContext, subject: Subject) -> SignalValue:
    """Seconds waited for the row cache, never zero."""
    untold = context.lost.untold(ROW_CACHE_SURFACES) or (context.look is not None and context.look.untold)
    return _no_zero(context, None if untold else context.row_cache_wait_seconds)


@quantity("v$system_event", "{:,.1f} s of waits", "against")
def cause_waits(context: SignalContext, subject: Subject) -> SignalValue:
    """Seconds lost on the cause's surfaces for its caches, never zero.

    Where the capture does not show which sleeps on the latch belong to them, all count as theirs.
    """
    waits = context.hot_caches.waited_for(subject.surfaces, subject.caches)
    waited = _no_zero(context, None if context.lost.untold(subject.surfaces) else waits)
    names = context.hot_caches.waited_as(subject.caches)
    if isinstance(waited, Unknown) or not names or context.printed:
        return waited
    # A latch counts sleeps by child. Any other surface has waiters, who name their cache.
    if "latch" not in subject.surfaces or "latch" not in context.surfaces:
        return waited
    if context.children_sleeps is not None and context.map.guarding(names):
        return waited
    return Unsure(waited.value, unless=context.why_unknown("v$latch_children", "sleeps"))


@quantity("v$system_event", "{:,.2f} s")
def surface_waits(context: SignalContext, subject: Subject, event: str) -> SignalValue:
    """Seconds lost on the surface of an event. Unsure if a session was met whose wait may be another one on it."""
    surface = SURFACE_OF[event]
    lost = context.lost.by_surface[surface]
    if lost is None:
        return context.why_unknown("v$system_event", "time_waited_micro")
    if context.look is None or not any(surface in perhaps for perhaps in context.look.untold):
        return Known(lost)
    return Unsure(lost, unless=context.why_unknown("waiting_sessions", "wait of some sessions"))


@quantity("v$system_event", "{:,.2f} s")
def row_cache_cost(context: SignalContext, subject: Subject) -> SignalValue:
    """Seconds lost in row cache waits, for their share of DB time. Unknown inside a PDB, unsure if some were not captured."""
    if context.inside_pdb:
        return no_share()
    lost = waited_or(context, context.row_cache_wait_seconds, "v$system_event", "time_waited_micro")
    if isinstance(lost, Unknown) or not context.lost.untold(ROW_CACHE_SURFACES):
        return lost
    return Unsure(lost.value, unless=context.why_unknown("v$system_event", "time_waited_micro"))


@quantity("v$latch", "{:,.2f} s")
def result_cache_cost(context: SignalContext, subject: Subject) -> SignalValue:
    """Seconds slept for the latch of the result cache, for their share of DB time. Unknown inside a PDB."""
    if context.inside_pdb:
        return no_share()
    return waited_or(context, context.surface_wait_seconds("result-cache"), "v$latch", "wait_time")


def no_share() -> Unknown:
    """Why there is no share of DB time."""
    why = f"inside a PDB, DB time is the PDB's, and {listed(OF_THE_WHOLE_CDB)} are those of the whole CDB"
    return Unknown("v$sys_time_model", why, "connect to CDB$ROOT as a common user, if you may", absent=True)


def _no_zero(context: SignalContext, seconds: float | None) -> SignalValue:
    if seconds:
        return Known(seconds)
    if seconds == 0:
        return Unknown("v$system_event", "no session waited for the row cache", context.busier)
    return context.why_unknown("v$system_event", "time_waited_micro")


@quantity("", "{:,.1f} s", "in")
def seconds(context: SignalContext, subject: Subject) -> SignalValue:
    """The length of the interval."""
    if length := context.delta.basis.seconds:
        return Known(length)
    return Unknown("v$instance", f"{context.delta.basis} give no rate", "take two snapshots some seconds apart")


# Counts: work, requests to dictionary caches, latches and mutexes.


@quantity("v$sysstat")
def work(context: SignalContext, subject: Subject, statistic: str) -> SignalValue:
    """A statistic of v$sysstat."""
    done = context.work(statistic)
    return context.why_unknown("v$sysstat", statistic) if done is None else Known(done)


LEVELS = ("count", "usage", "fixed")
"""Columns that do not change without requests. A report leaves out caches without requests."""


@quantity("v$rowcache")
def caches(context: SignalContext, subject: Subject, column: str) -> SignalValue:
    """A column of v$rowcache, or `lookups`, summed over the subject's caches. Zero if the instance has no such cache.

    A report prints only caches with requests. Any other cache had no traffic, and its entries did not change.
    """
    if isinstance(context.delta.read("v$rowcache"), Missing):
        return context.why_unknown("v$rowcache", column)
    if rows := context.rows_of(subject.caches):
        total = context.sum_of(rows, column)
        return context.why_unknown("v$rowcache", column) if total is None else Known(total)
    names = " or ".join(subject.caches)
    if context.printed and not any("gets" in row for row in context.delta.rows("v$rowcache")):
        return context.why_unknown(
            "v$rowcache", column
        )  # an ASH report names the cache of the waits, and counts nothing
    if context.printed and column in LEVELS:
        return Unknown("v$rowcache", f"the report has no row of {names}, because there were no requests", SCRIPT)
    if context.printed or context.lists_every_cache:
        return Known(0.0, f"no cache named {names} here")
    return context.why_unknown("v$rowcache", f"row of {names}")


@quantity("v$rowcache")
def all_caches(context: SignalContext, subject: Subject, column: str) -> SignalValue:
    """A column of v$rowcache, or `lookups`, of all dictionary caches together; of a share, without other found troubles."""
    total = context.sum_of_caches(column)
    if total is None:
        return context.why_unknown("v$rowcache", column)
    others = context.hot_caches.found_beside(subject.caches) if context.found else ()
    return Known(total - (context.sum_of(context.rows_of(others), column) or 0.0), left_by(others))


def enough_of_all(context: SignalContext, column: str) -> SignalValue:
    """Gets or look-ups of all dictionary caches. Unknown if they are too few for a share."""
    total = context.sum_of_caches(column)
    if total is None:
        return context.why_unknown("v$rowcache", column)
    return enough(context, Known(total), MINIMUM_CACHE_GETS, EVENTS["all_caches", column], "v$rowcache")


@quantity("v$latch")
def latch(context: SignalContext, subject: Subject, column: str) -> SignalValue:
    """A column of the row cache latch. A time is in milliseconds."""
    return _cell(context, context.latch_row, column)


@quantity("v$latch")
def result_cache(context: SignalContext, subject: Subject, column: str) -> SignalValue:
    """A column of the latch of the result cache."""
    return _cell(context, result_cache_row(context), column)


def result_cache_row(context: SignalContext) -> Row:
    """The row of the latch of the result cache, empty without one."""
    return next((row for row in context.delta.rows("v$latch") if row.get("name") == RESULT_CACHE_LATCH), {})


def unlisted(context: SignalContext) -> str:
    """Why the result cache latch had no activity: a report lists every latch with some, and not this one. Empty otherwise."""
    whole = context.printed and any("wait_time" in row for row in context.delta.rows("v$latch"))
    if not whole or result_cache_row(context):
        return ""
    return f"the report lists every latch with activity, and no {RESULT_CACHE_LATCH}"


def _cell(context: SignalContext, row: Row, column: str) -> SignalValue:
    value = number(row.get(column))
    if value is None:
        return context.why_unknown("v$latch", column)
    return Known(value / 1000 if column == "wait_time" else value)


@quantity("v$mutex_sleep")
def mutex(context: SignalContext, subject: Subject, column: str) -> SignalValue:
    """A column over all locations. A time is in milliseconds. Zero if the view was read and no session ever slept."""
    rows = context.delta.rows("v$mutex_sleep")
    total = context.sum_of(rows, column)
    if total is not None:
        return Known(total / 1000 if column == "wait_time" else total)
    if not rows and not isinstance(context.delta.read("v$mutex_sleep"), Missing):
        return Known(0.0, "no location of a row cache mutex has any")
    return context.why_unknown("v$mutex_sleep", column)
