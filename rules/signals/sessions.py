"""Signals of sessions that still wait at the moment of the poll. No counter shows their waits yet.

If a session was captured in part, each signal has bounds. It is known if both bounds give the same result.
"""

from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from math import inf

from collectors.model import RESULT_CACHE_LATCH, ROW_CACHE_LOCK_EVENT, Missing, Row, number
from rules.context import ROW_CACHE_SURFACES, Known, SignalContext, SignalValue, Unknown, no_share
from rules.formatting import PER_WAITED, part_of
from rules.hangs.blockers import lone_holder
from rules.library_cache import LIBRARY_CACHE_LOCK, LIBRARY_CACHE_PIN
from rules.signals import Subject, already_enough, certain, enough_sleeps, signal
from rules.signals.instance import waited_share_of_db_time, waits_to_row_cache
from rules.signals.latch import misses_per_get, sleeps_of_a_miss, time_of_a_sleep
from rules.waiting import HANGING_SECONDS, SLICE, WAITING_SESSIONS, timed_out, waits_of
from rules.waits import MINIMUM_WAITERS, StillWaiting, hanging

CURSOR_MUTEX = ("cursor: mutex X",)
# Signals of what sessions did while they waited: the time of an activity includes the waits in it.
#
# Other work only makes these ratios larger, so a small one is certain to speak against a cause.


def _time_to_waits(context: SignalContext, subject: Subject, statistic: str) -> SignalValue:
    """Seconds of a statistic of v$sys_time_model per second lost on the cause's surfaces for its caches."""
    spent, waited = context.seconds_of(statistic), context.hot_caches.waited_for(subject.surfaces, subject.caches)
    if spent is None:
        return context.why_unknown("v$sys_time_model", statistic)
    if waited is None or context.lost.untold(subject.surfaces):
        return context.why_unknown("v$system_event", "time_waited_micro")
    if waited == 0:
        return Unknown("v$system_event", "no session waited for the row cache", context.busier)
    ratio = Known(spent / waited, f"{spent:,.1f} s against {waited:,.1f} s of waits", spent, waited)
    if _parts_are_known(context, subject) or already_enough(ratio.value, subject.needs):
        return ratio
    return context.why_unknown("v$latch_children", "sleeps")  # for the waits of all caches it is at least this much


def _parts_are_known(context: SignalContext, subject: Subject) -> bool:
    """Whether the capture shows which part of the sleeps on the latch belongs to some caches. If not, all count as theirs."""
    names = context.hot_caches.waited_as(subject.caches)
    if not names or "latch" not in subject.surfaces or "latch" not in context.surfaces or context.printed:
        return True
    return context.children_sleeps is not None and bool(context.map.guarding(names))


per_second_waited = partial(signal, PER_WAITED, "v$sys_time_model, v$system_event", diluted=("<=",))


@per_second_waited(called="time of parsing for each second waited")
def parse_time_to_waits(context: SignalContext, subject: Subject) -> SignalValue:
    """Time spent parsing per time waited for the cause's caches. Well below 1, the waits are not part of parsing."""
    return _time_to_waits(context, subject, "parse time elapsed")


@per_second_waited(called="time of hard parsing for each second waited")
def hard_parse_time_to_waits(context: SignalContext, subject: Subject) -> SignalValue:
    """Time spent in hard parses per time waited for the cause's caches. Well below 1, the waits are not part of hard parses."""
    return _time_to_waits(context, subject, "hard parse elapsed time")


@per_second_waited(called="time of failed parses for each second waited")
def failed_parse_time_to_waits(context: SignalContext, subject: Subject) -> SignalValue:
    """Time spent in parses that failed per time waited for the cause's caches."""
    return _time_to_waits(context, subject, "failed parse elapsed time")


@per_second_waited(called="time of logging on for each second waited")
def connection_time_to_waits(context: SignalContext, subject: Subject) -> SignalValue:
    """Time spent logging on and off per time waited for the cause's caches."""
    return _time_to_waits(context, subject, "connection management call elapsed time")


@signal(unit=PER_WAITED, of="v$sys_time_model, v$system_event", called="time of logging on for each second at a cursor")
def connection_time_to_cursor_waits(context: SignalContext, subject: Subject) -> SignalValue:
    """Time spent logging on and off per time waited for `cursor: mutex X`. The waits of a logon's own statements are in it."""
    spent, waited = context.seconds_of("connection management call elapsed time"), context.waited_seconds(CURSOR_MUTEX)
    if spent is None or not waited:
        return context.why_unknown("v$sys_time_model" if spent is None else "v$system_event", "value")
    return Known(spent / waited, f"{spent:,.1f} s against {waited:,.1f} s of waits", spent, waited)


