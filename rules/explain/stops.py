"""The stops of the walk on one surface, in the order of a DBA: the wait, its place, its cache, the traffic, the holder.

Each stop says its facts once: the step is the sentence with its figures, the link has the same sentence beside its number.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from collectors.commands import command, command_or_none
from collectors.model import RESULT_CACHE_LATCH, ROW_CACHE_LATCH, Missing, number
from rules.base import Bound, UsualBetween
from rules.baseline import UsualRange
from rules.cache_map import look_up, why_not_inferred
from rules.context import MINIMUM_SLEEPS, SURFACE_EVENTS, Known, SignalContext, Unknown
from rules.explain.report import NOTHING_TO_EXPLAIN, TO_NAME_IT, guessed_cache, no_child, quiet
from rules.formatting import count, counted, exact, function_of, over, part_of, percent, sentence, times
from rules.latch import misplaced_sleeps
from rules.miss_locations import mutex_shape_of, shape_of
from rules.model import MOST_BARS, ChainBar, ChainLink, Figure, Finding, LinkKind, Step, Surface, bars_of
from rules.signals import SIGNALS, Subject
from rules.waiting_sessions import WAITING_SESSIONS, hanging
from rules.waits import NOTICEABLE_SHARE


class Stop(NamedTuple):
    """One stop of the walk: its sentence as a step, its number as a link of the chain, or both."""

    step: Step | None = None
    link: ChainLink | None = None


def stops(context: SignalContext, surface: Surface, top: Finding | None, usual: Mapping[str, UsualRange]) -> list[Stop]:
    """From the wait to the holder on one surface. `top`: the finding that the links lead to, if there is one."""
    wait = _wait(context, surface, usual)
    if surface == "latch":
        cache = Stop(_guarded_step(context), _guarded_link(context, top))
        return [wait, child(context), cache, _traffic(context), _holder(context, surface, top)]
    if surface == "mutex":
        named, busiest = _named_cache(context, surface, top), _busiest(context, "gets")
        return [wait, _mutex_location(context), named, busiest, _ignored_latch(context)]
    if surface == "lock":
        named, busiest = _named_cache(context, surface, top), _busiest(context, "modifications")
        return [wait, named, busiest, _conflicts(context)]
    return [wait, _holder(context, surface, top)]


# What sessions wait for, and what it costs.

ITSELF: Mapping[Surface, tuple[str, ...]] = {"result-cache": ("latch free",)}
"""Events for waits of a surface that has no event of its own."""


def _wait(context: SignalContext, surface: Surface, usual: Mapping[str, UsualRange]) -> Stop:
    """What sessions wait for, and the share of DB time lost in it. Only lock and result cache have a step of it."""
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
    if surface == "result-cache":
        text = "select gets, misses, sleeps, wait_time / 1e6 seconds\n  from v$latch where name = {name:text}"
        views = ("v$latch", "v$sys_time_model")
        step: Step | None = _result_cache_latch(context)
    else:
        text = "select event, total_waits, time_waited_micro / 1e6 seconds\n  from v$system_event where event = {name:text}"
        views, step = ("v$system_event", "v$sys_time_model"), _lock_waits(context) if surface == "lock" else None
    link = ChainLink(
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
        views=views,
        sql=None if context.printed else command(text, name=name),
    )
    return Stop(step, link)


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


def _lock_waits(context: SignalContext) -> Step:
    event = SURFACE_EVENTS["lock"]
    row = next((row for row in context.delta.rows("v$system_event") if row.get("event") == event), None)
    if row is None:
        unknown = context.why_unknown("v$system_event", "time_waited_micro")
        return _unknown_step("hot wait", f"Cannot tell how long {event} was waited for", unknown)
    waits, waited = number(row.get("total_waits")), (number(row.get("time_waited_micro")) or 0.0) / 1e6
    time = Figure(name="time waited", value=waited, unit="s", of="v$system_event")
    if waits is None:
        said = f"{event}: {waited:,.1f} s {over(context.delta.basis)}. How many waits is not known."
        return Step(step="hot wait", statement=said, figures=(time,))
    average = f", {waited / waits * 1000:,.1f} ms each" if waits else ""
    own = number(row.get("total_waits_fg"))
    foreground = (
        f", {count(own)} of them in foreground sessions," if own not in (None, waits) and own is not None else ""
    )
    return Step(
        step="hot wait",
        statement=f"{event}: {count(waits)} waits{foreground} and {waited:,.1f} s {over(context.delta.basis)}{average}.",
        figures=(Figure(name="waits", value=int(waits), unit="waits", of="v$system_event"), time),
    )


def _result_cache_latch(context: SignalContext) -> Step:
    row = next((row for row in context.delta.rows("v$latch") if row.get("name") == RESULT_CACHE_LATCH), None)
    if row is None:
        return Step(step="hot latch", statement=f"{RESULT_CACHE_LATCH} was not read.")
    gets, sleeps = number(row.get("gets")) or 0.0, number(row.get("sleeps")) or 0.0
    waited = (number(row.get("wait_time")) or 0.0) / 1e6
    return Step(
        step="hot latch",
        statement=f"{RESULT_CACHE_LATCH}: {count(gets)} gets, {count(sleeps)} sleeps, {waited:,.1f} s waited "
        f"{over(context.delta.basis)}. Its waits have no event of their own; they appear as latch free.",
        figures=(
            Figure(name="sleeps", value=int(sleeps), unit="sleeps", of="v$latch"),
            Figure(name="time waited", value=waited, unit="s", of="v$latch"),
        ),
    )


def _unknown_step(name: str, cannot: str, unknown: Unknown) -> Step:
    return Step(step=name, statement=f"{cannot}: {unknown.why}. {unknown.way_out}")


def unknown_link(
    kind: LinkKind,
    verb: str,
    name: str,
    measured: str,
    unknown: str | None,
    *,
    unit: str = "ratio",
    way_out: str | None = None,
) -> ChainLink:
    """A link whose name and number are not known, and what brings them."""
    return ChainLink(
        kind=kind,
        verb=verb,
        name=name,
        code=False,
        value=None,
        unit=unit,
        measured=measured,
        certain=False,
        unknown=unknown,
        way_out=way_out,
    )


def _leading(
    values: Mapping[str, float], total: float, of: str, *, digits: int | None = None, between: str = ", "
) -> tuple[str, tuple[Figure, ...]]:
    """The three largest of some values by name, as shares of the whole: in words and as figures."""
    largest = sorted(values.items(), key=lambda item: (-item[1], item[0]))[:3]
    figures = tuple(Figure(name=name, value=value / total, unit="ratio", of=of) for name, value in largest)
    return between.join(f"{name} {percent(value / total, digits)}" for name, value in largest), figures


# Where they wait: the child latch with most of the sleeps, or the place where sessions sleep for a mutex.

NEARLY_ALL, MOST = 0.9, 0.5
EVERY_LOOKUP = "Every look-up by key passes here. The place shows that look-ups sleep, not which cause makes them."


def child(context: SignalContext) -> Stop:
    """The child latch with most of the sleeps. There is no link if no child slept."""
    hot, total = context.hot_child, context.children_sleeps
    if total is None:
        return _unknown_child(context)
    if hot is None or not total:
        return Stop(
            Step(step="hot child", statement=f"No child of `row cache objects` slept {over(context.delta.basis)}.")
        )
    sleeps = context.delta.by_number("v$latch_children", "child#", "sleeps")
    slept, row = sleeps.get(hot, 0.0), next(row for row in context.children if row.get("child#") == hot)
    share = slept / total
    many = "nearly all" if share >= NEARLY_ALL else "mostly" if share >= MOST else "most often"
    latch = "" if row.get("latch#") is None else f" of latch# {row.get('latch#')}"
    words = (
        f"Child {hot}{latch} (row cache objects) has {percent(share)} of the sleeps: {part_of(slept, total)}, "
        f"{over(context.delta.basis)}."
    )
    link = ChainLink(
        kind="place",
        verb=f"{many} on",
        name=f"child latch {hot}",
        code=False,
        value=share,
        unit="ratio",
        of="sleeps",
        numerator=slept,
        denominator=total,
        counted="sleeps",
        bars=bars_of({f"child {name}": value for name, value in sleeps.items()}, total, (f"child {hot}",)),
        measured=words,
        views=("v$latch_children",),
        sql="select child#, gets, misses, sleeps\n  from v$latch_children where name = 'row cache objects'\n"
        " order by sleeps desc",
    )
    of_all = Figure(name="sleeps of all children", value=exact(total), unit="sleeps", of="v$latch_children")
    if total < MINIMUM_SLEEPS:
        few = (
            f"All children of `row cache objects` together slept {counted(total, 'times')} {over(context.delta.basis)}"
        )
        return Stop(Step(step="hot child", statement=f"{few}, too few to tell a hot one.", figures=(of_all,)), link)
    if context.printed and context.hot is None:
        words += f" To name its cache, {look_up(hot)}."
    figures = (
        Figure(name="share of sleeps", value=share, unit="ratio", of="v$latch_children"),
        Figure(name="sleeps of the child", value=exact(slept), unit="sleeps", of="v$latch_children"),
        of_all,
    )
    return Stop(Step(step="hot child", statement=words, figures=figures), link)


def _unknown_child(context: SignalContext) -> Stop:
    why, way_out = "a report prints the latch as a whole", TO_NAME_IT
    if not context.printed:
        unknown = context.why_unknown("v$latch_children", "sleeps")
        why, way_out = unknown.why, unknown.way_out
    words = f"Cannot tell which child is hot: {why}."
    link = unknown_link("place", "on", "an unknown child latch", words, f"which child latch: {why}", way_out=way_out)
    link = link.model_copy(update={"of": "sleeps", "views": ("v$latch_children",)})
    return Stop(no_child(context) if context.printed else Step(step="hot child", statement=f"{words} {way_out}"), link)


def _mutex_location(context: SignalContext) -> Stop:
    """The function in which most sessions sleep for a mutex."""
    rows, basis = context.delta.rows("v$mutex_sleep"), over(context.delta.basis)
    total = context.sum_of(rows, "sleeps") if rows else 0.0
    if isinstance(context.delta.read("v$mutex_sleep"), Missing) or total is None:
        unknown = context.why_unknown("v$mutex_sleep", "sleeps")
        return Stop(_unknown_step("hot location", "Cannot tell where sessions sleep", unknown))
    shape = mutex_shape_of(context)
    if shape is None:
        return Stop(Step(step="hot location", statement=f"No session slept for a row cache mutex {basis}."))
    waited = (context.sum_of(rows, "wait_time") or 0.0) / 1e6
    places = _sums((str(row.get("location")), number(row.get("sleeps")) or 0.0) for row in rows)
    shares, figures = _leading(places, total, "v$mutex_sleep", between=" / ")
    meaning = f"{shape.fingerprint}: {shape.meaning}" if shape.fingerprint else shape.meaning
    words = f"Row cache mutexes: {count(total)} sleeps and {waited:,.1f} s waited {basis}, at {shares} ({meaning})."
    place, slept = next(iter(places.items()))
    link = ChainLink(
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
        measured=words,
        views=("v$mutex_sleep",),
        caveat=EVERY_LOOKUP if shape.fingerprint in (None, "normal") else None,
        sql=None
        if context.printed
        else "select location, sleeps, wait_time / 1e6 seconds\n  from v$mutex_sleep where mutex_type = 'Row Cache'\n"
        " order by sleeps desc",
    )
    return Stop(Step(step="hot location", statement=words, figures=figures), link)


def _ignored_latch(context: SignalContext) -> Stop:
    latch = next((row for row in context.delta.rows("v$latch") if row.get("name") == ROW_CACHE_LATCH), None)
    if latch is None or misplaced_sleeps(context.delta, context.mechanism):
        return Stop()  # a latch that sleeps has a note of its own
    gets = count(number(latch.get("gets")) or 0.0)
    return Stop(
        Step(
            step="not the latch",
            statement=f"Of the latch row cache objects only the name is left ({gets} gets {over(context.delta.basis)}): "
            "from 12.2 on mutexes guard the row cache, so its counters are ignored, and zeros in them show nothing.",
        )
    )


# Which cache it is. To 12.1 the one that the child guards; for mutexes and the lock the one that waiters name.

NO_CACHE = "an unknown cache"
NEARLY_ALL_CHANGES = 0.9
"""From this share of the changes on, a cache is the likely one behind the lock."""
MANY_CONFLICTS = 0.01
"""From this share of the cluster lock requests on, conflicts are worth a sentence."""


def _guarded_step(context: SignalContext) -> Step | None:
    """The cache that the child guards."""
    if context.printed and not context.children:
        return guessed_cache(context)
    if context.hot_child is None:
        return None
    guarded, names = context.hot, context.delta.read("v$rowcache")
    if guarded is None:
        why, way_out = _why_no_cache(context)
        guess = guessed_cache(context) if context.printed else Step(step="cache", statement=way_out)
        statement = f"Cannot tell which cache child {context.hot_child} guards: {why}. {guess.statement}"
        return Step(step="cache", statement=statement, figures=guess.figures)
    if doubt := context.hot_spot.doubt:
        says = f"{'x$kqrst says' if guarded.identity.name == 'READ' else 'its gets fit'} {guarded.name or 'some cache'}"
        return Step(
            step="cache", statement=f"Cannot tell which cache child {guarded.child} guards: {says}, but {doubt}."
        )
    parents = [cache for cache in guarded.caches if cache.type == "PARENT"]
    below = len(guarded.caches) - len(parents)
    named = " and ".join(f"cache# {parent.cache_id} {parent.parameter or '(name unknown)'}" for parent in parents)
    subordinates = f"with {below} subordinate{'s' * (below > 1)}" if below else "parent only"
    how = {"READ": "read from x$kqrst of this instance", "INFERRED": "inferred from its gets by the load model"}
    statement = f"Child {guarded.child} → {named}, {subordinates} ({how[guarded.identity.name]})."
    if isinstance(names, Missing):
        statement += f" Cannot tell which cache that is by name: {names.why}. {names.way_out}"
    figures = [Figure(name="cache id", value=parent.cache_id, unit="", of="x$kqrst") for parent in parents]
    return Step(step="cache", statement=statement, figures=tuple(figures))


def _guarded_link(context: SignalContext, top: Finding | None) -> ChainLink:
    """The same cache as a link; the cause's own, if the cause names one."""
    guarded, doubt = context.hot, context.hot_spot.doubt
    named = top.cache if top is not None and top.cache else context.hot_spot.cache
    if named is None:
        gap, cure = _why_no_cache(context)
        return _unknown_cache(f"which cache the child guards: {gap}", cure)
    own = tuple(ref.parameter for ref in guarded.caches if ref.parameter) if guarded and not doubt else ()
    if top is not None and top.cache and top.cache not in own:
        own = tuple(top.cache.split("+"))
    certain = bool(guarded) and doubt is None and (top is None or top.identity in ("read", "inferred", None))
    why, way_out = (None, None) if certain else _why_no_cache(context)
    sign = top.sign("share_of_lookups") if top else None
    read = guarded is not None and guarded.identity.name == "READ"
    return _share_link(context, named, own, "gets", "which guards" if certain else "most likely for").model_copy(
        update={
            "usual": sign.usual if sign else None,
            "bound": sign.bound if sign else None,
            "views": ("x$kqrst", "v$rowcache") if certain and read else ("v$rowcache",),
            "caveat": "The cache is inferred from the gets of the child: x$kqrst was not read."
            if certain and guarded and guarded.identity.name == "INFERRED"
            else None,
            "certain": certain,
            "unknown": why and f"which cache the child guards: {why}",
            "way_out": way_out,
        }
    )


