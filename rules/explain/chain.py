"""The chain from the wait to the cause: one link each for the wait, its place, its cache, its holder, the signs and the cause."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from collectors.model import RESULT_CACHE_LATCH, ROW_CACHE_LATCH, Row, number
from rules.base import Bound, UsualBetween
from rules.baseline import UsualRange
from rules.blockers import ROW_CACHE_BLOCKERS as BLOCKERS_VIEW
from rules.blockers import blockers_of
from rules.cache_map import look_up
from rules.context import SURFACE_EVENTS, SignalContext
from rules.explain.blockers import entry_of, in_one_sentence
from rules.explain.headline import hang_sentence
from rules.explain.report import TO_NAME_IT
from rules.formatting import function_of, measured, over, part_of, sentence, within
from rules.miss_locations import mutex_shape_of, shape_of
from rules.model import (
    MOST_BARS,
    ChainBar,
    ChainLink,
    Confidence,
    EventFunnel,
    Evidence,
    Finding,
    Severity,
    Surface,
    bars_of,
)
from rules.signals import SIGNALS
from rules.waits import NOTICEABLE_SHARE, WAITING_SESSIONS, hanging

# Which cache it is: the one the child guards, the one waiters name, or the cause's own by its share of the work.

NO_CACHE = "an unknown cache"


def cache_link(context: SignalContext, surface: Surface, top: Finding | None) -> ChainLink | None:
    """The cache: the one the child guards, the one waiters name, or the cause's own if only the shares suggest it."""
    if surface == "result-cache":
        return None
    if surface == "latch":
        return _guarded_link(context, top)
    return _named_link(context, surface, top)


def _guarded_link(context: SignalContext, top: Finding | None) -> ChainLink | None:
    guarded, doubt = context.hot, context.hot_spot.doubt
    gets = context.by_name("gets")
    total = sum(gets.values())
    named = top.cache if top is not None and top.cache else context.hot_spot.cache
    own = tuple(ref.parameter for ref in guarded.caches if ref.parameter) if guarded and not doubt else ()
    if top is not None and top.cache and top.cache not in own:
        own = tuple(top.cache.split("+"))
    certain = bool(guarded) and doubt is None and (top is None or top.identity in ("read", "inferred", None))
    if named is None:
        return _unknown_cache(context, doubt)
    here = sum(gets.get(cache, 0.0) for cache in own)
    why = None if certain else _why_no_cache(context, doubt)
    sign = top.sign("share_of_lookups") if top else None
    return ChainLink(
        kind="cache",
        verb="which guards" if certain else "most likely for",
        name=named,
        code=True,
        value=here / total if total and here else None,
        unit="ratio",
        of="gets",
        numerator=here if total and here else None,
        denominator=total or None,
        counted="gets",
        bars=bars_of(gets, total, own),
        usual=sign.usual if sign else None,
        bound=sign.bound if sign else None,
        measured=f"{part_of(here, total)} dictionary gets are of {named}."
        if total and here
        else "Its gets are unknown.",
        views=("x$kqrst", "v$rowcache") if certain and guarded and guarded.identity.name == "READ" else ("v$rowcache",),
        caveat="The cache is inferred from the gets of the child: x$kqrst was not read."
        if certain and guarded and guarded.identity.name == "INFERRED"
        else None,
        certain=certain,
        unknown=None if why is None else why[0],
        way_out=None if why is None else why[1],
        sql=None if context.printed else _rowcache_sql(own, "gets"),
    )


