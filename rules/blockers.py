"""Who holds what sessions hang on, and whether you may end it. Read from v$rowcache_parent, else from v$session."""

import re
from collections.abc import Iterator, Sequence

from collectors.model import Missing, Row, number, text
from rules.context import ROW_CACHE_SURFACES, SignalContext
from rules.hang_model import Blocker, Blockers, LibraryCacheWait
from rules.hangs import StillWaiting, hanging
from rules.row_cache_keys import read_key
from rules.waiters import unlisted

VIEW = "row_cache_blockers"
LIBRARY_CACHE = "library_cache_waiters"
MODES = {3: "share", 5: "exclusive"}
READABLE = re.compile(rb"[ -~]{4,}")
"""This many printable characters in a row within a key are probably a name."""
SQL_NAME = re.compile(r"\(([A-Z][A-Z0-9]{2,4})\)\s*$")
RISK = (
    "its transaction is rolled back, which may take as long as the work did, and the lock may be held until then; collect a "
    "hanganalyze first, because afterwards the evidence is gone"
)
NOT_TO_KILL = (
    (
        re.compile(r"LCK\d|LM[A-Z0-9]{1,2}"),
        "the instance ends with it; it carries the locks of the cluster as a messenger; the holder is a session behind it, "
        "mostly on another instance",
    ),
    (
        re.compile(r"SMON"),
        "the instance ends with it, and the transaction it rolls back starts over after a restart and holds the same locks again",
    ),
    (
        re.compile(r"MMON|MMNL|M\d{3}"),
        "Oracle restarts it, and the wait with it; if it keeps a lock for minutes, ask Oracle Support",
    ),
)
"""Background processes by name, and why to leave each alone; see docs/emergency.md. Any other may end the instance."""
TYPE_SHIFT, TYPE_MASK = 16, 0xFFFF
"""P3 of a library cache wait has the type of the object in the bits above the mode."""


def blockers_of(context: SignalContext) -> Blockers | None:
    """Who holds what sessions hang on. None if no session hangs and there was no look."""
    stuck = hanging(context.look.of(ROW_CACHE_SURFACES)) if context.look else ()
    reading = context.delta.read(VIEW)
    rows = () if isinstance(reading, Missing) else tuple(_still_holding(context, reading.rows))
    waiting = context.look.of(ROW_CACHE_SURFACES) if context.look else ()
    held, named = [_held(row, stuck, waiting) for row in rows], list(_named_by_waiters(stuck, waiting))
    found = (*held, *_elsewhere(context, held, named)) if held else tuple(named)
    if not stuck and (not found or context.look is not None):
        return None
    why = reading.why if isinstance(reading, Missing) else "" if rows else NO_HOLDER
    cure = reading.way_out if isinstance(reading, Missing) else ""
    return Blockers(
        blockers=found,
        unknown="; ".join(filter(None, (why, cure))) or None,
        library_cache=tuple(_library_cache_waits(context.delta.rows(LIBRARY_CACHE))),
    )


def holder_of(context: SignalContext) -> str | None:
    """The session that most hanging sessions wait for, in a few words. None if it is unknown."""
    found = blockers_of(context)
    most = max(found.blockers, key=lambda blocker: blocker.waiters or 0, default=None) if found else None
    if most is None or most.sid is None:
        return None
    module = f"module {most.module}" if most.module else None
    about = process(most.program) if most.background else module or most.program or most.username
    return f"session {session_of(most)}" + (f" ({about})" if about else "")


def session_of(blocker: Blocker) -> str:
    """`312,48211 on instance 1`, as far as it is known."""
    serial = "" if blocker.serial is None else f",{blocker.serial}"
    return f"{blocker.sid}{serial}" + ("" if blocker.instance is None else f" on instance {blocker.instance}")


def _still_holding(context: SignalContext, rows: Sequence[Row]) -> Iterator[Row]:
    """Holders that the waiting sessions still name. The look is older than the poll, and a kill command must be current.

    A SID comes with its instance: in a cluster the same SID is another session on each instance.
    """
    alone = all(row.get("parallel") != "YES" for row in context.delta.rows("v$instance"))
    named = {
        (sid, number(row.get(f"{kind}_instance")))
        for row in context.delta.rows("waiting_sessions")
        for kind in ("blocking", "final_blocking")
        if (sid := number(row.get(f"{kind}_session"))) is not None
    }
    for row in rows:
        sid, instance = number(row.get("sid")), number(row.get("instance"))
        if not named or any(
            sid == other and (instance == at or (alone and None in (instance, at))) for other, at in named
        ):
            yield row


def _elsewhere(context: SignalContext, held: Sequence[Blocker], named: Sequence[Blocker]) -> Iterator[Blocker]:
    """Blockers on other instances that waiting sessions name and that no view showed."""
    own = next((number(row.get("instance_number")) for row in context.delta.rows("v$instance")), None)
    known = {(blocker.instance, blocker.sid) for blocker in held}
    for blocker in named:
        if blocker.instance not in (None, own) and (blocker.instance, blocker.sid) not in known:
            yield blocker


