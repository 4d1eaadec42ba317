"""The one sentence of a Diagnosis: what is wrong, where, and what it costs."""

from collections import Counter
from collections.abc import Mapping, Sequence

from collectors.model import RESULT_CACHE_LATCH, Missing, number, spoken, text
from rules.baseline import UsualRange, against_usual
from rules.cause import Cause
from rules.confirmation import speaks_against
from rules.context import MINIMUM_SLEEPS, ROW_CACHE_SURFACES, SURFACE_EVENTS, SignalContext
from rules.contradictions import contradictions
from rules.cost import (
    SEVERAL_DOZEN,
    anything_read,
    cost_is_open,
    crowd_at_once,
    latch_free_cost,
    row_cache_gate,
    totals_without_waits,
    unseen_waiters,
)
from rules.explain.story import costs, in_words, screen
from rules.formatting import count, over, part_of, percent, sentence, within
from rules.hangs.blockers import blockers_of, holder_of
from rules.hangs.model import WaitingGroup
from rules.hangs.words import behind_circle
from rules.judge import OpenCause
from rules.latch import takes
from rules.model import CANNOT_TELL, Confidence, Figure, Finding, Impact, OtherWait, Severity, Step, Surface, Trouble
from rules.samples import MINIMUM_WAITERS, RESULT_CACHE, within_cache
from rules.waiting_sessions import HANGING_SECONDS, WAITING_SESSIONS, StillWaiting, hanging, most_waited_for
from rules.waits import IDLE_SESSIONS, NOTICEABLE_SHARE, severity_of, untimed

# Sessions that hang, in the headline and as a step: how many, for which cache, how long, and what the counters show.

EVERY: tuple[Surface, ...] = ("latch", "mutex", "lock", "result-cache")


def hang_sentence(context: SignalContext, surfaces: Sequence[Surface] = EVERY) -> str | None:
    """38 sessions have waited for dc_objects for up to 11 minutes; and what the counter shows. None if none hangs."""
    stuck = hanging(context.look.of(surfaces)) if context.look else ()
    named = most_waited_for(stuck)
    if context.look is None or named is None:
        return None
    event, cache = named
    alike = [waiter for waiter in stuck if (waiter.event, waiter.cache) == named]
    most = f"up to {spoken(alike[0].seconds)}{' or longer' * alike[0].sliced}"
    longest = f"for {most}"
    where = event if cache == "unknown" else "the result cache" if cache == RESULT_CACHE else cache
    counter = _counter(context, event)
    if context.look.met > len(context.look.sessions):
        many = (
            f"{count(context.look.met)} sessions wait for the row cache or a latch, and of the "
            f"{count(len(context.look.sessions))}"
        )
        return f"{many} longest waits {count(len(alike))} are for {where}, {longest}; {counter}"
    waiting = [waiter for waiter in context.look.of(surfaces) if (waiter.event, waiter.cache) == named]
    if len(waiting) > len(alike):
        # Two counts that differ come with their sessions, so that readers need not guess.
        those = f"{count(len(alike))} of them for {spoken(HANGING_SECONDS)} or longer"
        return f"{count(len(waiting))} sessions wait for {where}, {those} and {most}; {counter}"
    has = "session has" if len(alike) == 1 else "sessions have"
    return f"{count(len(alike))} {has} waited for {within_cache(where)} {longest}; {counter}"


def _counter(context: SignalContext, event: str) -> str:
    """What v$system_event shows of it. That view counts a wait when it ends."""
    rows = [row for row in context.delta.rows("v$system_event") if row.get("event") == event]
    ended = [number(row.get("total_waits")) for row in rows]
    if context.delta.basis.kind != "interval" or None in ended or not context.delta.rows("v$system_event"):
        return "v$system_event counts a wait only when it ends"
    waits = sum(wait or 0.0 for wait in ended)
    if not waits:
        return "no wait has finished, so v$system_event shows nothing"
    if any(waiter.sliced for waiter in context.look.sessions if waiter.event == event) if context.look else False:
        return f"a timer ended {count(waits)} of these waits meanwhile, and each session waits again"
    return f"{count(waits)} other {'wait' if waits == 1 else 'waits'} for {event} finished meanwhile"