@per_second_waited(called="time of fetching sequence ranges for each second waited")
def sequence_load_time_to_waits(context: SignalContext, subject: Subject) -> SignalValue:
    """Time spent fetching ranges of sequence numbers per time waited for the cause's caches."""
    return _time_to_waits(context, subject, "sequence load elapsed time")


@signal(
    unit="ratio", of="v$system_event, v$sys_time_model", called="waits for the next sequence range, share of DB time"
)
def sequence_enqueue_share_of_db_time(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of DB time waited for `enq: SQ - contention`: another session fetches the next range of the sequence."""
    waited = context.waited_seconds(("enq: SQ - contention",))
    return waited_share_of_db_time(context, waited, "v$system_event", "time_waited_micro")


# Signals of trouble in the library cache, or beside a DDL, that looks like row cache trouble.


@signal(unit="ratio", of="v$system_event, v$sys_time_model", called="library cache lock waits, share of DB time")
def library_cache_lock_share_of_db_time(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of DB time waited for `library cache lock`."""
    waited = context.waited_seconds((LIBRARY_CACHE_LOCK,))
    return waited_share_of_db_time(context, waited, "v$system_event", "time_waited_micro")


@signal(unit="ratio", of="v$system_event, v$sys_time_model", called="library cache pin waits, share of DB time")
def library_cache_pin_share_of_db_time(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of DB time waited for `library cache pin`."""
    waited = context.waited_seconds((LIBRARY_CACHE_PIN,))
    return waited_share_of_db_time(context, waited, "v$system_event", "time_waited_micro")


@signal(unit="ms", of="v$system_event")
def average_library_cache_lock_wait(context: SignalContext, subject: Subject) -> SignalValue:
    """Average wait for `library cache lock`. Seconds mean that a holder keeps it during a delay or its own work."""
    return _average_library_cache_wait(context, LIBRARY_CACHE_LOCK)


@signal(unit="ms", of="v$system_event")
def average_library_cache_wait(context: SignalContext, subject: Subject) -> SignalValue:
    """Average wait for `library cache lock` or `library cache pin`, whichever cost more time."""
    return _average_library_cache_wait(context, dearer_library_cache_wait(context))


def dearer_library_cache_wait(context: SignalContext) -> str:
    """`library cache lock` or `library cache pin`, whichever cost more time; the lock if neither was captured."""
    return max(LIBRARY_CACHE_LOCK, LIBRARY_CACHE_PIN, key=lambda event: context.waited_seconds((event,)) or 0.0)


def _average_library_cache_wait(context: SignalContext, event: str) -> SignalValue:
    row = next((row for row in context.delta.rows("v$system_event") if row.get("event") == event), {})
    waits, micro = waits_of(row)
    if waits is None or micro is None:
        return context.why_unknown("v$system_event", "total_waits")
    if waits < MINIMUM_WAITERS:
        why = f"too few events: {waits:.0f} waits for {event}, at least {MINIMUM_WAITERS} are needed"
        return Unknown("v$system_event", why, context.busier)
    return Known(micro / 1000 / waits, f"{micro / 1e6:,.2f} s in {waits:,.0f} waits", micro / 1000, waits)


@signal(unit="ratio", of="v$system_event", called="waits for the mutex of a cursor for each second of row cache waits")
def cursor_mutex_waits_to_row_cache_waits(context: SignalContext, subject: Subject) -> SignalValue:
    """Time waited for `cursor: mutex X`, per time waited for the row cache."""
    return waits_to_row_cache(context, CURSOR_MUTEX)


@signal(unit="ratio", of="v$system_event", called="waits for a place in a block for each second of row cache waits")
def itl_waits_to_row_cache_waits(context: SignalContext, subject: Subject) -> SignalValue:
    """Time waited for `enq: TX - allocate ITL entry`, per time waited for the row cache: inserts into the same blocks."""
    return waits_to_row_cache(context, ("enq: TX - allocate ITL entry",))


# Signals of the result cache latch, which has no wait event of its own and is not part of the row cache.


def _latch(context: SignalContext) -> Row:
    return next((row for row in context.delta.rows("v$latch") if row.get("name") == RESULT_CACHE_LATCH), {})


def _listed(context: SignalContext, reading: SignalValue) -> SignalValue:
    """The reading. Zero if a report that lists every latch with activity does not list this one."""
    whole = any("wait_time" in row for row in context.delta.rows("v$latch"))
    if isinstance(reading, Known) or not context.printed or not whole or _latch(context):
        return reading
    return Known(0.0, f"the report lists every latch with activity, and no {RESULT_CACHE_LATCH}")


@signal(unit="sleeps", of="v$latch", surface="result-cache")
def result_cache_sleeps(context: SignalContext, subject: Subject) -> SignalValue:
    """Sleeps on the result cache latch."""
    sleeps = number(_latch(context).get("sleeps"))
    return _listed(context, context.why_unknown("v$latch", "sleeps") if sleeps is None else Known(sleeps))


@signal(
    unit="ratio",
    of="v$latch",
    surface="result-cache",
    called="gets that found the result cache latch busy",
    share_of="gets",
)
def result_cache_miss_ratio(context: SignalContext, subject: Subject) -> SignalValue:
    """Misses per get of the result cache latch: how often it was busy at the first try."""
    return _listed(context, misses_per_get(context, _latch(context)))


@signal(unit="sleeps per miss", of="v$latch", surface="result-cache")
def result_cache_sleeps_per_miss(context: SignalContext, subject: Subject) -> SignalValue:
    """Sleeps per miss of the result cache latch: 0 means that spinning was always enough."""
    return _listed(context, sleeps_of_a_miss(context, _latch(context)))


@signal(unit="ms", of="v$latch", surface="result-cache")
def average_result_cache_sleep(context: SignalContext, subject: Subject) -> SignalValue:
    """Average time of one sleep on the result cache latch. Far above 10 ms the host causes the wait."""
    return _listed(context, time_of_a_sleep(context, _latch(context)))


@signal(
    unit="ratio", of="v$latch, v$sys_time_model", surface="result-cache", called="result cache waits, share of DB time"
)
def result_cache_share_of_db_time(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of DB time slept for the result cache latch. Unknown inside a PDB."""
    if context.inside_pdb:
        return _listed(context, no_share())
    waited = context.surface_wait_seconds("result-cache")
    return _listed(context, waited_share_of_db_time(context, waited, "v$latch", "wait_time"))


@signal(unit="ratio", of="v$latch_misses", surface="result-cache")
def share_of_result_cache_holders(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of the result cache latch's sleeps whose holder was at the location."""
    rows = [row for row in context.delta.rows("v$latch_misses") if row.get("parent_name") == RESULT_CACHE_LATCH]
    total = context.sum_of(rows, "sleep_count")
    if total is None:
        return context.why_unknown("v$latch_misses", "sleep_count")
    enough = enough_sleeps(context, total, "v$latch_misses")
    if isinstance(enough, Unknown):
        return enough
    here = sum(number(row.get("sleep_count")) or 0.0 for row in rows if row.get("location") == subject.location)
    return Known(here / total, part_of(here, total), here, total)


@dataclass(frozen=True, slots=True)
class _Waiting:
    """Sessions that wait on the cause's surfaces, and for its caches if it names some."""

    sessions: tuple[StillWaiting, ...]
    perhaps: int
    """How many more there may be: sessions whose kind, wait or length of wait was not captured."""


def _waiting(context: SignalContext, subject: Subject) -> _Waiting | Unknown:
    if context.look is None:
        return context.why_unknown(WAITING_SESSIONS)
    surfaces = subject.surfaces or ROW_CACHE_SURFACES
    met = [waiter for waiter in context.look.of(surfaces) if not subject.caches or waiter.cache in subject.caches]
    sure = tuple(waiter for waiter in met if waiter.kind_told)
    untold = sum(1 for perhaps in context.look.untold if set(perhaps) & set(surfaces))
    return _Waiting(sure, len(met) - len(sure) + untold)


def _told(context: SignalContext, subject: Subject, least: float, most: float, derivation: str = "") -> SignalValue:
    """The least possible value, if the missing part makes no difference to what the cause needs."""
    if least != most and not certain(least, most, subject.needs):
        return context.why_unknown(WAITING_SESSIONS, "wait of some sessions")
    return Known(least, derivation)


@signal(unit="sessions", of=WAITING_SESSIONS, called="sessions that still wait")
def waiting_now(context: SignalContext, subject: Subject) -> SignalValue:
    """Sessions that still wait at the poll, on the cause's surfaces and for its caches if it names some."""
    waiting = _waiting(context, subject)
    if isinstance(waiting, Unknown):
        return waiting
    least = float(len(waiting.sessions))
    return _told(context, subject, least, least + waiting.perhaps)


@signal(unit="s", of=WAITING_SESSIONS, called="longest wait that has not ended")
def longest_wait_seconds(context: SignalContext, subject: Subject) -> SignalValue:
    """Length of the longest wait that has not ended, on the cause's surfaces and for its caches."""
    waiting = _waiting(context, subject)
    if isinstance(waiting, Unknown):
        return waiting
    least = max((waiter.seconds for waiter in waiting.sessions), default=0.0)
    return _told(context, subject, least, inf if waiting.perhaps else least)


@signal(unit="s", of="v$system_event", surface="lock", called="average wait for the lock that ended meanwhile")
def average_finished_lock_wait(context: SignalContext, subject: Subject) -> SignalValue:
    """Average of the waits for row cache lock that ended in the interval, 0 if none ended. In a hang no long wait ends.

    A wait that a timer ended is none that ended: the session waits again for the same entry.
    """
    row = _lock_event(context)
    waits, micro = waits_of(row)
    if waits is None or micro is None:
        return _why_no_lock_event(context)
    if context.delta.basis.kind != "interval":
        return Unknown("v$system_event", "there is no interval in which waits could end", "take a second snapshot")
    sliced = (timed_out(row) or (0.0,))[0] * waits
    ended = waits - sliced
    left = micro / 1e6 - sliced * SLICE
    by_timer = f", {sliced:.0f} more by a timer" if sliced else ""
    return Known(max(0.0, left) / ended if ended >= 1 else 0.0, f"{ended:.0f} waits ended{by_timer}")


@signal(
    unit="ratio", of="v$system_event", surface="lock", called="waits for the lock that a timer ended", share_of="waits"
)
def timed_out_lock_waits(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of the waits for row cache lock that a timer ended after 3 seconds: nobody got the entry. 0 for other lengths."""
    row = _lock_event(context)
    if (found := timed_out(row)) is None:
        if waits_of(row)[0] is not None or (not row and context.delta.rows("v$system_event")):
            return Known(0.0, "of no wait it is known that a timer ended it")
        return _why_no_lock_event(context)
    share, waits, _ = found
    return Known(share, f"{share * waits:,.0f} of {waits:,.0f} waits", share * waits, waits)


def _lock_event(context: SignalContext) -> Row:
    return next((row for row in context.delta.rows("v$system_event") if row.get("event") == ROW_CACHE_LOCK_EVENT), {})


def _why_no_lock_event(context: SignalContext) -> Unknown:
    why = context.why_unknown("v$system_event", "total_waits")
    # An event that nobody has waited for has no row: that alone leaves nothing open.
    refused = isinstance(context.delta.read("v$system_event"), Missing)
    return why if refused else replace(why, absent=False, blocks=False)


@signal(
    unit="ratio",
    of=WAITING_SESSIONS,
    surface="lock",
    called="sessions behind one user's session",
    share_of="sessions that wait",
)
def share_behind_one_user(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of the waiting sessions behind one and the same session that is known to be a user's, throughout the interval."""
    found = lone_holder(context)
    if context.look is None:
        return context.why_unknown(WAITING_SESSIONS)
    if found is None:
        return Known(0.0, "of no session is it known that it is a user's, and that most wait for it throughout")
    return Known(found.share, f"{found.described}, throughout {context.delta.basis}")


@signal(
    unit="ratio", of=WAITING_SESSIONS, called="sessions that wait for the same session", share_of="sessions that hang"
)
def share_behind_one_session(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of the hanging sessions with a known blocker that wait for one and the same session."""
    waiting = _waiting(context, subject)
    if isinstance(waiting, Unknown):
        return waiting
    stuck = hanging(waiting.sessions)
    blockers = Counter(waiter.blocker for waiter in stuck if waiter.blocker_told and waiter.blocker is not None)
    most, known = max(blockers.values(), default=0), blockers.total()
    perhaps = waiting.perhaps + sum(1 for waiter in stuck if not waiter.blocker_told)
    if perhaps:
        of = known + perhaps
        return _told(context, subject, most / of, (most + perhaps) / of, f"at least {part_of(most, of)} waiters")
    if not known:
        why = f"no session has waited {HANGING_SECONDS:.0f} s for a session that Oracle names"
        return Unknown(WAITING_SESSIONS, why, "ask who holds what they wait for: see the blockers of the diagnosis")
    return Known(most / known, f"{part_of(most, known)} waiters", most, known)