OF_CACHES = (
    "select cache#, type, parameter, gets, getmisses, modifications, usage\n"
    "  from v$rowcache where parameter in ({names:text})\n order by {column:own} desc"
)


def _share_link(context: SignalContext, named: str, own: Sequence[str], column: str, verb: str) -> ChainLink:
    """A cache by its share of the gets or changes in v$rowcache."""
    values = context.by_name(column)
    total, here = sum(values.values()), sum(values.get(cache, 0.0) for cache in own)
    has = bool(total and here)
    return ChainLink(
        kind="cache",
        verb=verb,
        name=named,
        code=True,
        value=here / total if has else None,
        unit="ratio",
        of=column,
        numerator=here if has else None,
        denominator=total or None,
        counted=column,
        bars=bars_of(values, total, own),
        measured=_had(context, named, here, total, column) if has else f"Its {column} are unknown.",
        views=("v$rowcache",),
        sql=None if context.printed else command_or_none(OF_CACHES, names=own, column=column),
    )


def _had(context: SignalContext, name: str, value: float, total: float, column: str) -> str:
    return (
        f"{name} had {counted(value, column)} = {percent(value / total)} of {count(total)} {over(context.delta.basis)}."
    )


def _why_no_cache(context: SignalContext) -> tuple[str, str]:
    """Why the cache of the child is unknown, and the way out."""
    if (doubt := context.hot_spot.doubt) is not None:
        return doubt, "compare x$kqrst with v$rowcache"
    tried = f", and {why_not_inferred(context.delta)}" if context.latch.gets and context.hot_child is not None else ""
    if context.printed:
        named = TO_NAME_IT if context.hot_child is None else f"{sentence(look_up(context.hot_child))}."
        return f"a report has no x$kqrst{tried}", named
    unknown = context.why_unknown("x$kqrst")
    return f"{unknown.why}{tried}", unknown.way_out


