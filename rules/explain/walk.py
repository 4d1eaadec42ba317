"""The walk from the wait to the cause, described once: `Diagnosis.steps` and `Diagnosis.chain` are both taken from it.

1. Who hangs, and who holds what they wait for.
2. What sessions wait for, where, for which cache, and what the holder does; latch, mutex, lock and result cache differ.
3. What a report prints, who waits, and the largest other wait.
4. The cause, its confirming query, its remedy and where to read on.
5. Steps 2 and 4 again for each problem that the first cause does not explain.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, get_args

from collectors.commands import command
from collectors.model import RESULT_CACHE_LATCH
from rules.baseline import UsualRange
from rules.confirmation import confirming_step, speaks_against
from rules.containers import container_step
from rules.context import SURFACE_EVENTS, SignalContext
from rules.cost import LARGE, TIME_SPENT, largest_use, other_wait
from rules.explain.hang_steps import blocker_steps
from rules.explain.headline import hang_sentence, hang_step, others
from rules.explain.library_cache import library_cache_steps
from rules.explain.notes import groups
from rules.explain.report import as_printed
from rules.explain.stops import Stop, stops, unknown_link
from rules.formatting import counted, measured, percent, sentence, within
from rules.grade import counted_in_words
from rules.hangs.blockers import ROW_CACHE_BLOCKERS as BLOCKERS_VIEW
from rules.hangs.blockers import blockers_of
from rules.hangs.words import entry_of, in_one_sentence
from rules.model import (
    MOST_BARS,
    ChainBar,
    ChainLink,
    Confidence,
    Evidence,
    Figure,
    Finding,
    LinkKind,
    Severity,
    Step,
    Surface,
    Trouble,
    WaiterGroup,
)
from rules.signals import SIGNALS
from rules.waiting_sessions import WAITING_SESSIONS, hanging


class Walk(NamedTuple):
    """The stops in both forms. The chain is empty if nothing is in trouble."""

    steps: tuple[Step, ...]
    chain: tuple[ChainLink, ...]


CHAIN_ORDER = get_args(LinkKind)


def walk(
    context: SignalContext,
    findings: Sequence[Finding],
    troubles: Sequence[Trouble],
    severity: Severity,
    usual: Mapping[str, UsualRange],
) -> Walk:
    """The walk as far as it leads. Its cause and remedy are those of the first finding."""
    top = findings[0] if findings and findings[0].severity is not Severity.INFO else None
    surface = findings[0].surface if findings else context.costliest(context.surfaces)
    in_trouble = top.surface if top else context.costliest(context.surfaces)
    blockers = _blocker_stops(context)
    first = stops(context, surface, top, usual)
    hang = Stop(hang_step(context), _hang_link(context, in_trouble))
    causes = _cause_steps(findings[0], context) if findings else []

    beside = (
        as_printed(context),
        _who(context),
        *library_cache_steps(context),
        container_step(context),
        _where_the_time_went(context) if severity is Severity.INFO else _largest_wait(context),
    )
    steps = [*(stop.step for stop in (hang, *blockers, *first)), *beside, *causes]
    for trouble in others(troubles, findings):
        its_own = context if trouble.child is None else context.focused_on(trouble.child)
        steps += [stop.step for stop in stops(its_own, trouble.surface, None, usual)]
        explains = next((finding for finding in findings if finding.cause in trouble.causes), None)
        steps += _cause_steps(explains, context) if explains else []

    links: list[ChainLink] = []
    if severity is not Severity.INFO:
        on_surface = first if surface == in_trouble else stops(context, in_trouble, top, usual)
        reached = (stop.link for stop in (hang, *blockers, *on_surface))
        links = [link for link in (*reached, *_cause_links(context, top)) if link is not None]
        if hang.link is not None:  # the wait is then that of sessions that hang
            links = [link for link in links if link.kind != "wait" or link is hang.link]
        if top is not None and top.cache is None and top.child is None and in_trouble != "result-cache":
            links = [link for link in links if link.kind not in ("place", "cache", "holder")]
        links.sort(key=lambda link: CHAIN_ORDER.index(link.kind))
    return Walk(tuple(step for step in steps if step is not None), tuple(links))


# Who hangs, in waits that have not ended, and who holds what they wait for.


def _hang_link(context: SignalContext, surface: Surface) -> ChainLink | None:
    """How many sessions hang in waits that have not ended. No counter has them."""
    waiting = context.look.of((surface,)) if context.look else ()
    stuck, words = hanging(waiting), hang_sentence(context, (surface,))
    if not stuck or words is None:
        return None
    name = SURFACE_EVENTS.get(surface, RESULT_CACHE_LATCH)
    return ChainLink(
        kind="wait",
        verb="Sessions wait for",
        name=name,
        code=True,
        value=float(len(waiting)),
        unit="sessions",
        measured=f"{sentence(words)}.",
        bars=tuple(
            ChainBar(label=f"session {waiter.sid}", value=waiter.seconds, hot=True) for waiter in stuck[:MOST_BARS]
        ),
        views=(WAITING_SESSIONS,),
        caveat="v$system_event counts a wait only when it ends, so these waits are in no counter yet.",
        sql=command(
            "select sid, serial#, event, p1, wait_time_micro / 1e6 seconds, final_blocking_session\n"
            "  from v$session where state = 'WAITING' and event = {name:text}\n order by wait_time_micro desc",
            name=name,
        ),
    )


def _blocker_stops(context: SignalContext) -> list[Stop]:
    """Who holds what most of the hanging sessions wait for. Not certain if no holder was found."""
    holders = blockers_of(context)
    if holders is None:
        return []
    steps = blocker_steps(holders, context.look.sessions if context.look else ())
    chain = next(iter(holders.chains), None)
    if chain is None or chain.end is None:
        words = "No session was found that holds what they wait for."
        link = unknown_link("blocker", "held by", "an unknown session", words, holders.unknown, unit="s")
    else:
        end, held = chain.end, entry_of(chain, holders)
        lasts = held.held_at_least_seconds if held else None
        link = ChainLink(
            kind="blocker",
            verb="behind" if lasts is None else "held by",
            name=f"session {end.sid}" + ("" if end.instance is None else f" on instance {end.instance}"),
            code=False,
            value=lasts,
            unit="s",
            measured=in_one_sentence(chain, holders),
            views=(BLOCKERS_VIEW,),
            caveat=None if lasts is None else "The entry is held at least as long as the longest of those waits.",
            certain=not chain.disagreements,
            unknown=holders.unknown,
        )
    return [Stop(steps[0], link), *(Stop(step) for step in steps[1:])]


# Who waits, and the largest wait for something else.

LARGEST_WAIT = "largest wait"


def _who(context: SignalContext) -> Step | None:
    waiting = groups(context)[:3]
    if not waiting or context.crowd is None:
        return None
    first = "; ".join(f"{percent(group.share)} {_identified(group)}" for group in waiting)
    return Step(
        step="who",
        statement=f"Of {context.crowd.met()} waiters met in {counted(context.crowd.looks, 'samples')} "
        f"of v$session: {first}.",
        figures=tuple(
            Figure(name=f"waiting for {group.cache}", value=group.sessions, unit="sessions on average", of="v$session")
            for group in waiting
        ),
    )


def _identified(group: WaiterGroup) -> str:
    program = None if group.program == group.module else group.program
    named = (("SQL", group.sql_id), ("module", group.module), ("program", program))
    blocker = [f"blocked by session {group.blocker}"] if group.blocker else []
    words = [f"{name} {value}" for name, value in named if value]
    return ", ".join([f"for {group.cache} ({group.event})", *words, *blocker])


def _largest_wait(context: SignalContext) -> Step | None:
    other = other_wait(context)
    if other is None or (share := other.share_of_db_time) >= 1:
        return None  # a wait that ended here and began long before has no share of this interval's DB time
    return Step(
        step=LARGEST_WAIT,
        statement=f"Of the waits that are read the largest is {other.event}, {percent(share)} of DB time.",
        figures=(Figure(name=other.event, value=share, unit="ratio", of="v$system_event"),),
    )


def _where_the_time_went(context: SignalContext) -> Step | None:
    other, use = other_wait(context), largest_use(context)
    if use is None or (other is not None and other.has_most):
        return _largest_wait(context)
    also = "" if use.next_name is None else f"; {use.next_name} has {percent(use.next_share_of_db_time or 0.0)}"
    part, unread = percent(use.share_of_db_time), percent(use.unread_share_of_db_time)
    if not use.is_largest:
        said = (
            f"Up to {unread} of DB time is waits that latchscope does not read, or waiting for a processor. "
            f"Of what it reads {use.name} has most, {part}{also}."
        )
    else:
        most = "Most" if use.share_of_db_time >= 0.5 else "The largest part"
        rest = f"; waits that latchscope does not read have up to {unread}" * (use.unread_share_of_db_time >= LARGE)
        said = f"{most} of DB time is {use.name}, {part}{also}{rest}."
    of = "v$sys_time_model" if use.name == "DB CPU" else "v$system_event"
    return Step(
        step=TIME_SPENT,
        statement=said,
        figures=(Figure(name=use.name, value=use.share_of_db_time, unit="ratio", of=of),),
    )


# The cause: what it is and how sure, its confirming query, its remedy; as links the sign that sets it apart.

IN_EARLIER_LINKS = (
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
ROLES = ("discriminating", "required", "supporting", "shape", "identity", "refuting")
"""Which of several signs appears beside the cause."""
UNKNOWN_CAUSE = unknown_link(
    "cause",
    "because of",
    "an unknown cause",
    "No known cause that could be judged explains it.",
    "which cause it is",
    unit="",
)


def _cause_steps(top: Finding, context: SignalContext) -> list[Step | None]:
    sure = {"high": "High", "medium": "Medium", "low": "Low"}[top.confidence]
    how_often = f": {counted_in_words(top.reliability)}" if top.reliability else ""
    unknown = f" Not known: {'; '.join(top.unknown)}." if top.unknown else ""
    by_cost = "" if context.gate_of((top.surface,)) is None else " by what the waits cost"
    cause = Step(
        step="cause",
        statement=f"{top.name} ({top.cause}), severity {top.severity}{by_cost}. {top.explanation} "
        f"{sure} confidence{how_often}.{unknown}",
        figures=tuple(
            Figure(name=evidence.signal, value=evidence.value, unit=evidence.unit, of=SIGNALS[evidence.signal].of)
            for evidence in top.evidence
        ),
    )
    against = speaks_against(top)
    waits = f"Not yet, for {against}. If it is proven after all: " if against else ""
    remedy = f"{waits}{top.remedy} Risk: {top.risk} Expected effect: {top.expected_effect}"
    steps = [cause, confirming_step(top.confirm) if top.confirm else None, Step(step="remedy", statement=remedy)]
    if top.references:
        cited = (f"{ref.title} ({ref.url})" if ref.url else ref.title for ref in top.references)
        steps.append(Step(step="references", statement="; ".join(cited)))
    return steps


def _cause_links(context: SignalContext, top: Finding | None) -> Iterator[ChainLink]:
    """The sign that sets the cause apart, another sign, and the cause itself."""
    if top is None:
        yield UNKNOWN_CAUSE
        return
    signs = sorted(
        (evidence for evidence in top.evidence if evidence.signal not in IN_EARLIER_LINKS),
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
    derived = f" ({sign.derivation})" if sign.derivation else ""
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
        measured=f"{sentence(sign.name)}: {measured(sign.value, sign.unit)}{derived}. {sentence(sign.because)}.",
        views=tuple(views.split(", ")),
    )
