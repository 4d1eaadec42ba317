"""The nearest counter-fact of a verdict: the smallest change of one printed figure that flips it, proven by judging again.

1. Each condition has figures behind it (`levers`). A signal is a ratio of sums, so three readings show where it meets its bound.
2. The figure gets that value, what contains it moves with it (`figures`), and the cause is judged again among its rivals.
3. The nearest value that flips the verdict, while half of the way does not, is the counter-fact.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import islice
from math import ceil, floor, inf, isclose, isfinite

from rules.base import meets
from rules.cause import AnyOf, Cause, Condition
from rules.context import SignalContext
from rules.counter.figures import SESSIONS, PrintedFigure, in_order, limits_of, value_of, with_figure
from rules.counter.levers import cost_figures, figures_of
from rules.counter.words import counter_fact, follows
from rules.fixes import FIX_MISSING
from rules.hangs.blockers import blockers_of
from rules.hangs.tree import chains_of
from rules.judge import NAMING, CauseVerdict, OpenCause, Verdict, judge
from rules.memoize import hand_over
from rules.model import Becomes, CounterFact, Finding, Known, RuledOut, Severity, Surface
from rules.resolve import weighed
from rules.signals import SIGNALS, Subject
from rules.waits import IDLE_SESSIONS, NOTICEABLE_SHARE

FIRST = 3
"""So many of the ruled-out causes, and so many of the open ones, have a counter-fact: those shown first."""
MOST_JUDGEMENTS, MOST_BESIDE, MOST_IN_ALL = 40, 12, 90
"""For a finding, for a cause that is none, and for one diagnosis. More would make it slow."""
GIVEN_UP = "No single figure that would change it was found; the search ended after its most tries."
NEARBY = 0.01
"""A signal is read again where a figure differs by this share, before another child or cache becomes the largest."""
FARTHEST = 1000.0
"""A figure that must become a thousand times as large is no counter-fact."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A condition of a cause."""

    condition: Condition
    subject: Subject

    @property
    def bound(self) -> float:
        """The number that it needs, in the signal's unit."""
        return float(self.condition.needs.split()[1])

    @property
    def bends(self) -> bool:
        """Whether the figure itself decides what it is compared with: which others are hot, which is the least."""
        return self.condition.signal in (*NAMING, "evenness_of_lookups", "evenness_of_holders")

    @property
    def may_be_diluted(self) -> bool:
        """Whether other work can make it fail, so that it need not hold."""
        return self.condition.needs[:2] in SIGNALS[self.condition.signal].diluted

    def reading(self, context: SignalContext) -> Known | None:
        """Its signal. None if it is unknown."""
        reading = SIGNALS[self.condition.signal].read(context, self.subject)
        return reading if isinstance(reading, Known) else None


@dataclass(frozen=True, slots=True)
class Cost:
    """What the waits for some caches cost, and where they begin to cost something."""

    surfaces: Sequence[Surface]
    caches: tuple[str, ...]
    shared: bool
    """A share of DB time; else waiting sessions."""

    @property
    def bound(self) -> float:
        """Below it they cost nothing: as a ratio, or in sessions."""
        return NOTICEABLE_SHARE if self.shared else IDLE_SESSIONS

    def reading(self, context: SignalContext) -> Known | None:
        """The cost as a ratio, or in sessions. None if it is unknown."""
        impact = context.impact_by(context.hot_caches.waited_for(self.surfaces, self.caches))
        cost = None if impact is None else impact.share_of_db_time if self.shared else impact.waiting_sessions
        return None if cost is None else Known(cost)


def _costs(cause: Cause, surfaces: Sequence[Surface]) -> list[Cost]:
    """The cost of its own caches and of all, as a share and in sessions."""
    return [Cost(surfaces, caches, shared) for caches in dict.fromkeys((cause.caches, ())) for shared in (True, False)]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A value of a figure at which a condition, or the severity of the cost, is about to change."""

    figure: PrintedFigure
    now: float
    value: float
    asked: "Asked | None" = None
    """The condition that is about to change. None for the cost."""

    @property
    def distance(self) -> tuple[float, float]:
        """Relative, and absolute where the figure is zero now."""
        change = abs(self.value - self.now)
        return (change / self.now if self.now else inf), change

    @property
    def step(self) -> float:
        """The smallest change that is printed."""
        return self.figure.step

    def at(self, value: float) -> "Candidate":
        """The same figure at another value, in Oracle's unit."""
        return replace(self, value=value)