def _named_link(context: SignalContext, surface: Surface, top: Finding | None) -> ChainLink:
    """The cache that waiters name. Without waiters the cause's own, by its share of the work."""
    event = SURFACE_EVENTS[surface]
    waiters = [waiter.cache for waiter in context.crowd.of(event)] if context.crowd else []
    looked = f"met in {context.crowd.looks} samples" if context.crowd and waiters else "that hang"
    if not waiters and context.look is not None:
        waiters = [waiter.cache for waiter in hanging(context.look.of((surface,)))]
    counted = {cache: float(times) for cache, times in Counter(sorted(waiters)).most_common()}
    named = top.cache if top is not None and top.cache else next(iter(counted), None)
    if named is None or named == "unknown":
        return _unknown_cache(context, None)
    own = tuple(named.split("+"))
    here, total = sum(counted.get(cache, 0.0) for cache in own), float(len(waiters))
    if not here:
        return _likely_link(context, surface, named, own, top)
    samples = context.crowd.looks if context.crowd and looked != "that hang" else 1
    sign = top.sign("share_of_mutex_waiters" if surface == "mutex" else "share_of_lock_waiters") if top else None
    return ChainLink(
        kind="cache",
        verb="for",
        name=named,
        code=True,
        value=here / total,
        unit="ratio",
        of="waiters",
        numerator=here,
        denominator=total,
        counted=f"waiters in {samples} samples" if samples > 1 else "waiters",
        bars=bars_of(counted, total, own),
        usual=sign.usual if sign else None,
        bound=sign.bound if sign else None,
        measured=f"{part_of(here, total)} waiters {looked} name {named} in P1.",
        views=(WAITING_SESSIONS if looked == "that hang" else "v$session",),
        sql=f"select p1 cache#, count(*) from v$session\n where state = 'WAITING' and event = '{event}' group by p1",
    )


def _likely_link(
    context: SignalContext, surface: Surface, named: str, own: Sequence[str], top: Finding | None
) -> ChainLink:
    """A cache that no waiter names, by its share of the work that takes the mutex or the lock."""
    column = "modifications" if surface == "lock" else "gets"
    by_name = context.by_name(column)
    total, here = sum(by_name.values()), sum(by_name.get(cache, 0.0) for cache in own)
    why, way_out = _why_no_waiters(context, SURFACE_EVENTS[surface])
    sign = top.sign("share_of_lookups") if top and surface == "mutex" else None
    return ChainLink(
        kind="cache",
        verb="most likely for",
        name=named,
        code=True,
        value=here / total if total and here else None,
        unit="ratio",
        of=column,
        numerator=here if total and here else None,
        denominator=total or None,
        counted=column,
        bars=bars_of(by_name, total, own),
        usual=sign.usual if sign else None,
        measured=f"{part_of(here, total)} {column} are of {named}." if total else f"Its {column} are unknown.",
        views=("v$rowcache",),
        certain=False,
        unknown=f"what the waiters name: {why}",
        way_out=way_out,
        sql=None if context.printed else _rowcache_sql(own, column),
    )


def _why_no_waiters(context: SignalContext, event: str) -> tuple[str, str]:
    if context.crowd is not None:
        return f"no session waiting for {event} was met", context.busier
    unknown = context.why_unknown("v$session")
    return unknown.why, unknown.way_out


def _why_no_cache(context: SignalContext, doubt: str | None) -> tuple[str, str]:
    if doubt is not None:
        return f"which cache the child guards: {doubt}", "compare x$kqrst with v$rowcache"
    unknown = context.why_unknown("x$kqrst")
    if context.printed:
        child = context.hot_child
        named = TO_NAME_IT if child is None else f"{sentence(look_up(child))}."
        return "which cache the child guards: a report has no x$kqrst", named
    return f"which cache the child guards: {unknown.why}", unknown.way_out


def _unknown_cache(context: SignalContext, doubt: str | None) -> ChainLink:
    why, way_out = _why_no_cache(context, doubt)
    return ChainLink(
        kind="cache",
        verb="for",
        name=NO_CACHE,
        code=False,
        value=None,
        unit="ratio",
        measured="The cache is unknown.",
        certain=False,
        unknown=why,
        way_out=way_out,
    )


def _rowcache_sql(caches: Sequence[str], column: str) -> str:
    names = ", ".join(f"'{cache}'" for cache in caches)
    return (
        f"select cache#, type, parameter, gets, getmisses, modifications, usage\n  from v$rowcache where parameter in ({names})\n"
        f" order by {column} desc"
    )


# Where sessions wait, and what the holder does meanwhile: child latch, mutex location, miss location.

NEARLY_ALL, MOST = 0.9, 0.5
WHOLE_LATCH = "v$latch_misses does not separate children, so these are shares over the whole latch."
EVERY_LOOKUP = "Every look-up by key passes here. The place shows that look-ups sleep, not which cause makes them."
LOCATIONS_SQL = (
    "select location, sleep_count\n  from v$latch_misses where parent_name = '{}'\n order by sleep_count desc"
)


