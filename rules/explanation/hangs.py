"""Sessions that hang, in the headline and as a step: how many, for which cache, how long, and what the counters show."""

from collections import Counter
from collections.abc import Sequence

from collectors.model import number, spoken
from rules.context import SignalContext
from rules.formatting import count, part_of, percent
from rules.hang_model import WaitingGroup
from rules.hangs import HANGING_SECONDS, VIEW, StillWaiting, hanging, most_waited_for
from rules.model import Figure, Step, Surface
from rules.waiters import RESULT_CACHE, within

EVERY: tuple[Surface, ...] = ("latch", "mutex", "lock", "result-cache")


def hang_sentence(context: SignalContext, surfaces: Sequence[Surface] = EVERY) -> str | None:
    """38 sessions have waited for dc_objects for up to 11 minutes; and what the counter shows. None if none hangs."""
    stuck = hanging(context.look.of(surfaces)) if context.look else ()
    named = most_waited_for(stuck)
    if context.look is None or named is None:
        return None
    event, cache = named
    alike = [waiter for waiter in stuck if (waiter.event, waiter.cache) == named]
    most = f"up to {spoken(alike[0].seconds)}"
    longest = f"for {most}"
    where = event if cache == "unknown" else "the result cache" if cache == RESULT_CACHE else within(cache)
    counter = _counter(context, event)
    if context.look.met > len(context.look.sessions):
        many = (
            f"{count(context.look.met)} sessions wait for the row cache, and of the {count(len(context.look.sessions))}"
        )
        return f"{many} longest waits {count(len(alike))} are for {where}, {longest}; {counter}"
    waiting = [waiter for waiter in context.look.of(surfaces) if (waiter.event, waiter.cache) == named]
    if len(waiting) > len(alike):
        # Two counts that differ come with their sessions, so that readers need not guess.
        those = f"{count(len(alike))} of them for {spoken(HANGING_SECONDS)} or longer"
        return f"{count(len(waiting))} sessions wait for {where}, {those} and {most}; {counter}"
    has = "session has" if len(alike) == 1 else "sessions have"
    return f"{count(len(alike))} {has} waited for {where} {longest}; {counter}"


def _counter(context: SignalContext, event: str) -> str:
    """What v$system_event shows of it. That view counts a wait when it ends."""
    rows = [row for row in context.delta.rows("v$system_event") if row.get("event") == event]
    ended = [number(row.get("total_waits")) for row in rows]
    if context.delta.basis.kind != "interval" or None in ended or not context.delta.rows("v$system_event"):
        return "v$system_event counts a wait only when it ends"
    waits = sum(wait or 0.0 for wait in ended)
    if not waits:
        return "no wait has finished, so v$system_event shows nothing"
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
                Figure(name=f"waiting for {group.cache}", value=group.sessions, unit="sessions", of=VIEW),
                Figure(name=f"longest wait for {group.cache}", value=group.longest_seconds, unit="s", of=VIEW),
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