def counter_facts(
    context: SignalContext, causes: Mapping[str, Cause], alone: Sequence[Verdict], verdicts: Sequence[CauseVerdict]
) -> Mapping[str, CounterFact]:
    """Cause → its counter-fact, for every finding, and for the ruled-out and the open causes that were nearest to one.

    `alone`: the verdict on each cause by itself, `verdicts`: the same among each other.
    """
    search = Search(context, causes, alone)
    findings = [verdict for verdict in verdicts if isinstance(verdict, Finding)]
    chosen: list[CauseVerdict] = [*findings, *search.nearest_out(verdicts), *_nearest_open(verdicts)]
    return {verdict.cause: search.nearest(verdict) for verdict in chosen}


def _nearest_open(verdicts: Sequence[CauseVerdict]) -> list[OpenCause]:
    """Those that lack events before those that lack a figure; then those with the most conditions that hold."""
    open_causes = [verdict for verdict in verdicts if isinstance(verdict, OpenCause)]
    return sorted(open_causes, key=lambda verdict: (verdict.reading.absent, -verdict.held, verdict.cause))[:FIRST]


def nearness(verdict: RuledOut) -> float:
    """How much of its need is met, 0 to 1. 1 if all of it was and another cause explains the waits."""
    bound = verdict.bound
    if verdict.value is None or bound is None:
        return 1.0
    part, whole = (verdict.value, bound.value) if bound.operator == ">=" else (bound.value, verdict.value)
    return min(max(part / whole, 0.0), 1.0) if whole else 0.0


ELSEWHERE = ("release", "mechanism")
"""What rules out causes of other instances. It is no figure."""
NO_FIGURE = (*ELSEWHERE, FIX_MISSING)
"""The same, and a fix that is installed."""


def standing_of(verdict: CauseVerdict) -> Becomes:
    """How a verdict stands."""
    if isinstance(verdict, Finding):
        return "costs nothing" if verdict.severity is Severity.INFO else "found"
    return "ruled out" if isinstance(verdict, RuledOut) else "open"


Found = tuple[Candidate, Becomes]
"""A value that flips a verdict, and the verdict there."""