def place_link(context: SignalContext, surface: Surface) -> ChainLink | None:
    """The child latch with most of the sleeps, or the place where sessions sleep for a mutex."""
    if surface == "latch":
        return _child_link(context)
    if surface == "mutex":
        return _mutex_link(context)
    return None


def _child_link(context: SignalContext) -> ChainLink | None:
    child, total = context.hot_child, context.children_sleeps
    if child is None or not total:
        return _unknown_child(context)
    sleeps = context.delta.by_number("v$latch_children", "child#", "sleeps")
    share = sleeps.get(child, 0.0) / total
    return ChainLink(
        kind="place",
        verb=f"{_how_many(share)} on",
        name=f"child latch {child}",
        code=False,
        value=share,
        unit="ratio",
        of="sleeps",
        numerator=sleeps.get(child, 0.0),
        denominator=total,
        counted="sleeps",
        bars=bars_of({f"child {number}": slept for number, slept in sleeps.items()}, total, (f"child {child}",)),
        measured=f"Child {child} has {part_of(sleeps.get(child, 0.0), total)} sleeps.",
        views=("v$latch_children",),
        sql="select child#, gets, misses, sleeps\n  from v$latch_children where name = 'row cache objects'\n"
        " order by sleeps desc",
    )


def _unknown_child(context: SignalContext) -> ChainLink | None:
    """The link for an unknown child. None if no child slept."""
    if context.children and context.children_sleeps is not None:
        return None
    why, way_out = "a report prints the latch as a whole", TO_NAME_IT
    if not context.printed:
        unknown = context.why_unknown("v$latch_children", "sleeps")
        why, way_out = unknown.why, unknown.way_out
    return ChainLink(
        kind="place",
        verb="on",
        name="an unknown child latch",
        code=False,
        value=None,
        unit="ratio",
        of="sleeps",
        measured=f"The hot child latch is unknown: {why}.",
        views=("v$latch_children",),
        certain=False,
        unknown=f"which child latch: {why}",
        way_out=way_out,
    )


def _mutex_link(context: SignalContext) -> ChainLink | None:
    shape = mutex_shape_of(context)
    if shape is None:
        return None
    rows = context.delta.rows("v$mutex_sleep")
    places = summed((str(row.get("location")), number(row.get("sleeps")) or 0.0) for row in rows)
    place, slept = next(iter(places.items()))
    everyday = shape.fingerprint in (None, "normal")
    return ChainLink(
        kind="place",
        verb="while looking up, in" if function_of(place) in ("kqrpre", "kqrget") else "in",
        name=place,
        code=True,
        value=slept / shape.total,
        unit="ratio",
        of="sleeps",
        numerator=slept,
        denominator=shape.total,
        counted="sleeps",
        bars=bars_of(places, shape.total, (place,)),
        measured=f"{part_of(slept, shape.total)} sleeps are here. {sentence(shape.meaning)}.",
        views=("v$mutex_sleep",),
        caveat=EVERY_LOOKUP if everyday else None,
        sql=None
        if context.printed
        else "select location, sleeps, wait_time / 1e6 seconds\n  from v$mutex_sleep where mutex_type = 'Row Cache'\n"
        " order by sleeps desc",
    )


def holder_link(context: SignalContext, surface: Surface, top: Finding | None) -> ChainLink | None:
    """What the holder of a latch does while others sleep. Mutexes show only where sessions sleep, which the place has already."""
    if surface not in ("latch", "result-cache"):
        return None
    latch = ROW_CACHE_LATCH if surface == "latch" else RESULT_CACHE_LATCH
    rows = [row for row in context.delta.rows("v$latch_misses") if row.get("parent_name") == latch]
    places = summed((str(row.get("location")), number(row.get("sleep_count")) or 0.0) for row in rows)
    total = sum(places.values())
    if not total:
        return None
    shape = shape_of(context) if surface == "latch" else None
    place, slept = next(iter(places.items()))
    signal = "share_of_holders" if surface == "latch" else "share_of_result_cache_holders"
    sign = top.sign(signal) if top else None
    return ChainLink(
        kind="holder",
        verb="held while searching, in" if shape and shape.fingerprint == "chain" else "held most often in",
        name=place,
        code=True,
        value=slept / total,
        unit="ratio",
        of="holders",
        numerator=slept,
        denominator=total,
        counted="sleeps",
        usual=sign.usual if sign else None,
        bound=sign.bound if sign else None,
        bars=bars_of(places, total, (place,)),
        measured=f"{part_of(slept, total)} sleeps in v$latch_misses had a holder here."
        + (f" {sentence(shape.meaning)}." if shape else ""),
        views=("v$latch_misses",),
        caveat=WHOLE_LATCH if surface == "latch" else None,
        sql=None if context.printed else LOCATIONS_SQL.format(latch),
    )


