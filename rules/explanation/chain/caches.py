"""Which cache it is: the one the child guards, the one waiters name, or the cause's own by its share of the work."""

from collections import Counter
from collections.abc import Sequence

from rules.cache_map import look_up
from rules.chain import ChainLink, bars_of
from rules.context import SURFACE_EVENTS, SignalContext
from rules.explanation.report import TO_NAME_IT
from rules.formatting import part_of, sentence
from rules.hangs import VIEW, hanging
from rules.model import Finding, Surface

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
    looked = f"met in {context.crowd.looks} looks" if context.crowd and waiters else "that hang"
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
        counted="waiters",
        bars=bars_of(counted, total, own),
        usual=sign.usual if sign else None,
        bound=sign.bound if sign else None,
        measured=f"{part_of(here, total)} waiters {looked} name {named} in P1.",
        views=(VIEW if looked == "that hang" else "v$session",),
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