class Search:
    """The counter-facts of one Delta. What was prepared for one verdict serves the others."""

    def __init__(self, context: SignalContext, causes: Mapping[str, Cause], alone: Sequence[Verdict]) -> None:
        self._context, self._causes = context, causes
        self._out = {verdict.cause for verdict in alone if isinstance(verdict, RuledOut)}
        self._contexts: dict[tuple[PrintedFigure, float], SignalContext] = {}
        self._clustered = any(row.get("parallel") == "YES" for row in context.delta.rows("v$instance"))
        self._read: dict[Asked, bool | None] = {}
        self._left, self._done = MOST_JUDGEMENTS, 0

    def nearest_out(self, verdicts: Sequence[CauseVerdict]) -> list[RuledOut]:
        """The ruled-out causes that were nearest to a finding: those with a single condition against them first."""
        out = [verdict for verdict in verdicts if isinstance(verdict, RuledOut) and verdict.signal not in NO_FIGURE]

        def order(verdict: RuledOut) -> tuple[int, float, str]:
            unmet = self._unmet(self._causes[verdict.cause])
            return sum(1 for _ in islice(unmet, 2)), -nearness(verdict), verdict.cause

        return sorted(out, key=order)[:FIRST]

    def _unmet(self, cause: Cause) -> Iterator[list[Asked]]:
        """The conditions of a cause that do not hold, each with its alternatives."""
        for entry in cause.when:
            group = _asked(cause, entry)
            if group and not any(self._holds(asked) for asked in group):
                yield group

    def _holds(self, asked: Asked) -> bool | None:
        """Whether a condition holds here. None if its figure is unknown."""
        if asked not in self._read:
            reading = asked.reading(self._context)
            self._read[asked] = None if reading is None else meets(reading.value, asked.condition.needs)
        return self._read[asked]

    def nearest(self, verdict: CauseVerdict) -> CounterFact:
        """The counter-fact of a verdict; one without a figure if no single figure flips it."""
        cause = self._causes[verdict.cause]
        self._left = min(MOST_JUDGEMENTS if isinstance(verdict, Finding) else MOST_BESIDE, MOST_IN_ALL - self._done)
        now = standing_of(verdict)
        candidates = self._by_conditions(cause, verdict)
        found = self._first_that_flips(cause, now, candidates)
        if self._cost_counts(verdict) and (found is None or found[0].distance > self._least_by_cost(cause)):
            by_cost = self._first_that_flips(cause, now, self._by_cost(cause))
            found = min((each for each in (found, by_cost) if each), key=lambda pair: pair[0].distance, default=None)
        if found is not None:
            found = self._perhaps_nearer(cause, now, found, candidates)
        elif not isinstance(verdict, RuledOut):
            found = self._by_trial(cause, now, verdict)
        if found is None:
            return CounterFact(sentence=self._no_figure(verdict) if self._left > 0 else GIVEN_UP)
        candidate, becomes = found
        then = self._then(candidate)
        return counter_fact(self._context, candidate.figure, candidate.value, becomes, then)

    def _no_figure(self, verdict: CauseVerdict) -> str:
        """That no single figure changes a verdict. Where several conditions would have to change, how many."""
        if isinstance(verdict, OpenCause) and verdict.reading.absent:
            return f"No figure that was read would make it found: {verdict.reading.why}"
        if isinstance(verdict, Finding):
            return "No single figure would rule it out"
        against = sum(1 for _ in self._unmet(self._causes[verdict.cause])) if isinstance(verdict, RuledOut) else 0
        return (
            f"No single figure would make it found{f': {against} of its conditions do not hold' if against > 1 else ''}"
        )

    # Where a condition is about to change.

    def _by_conditions(self, cause: Cause, verdict: CauseVerdict) -> list[Candidate]:
        """The values at which a condition is about to change, the nearest first."""
        if isinstance(verdict, Finding):
            found = self._of_met(cause)
        elif isinstance(verdict, RuledOut) and verdict.explained_by is not None:
            found = self._of_met(self._causes[verdict.explained_by])
        elif isinstance(verdict, OpenCause) and verdict.reading.absent:
            return []
        else:
            found = self._of_unmet(cause)
        return _in_order(found)

    def _cost_counts(self, verdict: CauseVerdict) -> bool:
        """Whether the verdict rests on what the waits cost."""
        by_cost = isinstance(verdict, RuledOut) and (verdict.signal == "impact" or verdict.explained_by is not None)
        return isinstance(verdict, Finding) or by_cost

    def _of_unmet(self, cause: Cause) -> Iterator[Candidate]:
        """The values at which the conditions against a cause hold. Of several, other work may dilute all but one."""
        unmet = list(self._unmet(cause))
        against = [group for group in unmet if not all(asked.may_be_diluted for asked in group)] or unmet
        figures = [
            {figure for asked in group for figure in figures_of(asked.condition.signal, self._context, asked.subject)}
            for group in against
        ]
        shared = set.intersection(*figures) if figures else set()
        if cause.cap is not Severity.INFO and self._context.gate_of(cause.surfaces) is Severity.INFO:
            shared &= set(cost_figures(self._context, cause.surfaces))  # the cost must change as well
        for group in against if shared else ():
            for asked in group:
                if self._holds(asked) is False:
                    yield from self._of(asked, shared)

    def _of(self, asked: Asked, among: Set[PrintedFigure] | None = None) -> Iterator[Candidate]:
        """The values of its figures, or of some of them, at which a condition is about to change."""
        for figure in figures_of(asked.condition.signal, self._context, asked.subject):
            if among is None or figure in among:
                yield from self._outward(figure, self._solved(figure, asked), asked)

    def _of_met(self, cause: Cause) -> Iterator[Candidate]:
        """The values at which a condition that holds fails."""
        for entry in cause.when:
            for asked in _asked(cause, entry):
                if self._holds(asked):
                    yield from self._of(asked)

    def _by_cost(self, cause: Cause) -> list[Candidate]:
        """The values at which the waits begin or cease to cost something, the nearest first."""
        surfaces = [surface for surface in cause.surfaces if surface in self._context.surfaces]
        figures = cost_figures(self._context, surfaces)
        return _in_order(
            candidate
            for cost in _costs(cause, surfaces)
            for figure in figures
            for candidate in self._outward(figure, self._solved(figure, cost))
        )

    def _least_by_cost(self, cause: Cause) -> tuple[float, float]:
        """No change of a wait makes the cost pass its bound sooner than this, were it the only one."""
        surfaces = [surface for surface in cause.surfaces if surface in self._context.surfaces]
        known = [(cost.bound, read.value) for cost in _costs(cause, surfaces) if (read := cost.reading(self._context))]
        return min((abs(1 - bound / value) for bound, value in known if value), default=0.0), 0.0

    def _solved(self, figure: PrintedFigure, of: Asked | Cost) -> float | None:
        """The value of a figure at which a reading is at its bound, if the reading is a ratio of sums."""
        now, first = value_of(self._context, figure), of.reading(self._context)
        if now is None or first is None:
            return None
        least, most = limits_of(self._context, figure)
        step = max(figure.step, float(round(NEARBY * now)))
        for by in (step, -step):  # the least or the largest of several may move one way only
            if not least <= now + 2 * by <= most:
                continue
            second = of.reading(self._at(figure, now + by))
            if second is None or second.value == first.value:
                continue
            if _in_parts(first) and _in_parts(second):
                return _meeting_of_parts(now, by, first, second, of.bound)
            third = of.reading(self._at(figure, now + 2 * by))
            if third is not None:
                return _meeting(now, by, (first.value, second.value, third.value), of.bound)
        return None

    def _outward(self, figure: PrintedFigure, value: float | None, asked: Asked | None = None) -> Iterator[Candidate]:
        """The printed value at a bound, and the one beyond it: a comparison includes its bound."""
        now, (least, most) = value_of(self._context, figure), limits_of(self._context, figure)
        if value is None or now is None or not isfinite(value) or value > FARTHEST * max(now, 1.0):
            return
        step = figure.step
        up, places = value > now, value / step
        if isclose(places, round(places), rel_tol=1e-9):
            places = float(round(places))
        at = (ceil(places) if up else floor(places)) * step
        beyond = at + (step if up else -step)
        for place in (at, beyond):
            if place != now and least <= place <= most:
                yield Candidate(figure, now, place, asked)

    # Judging again.

    def _at(self, figure: PrintedFigure, value: float) -> SignalContext:
        """The Delta with another figure, prepared. What does not depend on it is taken over."""
        known = self._contexts.get((figure, value))
        if known is None:
            known = self._contexts[figure, value] = self._prepared(figure, value)
        return known

    def _prepared(self, figure: PrintedFigure, value: float) -> SignalContext:
        base = self._context
        own = in_order(base, figure) if figure.column == SESSIONS else None
        delta = with_figure(base.delta, figure, value, base.map, own)
        moved = {view for view, reading in delta.readings.items() if base.delta.readings.get(view) is not reading}
        # A map is of the gets of caches and children. Without x$kqrst they also decide which child guards what.
        context = SignalContext(delta, base.map if figure.column != "gets" else None)
        if figure.column != "gets" or delta.rows("x$kqrst"):
            kept = (name for name, views in _KEPT.items() if moved.isdisjoint(views))
            context.__dict__.update({name: getattr(base, name) for name in kept})
        if figure.view == "v$session" and own:
            context.__dict__["samples"] = base.samples.resized(own, round(value))
        if not self._clustered:  # elsewhere a verdict does not depend on who holds; only the words of a remedy do
            hand_over(blockers_of, base, context)
            hand_over(chains_of, base, context)
        return context

    def _standing(self, cause: Cause, candidate: Candidate) -> Becomes:
        """The verdict on a cause at a value, among the causes that may explain the same waits."""
        self._left -= 1
        self._done += 1
        context = self._at(candidate.figure, candidate.value)
        own = judge(cause, context, in_words=False)
        if isinstance(own, RuledOut):
            return "ruled out"
        others = [other for other in self._causes.values() if other.id != cause.id and self._may_compete(other, cause)]
        return standing_of(
            weighed(context, self._causes, [own, *(judge(other, context, in_words=False) for other in others)])[0]
        )

    def _may_compete(self, other: Cause, cause: Cause) -> bool:
        """Whether another cause may be weighed against this one: it is not ruled out here, exonerates, or shares a cache."""
        return other.id not in self._out or other.look_alike or bool(set(other.caches) & set(cause.caches))

    def _first_that_flips(self, cause: Cause, now: Becomes, candidates: Sequence[Candidate]) -> Found | None:
        for candidate in candidates:
            if self._left <= 0:
                return None
            becomes = self._standing(cause, candidate)
            if _flips(cause, now, becomes):
                found = self._proven(cause, now, candidate, becomes)
                if found is not None:
                    return found
        return None

    def _proven(self, cause: Cause, now: Becomes, candidate: Candidate, becomes: Becomes) -> Found | None:
        """The candidate if half of the way flips nothing, else the nearest value that flips. None if it is no single bound."""
        while (half := _half(candidate)).value != candidate.now and self._left > 0:
            at_half = self._standing(cause, half)
            if not _flips(cause, now, at_half):
                return self._narrowed(cause, now, half, candidate, becomes)
            candidate, becomes = half, at_half
        return (candidate, becomes) if half.value == candidate.now else None

    def _narrowed(self, cause: Cause, now: Becomes, low: Candidate, high: Candidate, becomes: Becomes) -> Found:
        """The smallest value that flips, between one that does not and one that does."""
        back = high.step
        while abs(high.value - low.value) > back and self._left > 0:
            nearer = high.at(high.value + (back if high.value < high.now else -back))
            standing = self._standing(cause, nearer)
            if not _flips(cause, now, standing):
                low = nearer
                break
            high, becomes, back = nearer, standing, 16 * back
        while abs(high.value - low.value) > max(high.step, 0.002 * abs(high.value - high.now)) and self._left > 0:
            middle = high.at(_rounded((low.value + high.value) / 2, high.step))
            if middle.value in (low.value, high.value):
                break
            standing = self._standing(cause, middle)
            if _flips(cause, now, standing):
                high, becomes = middle, standing
            else:
                low = middle
        return high, becomes

    def _perhaps_nearer(self, cause: Cause, now: Becomes, found: Found, candidates: Sequence[Candidate]) -> Found:
        """The nearest where a child or cache may cease to be hot on the way, at a value that no bound shows."""
        bending = [
            asked for entry in cause.when for asked in _asked(cause, entry) if asked.bends and self._holds(asked)
        ]
        for figure in dict.fromkeys(
            figure for asked in bending for figure in figures_of(asked.condition.signal, self._context, asked.subject)
        ):
            value = value_of(self._context, figure) or 0.0
            for sign in sorted(
                {-1, *(1 if each.value > value else -1 for each in candidates if each.figure == figure)}
            ):
                way = found[0].distance[0] * value - figure.step
                if figure == found[0].figure or not 0 < way <= value * (FARTHEST if sign > 0 else 1) or self._left <= 0:
                    continue
                nearer = Candidate(figure, value, _rounded(value + sign * way, figure.step))
                if _flips(cause, now, becomes := self._standing(cause, nearer)):
                    found = self._proven(cause, now, nearer, becomes) or found
        return found

    def _by_trial(self, cause: Cause, now: Becomes, verdict: Finding | OpenCause) -> Found | None:
        """Where no bound gives a value: none of a figure, then twice as much and so on, each figure behind the cause in turn."""
        if isinstance(verdict, OpenCause) and verdict.reading.absent:
            return None
        best: Found | None = None
        for figure in self._figures(cause, verdict):
            value = value_of(self._context, figure) or 0.0
            least, most = limits_of(self._context, figure)
            tried = [least] if isinstance(verdict, Finding) else []
            for place in (*tried, *(value * factor for factor in (4.0, 32.0))):
                candidate = Candidate(figure, value, _rounded(place, figure.step))
                if not least <= place <= most or candidate.value == value or self._left <= 0:
                    continue
                if best is not None and candidate.distance >= best[0].distance:
                    candidate = candidate.at(
                        _rounded(value + (1 if place > value else -1) * best[0].distance[0] * value, candidate.step)
                    )
                becomes = self._standing(cause, candidate)
                if _flips(cause, now, becomes) and (found := self._proven(cause, now, candidate, becomes)):
                    best = min((each for each in (best, found) if each), key=lambda pair: pair[0].distance)
        return best

    def _figures(self, cause: Cause, verdict: Finding | OpenCause) -> list[PrintedFigure]:
        """The figures behind a finding; of an open cause those of which there were too few events."""
        every = [asked for entry in cause.when for asked in _asked(cause, entry)]
        behind = every if isinstance(verdict, Finding) else [asked for asked in every if self._holds(asked) is None]
        found = {
            figure for asked in behind for figure in figures_of(asked.condition.signal, self._context, asked.subject)
        }
        costs = cost_figures(self._context, cause.surfaces) if isinstance(verdict, Finding) else ()
        return sorted({*found, *costs}, key=str)

    def _then(self, candidate: Candidate) -> str:
        """What a condition would read then."""
        asked = candidate.asked
        if asked is None:
            return ""
        now, then = asked.reading(self._context), asked.reading(self._at(candidate.figure, candidate.value))
        if now is None or then is None:
            return ""
        return follows(SIGNALS[asked.condition.signal], now.value, then.value, asked.condition.needs)