def summed(pairs: Iterable[tuple[str, float]]) -> Mapping[str, float]:
    """Values by name, the largest first."""
    sums: dict[str, float] = {}
    for name, value in pairs:
        sums[name] = sums.get(name, 0.0) + value
    return dict(sorted(sums.items(), key=lambda item: (-item[1], item[0])))


def _how_many(share: float) -> str:
    return "nearly all" if share >= NEARLY_ALL else "mostly" if share >= MOST else "most often"


TOLD = (
    "share_of_sleeps",
    "hottest_child_share_of_sleeps",
    "share_of_mutex_waiters",
    "share_of_lock_waiters",
    "hottest_cache_share_of_mutex_waiters",
    "share_of_lookups",
    "share_of_holders",
    "average_finished_lock_wait",
    "share_of_mutex_sleeps",
    "share_of_result_cache_holders",
    "row_cache_share_of_db_time",
    "lock_share_of_db_time",
    "result_cache_share_of_db_time",
    "longest_wait_seconds",
    "waiting_now",
)
"""Signals that earlier links show already."""
ITSELF: Mapping[Surface, tuple[str, ...]] = {"result-cache": ("latch free",)}
"""Events for waits of a surface that has no event of its own."""
ROLES = ("discriminating", "required", "supporting", "shape", "identity")
"""Which of several signs appears beside the cause."""
UNKNOWN_CAUSE = ChainLink(
    kind="cause",
    verb="because of",
    name="an unknown cause",
    code=False,
    value=None,
    unit="",
    measured="No known cause that could be judged explains it.",
    certain=False,
    unknown="which cause it is",
)


def chain(
    context: SignalContext, findings: Sequence[Finding], severity: Severity, usual: Mapping[str, UsualRange]
) -> tuple[ChainLink, ...]:
    """The links as far as they are known. Empty if nothing is in trouble."""
    top = findings[0] if findings and findings[0].severity is not Severity.INFO else None
    if severity is Severity.INFO:
        return ()
    surface = top.surface if top else context.costliest(context.surfaces)
    about_cache = top is None or top.cache is not None or top.child is not None
    links: list[ChainLink | None] = [_hang_link(context, surface) or _wait_link(context, surface, usual)]
    if about_cache:
        links += [place_link(context, surface), cache_link(context, surface, top), holder_link(context, surface, top)]
    elif surface == "result-cache":
        links += [holder_link(context, surface, top)]
    links += [_blocker_link(context)]
    return (*(link for link in links if link is not None), *_cause_links(context, top))


def _wait_link(context: SignalContext, surface: Surface, usual: Mapping[str, UsualRange]) -> ChainLink:
    """What sessions wait for, and the share of DB time lost in it."""
    impact, seconds = context.impact_of((surface,)), context.surface_wait_seconds(surface)
    share = impact.share_of_db_time if impact else None
    many = impact.waiting_sessions if impact else None
    db_time, name = context.shared_db_time, SURFACE_EVENTS.get(surface, RESULT_CACHE_LATCH)
    by_share = share is not None
    words = "How long they wait is unknown."
    if seconds is not None:
        of = f", of {db_time:,.1f} s of DB time" if db_time is not None else ""
        words = f"All sessions together waited {seconds:,.1f} s{of}, {over(context.delta.basis)}."
    own = usual.get("row_cache_wait_share" if by_share else "row_cache_waiting_sessions")
    return ChainLink(
        kind="wait",
        verb="Sessions wait for",
        name=name,
        code=True,
        value=share if by_share else many,
        unit="ratio" if by_share else "sessions",
        of="DB time" if by_share else "",
        numerator=seconds,
        denominator=db_time,
        counted="s",
        usual=_usually(own if surface != "result-cache" else None, by_share),
        bound=Bound(operator=">=", value=NOTICEABLE_SHARE) if by_share else None,
        bars=_wait_bars(context, surface, db_time),
        measured=words,
        unknown=None
        if seconds is not None or many is not None
        else "how long they wait, in a figure with a known start",
        views=("v$latch", "v$sys_time_model") if surface == "result-cache" else ("v$system_event", "v$sys_time_model"),
        sql=None if context.printed else _wait_sql(surface, name),
    )


