"""Who holds what sessions hang on, who is at the end of the chain, and whether you may end it."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from collectors.model import Missing, Row, number, text
from rules.base import remembered
from rules.context import ROW_CACHE_SURFACES, SignalContext
from rules.hangs.graph import MODES, named, who, whole
from rules.hangs.knowledge import query
from rules.hangs.model import Blocker, Blockers, ChainSession, WaitChain
from rules.hangs.tree import SESSIONS, chains_of
from rules.library_cache import target_of
from rules.library_cache_model import LibraryCacheWait
from rules.row_cache_keys import read_key
from rules.samples import blocker_of, unlisted
from rules.waiting_sessions import WAITING_SESSIONS, StillWaiting, hanging

ROW_CACHE_BLOCKERS = "row_cache_blockers"
LIBRARY_CACHE = "library_cache_waiters"
READABLE = re.compile(rb"[ -~]{4,}")
"""This many printable characters in a row within a key are probably a name."""


LEAST_SECONDS, LEAST_SHARE = 12.0, 0.5
FAILED_LOGON = "Failed Logon Delay"
"""The wait of a session whose own logon is delayed. Its absence says nothing."""


class LoneHolder(NamedTuple):
    """A user's session that most waiting sessions name throughout an interval, although their waits may end."""

    row: Row
    share: float
    """Its part of those that wait at the poll."""
    waiters: int

    @property
    def described(self) -> str:
        """`session 300,5511 on instance 1 (module batch)`."""
        sid, serial, instance = (whole(self.row.get(name)) for name in ("sid", "serial#", "instance"))
        return described_session(ChainSession(instance=instance, sid=sid, serial=serial, **who(self.row)))


class Named(NamedTuple):
    """A session that most waiting sessions name at the poll: its name, how many wait for it, and their part."""

    name: str
    waiters: int
    share: float
    throughout: bool | None
    """Whether they named it before as well. None if nothing tells whom they waited for then."""


@remembered
def most_named(context: SignalContext) -> Named | None:
    """The session that half of those who wait name at the poll.

    Before it: at the poll before, 12 seconds or more ago, or in the samples since. A queue that moves names another each time.
    """
    basis, began = context.delta.basis, context.delta.at_begin.get(WAITING_SESSIONS)
    waiting = context.look.of(ROW_CACHE_SURFACES) if context.look else ()
    now = Counter(waiter.blocker for waiter in waiting if waiter.blocker)
    if basis.kind != "interval" or (basis.seconds or 0.0) < LEAST_SECONDS or len(waiting) < 2 or not now:
        return None
    ((name, count),) = now.most_common(1)
    if count / len(waiting) < LEAST_SHARE:
        return None
    before = Counter(blocker_of(row) for row in began.rows) if began is not None else Counter[str | None]()
    sampled = Counter[str]()
    for waiter, times in context.crowd.alike.items() if context.crowd else ():
        sampled[waiter.blocker] += times if waiter.event != "latch free" else 0
    names = {name, name.partition("@")[0]}  # a source may leave the instance out
    shares = [sum(met[each] for each in names) / total for met in (before, sampled) if (total := met.total())]
    told = bool(before) or (any(sampled) if sampled else began is not None)
    return Named(name, count, count / len(waiting), max(shares, default=0.0) >= LEAST_SHARE if told else None)


@remembered
def lone_holder(context: SignalContext) -> LoneHolder | None:
    """The session that half of those who wait name throughout, if it is known to be a user's."""
    if (found := most_named(context)) is None or not found.throughout:
        return None
    for row in (*context.delta.rows(ROW_CACHE_BLOCKERS), *context.delta.rows(SESSIONS)):
        users = row.get("type") == "USER" and row.get("username") is not None and row.get("event") != FAILED_LOGON
        if users and found.name in (f"{row.get('sid')}@{row.get('instance')}", str(row.get("sid"))):
            return LoneHolder(row, found.share, found.waiters)
    return None