_WAITS = ("v$system_event", "v$latch", "v$latch_children", "v$mutex_sleep", "v$session", "waiting_sessions")
_KEPT: Mapping[str, tuple[str, ...]] = {
    "children": ("v$latch_children",),
    "children_sleeps": ("v$latch_children",),
    "child_by_address": ("v$latch_children",),
    "hot_child": ("v$latch_children",),
    "mechanism": ("v$event_name",),
    "rowcache": ("v$rowcache",),
    "_rows_by_cache": ("v$rowcache",),
    "latch_row": ("v$latch", "v$latch_children"),
    "samples": ("v$session",),
    "waiter_of": ("v$rowcache", "v$latch_children", "v$latchname"),
    "crowd": ("v$session",),
    "waiters_by_cache": ("v$session",),
    "met": ("v$session",),
    "look": ("waiting_sessions",),
    "lost": (*_WAITS, "v$rowcache", "v$sys_time_model"),
    "hot_caches": (*_WAITS, "v$rowcache", "v$sys_time_model"),
}
"""What a context prepares, and the views whose change makes it new."""


def _asked(cause: Cause, entry: Condition | AnyOf) -> list[Asked]:
    """A condition of a cause, or its alternatives. None if it only lowers confidence."""
    return [
        Asked(
            each,
            Subject(cause.caches, each.location or cause.location, each.parameter, cause.surfaces, each.needs),
        )
        for each in (entry.any_of if isinstance(entry, AnyOf) else (entry,))
        if each.role != "supporting"
    ]