def _library_cache_waits(rows: Sequence[Row]) -> Iterator[LibraryCacheWait]:
    """Who waited in the library cache at the look, most sessions first."""
    for row in sorted(rows, key=lambda row: (-(number(row.get("sessions")) or 0.0), str(row))):
        packed = _whole(row, "p3") or 0
        yield LibraryCacheWait(
            event=text(row.get("event")) or "library cache",
            sessions=_whole(row, "sessions") or 0,
            longest_seconds=(number(row.get("wait_time_micro")) or 0.0) / 1e6,
            type=packed >> TYPE_SHIFT & TYPE_MASK or None,
            instance=_whole(row, "blocking_instance"),
            sid=_whole(row, "blocking_session"),
            final_instance=_whole(row, "final_blocking_instance"),
            final_sid=_whole(row, "final_blocking_session"),
        )


NO_HOLDER = (
    "v$rowcache_parent shows no holder on this instance; it may be on another instance, or it has released the entry"
)


def _held(row: Row, stuck: Sequence[StillWaiting], waiting: Sequence[StillWaiting]) -> Blocker:
    """A holder as v$rowcache_parent and v$session show it."""
    sid, serial, instance = (_whole(row, name) for name in ("sid", "serial#", "instance"))
    behind = [waiter for waiter in waiting if waiter.blocker == f"{sid}@{instance}"]
    # gv$session shows the session of another instance without the entry. The waiting sessions name what it holds.
    cache_id = number(row.get("cache#"))
    listed = text(row.get("cache_name")) or (None if cache_id is None else unlisted(cache_id))
    cache = listed or (behind[0].cache if behind else None)
    waits = [waiter.seconds for waiter in stuck if waiter.cache == cache or cache is None]
    waiters = _whole(row, "waiters")
    kind = text(row.get("type"))
    background = None if kind is None else kind == "BACKGROUND"
    micro = number(row.get("wait_time_micro"))
    is_waiting = row.get("state") == "WAITING"
    entry = read_key(cache, text(row.get("key")))
    return Blocker(
        cache=cache,
        key=text(row.get("key")),
        key_text=readable(text(row.get("key"))),
        object=entry.object if entry else None,
        object_rule=entry.rule if entry else None,
        object_query=entry.query if entry else None,
        mode=MODES.get(_whole(row, "lock_mode") or 0),
        waiters=len(behind) or None if waiters is None else waiters,
        held_at_least_seconds=max(waits, default=None),
        instance=instance,
        sid=sid,
        serial=serial,
        background=background,
        program=text(row.get("program")),
        username=text(row.get("username")),
        machine=text(row.get("machine")),
        module=text(row.get("module")),
        sql_id=text(row.get("sql_id")),
        waits_for=text(row.get("event")) if is_waiting else None,
        waits_seconds=micro / 1e6 if is_waiting and micro is not None else None,
        **_kill(background, sid, serial, instance, text(row.get("program"))),
    )


def _named_by_waiters(stuck: Sequence[StillWaiting], waiting: Sequence[StillWaiting]) -> Iterator[Blocker]:
    """Holders known only from the sessions that wait for them: a SID and its instance."""
    for name in dict.fromkeys(waiter.blocker for waiter in stuck if waiter.blocker):
        behind = [waiter for waiter in waiting if waiter.blocker == name]
        sid, _, instance = name.partition("@")
        yield Blocker(
            cache=behind[0].cache,
            waiters=len(behind),
            held_at_least_seconds=max(waiter.seconds for waiter in behind),
            instance=int(instance) if instance.isdecimal() else None,
            sid=int(sid) if sid.isdecimal() else None,
            look_up=_look_up(sid, instance),
            **_kill(None, None, None, None, None),
        )


def _look_up(sid: str, instance: str) -> str | None:
    """What to run, and where, to identify a session of which only the SID is known."""
    if not sid.isdecimal():
        return None
    where = f"on instance {instance}: " if instance.isdecimal() else ""
    return f"{where}select sid, serial#, type, program, username, event from v$session where sid = {sid}"


def _kill(
    background: bool | None, sid: int | None, serial: int | None, instance: int | None, program: str | None
) -> dict[str, str | None]:
    """The command that ends a foreground session and its risk, or why there is none. latchscope never runs it."""
    if background:
        return {
            "kill": None,
            "kill_risk": None,
            "no_kill": f"never kill {process(program)}: {_left_alone(process(program))}",
        }
    if background is None:
        return {
            "kill": None,
            "kill_risk": None,
            "no_kill": "whether it is a background process is not known; find out first",
        }
    if sid is None or serial is None:
        return {"kill": None, "kill_risk": None, "no_kill": "its session is unknown"}
    where = f"{sid},{serial}" + ("" if instance is None else f",@{instance}")
    return {"kill": f"alter system kill session '{where}' immediate", "kill_risk": RISK, "no_kill": None}


def _left_alone(name: str) -> str:
    return next((why for pattern, why in NOT_TO_KILL if pattern.fullmatch(name)), "the instance may end with it")


def process(program: str | None) -> str:
    """The name of a background process: LCK0 of `oracle@db1 (LCK0)`."""
    found = SQL_NAME.search(program or "")
    return found[1] if found else "a background process"


def readable(key: str | None) -> str | None:
    """The longest run of printable characters in a key. None without any. Nothing else of the key is read."""
    try:
        runs = READABLE.findall(bytes.fromhex(key or ""))
    except ValueError:
        return None
    return max(runs, key=len).decode("ascii").strip() or None if runs else None


def _whole(row: Row, name: str) -> int | None:
    value = number(row.get(name))
    return None if value is None else int(value)
