"""Signals of sessions that still wait at the moment of the poll. No counter shows their waits yet.

If a session was captured in part, each signal has bounds. It is known if both bounds give the same result.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf

from collectors.model import ROW_CACHE_LOCK_EVENT, Missing, Row, number, text
from rules.context import ROW_CACHE_SURFACES, Known, SignalContext, SignalValue, Unknown
from rules.formatting import part_of
from rules.hangs.blockers import ROW_CACHE_BLOCKERS, blockers_of, lone_holder, most_named
from rules.hangs.graph import JOB, process, process_name
from rules.hangs.model import Blocker
from rules.hangs.tree import SESSIONS
from rules.signals.quantities import Subject, certain
from rules.waiting_sessions import HANGING_SECONDS, SLICE, WAITING_SESSIONS, StillWaiting, hanging, timed_out, waits_of


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


def waiting_now(context: SignalContext, subject: Subject) -> SignalValue:
    """Sessions that still wait at the poll, on the cause's surfaces and for its caches if it names some."""
    waiting = _waiting(context, subject)
    if isinstance(waiting, Unknown):
        return waiting
    least = float(len(waiting.sessions))
    return _told(context, subject, least, least + waiting.perhaps)


def longest_wait_seconds(context: SignalContext, subject: Subject) -> SignalValue:
    """Length of the longest wait that has not ended, on the cause's surfaces and for its caches."""
    waiting = _waiting(context, subject)
    if isinstance(waiting, Unknown):
        return waiting
    least = max((waiter.seconds for waiter in waiting.sessions), default=0.0)
    return _told(context, subject, least, inf if waiting.perhaps else least)


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


def share_behind_one_user(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of the waiting sessions behind one and the same session that is known to be a user's, throughout the interval."""
    if context.look is None:
        return context.why_unknown(WAITING_SESSIONS)
    found, named, waiting = lone_holder(context), most_named(context), context.look.of(ROW_CACHE_SURFACES)
    if found is not None:
        return Known(found.share, f"{found.described}, throughout {context.delta.basis}")
    if (waiting and not any(waiter.blocker_told for waiter in waiting)) or (named and named.throughout is None):
        return Unknown(
            WAITING_SESSIONS, "whom the sessions wait for was not captured", "capture blocking_session of v$session"
        )
    if named and named.throughout and isinstance(context.delta.read(SESSIONS), Missing):
        return context.why_unknown(SESSIONS)
    return Known(0.0, "most wait for no session throughout, or for one that is no user's")


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


# Which process is at the end of the chain: the carrier of a cluster's locks, maintenance of the database.

CLUSTER_PROCESS = re.compile(r"LCK\d")
MAINTENANCE_PROCESS = re.compile(r"MMON|MMNL|M\d{3}")
"""The monitor of manageability and its slaves, which split the partitions of the workload repository among other work."""
MAINTENANCE_JOBS = "ORA$AT_"
"""How the names of the jobs begin that Oracle starts in its maintenance windows."""
RUNNING_JOBS = "running_jobs"


def _holders(context: SignalContext) -> Sequence[Blocker] | Unknown:
    """The holders whose process is known, at the look for blockers."""
    found = blockers_of(context)
    if isinstance(context.delta.read(ROW_CACHE_BLOCKERS), Missing):
        return context.why_unknown(ROW_CACHE_BLOCKERS)
    known = [blocker for blocker in found.blockers if blocker.background is not None] if found else []
    if not known:
        return Unknown(
            ROW_CACHE_BLOCKERS, "no holder with a known process was found", "see the blockers of the diagnosis"
        )
    if any(blocker.background and blocker.program is None for blocker in known):
        return context.why_unknown(ROW_CACHE_BLOCKERS, "program")
    return known


def share_behind_cluster_process(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of the hanging sessions that wait for LCK0, which carries the locks of a cluster, at the look for blockers."""
    known = _holders(context)
    if isinstance(known, Unknown):
        return known
    behind = {blocker: float(blocker.waiters or 1) for blocker in known}
    messengers = [blocker for blocker in known if CLUSTER_PROCESS.fullmatch(process(blocker.program))]
    met = ", ".join(f"session {blocker.sid} is {process(blocker.program)}" for blocker in messengers)
    return Known(sum(behind[blocker] for blocker in messengers) / sum(behind.values()), met)


def _task_of(context: SignalContext, blocker: Blocker) -> str | None:
    """The maintenance of the database that a holder is: the process, or the job. Empty for other work, None if unknown."""
    name = process_name(blocker.program) or ""
    if MAINTENANCE_PROCESS.fullmatch(name):
        return name
    if not JOB.fullmatch(name):
        return ""
    jobs = [row for row in context.delta.rows(RUNNING_JOBS) if number(row.get("session_id")) == blocker.sid]
    names = {text(row.get("job_name")) for row in jobs if number(row.get("running_instance")) == blocker.instance}
    job = names.pop() if len(names) == 1 else None
    return None if job is None else job if job.startswith(MAINTENANCE_JOBS) else ""


def share_behind_maintenance(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of the hanging sessions that wait for MMON, a slave of it, or a job of the maintenance windows (ORA$AT_…)."""
    known = _holders(context)
    if isinstance(known, Unknown):
        return known
    tasks = [(_task_of(context, blocker), float(blocker.waiters or 1), blocker.sid) for blocker in known]
    total, own = sum(behind for _, behind, _ in tasks), sum(behind for task, behind, _ in tasks if task)
    untold = sum(behind for task, behind, _ in tasks if task is None)
    if untold and not certain(own / total, (own + untold) / total, subject.needs):
        return context.why_unknown(RUNNING_JOBS, "name of the job that blocks")
    return Known(own / total, ", ".join(f"session {sid} is {task}" for task, _, sid in tasks if task))