def _unknown_cache(unknown: str, way_out: str) -> ChainLink:
    return unknown_link("cache", "for", NO_CACHE, "The cache is unknown.", unknown, way_out=way_out)


NO_NAME = "v$rowcache has no name for what they name in P1", "capture v$rowcache, and p1 of the sessions, as well"


def _named_cache(context: SignalContext, surface: Surface, top: Finding | None) -> Stop:
    """The cache that waiters name. Without waiters the cause's own, by its share of the work."""
    event, view, where = SURFACE_EVENTS[surface], "v$session", ""
    waiters = context.crowd.caches(event) if context.crowd else Counter[str]()
    samples = context.crowd.looks if context.crowd and waiters else 1
    if waiters:
        where = f"met in {counted(samples, 'samples')}"
    elif context.look is not None:
        waiters = Counter(sorted(waiter.cache for waiter in hanging(context.look.of((surface,)))))
        view, where = WAITING_SESSIONS, "that hang"
    caches = {cache: float(met) for cache, met in waiters.most_common()}
    named = top.cache if top is not None and top.cache else next(iter(caches), None)
    own = tuple(named.split("+")) if named else ()
    here, total = sum(caches.get(cache, 0.0) for cache in own), float(waiters.total())

    words = ""
    if waiters:
        shares, figures = _leading(caches, total, view)
        words = f"Waiters name their cache in P1: {shares} of {waiters.total()} {where}."
        step = Step(step="cache", statement=words, figures=figures)
    elif quiet(context):
        step = Step(step="cache", statement=NOTHING_TO_EXPLAIN)
    else:
        step = _no_waiters(context, surface)

    if named is None or named == "unknown":
        why, way_out = NO_NAME if waiters else _why_no_waiters(context, event)
        return Stop(step, _unknown_cache(f"which cache they wait for: {why}", way_out))
    if not here:
        sign = top.sign("share_of_lookups") if top and surface == "mutex" else None
        column = "modifications" if surface == "lock" else "gets"
        why, way_out = _why_no_waiters(context, event)
        likely = {"certain": False, "unknown": f"what the waiters name: {why}", "way_out": way_out}
        link = _share_link(context, named, own, column, "most likely for")
        return Stop(step, link.model_copy(update={**likely, "usual": sign.usual if sign else None}))
    sign = top.sign("share_of_mutex_waiters" if surface == "mutex" else "share_of_lock_waiters") if top else None
    link = ChainLink(
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
        bars=bars_of(caches, total, own),
        usual=sign.usual if sign else None,
        bound=sign.bound if sign else None,
        measured=words,
        views=(view,),
        sql=command(
            "select p1 cache#, count(*) from v$session\n where state = 'WAITING' and event = {event:text} group by p1",
            event=event,
        ),
    )
    return Stop(step, link)