def _usually(own: UsualRange | None, by_share: bool) -> UsualBetween | None:
    if own is not None:
        return UsualBetween(low=own.low, high=own.high, where="here at this hour")
    return UsualBetween(low=None, high=NOTICEABLE_SHARE) if by_share else None


def _wait_bars(context: SignalContext, surface: Surface, db_time: float | None) -> tuple[ChainBar, ...]:
    """The surface beside the largest other waits, as shares of DB time."""
    if not db_time:
        return ()
    own = SURFACE_EVENTS.get(surface, RESULT_CACHE_LATCH)
    events = {str(row.get("event")) for row in context.delta.rows("v$system_event")} - {own, *ITSELF.get(surface, ())}
    waits = {event: seconds for event in sorted(events) if (seconds := context.waited_seconds((event,)))}
    others = sorted(waits.items(), key=lambda item: -item[1])[: MOST_BARS - 1]
    hot = context.surface_wait_seconds(surface)
    bars = [ChainBar(label=own, value=hot / db_time, hot=True)] if hot is not None else []
    return (*bars, *(ChainBar(label=event, value=seconds / db_time, hot=False) for event, seconds in others))


def _wait_sql(surface: Surface, name: str) -> str:
    if surface == "result-cache":
        return f"select gets, misses, sleeps, wait_time / 1e6 seconds\n  from v$latch where name = '{name}'"
    return f"select event, total_waits, time_waited_micro / 1e6 seconds\n  from v$system_event where event = '{name}'"


def _hang_link(context: SignalContext, surface: Surface) -> ChainLink | None:
    """How many sessions hang in waits that have not ended. No counter has them."""
    stuck = hanging(context.look.of((surface,))) if context.look else ()
    said = hang_sentence(context, (surface,))
    if not stuck or said is None:
        return None
    name = SURFACE_EVENTS.get(surface, RESULT_CACHE_LATCH)
    waiting = context.look.of((surface,)) if context.look else stuck
    longest = sorted(stuck, key=lambda waiter: -waiter.seconds)[:MOST_BARS]
    return ChainLink(
        kind="wait",
        verb="Sessions wait for",
        name=name,
        code=True,
        value=float(len(waiting)),
        unit="sessions",
        measured=f"{sentence(said)}.",
        bars=tuple(ChainBar(label=f"session {waiter.sid}", value=waiter.seconds, hot=True) for waiter in longest),
        views=(WAITING_SESSIONS,),
        caveat="v$system_event counts a wait only when it ends, so these waits are in no counter yet.",
        sql="select sid, serial#, event, p1, wait_time_micro / 1e6 seconds, final_blocking_session\n"
        f"  from v$session where state = 'WAITING' and event = '{name}'\n order by wait_time_micro desc",
    )


def _blocker_link(context: SignalContext) -> ChainLink | None:
    """Who holds what most of the hanging sessions wait for. Not certain if no holder was found."""
    found = blockers_of(context)
    if found is None:
        return None
    chain = next(iter(found.chains), None)
    if chain is None or chain.end is None:
        return ChainLink(
            kind="blocker",
            verb="held by",
            name="an unknown session",
            code=False,
            value=None,
            unit="s",
            measured="No session was found that holds what they wait for.",
            certain=False,
            unknown=found.unknown,
        )
    end, held = chain.end, entry_of(chain, found)
    where = "" if end.instance is None else f" on instance {end.instance}"
    lasts = held.held_at_least_seconds if held else None
    return ChainLink(
        kind="blocker",
        verb="behind" if lasts is None else "held by",
        name=f"session {end.sid}{where}",
        code=False,
        value=lasts,
        unit="s",
        measured=in_one_sentence(chain, found),
        views=(BLOCKERS_VIEW,),
        caveat=None if lasts is None else "The entry is held at least as long as the longest of those waits.",
        certain=not chain.disagreements,
        unknown=found.unknown,
    )


