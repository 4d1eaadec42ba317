"""What waits cost: the severity of each surface and of the whole, what is in trouble, and what DB time went to instead."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from collectors.delta import changes_of
from collectors.model import RESULT_CACHE_LATCH, Delta, Missing
from collectors.views.system_event import is_ordinary
from rules.cause import catalogue
from rules.context import ROW_CACHE_SURFACES, SURFACE_EVENTS, SignalContext
from rules.latch import ratio
from rules.model import (
    Diagnosis,
    Finding,
    Impact,
    LargestUse,
    OtherWait,
    Severity,
    Surface,
    SurfaceImpact,
    Trouble,
    worst,
)
from rules.waiting_sessions import WAITING_SESSIONS, hanging
from rules.waits import (
    IDLE_SESSIONS,
    NOTICEABLE_SHARE,
    PROVING_WAITS,
    SYSTEM_EVENTS,
    Part,
    severity_of,
    slept_for,
    untimed,
)

# The severity of waits on some surfaces, and of all together, whether or not a cause is known.


def severity(
    context: SignalContext,
    surfaces: Iterable[Surface],
    cap: Severity,
    own: Impact | None = None,
) -> Severity:
    """The cost of the waits on some surfaces, or its own part of them. A warning where the cost is unknown."""
    surfaces = tuple(surfaces)
    gate = context.gate_of(surfaces)
    own_gate = severity_of(own)
    if gate is not None and own_gate is not None and severity_of(context.impact_of(surfaces)) is gate:
        gate = own_gate
    untold = context.lost.untold(surfaces)
    if (
        untold
        and gate in (None, Severity.INFO)
        and severity_of(context.impact_by(context.waited_on(surfaces))) is not None
    ):
        gate = Severity.NOTICE  # the captured waits cost next to nothing; those not captured may cost anything
    if gate is None:
        gate = Severity.WARNING
    return gate.at_most(cap)


TELLING = ("v$latch", "v$latch_children", "v$mutex_sleep", "v$rowcache", "v$system_event", "v$session")
"""At least one of these views is necessary for any statement."""
SEVERAL_DOZEN = 36
"""This many sessions that wait for the row cache in one look are a trouble, whatever the averages say (our bound)."""


def overall_gate(context: SignalContext) -> Severity | None:
    """Severity of all waits, whether the cause is known or not. None if no cost is known and no session was seen waiting."""
    gates = [gate for gate in (row_cache_gate(context), context.gate_of(["result-cache"])) if gate is not None]
    return worst(gates) if gates else None


def cost_is_open(context: SignalContext) -> bool:
    """Whether a cost that may be a trouble was not captured. Totals have none; of a report, one that cannot be read."""
    if context.printed and untimed(context.delta):
        return True
    if context.delta.basis.kind == "totals":
        return False
    if latch_free_cost(context) is not None:
        return True
    if context.printed:
        return anything_read(context) and bool(context.lost.untold(ROW_CACHE_SURFACES))
    if row_cache_gate(context) is None:
        return anything_read(context)
    named = any(row.get("name") == RESULT_CACHE_LATCH for row in context.delta.rows("v$latchname"))
    return named and context.gate_of(["result-cache"]) is None


def latch_free_cost(context: SignalContext) -> Impact | None:
    """What `latch free` costs, if that is notable and the result cache latch may be a part of it. Else None.

    The event counts every latch without one of its own. A report lists every latch with activity.
    """
    listed = context.printed and not isinstance(context.delta.read("v$latch"), Missing)
    waited = context.finished_seconds("latch free")
    if waited is None or listed or context.surface_wait_seconds("result-cache") is not None:
        return None
    impact = context.impact_by(waited)
    return None if severity_of(impact) in (None, Severity.INFO) else impact


LARGE = 0.05
"""From this share of DB time on, a wait for something else is named."""


def other_wait(context: SignalContext) -> OtherWait | None:
    """The wait with most of DB time, if it is none for the row cache. Only some events are read."""
    db_time = context.seconds_of("DB time")
    events = sorted({str(row.get("event")) for row in context.delta.rows("v$system_event")})
    telling = (event for event in events if not is_ordinary(event))
    waits = [(seconds, event) for event in telling if (seconds := context.waited_seconds((event,)))]
    if not waits or not db_time:
        return None
    seconds, event = max(waits)
    if event in SURFACE_EVENTS.values() or seconds < LARGE * db_time:
        return None
    others = sum(each for each, name in waits if name not in SURFACE_EVENTS.values())
    return OtherWait(
        event=event, share_of_db_time=min(seconds / db_time, 1.0), together_share_of_db_time=min(others / db_time, 1.0)
    )


TIME_SPENT = "where the time went"
"""The step that takes the place of the largest wait while the row cache costs little."""


def largest_use(context: SignalContext) -> LargestUse | None:
    """What DB time went to most, of DB CPU and the waits that are read, the row cache left out.

    None where DB time or DB CPU is unknown, on an idle instance, in totals, and if a wait that ended has more than all of it.
    """
    db_time, cpu, seconds = context.seconds_of("DB time"), context.seconds_of("DB CPU"), context.delta.basis.seconds
    if not db_time or cpu is None or not seconds or db_time < IDLE_SESSIONS * seconds:
        return None
    events = sorted({str(row.get("event")) for row in context.delta.rows("v$system_event")})
    waits = {event: waited / db_time for event in events if (waited := context.waited_seconds((event,))) is not None}
    if max(waits.values(), default=0.0) > 1:
        return None
    shares = {"DB CPU": min(cpu / db_time, 1.0), **waits}
    unread = max(0.0, 1.0 - sum(shares.values()))
    uses = [(share, name) for name, share in shares.items() if name not in SURFACE_EVENTS.values()]
    (share, name), *smaller = sorted(uses, reverse=True)
    next_share, next_name = smaller[0] if smaller and smaller[0][0] >= LARGE else (None, None)
    return LargestUse(
        name=name,
        share_of_db_time=share,
        next_name=next_name,
        next_share_of_db_time=next_share,
        unread_share_of_db_time=unread,
    )


def totals_without_waits(context: SignalContext) -> bool:
    """Whether these are totals in which the time of no wait was captured: they accuse nobody, and clear nobody."""
    return context.delta.basis.kind == "totals" and context.lost.on(ROW_CACHE_SURFACES) is None


def anything_read(context: SignalContext) -> bool:
    """Whether any view was read that a statement on the row cache needs."""
    return any(not isinstance(context.delta.read(view), Missing) for view in TELLING)


def row_cache_gate(context: SignalContext) -> Severity | None:
    """Severity of the waits for the row cache: by their cost, and by the sessions in one look."""
    by_sessions = Severity.WARNING if crowd_at_once(context) >= SEVERAL_DOZEN else None
    gates = [gate for gate in (context.gate, by_sessions) if gate is not None]
    return worst(gates) if gates else None


def crowd_at_once(context: SignalContext) -> int:
    """Most sessions seen waiting for the row cache in one look."""
    now = len(context.look.of(ROW_CACHE_SURFACES)) if context.look else 0
    return max(now, context.crowd.most_at_once if context.crowd else 0)


# Many sessions wait for something, and there was no look: they may hang.

CROWD_PER_CPU = 2.0
"""Waiting sessions on average, per processor. This many are some kind of trouble, of the row cache or another."""


def unseen_waiters(context: SignalContext) -> float | None:
    """Average number of sessions that wait for something, if they are many and there was no look. Otherwise None."""
    db_time, cpu, seconds = context.seconds_of("DB time"), context.seconds_of("DB CPU"), context.delta.basis.seconds
    if context.look is not None or context.printed or db_time is None or not seconds:
        return None
    waiting = (db_time - (cpu or 0.0)) / seconds
    return waiting if waiting >= CROWD_PER_CPU * (context.cpus or 1.0) else None


def costs_nothing(context: SignalContext) -> bool:
    """Whether an interval between polls cost nothing on any surface, and no session was seen waiting."""
    delta = context.delta
    return (
        delta.source == "views"
        and delta.basis.kind == "interval"
        and not delta.confirmations
        and context.crowd is None
        and (context.look is None or not (context.look.sessions or context.look.before))
        and all(context.gate_of((surface,)) is Severity.INFO for surface in context.surfaces)
        and overall_gate(context) is Severity.INFO
    )


# The gate: of most polls of a healthy database the few cells that can cost anything say that nothing did. Then no cause is
# judged, and no row gets names. Whatever is not as it was at the last judgement opens it (`Delta.steady`).

QUIET_SECONDS, LASTING_SECONDS = 300.0, 60.0
"""From one judgement to the next at most: while no wait costs anything, and while a problem lasts."""
COSTLY: Mapping[str, tuple[str, ...]] = {
    SYSTEM_EVENTS: ("event", "time_waited_micro", "time_waited_micro_fg", "total_waits"),
    "v$latch": ("name", "wait_time"),
    "v$sys_time_model": ("stat_name", "value"),
}
"""The cells that can cost anything, where nobody waits at a poll and the time of every surface is known; and DB time."""
COSTLY_EVENTS = (*SURFACE_EVENTS.values(), "latch free")


def costing_nothing_again(delta: Delta, judged: Diagnosis) -> Diagnosis | None:
    """The verdict of an earlier poll that cost nothing, with the costs of this interval. None unless it costs nothing again.

    Where it is not None, `costs_nothing` is true, and `whole_impact` and `surface_impacts` say the same.
    """
    seconds, here = delta.basis.seconds, {each.surface for each in judged.surfaces}
    guards: tuple[Surface, ...] = (judged.mechanism,) if judged.mechanism else ("latch", "mutex")
    known = {*guards, "lock", "result-cache"} <= here
    if not seconds or not known or not recent(delta, judged, QUIET_SECONDS) or _anybody_seen(delta):
        return None
    events, latches, times = (changes_of(delta, view, cells) for view, cells in COSTLY.items())
    if not events or not latches or not times:
        return None
    waited = {event: time if own is None else own for event, time, own, _ in events}
    micro = [*(waited.get(event, 0.0) for event in COSTLY_EVENTS), dict(latches).get(RESULT_CACHE_LATCH)]
    timeless = not any(time for _, time, *_ in events) and sum(many or 0.0 for *_, many in events) >= PROVING_WAITS
    if (
        timeless
        or None in micro
        or any(slept_for(delta, event) for event in SURFACE_EVENTS.values() if event not in waited)
    ):
        return None  # unknown, as for `finished_waits`
    lost, db_time = sum(micro) / 1e6, (dict(times).get("DB time") or 0.0) / 1e6
    share_of = None if delta.inside_pdb or not db_time else db_time
    if lost >= IDLE_SESSIONS * seconds and (share_of is None or lost >= NOTICEABLE_SHARE * share_of):
        return None
    by_surface = {each: waited.get(SURFACE_EVENTS[each], 0.0) / 1e6 for each in ROW_CACHE_SURFACES if each in here}
    own = sum(by_surface.values())
    by_surface["result-cache"] = micro[-1] / 1e6
    costs = ((old.surface, by_surface[old.surface]) for old in judged.surfaces)
    surfaces = tuple(
        SurfaceImpact(surface=surface, share_of_db_time=ratio(cost, share_of), waiting_sessions=ratio(cost, seconds))
        for surface, cost in costs
    )
    impact = Impact(share_of_db_time=ratio(own, share_of), waiting_sessions=ratio(own, seconds))
    return judged.model_copy(update={"impact": impact, "surfaces": surfaces, "waiting": (), "who": ()})


def _anybody_seen(delta: Delta) -> bool:
    """Whether a session was seen waiting at either end of an interval, or sessions were sampled in it."""
    began = delta.at_begin.get(WAITING_SESSIONS)
    return bool(changes_of(delta, WAITING_SESSIONS, ("event",)) or (began and began.rows) or delta.rows("v$session"))


def recent(delta: Delta, judged: Diagnosis, longest: float) -> bool:
    """Whether a judgement is young enough to stand for an interval that is like the one it was made of."""
    if not delta.steady or delta.basis.kind != "interval" or delta.basis.end is None or judged.judged_at is None:
        return False
    age = (delta.basis.end - judged.judged_at).total_seconds()
    return 0 < age <= longest - (delta.basis.seconds or 0.0) / 2  # a poll comes a little sooner or later than its time


# Whether the causes that an earlier poll of a trouble was judged by still stand, so that a poll needs no judgement of its own.

MOVED = 0.5
"""A cost that grew or fell by this part of what it was is another one."""


def still_stands(context: SignalContext, judged: Diagnosis) -> bool:
    """Whether an earlier verdict on this database still says what is wrong: nothing came, went, hangs or costs much else."""
    if not recent(context.delta, judged, LASTING_SECONDS):
        return False
    named = any(finding.severity is not Severity.INFO for finding in judged.findings)
    hangs = bool(context.look and hanging(context.look.sessions)) or any(group.hanging for group in judged.waiting)
    if not named or hangs:
        return False
    then = _costs(judged.surfaces, judged.troubles)
    costs = _costs(surface_impacts(context), troubles(context, judged.findings))
    return then.keys() == costs.keys() and all(_near(then[each], costs[each]) for each in costs)


def _costs(surfaces: Sequence[SurfaceImpact], troubles: Sequence[Trouble]) -> Mapping[tuple[object, ...], Impact]:
    """What each kind of wait, and each trouble on it, costs."""
    costs: dict[tuple[object, ...], Impact] = {(each.surface,): each for each in surfaces}
    return costs | {(each.surface, each.cache, each.child): each for each in troubles}


def _near(before: Impact, now: Impact) -> bool:
    """Whether it costs about the same, and as much as gives the same grade."""
    grade = severity_of(now)
    if grade is not severity_of(before):
        return False
    pairs = ((before.share_of_db_time, now.share_of_db_time), (before.waiting_sessions, now.waiting_sessions))
    return grade is Severity.INFO or all(
        was == cost or (was is not None and cost is not None and abs(cost - was) < MOVED * was) for was, cost in pairs
    )


# What is in trouble, each surface and each cache separately.

TENTH = 0.1
"""What has so much of the cost is a trouble of its own, if the whole is one."""


def troubles(context: SignalContext, findings: Sequence[Finding]) -> tuple[Trouble, ...]:
    """What costs something, by surface and cache; the most expensive first. Together they are what these surfaces lost."""
    loud = [finding for finding in findings if finding.severity is not Severity.INFO]
    costly = [trouble for surface in context.surfaces for trouble in _on(context, surface, loud)]
    return tuple(sorted(costly, key=lambda trouble: -(trouble.share_of_db_time or trouble.waiting_sessions or 0.0)))


def _on(context: SignalContext, surface: Surface, findings: Sequence[Finding]) -> Iterator[Trouble]:
    """Each cache with notable waits on a surface, and one trouble without a cache for the rest of them."""
    lost = context.surface_wait_seconds(surface)
    row_cache = context.waited_on(ROW_CACHE_SURFACES if surface in ROW_CACHE_SURFACES else (surface,))
    if not lost or not row_cache or severity_of(context.impact_by(max(lost, row_cache))) in (None, Severity.INFO):
        return
    parts = context.hot_caches.parts(surface)

    def notable(share: float) -> bool:
        costs = severity_of(context.impact_by(share * lost)) not in (None, Severity.INFO)
        some = severity_of(context.impact_by(row_cache)) not in (None, Severity.INFO)
        return costs or (some and share * lost >= TENTH * row_cache)

    hot = {name for names in context.hot_caches.named(surface) for name in names}
    told, rest, of_rest = list[tuple[Part, list[Finding]]](), 0.0, list[Finding]()
    for part in parts:
        causes = [finding for finding in findings if _explains(context, finding, surface, part)]
        storm = bool(causes) and not any(finding.cache for finding in causes) and hot.isdisjoint(part.caches)
        if part.caches and notable(part.share) and not storm:
            told.append((part, causes))
        else:
            rest, of_rest = rest + part.share, [*of_rest, *causes]
    if notable(rest):
        causes = [finding for finding in findings if finding in of_rest]
        told.append((_left(rest, causes), causes))
    for part, causes in told:
        yield Trouble(
            **dict(context.impact_by(part.share * lost) or ()),
            surface=surface,
            cache=part.name,
            caches=part.caches,
            attributed_by=part.by,
            child=part.child,
            causes=tuple(finding.cause for finding in causes),
        )


def _explains(context: SignalContext, finding: Finding, surface: Surface, part: Part) -> bool:
    """Whether a finding is about a part of a surface. One without a cache is about all that its cause does not spare."""
    cause = catalogue().get(finding.cause)
    if surface != finding.surface and (finding.cache is None or cause is None or surface not in cause.surfaces):
        return False
    if finding.cache is None or not part.caches:
        return cause is None or not part.caches or not set(part.caches) <= set(cause.spares)
    own = context.hot_caches.waited_as([finding.cache, *(cause.caches if cause else ())])
    return not set(own).isdisjoint(part.caches) or (finding.child is not None and finding.child == part.child)


def _left(share: float, causes: Sequence[Finding]) -> Part:
    """The rest of a surface. Where no figure says whose it is, the causes do that all name one cache."""
    if share == 1.0 and causes and causes[0].cache and len({finding.cache for finding in causes}) == 1:
        caches = dict.fromkeys(ref.parameter for ref in causes[0].caches if ref.parameter)
        return Part(tuple(caches) or (causes[0].cache,), share, "cause", causes[0].child, causes[0].cache)
    return Part((), share)


def surface_impacts(context: SignalContext) -> tuple[SurfaceImpact, ...]:
    """The cost of each surface with known waits."""
    costs = ((surface, context.impact_of((surface,))) for surface in context.surfaces)
    return tuple(
        SurfaceImpact(surface=surface, share_of_db_time=cost.share_of_db_time, waiting_sessions=cost.waiting_sessions)
        for surface, cost in costs
        if cost is not None and (cost.share_of_db_time is not None or cost.waiting_sessions is not None)
    )


def whole_impact(context: SignalContext, findings: Iterable[Finding]) -> Impact | None:
    """The cost of the row cache, and of the result cache latch if that is in trouble."""
    shown = {finding.surface for finding in findings if finding.severity is not Severity.INFO}
    beside: tuple[Surface, ...] = ("result-cache",) if "result-cache" in shown else ()
    return context.impact_of((*ROW_CACHE_SURFACES, *beside))