def _no_waiters(context: SignalContext, surface: Surface) -> Step:
    event, (why, way_out) = SURFACE_EVENTS[surface], _why_no_waiters(context, SURFACE_EVENTS[surface])
    changes = context.by_name("modifications") if surface == "lock" else {}
    total, (cache, most) = sum(changes.values()), next(iter(changes.items()), ("", 0.0))
    first = "Cannot tell for certain which cache"
    if total and most >= NEARLY_ALL_CHANGES * total:
        first = f"Most likely {cache}, which has {percent(most / total)} of the changes, but not for certain"
    cure = (
        f" {sentence(way_out)}. An ASH report of that time has its id, as P1 of the event." if context.printed else ""
    )
    return Step(
        step="cache",
        statement=f"{first}: {why}. No view counts {event} by cache; only its waiters name one.{cure}",
    )


def _why_no_waiters(context: SignalContext, event: str) -> tuple[str, str]:
    if context.crowd is not None:
        return f"no session waiting for {event} was met", context.busier
    unknown = context.why_unknown("v$session")
    return unknown.why, unknown.way_out


# What v$rowcache adds: the traffic of the hot child's caches, or the caches with most of a column.


def _traffic(context: SignalContext) -> Stop:
    """The traffic of the hot child's caches in v$rowcache, or of the busiest cache if the child is unknown."""
    if context.hot_spot.doubt or (context.children and context.children_sleeps is None):
        return Stop()  # the hot child or its cache is unknown, so there is nothing to confirm
    total = context.sum_of(context.delta.rows("v$rowcache"), "gets")
    if not total:
        unknown = context.why_unknown("v$rowcache", "gets")
        return Stop(_unknown_step("confirmation", "v$rowcache cannot confirm it", unknown))
    rows = context.hot.rows if context.hot else ()
    name = context.hot.name if context.hot else None
    if not rows or name is None:
        busiest = max(context.delta.rows("v$rowcache"), key=lambda row: (number(row.get("gets")) or 0.0, str(row)))
        rows, name = (busiest,), f"{busiest.get('parameter')}, the busiest cache,"
    gets = context.sum_of(rows, "gets")
    if gets is None:
        return Stop(Step(step="confirmation", statement=f"The gets of {name} are unknown."))
    words = _had(context, name, gets, total, "gets")
    figures = [
        Figure(name="share of dictionary gets", value=gets / total, unit="ratio", of="v$rowcache"),
        Figure(name="gets", value=exact(gets), unit="gets", of="v$rowcache"),
    ]
    used = context.sum_of(rows, "usage")
    if used is not None:
        words += f" It holds {counted(used, 'entries')}."
        figures.append(Figure(name="entries used", value=exact(used), unit="entries", of="v$rowcache"))
    index = SIGNALS["hold_anomaly_index"].read(context, Subject())
    if isinstance(index, Known):
        words += f" A get of it sleeps {times(index.value)} as often as one of other caches ({index.derivation})."
        of = "v$latch_children, v$rowcache"
        figures.append(Figure(name="hold anomaly index", value=index.value, unit="ratio", of=of))
    return Stop(Step(step="confirmation", statement=words, figures=tuple(figures)))