def hang_step(context: SignalContext) -> Step | None:
    """The step that says who hangs. None if no session hangs."""
    sentence = hang_sentence(context)
    if context.look is None or sentence is None:
        return None
    stuck = hanging(context.look.of(EVERY))
    waiting = context.look.of(EVERY)
    behind = _behind([waiter for waiter in waiting if waiter.event in {each.event for each in stuck}])
    background = sum(1 for waiter in context.look.sessions if waiter.background)
    also = f" {background} background process{'es' * (background > 1)} waits too." if background else ""
    return Step(
        step="waiting now",
        statement=f"{sentence}.{behind}{also}",
        figures=tuple(
            figure
            for group in waiting_groups(context)[:3]
            for figure in (
                Figure(name=f"waiting for {group.cache}", value=group.sessions, unit="sessions", of=WAITING_SESSIONS),
                Figure(
                    name=f"longest wait for {group.cache}", value=group.longest_seconds, unit="s", of=WAITING_SESSIONS
                ),
            )
        ),
    )


def _behind(waiting: Sequence[StillWaiting]) -> str:
    blockers = Counter(sorted(waiter.blocker for waiter in waiting if waiter.blocker))
    if not blockers:
        return " Oracle names no session that blocks them."
    blocker, times = blockers.most_common(1)[0]
    return f" {part_of(times, len(waiting))} ({percent(times / len(waiting))}) wait for session {blocker}."


def waiting_groups(context: SignalContext) -> tuple[WaitingGroup, ...]:
    """Foreground sessions in the look of the poll, by event and cache, most first."""
    if context.look is None:
        return ()
    grouped: dict[tuple[str, str], list[StillWaiting]] = {}
    for waiter in context.look.of(EVERY):
        grouped.setdefault((waiter.event, waiter.cache), []).append(waiter)
    groups = [
        WaitingGroup(
            event=event,
            cache=cache,
            sessions=len(alike),
            hanging=len(hanging(alike)),
            longest_seconds=max(waiter.seconds for waiter in alike),
        )
        for (event, cache), alike in grouped.items()
    ]
    return tuple(sorted(groups, key=lambda group: (-group.hanging, -group.sessions, group.event, group.cache)))


# Several troubles at once, in the headline and in the steps: those beside the first finding.


def others(troubles: Sequence[Trouble], findings: Sequence[Finding]) -> list[Trouble]:
    """The troubles that the first finding does not explain: those of a warning, and of a notice if one cache has no cause."""
    first = findings[0].cause if findings and findings[0].severity is not Severity.INFO else None
    dear = []
    for trouble in troubles:
        worse = severity_of(trouble) or Severity.INFO
        least = Severity.WARNING if trouble.causes or not trouble.cache else Severity.NOTICE
        if worse.rank >= least.rank or (first is None and trouble.surface == "result-cache"):
            dear.append(trouble)
    if first is None:
        spoken_of = next((trouble for trouble in dear if trouble.surface in ROW_CACHE_SURFACES), None)
        return [trouble for trouble in dear if trouble is not spoken_of]
    return [trouble for trouble in dear if first not in trouble.causes]


def beside(troubles: Sequence[Trouble], findings: Sequence[Finding]) -> str | None:
    """The part of the first finding, and the other troubles in a few words. None without any."""
    names = _others_in_words(troubles, findings)
    first = findings[0].cause if findings else None
    own = [trouble for trouble in troubles if first in trouble.causes and trouble.cache]
    has = " and ".join(f"{trouble.cache} {costs(trouble)}" for trouble in own)
    return f"{has}, beside it {names}" if names and has else f"beside it {names}" if names else None


def _others_in_words(troubles: Sequence[Trouble], findings: Sequence[Finding]) -> str:
    return " and ".join(
        in_words(trouble, findings) for trouble in others(troubles, findings)[:3]
    )  # story and page have all


def at_once(context: SignalContext) -> str | None:
    """How many sessions waited in one look, if there are dozens."""
    most = crowd_at_once(context)
    return f"{most} sessions were met in one sample" if most >= SEVERAL_DOZEN else None


UNTOUCHED = within(screen("nothing").title)
NO_CAUSE = "no known cause explains it"
NONE_JUDGED = "no cause that could be judged explains it"
NO_TIMING = (
    "Cannot tell: no timing, the instance counts waits without their time "
    "(timed_statistics is FALSE, or statistics_level BASIC)"
)
UNKNOWN_CACHE = "unknown"
"""The words for a cache that neither waiters nor a map name."""


OpenCauses = Sequence[tuple[Cause, OpenCause]]
"""Causes that could not be judged, and why."""