@remembered
def blockers_of(context: SignalContext) -> Blockers | None:
    """Who holds what sessions hang on. None if no session hangs and there was no look."""
    stuck = hanging(context.look.of(ROW_CACHE_SURFACES)) if context.look else ()
    reading = context.delta.read(ROW_CACHE_BLOCKERS)
    rows = () if isinstance(reading, Missing) else tuple(row for row in reading.rows if row.get("cache#") is not None)
    waiting = context.look.of(ROW_CACHE_SURFACES) if context.look else ()
    past = context.delta.source == "trace"
    if not stuck and (lone := lone_holder(context)) is not None:
        alone = _held(lone.row, (), waiting, ()).model_copy(update={"waiters": lone.waiters, "no_kill": NOT_A_HANG})
        return Blockers(blockers=(alone,))
    if not stuck and not past and (not rows or context.look is not None):
        return None
    chains, left_out = chains_of(context)
    if past and not chains and not rows:
        return None
    held = [_held(row, stuck, waiting, chains) for row in rows]
    found = (*held, *_at_the_end(chains, held))
    no_holder = NO_HOLDER_IN_TRACE if past else NO_HOLDER
    why = reading.why if isinstance(reading, Missing) else "" if rows else no_holder
    cure = reading.way_out if isinstance(reading, Missing) else ""
    return Blockers(
        blockers=found,
        chains=chains,
        chains_left_out=left_out,
        unknown="; ".join(filter(None, (why, cure))) or None,
        library_cache=tuple(_library_cache_waits(context.delta.rows(LIBRARY_CACHE))),
    )


def _largest(context: SignalContext) -> tuple[WaitChain, ChainSession] | None:
    """The largest chain and its end, if that is a session."""
    found = blockers_of(context)
    chain = next(iter(found.chains), None) if found else None
    return (chain, chain.end) if chain and chain.end and chain.end.sid is not None else None


def holder_of(context: SignalContext) -> str | None:
    """The session that most hanging sessions wait for, in a few words. None if it is unknown."""
    if (largest := _largest(context)) is not None:
        return described_session(largest[1])
    return lone.described if (lone := lone_holder(context)) is not None else None


def why_left(context: SignalContext) -> str | None:
    """Why the end of the largest chain is left alone, in its first words. None if it may be ended, or if only facts lack."""
    chain, _ = _largest(context) or (None, None)
    left = chain and not chain.missing_alone and chain.why_no_action
    return left.partition(";")[0] if left else None


def described_session(session: ChainSession) -> str:
    """`session 312,48211 on instance 1 (module checkout)`, as far as it is known."""
    module = f"module {session.module}" if session.module else None
    by_name = session.kind == "background" or (session.program or "").startswith("(")  # a dump may have the name alone
    about = session.name if by_name else module or session.program or session.username
    return f"session {named_session(session)}" + (f" ({about})" if about else "")


def named_session(session: ChainSession) -> str:
    """`312,48211 on instance 1`, as far as it is known."""
    return named(session.sid or 0, session.serial, session.instance)


def _at_the_end(chains: Sequence[WaitChain], held: Sequence[Blocker]) -> Iterator[Blocker]:
    """Sessions at the end of a chain that v$rowcache_parent does not show as holders. What they hold is not known."""
    known = {(blocker.instance, blocker.sid) for blocker in held}
    for chain in chains:
        end = chain.end
        if end is None or end.sid is None or (end.instance, end.sid) in known:
            continue
        caches = {session.cache for session in chain.direct}
        certain = all(session.certain for session in chain.direct) and len(caches) == 1
        yield Blocker(
            cache=next(iter(caches)) if certain else None,
            mode=None if end.holds == "unknown" else end.holds,
            waiters=chain.waiting,
            instance=end.instance,
            sid=end.sid,
            serial=end.serial,
            background=None if end.kind is None else end.kind == "background",
            **end.model_dump(include={"program", "username", "machine", "module", "sql_id"}),
            waits_for=end.event,
            waits_seconds=end.waited_seconds,
            look_up=None if end.kind else _look_up(end.sid, end.instance),
            **_ending(chain),
        )


def _library_cache_waits(rows: Sequence[Row]) -> Iterator[LibraryCacheWait]:
    """Who waited in the library cache at the look, most sessions first."""
    for row in sorted(rows, key=lambda row: (-(number(row.get("sessions")) or 0.0), str(row))):
        yield LibraryCacheWait(
            event=text(row.get("event")) or "library cache",
            sessions=whole(row.get("sessions")) or 0,
            longest_seconds=(number(row.get("wait_time_micro")) or 0.0) / 1e6,
            type=target_of(row.get("p3")).namespace,
            instance=whole(row.get("blocking_instance")),
            sid=whole(row.get("blocking_session")),
            final_instance=whole(row.get("final_blocking_instance")),
            final_sid=whole(row.get("final_blocking_session")),
        )


