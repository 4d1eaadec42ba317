"""The chain from the wait to the cause: one link each for the wait, its place, its cache, its holder, the signs and the cause."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from collectors.model import RESULT_CACHE_LATCH
from rules.baseline import UsualRange
from rules.blockers import VIEW as BLOCKERS_VIEW
from rules.blockers import blockers_of
from rules.bounds import Bound, UsualBetween
from rules.chain import MOST_BARS, ChainBar, ChainLink
from rules.context import SURFACE_EVENTS, SignalContext
from rules.explanation.chain.caches import cache_link
from rules.explanation.chain.places import holder_link, place_link
from rules.explanation.hangs import hang_sentence
from rules.explanation.wait_chain import entry_of, in_one_sentence
from rules.formatting import measured, over, sentence, within
from rules.hangs import VIEW, hanging
from rules.impact import NOTICEABLE_SHARE
from rules.model import Confidence, Evidence, Finding, Severity, Surface
from rules.signals import SIGNALS

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
        views=(VIEW,),
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