def _cause_links(context: SignalContext, top: Finding | None) -> Iterator[ChainLink]:
    """The sign that sets the cause apart, another sign, and the cause itself."""
    if top is None:
        yield UNKNOWN_CAUSE
        return
    signs = sorted(
        (evidence for evidence in top.evidence if evidence.signal not in TOLD),
        key=lambda evidence: ROLES.index(evidence.role),
    )
    if len(signs) > 1 and signs[1].role in ("discriminating", "required"):
        yield _of_sign(signs[1], kind="sign", verb="with", name=signs[1].name)
    unsure = top.confidence is Confidence.LOW
    verb = "probably because of" if unsure else "because of"
    link = ChainLink(
        kind="cause", verb=verb, name=within(top.name), code=False, value=None, unit="", measured=top.explanation
    )
    if signs:
        link = _of_sign(signs[0], kind="cause", verb=verb, name=within(top.name))
    yield link.model_copy(update={"certain": not unsure, "unknown": "; ".join(top.unknown) or None})


def _of_sign(sign: Evidence, kind: Literal["sign", "cause"], verb: str, name: str) -> ChainLink:
    """A link with the number of a condition that held."""
    counted = f" ({sign.derivation})" if sign.derivation else ""
    views = SIGNALS[sign.signal].of
    return ChainLink(
        kind=kind,
        verb=verb,
        name=name,
        code=False,
        value=sign.value,
        unit=sign.unit,
        of=sign.of,
        numerator=sign.numerator,
        denominator=sign.denominator,
        usual=sign.usual,
        bound=sign.bound,
        measured=f"{sentence(sign.name)}: {measured(sign.value, sign.unit)}{counted}. {sentence(sign.because)}.",
        views=tuple(views.split(", ")),
    )


# The funnel of the surface that costs most: how many requests found it taken, and how many of those slept.


def funnel(context: SignalContext, findings: Sequence[Finding]) -> EventFunnel | None:
    """For the first finding's surface, else for what guards the row cache here. None if nothing is known of it."""
    surface = findings[0].surface if findings else _guard(context)
    made = _BY_SURFACE[surface](context)
    known = (made.requests, made.misses, made.sleeps, made.seconds_waited)
    return None if all(value is None for value in known) else made


def _guard(context: SignalContext) -> Surface:
    return "mutex" if context.mechanism == "mutex" else "latch"


def _latch(context: SignalContext) -> EventFunnel:
    statistics = context.latch
    return EventFunnel(
        of=ROW_CACHE_LATCH,
        requests=statistics.gets,
        misses=statistics.misses,
        sleeps=statistics.sleeps,
        seconds_waited=context.surface_wait_seconds("latch"),
    )


def _result_cache(context: SignalContext) -> EventFunnel:
    row: Row = next((row for row in context.delta.rows("v$latch") if row.get("name") == RESULT_CACHE_LATCH), {})
    return EventFunnel(
        of=RESULT_CACHE_LATCH,
        requests=number(row.get("gets")),
        misses=number(row.get("misses")),
        sleeps=number(row.get("sleeps")),
        seconds_waited=context.surface_wait_seconds("result-cache"),
    )


def _mutex(context: SignalContext) -> EventFunnel:
    """Requests are the gets of all caches. Each takes a mutex, but no view counts how many found it taken."""
    return EventFunnel(
        of=SURFACE_EVENTS["mutex"],
        requests=context.sum_of(context.delta.rows("v$rowcache"), "gets"),
        misses=None,
        sleeps=context.sum_of(context.delta.rows("v$mutex_sleep"), "sleeps"),
        seconds_waited=context.surface_wait_seconds("mutex"),
    )


def _lock(context: SignalContext) -> EventFunnel:
    return EventFunnel(
        of=SURFACE_EVENTS["lock"],
        requests=context.sum_of(context.delta.rows("v$rowcache"), "modifications"),
        misses=None,
        sleeps=context.delta.cell("v$system_event", "event", SURFACE_EVENTS["lock"], "total_waits"),
        seconds_waited=context.surface_wait_seconds("lock"),
    )


_BY_SURFACE = {"latch": _latch, "mutex": _mutex, "lock": _lock, "result-cache": _result_cache}