def headline(
    context: SignalContext,
    findings: Sequence[Finding],
    troubles: Sequence[Trouble],
    usual: Mapping[str, UsualRange],
    open_causes: OpenCauses = (),
    other: OtherWait | None = None,
    severity: Severity = Severity.INFO,
) -> str:
    """One sentence for a list, an alert or a page title. It says how many times the usual the cost is, if that is known.

    A contradiction in the figures comes first, then what the file lost: with that a row cache that seems harmless may not be.
    """
    sentence = _headline(context, findings, troubles, usual, open_causes, other)
    if impossible := contradictions(context.delta):
        return f"The figures contradict each other: {impossible[0]}; as far as they go: {within(sentence)}"
    if not context.delta.lost or sentence.startswith(CANNOT_TELL):
        return sentence
    told = f"{CANNOT_TELL}: {context.delta.lost}; as" if severity is Severity.INFO else "As"
    return f"{told} far as the file goes: {sentence}"


def _traced(context: SignalContext) -> str | None:
    """The largest chain that a trace file shows. None without one."""
    found = blockers_of(context) if context.delta.source == "trace" else None
    if found is None or not found.chains:
        return None
    chain = found.chains[0]
    cache = next((waiter.cache for waiter in chain.waiters if waiter.cache not in (None, "unknown")), None)
    many = chain.circle or chain.waiting
    who = f"{count(many)} session{'s' * (many != 1)} wait{'s' * (many == 1)}"
    circle = f" in a circle{behind_circle(chain.waiting - many)}"
    where = circle if chain.cycle else f" behind {holder}" if (holder := holder_of(context)) else ""
    return f"{who} for {cache or 'an entry of the row cache'}{where}, as the trace file shows; it does not prove why"


def _headline(
    context: SignalContext,
    findings: Sequence[Finding],
    troubles: Sequence[Trouble],
    usual: Mapping[str, UsualRange],
    open_causes: OpenCauses,
    other: OtherWait | None,
) -> str:
    most = other if other and other.has_most else None
    larger = f"{percent(most.share_of_db_time)} of database time is {most.event}" if most else None
    if most and most.share_of_db_time < 0.5:
        larger = f"{larger}, and {percent(most.together_share_of_db_time)} with other waits that are read"
    unexplained = _unexplained(context, findings)
    if not findings and not anything_read(context):
        if (traced := _traced(context)) is not None:
            return traced
        why = context.delta.lost or "they could not be read"
        return f"Cannot tell: it takes latches, mutexes, dictionary caches or wait events, and {why}"
    harmless = all(finding.severity is Severity.INFO for finding in findings)
    dear_elsewhere = harmless and (bool(others(troubles, findings)) or latch_free_cost(context) is not None)
    if findings and not unexplained and not dear_elsewhere and not (harmless and cost_is_open(context)):
        top = findings[0]
        stuck = hang_sentence(context, (top.surface,)) if top.severity is not Severity.INFO else None
        cost = _cost(context, usual, top.surface)
        larger = larger if harmless else None
        return "; ".join(filter(None, (_named(top, stuck is None), larger, stuck, cost, beside(troubles, findings))))
    if unexplained:
        stuck = hang_sentence(context)
        if stuck:
            return f"{stuck}; {_cost(context, usual)}; {_why_unexplained(context, open_causes)}"
        cost = _untold_cost(context) if context.gate is None and cost_is_open(context) else _cost(context, usual)
        parts = (cost + _where(context), at_once(context), beside(troubles, findings))
        return sentence("; ".join(filter(None, (*parts, _why_unexplained(context, open_causes)))))
    if cost_is_open(context) or totals_without_waits(context):
        return "; ".join(filter(None, (_untold_cost(context), beside(troubles, findings))))
    quiet = within(screen("quiet").title) if nobody_looked(context) else UNTOUCHED * (not context.delta.lost)
    nothing = f"{_cost(context, usual)}{_not_looked(context)}"
    elsewhere = _others_in_words(troubles, findings)
    return sentence("; ".join(filter(None, (larger, elsewhere, quiet, nothing))))


def nobody_looked(context: SignalContext) -> bool:
    """Whether sessions may hang on the row cache and nobody can see it: no counter has a wait that has not ended."""
    reading = context.delta.read(WAITING_SESSIONS)
    refused = isinstance(reading, Missing) and reading.kind in ("refused", "failed")
    live = context.delta.source == "views" and context.delta.basis.kind == "interval"
    return live and (refused or unseen_waiters(context) is not None)


def _not_looked(context: SignalContext) -> str:
    """A warning that hanging sessions would not be visible, if many sessions wait for something."""
    many = unseen_waiters(context)
    if many is None:
        return ""
    return (
        f" of waits that ended, and {many:,.0f} sessions wait for something: without a "
        "look at v$session it is unknown whether they hang"
    )