def _busiest(context: SignalContext, column: str) -> Stop:
    """The caches with most of a column. For the mutex only gets, because only they take it."""
    rows = context.delta.rows("v$rowcache")
    total = context.sum_of(rows, column)
    if total is None:
        unknown = context.why_unknown("v$rowcache", column)
        return Stop(_unknown_step("confirmation", "v$rowcache cannot confirm it", unknown))
    if not total:
        words = f"v$rowcache counted no {column} {over(context.delta.basis)}."
        return Stop(Step(step="confirmation", statement=words))
    values = _sums((str(row.get("parameter")), number(row.get(column)) or 0.0) for row in rows)
    shares, figures = _leading(values, total, "v$rowcache")
    words = f"Most {column} in v$rowcache: {shares} of {count(total)} {over(context.delta.basis)}."
    fast = context.sum_of(rows, "fastgets")
    if column == "gets" and fast:
        words += f" {count(fast)} more look-ups took the fast way, which is counted apart."
    return Stop(Step(step="confirmation", statement=words, figures=figures))


def _conflicts(context: SignalContext) -> Stop:
    """In a cluster up to 12.1: the cache whose entries the instances take from each other."""
    rows = [row for row in context.delta.rows("v$rowcache") if number(row.get("dlm_requests"))]
    if not rows:
        return Stop()
    worst = max(rows, key=lambda row: (number(row.get("dlm_conflicts")) or 0.0, str(row.get("parameter"))))
    conflicts, requests = number(worst.get("dlm_conflicts")) or 0.0, number(worst.get("dlm_requests")) or 1.0
    if conflicts < MANY_CONFLICTS * requests:
        return Stop()  # it has nothing to do with the waits
    return Stop(
        Step(
            step="cluster",
            statement=f"Between instances, {worst.get('parameter')} had {count(conflicts)} conflicts on {count(requests)} "
            f"cluster lock requests ({percent(conflicts / requests)}) {over(context.delta.basis)}.",
            figures=(Figure(name="conflicts per request", value=conflicts / requests, unit="ratio", of="v$rowcache"),),
        )
    )