NOT_A_HANG = "the waits behind it end, so nobody hangs: see what it does, and let it finish"
MIDDLE = "it waits behind another session itself: look at the end of the chain"
UNFOLLOWED = "no session is known to wait for it any more: look again"
NO_SESSION = "v$session has no session with the address {0}: look at what the chain says of it"
NO_HOLDER = (
    "v$rowcache_parent shows no holder on this instance; it may be on another instance, or it has released the entry"
)
NO_HOLDER_IN_TRACE = "the trace file shows no session that holds the entry; it may be on another instance"


def _held(
    row: Row, stuck: Sequence[StillWaiting], waiting: Sequence[StillWaiting], chains: Sequence[WaitChain]
) -> Blocker:
    """A holder as v$rowcache_parent and v$session show it."""
    sid, serial, instance = (whole(row.get(name)) for name in ("sid", "serial#", "instance"))
    behind = [waiter for waiter in waiting if waiter.blocker == f"{sid}@{instance}"]
    cache_id = number(row.get("cache#"))
    listed = text(row.get("cache_name")) or (None if cache_id is None else unlisted(cache_id))
    cache = listed or (behind[0].cache if behind else None)
    mode = MODES.get(whole(row.get("lock_mode")) or 0)
    waits = [waiter.seconds for waiter in stuck if waiter.cache == cache or cache is None]
    counted = whole(row.get("waiters"))
    kind = text(row.get("type"))
    background = None if kind is None else kind == "BACKGROUND"
    micro = number(row.get("wait_time_micro"))
    is_waiting = row.get("state") == "WAITING"
    entry = read_key(cache, text(row.get("key")))
    # The chain that the session ends; none if it waits behind another session itself, or is in no chain.
    chain = next((each for each in chains if each.end and (each.end.instance, each.end.sid) == (instance, sid)), None)
    return Blocker(
        cache=cache,
        key=text(row.get("key")),
        key_text=readable(text(row.get("key"))),
        object=entry.object if entry else None,
        object_rule=entry.rule if entry else None,
        object_query=entry.query if entry else None,
        mode=mode,
        waiters=max(len(behind), counted or 0) if behind or counted is not None else None,
        # A share holder may have come a moment ago, while others held it.
        held_at_least_seconds=max(waits, default=None) if mode == "exclusive" else None,
        instance=instance,
        sid=sid,
        serial=serial,
        background=background,
        **who(row),
        waits_for=text(row.get("event")) if is_waiting else None,
        waits_seconds=micro / 1e6 if is_waiting and micro is not None else None,
        **_ending(chain, _not_at_the_end(row, chains)),
    )


def _not_at_the_end(row: Row, chains: Sequence[WaitChain]) -> str:
    """Why there is no command for a holder that ends no chain."""
    if whole(row.get("sid")) is None:
        return NO_SESSION.format(text(row.get("saddr")) or "it gives")
    named = {(waiter.instance, waiter.sid) for chain in chains for waiter in chain.waiters}
    return MIDDLE if (whole(row.get("instance")), whole(row.get("sid"))) in named else UNFOLLOWED


def _ending(chain: WaitChain | None, otherwise: str = MIDDLE) -> dict[str, str | None]:
    """The command that ends the session at the end of a chain and its risk, or why there is none."""
    if chain is None:
        return {"kill": None, "kill_risk": None, "no_kill": otherwise}
    if chain.action is not None:
        return {
            "kill": chain.action.command,
            "kill_risk": f"{chain.action.risk}; first {chain.action.first}",
            "no_kill": None,
        }
    return {"kill": None, "kill_risk": None, "no_kill": chain.why_no_action}


def _look_up(sid: int, instance: int | None) -> str:
    """What to run, and where, to identify a session of which only the SID is known."""
    where = "" if instance is None else f"on instance {instance}: "
    return f"{where}{query('about', sid=sid)}"


def readable(key: str | None) -> str | None:
    """The longest run of printable characters in a key. None without any. Nothing else of the key is read."""
    try:
        runs = READABLE.findall(bytes.fromhex(key or ""))
    except ValueError:
        return None
    return max(runs, key=len).decode("ascii").strip() or None if runs else None