def _named(top: Finding, with_cache: bool = True) -> str:
    """The cause and its cache, hedged if there is little evidence."""
    if against := speaks_against(top):
        return f"Perhaps {within(top.name)}{f' on {top.cache}' if top.cache else ''}; {against}"
    if not with_cache and top.confidence is not Confidence.LOW:
        return top.name
    if top.confidence is Confidence.LOW:
        where = f" on {top.cache}" if top.cache else ""
        return f"Likely cause: {within(top.name)}{where} (low confidence)"
    perhaps = ", perhaps on" if top.identity == "candidate" else " on"
    return f"{top.name}{perhaps} {top.cache}" if top.cache else top.name


def _where(context: SignalContext) -> str:
    """Where most waits are, or that nobody knows, unless the rest of the headline says so."""
    costliest = _costliest(context)
    if costliest == "latch" and context.hot_spot.child is not None:
        return f", most at {context.hot_spot.words}"
    event = SURFACE_EVENTS[costliest]
    sampled = context.crowd.caches(event).most_common(1) if context.crowd is not None else []
    waiting = most_waited_for(context.look.of((costliest,))) if context.look else None
    cache = sampled[0][0] if sampled else waiting[1] if waiting else UNKNOWN_CACHE
    if cache != UNKNOWN_CACHE:
        return f", most for {cache}"
    named = next(
        (text(row.get("parameter")) for row in context.delta.rows("v$rowcache") if row.get("waited_for")), None
    )
    if named is not None:  # by P1 of the waits, as an ASH report prints it
        return f", most for {named}"
    told_below = isinstance(context.delta.read("v$rowcache"), Missing)
    return "" if told_below else "; which cache is not known"


def _costliest(context: SignalContext) -> Surface:
    """The kind of row cache wait with most time lost; while no time is known, the one in which most sessions were sampled."""
    here = [surface for surface in ROW_CACHE_SURFACES if surface in context.surfaces]
    crowd = context.crowd
    if crowd is not None and all(context.surface_wait_seconds(surface) is None for surface in here):
        return max(here, key=lambda surface: crowd.met(SURFACE_EVENTS[surface]))
    return context.costliest(here)


def _unexplained(context: SignalContext, findings: Sequence[Finding]) -> bool:
    """Whether waits that cost something, or sleeps of unknown cost, have no cause above info."""
    gate = row_cache_gate(context)
    if gate is None:
        slept = context.children_sleeps or 0.0
        met = context.crowd.met() if context.crowd else 0
        return not findings and (slept >= MINIMUM_SLEEPS or met >= MINIMUM_WAITERS)
    return gate is not Severity.INFO and all(finding.severity is Severity.INFO for finding in findings)


def _why_unexplained(context: SignalContext, open_causes: OpenCauses) -> str:
    """That no known cause explains it, if every fitting cause was judged. Otherwise the likeliest open cause."""
    likely = _likeliest(context, open_causes)
    names = context.delta.read("v$rowcache")
    if isinstance(names, Missing):
        nearest = (
            f"; what was captured fits {_spelt(likely[0])} best" if likely and likely[1].near and likely[1].held else ""
        )
        return f"cannot tell which cache: {names.way_out}{nearest}"
    if context.hot_spot.doubt:
        return "cannot tell which cache: the map of child latches does not fit their gets"
    if likely is None:
        return NO_CAUSE
    cause, verdict = likely
    why, way_out = verdict.reading.why, verdict.reading.way_out
    return f"{NONE_JUDGED}; {_spelt(cause)} could not be judged, because {why}: {way_out}"


def _spelt(cause: Cause) -> str:
    """Its name inside a sentence, with its id for `latchscope causes show`."""
    return f"{within(cause.name)} ({cause.id})"


def _likeliest(context: SignalContext, open_causes: OpenCauses) -> tuple[Cause, OpenCause] | None:
    """An open cause of a kind of wait with a problem. One of the cache that is hot goes before one without a cache.

    A kind of wait of unknown cost may have a problem.
    """
    costly = {surface for surface in context.surfaces if context.gate_of((surface,)) is not Severity.INFO}
    here = [(cause, verdict) for cause, verdict in open_causes if costly & set(cause.surfaces)]
    costliest = _costliest(context)
    sure = context.hot if costliest == "latch" and context.hot_spot.doubt is None else None
    hot = {cache.parameter for cache in sure.caches if cache.parameter} if sure else set[str]()
    if not hot and context.crowd is not None:
        hot = {cache for cache, _ in context.crowd.caches(SURFACE_EVENTS[costliest]).most_common(1)} - {UNKNOWN_CACHE}
    named = [pair for pair in here if hot & set(pair[0].caches)]
    general = [pair for pair in here if not pair[0].caches]
    likely = [*named, *general] if hot else here
    return max(likely, key=lambda pair: (bool(hot & set(pair[0].caches)), pair[1].near, pair[1].held), default=None)