# What the holder of a latch does while others sleep. For a mutex only the place of the sleeps is known.

WHOLE_LATCH = "v$latch_misses does not separate children, so these are shares over the whole latch."
LOCATIONS_SQL = (
    "select location, sleep_count\n  from v$latch_misses where parent_name = {latch:text}\n order by sleep_count desc"
)


def _holder(context: SignalContext, surface: Surface, top: Finding | None) -> Stop:
    """Where holders were while others slept, over the whole latch."""
    latch = ROW_CACHE_LATCH if surface == "latch" else RESULT_CACHE_LATCH
    rows = [row for row in context.delta.rows("v$latch_misses") if row.get("parent_name") == latch]
    places = _sums((str(row.get("location")), number(row.get("sleep_count")) or 0.0) for row in rows)
    total = sum(places.values())
    if not total:
        if surface != "latch" or not isinstance(context.delta.read("v$latch_misses"), Missing):
            return Stop()
        unknown = context.why_unknown("v$latch_misses", "sleep_count")
        cure = f"{sentence(unknown.way_out)}." if context.printed else unknown.way_out
        return Stop(Step(step="miss location", statement=f"No miss locations: {unknown.why}. {cure}"))
    shape = shape_of(context) if surface == "latch" else None
    meaning = "" if shape is None else f"{shape.fingerprint}: {shape.meaning}" if shape.fingerprint else shape.meaning
    shares, figures = _leading(places, total, "v$latch_misses", digits=2 if surface == "latch" else None, between=" / ")
    words = f"Holders by location: {shares} of {count(total)} sleeps{meaning and f' ({meaning})'}."
    place, slept = next(iter(places.items()))
    sign = top.sign("share_of_holders" if surface == "latch" else "share_of_result_cache_holders") if top else None
    link = ChainLink(
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
        measured=words,
        views=("v$latch_misses",),
        caveat=WHOLE_LATCH if surface == "latch" else None,
        sql=None if context.printed else command(LOCATIONS_SQL, latch=latch),
    )
    statement = " ".join(filter(None, (words, link.caveat)))
    return Stop(Step(step="miss location", statement=statement, figures=figures), link)


def _sums(pairs: Iterable[tuple[str, float]]) -> Mapping[str, float]:
    """Values by name, the largest first."""
    sums: dict[str, float] = {}
    for name, value in pairs:
        sums[name] = sums.get(name, 0.0) + value
    return dict(sorted(sums.items(), key=lambda item: (-item[1], item[0])))