def _in_parts(reading: Known) -> bool:
    """Whether a reading has its part and its whole."""
    return (
        reading.part is not None and bool(reading.whole) and isclose(reading.value * (reading.whole or 0), reading.part)
    )


def _meeting_of_parts(now: float, step: float, first: Known, second: Known, bound: float) -> float | None:
    """Where a part is the bound times its whole, by both now and a step from now."""
    part, whole = first.part or 0.0, first.whole or 0.0
    slope = ((second.part or 0.0) - part - bound * ((second.whole or 0.0) - whole)) / step
    return now + (bound * whole - part) / slope if slope else None


def _meeting(now: float, step: float, readings: tuple[float, float, float], bound: float) -> float | None:
    """Where (a + c·d) / (1 + e·d) is the bound, by its values at 0, 1 and 2 steps from now."""
    first, second, third = readings
    if second == first:
        return None
    near, far = (second - first) / step, (third - first) / (2 * step)
    e = (near - far) / (third - second) if third != second else 0.0
    slope = near + second * e - bound * e
    return now + (bound - first) / slope if slope else None


def _in_order(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Candidates, the nearest first."""
    return sorted(dict.fromkeys(candidates), key=lambda candidate: (candidate.distance, str(candidate.figure)))


def _rounded(value: float, step: float) -> float:
    return round(value / step) * step


def _half(candidate: Candidate) -> Candidate:
    """Half of the way to the value, as it could be printed."""
    way = (candidate.value - candidate.now) / 2 / candidate.step
    return candidate.at(candidate.now + int(way) * candidate.step)


def _flips(cause: Cause, now: Becomes, becomes: Becomes) -> bool:
    """A finding that is not one any more, or not the same; a cause that was not found and is, above info if it can be."""
    if now in ("found", "costs nothing"):
        return becomes != now
    return becomes == "found" or (cause.cap is Severity.INFO and becomes == "costs nothing")