def _cost(context: SignalContext, usual: Mapping[str, UsualRange], surface: Surface | None = None) -> str:
    """The cost of the row cache, or of the result cache latch if that was found."""
    of_result_cache = surface == "result-cache"
    impact = context.impact_of(["result-cache"]) if of_result_cache else context.impact
    what = "result cache" if of_result_cache else "row cache"
    if impact is None:
        return "totals of unknown age do not show what it costs"
    untold = () if of_result_cache else context.lost.untold(ROW_CACHE_SURFACES)
    least, gap = "", ""
    if untold:
        least = "at least "
        missing = f"the time of {' and '.join(SURFACE_EVENTS[each] for each in untold)} {_not_captured(context)}"
        gap = f", and {missing}"
    if impact.share_of_db_time is not None:
        of = _of_db_time(context, impact)
        sentence = (
            f"{what} waits cost {least}{percent(impact.share_of_db_time)} of {of} {over(context.delta.basis)}{gap}"
        )
        return sentence + _usually("row_cache_wait_share", impact.share_of_db_time, {} if of_result_cache else usual)
    if impact.waiting_sessions is not None:
        many = f"{least}{impact.waiting_sessions:.2f} sessions"
        sentence = f"{many} wait for the {what} on average {over(context.delta.basis)}{gap}"
        return sentence + _usually(
            "row_cache_waiting_sessions", impact.waiting_sessions, {} if of_result_cache else usual
        )
    if untold:
        return f"what it costs is unknown: {missing}"
    return "what it costs is unknown without v$system_event or v$latch"


def _untold_cost(context: SignalContext) -> str:
    """That a cost was not captured, and the cost of the other waits as far as it is known."""
    if untimed(context.delta):
        return NO_TIMING
    untold = context.lost.untold(ROW_CACHE_SURFACES) or context.lost.untold(["result-cache"])
    missing = " and ".join(SURFACE_EVENTS.get(surface, RESULT_CACHE_LATCH) for surface in untold)
    if not untold:
        return "Cannot tell: DB time was not captured; " + _known_cost(context, ROW_CACHE_SURFACES)
    others = [surface for surface in ROW_CACHE_SURFACES if surface in context.surfaces and surface not in untold]
    known = _known_cost(context, others) if others else ""
    return "; ".join(
        filter(None, (f"Cannot tell: the time of {missing} {_not_captured(context)}{_in_latch_free(context)}", known))
    )


def _not_captured(context: SignalContext) -> str:
    """Why a time is unknown; of a report the section that could not be read, where one could not."""
    reading = context.delta.read("v$system_event")
    if context.printed:
        return f"could not be read{f': {reading.why}' if isinstance(reading, Missing) else ''}"
    return "was not captured"


def _in_latch_free(context: SignalContext) -> str:
    """What the event costs that counts waits for the result cache latch among others, where only that was captured."""
    impact = latch_free_cost(context)
    return "" if impact is None else f", and latch free, which counts it among others, {takes(impact)}"


def _known_cost(context: SignalContext, surfaces: Sequence[Surface]) -> str:
    """The cost of the waits on some surfaces, without the others."""
    impact = context.impact_of(surfaces)
    if impact is None or impact.waiting_sessions is None:
        return ""
    if impact.share_of_db_time is None:
        return f"{impact.waiting_sessions:.2f} sessions wait for the row cache otherwise {over(context.delta.basis)}"
    return f"other row cache waits take {percent(impact.share_of_db_time)} of DB time {over(context.delta.basis)}"


def _of_db_time(context: SignalContext, impact: Impact) -> str:
    """DB time. For an idle instance with its seconds, because a large share of them is not much."""
    idle = impact.waiting_sessions is not None and impact.waiting_sessions < IDLE_SESSIONS
    if not idle or (impact.share_of_db_time or 0.0) < NOTICEABLE_SHARE:
        return "DB time"
    return f"the {context.seconds_of('DB time') or 0.0:,.1f} s of DB time of an idle instance"


def _usually(figure: str, value: float, usual: Mapping[str, UsualRange]) -> str:
    words = against_usual(value, usual.get(figure))
    return f", {words}" if words else ""
