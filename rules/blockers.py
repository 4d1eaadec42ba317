"""Who holds what sessions hang on, and whether it may be ended: told from the look at v$rowcache_parent, else from v$session."""

import re
from collections.abc import Iterator, Sequence

from collectors.durations import spoken
from collectors.model import Missing, Row, number, text
from rules.context import ROW_CACHE_SURFACES, SignalContext
from rules.formatting import count
from rules.hangs import StillWaiting, hanging
from rules.model import Blocker, Blockers, Figure, Step
from rules.waiters import unlisted, within

VIEW = "row_cache_blockers"
MODES = {3: "share", 5: "exclusive"}
READABLE = re.compile(rb"[ -~]{4,}")
"""Printable characters in a row within a key, which is most likely a name; the layout of a key is not documented."""
SQL_NAME = re.compile(r"\(([A-Z][A-Z0-9]{2,4})\)\s*$")
RISK = (
    "its transaction is rolled back, which may take as long as the work did, and the lock may be held until then; collect a "
    "hanganalyze before, for afterwards nobody can tell what it was"
)


def blockers_of(context: SignalContext) -> Blockers | None:
    """Who holds what sessions hang on; None where nobody hangs and nobody looked for it."""
    stuck = hanging(context.look.of(ROW_CACHE_SURFACES)) if context.look else ()
    reading = context.delta.read(VIEW)
    rows = () if isinstance(reading, Missing) else tuple(_still_holding(context, reading.rows))
    found = tuple(_held(row, stuck) for row in rows) or tuple(_named_by_waiters(stuck))
    if not stuck and (not found or context.look is not None):
        return None
    why = reading.why if isinstance(reading, Missing) else "" if rows else NO_HOLDER
    cure = reading.way_out if isinstance(reading, Missing) else ""
    return Blockers(blockers=found, unknown="; ".join(filter(None, (why, cure))) or None)


def _still_holding(context: SignalContext, rows: Sequence[Row]) -> Iterator[Row]:
    """Holders that those who wait now still name; the look is older than the poll, and a command to end must not be.

    A SID is named together with its instance: in a cluster the same SID is somebody else on each of them.
    """
    alone = all(row.get("parallel") != "YES" for row in context.delta.rows("v$instance"))
    named = {
        (sid, number(row.get(f"{kind}_instance")))
        for row in context.delta.rows("waiting_sessions")
        for kind in ("blocking", "final_blocking")
        if (sid := number(row.get(f"{kind}_session"))) is not None
    }
    for row in rows:
        sid, own = number(row.get("sid")), number(row.get("instance"))
        if not named or (sid, own) in named or (alone and (sid, None) in named):
            yield row


NO_HOLDER = "v$rowcache_parent shows no holder on this instance; it may be on another one, or have let go"


def _held(row: Row, stuck: Sequence[StillWaiting]) -> Blocker:
    """A holder as v$rowcache_parent and v$session tell it."""
    cache_id = number(row.get("cache#"))
    cache = text(row.get("cache_name")) or (None if cache_id is None else unlisted(cache_id))
    waits = [waiter.seconds for waiter in stuck if waiter.cache == cache or cache is None]
    sid, serial, instance = (_whole(row, name) for name in ("sid", "serial#", "instance"))
    kind = text(row.get("type"))
    background = None if kind is None else kind == "BACKGROUND"
    micro = number(row.get("wait_time_micro"))
    waiting = row.get("state") == "WAITING"
    return Blocker(
        cache=cache,
        key=text(row.get("key")),
        key_text=readable(text(row.get("key"))),
        mode=MODES.get(_whole(row, "lock_mode") or 0),
        waiters=_whole(row, "waiters"),
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
        waits_for=text(row.get("event")) if waiting else None,
        waits_seconds=micro / 1e6 if waiting and micro is not None else None,
        **_kill(background, sid, serial, instance, text(row.get("program"))),
    )


def _named_by_waiters(stuck: Sequence[StillWaiting]) -> Iterator[Blocker]:
    """Holders of whom nothing is known but what those who wait say: a SID, and its instance."""
    for name in dict.fromkeys(waiter.blocker for waiter in stuck if waiter.blocker):
        behind = [waiter for waiter in stuck if waiter.blocker == name]
        sid, _, instance = name.partition("@")
        yield Blocker(
            cache=behind[0].cache,
            waiters=len(behind),
            held_at_least_seconds=max(waiter.seconds for waiter in behind),
            instance=int(instance) if instance.isdecimal() else None,
            sid=int(sid) if sid.isdecimal() else None,
            **_kill(None, None, None, None, None),
        )


def _kill(
    background: bool | None, sid: int | None, serial: int | None, instance: int | None, program: str | None
) -> dict[str, str | None]:
    """The command that ends a foreground session and what it risks, or why none is given. It is never run by us."""
    if background:
        return {
            "kill": None,
            "kill_risk": None,
            "no_kill": f"never kill {process(program)}: the instance may end with it",
        }
    if background is None:
        return {
            "kill": None,
            "kill_risk": None,
            "no_kill": "whether it is a background process is not known; find out first",
        }
    if sid is None or serial is None:
        return {"kill": None, "kill_risk": None, "no_kill": "its session is not known"}
    where = f"{sid},{serial}" + ("" if instance is None else f",@{instance}")
    return {"kill": f"alter system kill session '{where}' immediate", "kill_risk": RISK, "no_kill": None}


def process(program: str | None) -> str:
    """The name of a background process: LCK0 of `oracle@db1 (LCK0)`."""
    found = SQL_NAME.search(program or "")
    return found[1] if found else "a background process"


def readable(key: str | None) -> str | None:
    """The longest run of printable characters in a key, which is all that is read of it; None without any."""
    try:
        runs = READABLE.findall(bytes.fromhex(key or ""))
    except ValueError:
        return None
    return max(runs, key=len).decode("ascii").strip() or None if runs else None


def blocker_steps(found: Blockers | None) -> list[Step]:
    """The step that says who holds it, since when, and what not to kill."""
    if found is None:
        return []
    sentences = [sentence_of(blocker) for blocker in found.blockers]
    if found.unknown:
        sentences.append(f"More is not known: {found.unknown}.")
    figures = tuple(
        Figure(name=f"held by session {blocker.sid}, at least", value=blocker.held_at_least_seconds, unit="s", of=VIEW)
        for blocker in found.blockers
        if blocker.held_at_least_seconds is not None
    )
    return [Step(step="blocker", statement=" ".join(sentences), figures=figures)] if sentences else []


def sentence_of(blocker: Blocker) -> str:
    """A blocker in words: who, what, since when, what it waits for, and whether it may be ended."""
    who = (
        "a session that is not known"
        if blocker.sid is None
        else f"session {blocker.sid}" + f",{blocker.serial}" * (blocker.serial is not None)
    )
    who += "" if blocker.instance is None else f" on instance {blocker.instance}"
    about = [
        process(blocker.program) if blocker.background else None,
        blocker.username,
        blocker.program,
        blocker.module,
    ]
    about.append(f"SQL {blocker.sql_id}" if blocker.sql_id else None)
    named = ", ".join(dict.fromkeys(part for part in about if part))
    holds = f"holds an entry of {within(blocker.cache or 'a cache that is not known')}" + f" in {blocker.mode} mode" * (
        blocker.mode is not None
    )
    since = "" if blocker.held_at_least_seconds is None else f" for at least {spoken(blocker.held_at_least_seconds)}"
    behind = "" if blocker.waiters is None else f"; {count(blocker.waiters)} wait for it"
    words = f"{who[0].upper()}{who[1:]}{f' ({named})' if named else ''} {holds}{since}{behind}."
    return " ".join(filter(None, (words, _entry(blocker), _own_wait(blocker), _ending(blocker))))


def _entry(blocker: Blocker) -> str:
    if blocker.key is None:
        return ""
    hint = f"; readable in it: {blocker.key_text}" if blocker.key_text else ""
    return f"The key of the entry is {blocker.key}, which is not decoded{hint}."


def _own_wait(blocker: Blocker) -> str:
    if blocker.waits_for is None:
        return ""
    since = (
        "" if blocker.waits_seconds is None or blocker.waits_seconds < 1 else f", for {spoken(blocker.waits_seconds)}"
    )
    return f"It waits for {blocker.waits_for} itself{since}."


def _ending(blocker: Blocker) -> str:
    if blocker.kill is None:
        return f"No command to end it is given: {blocker.no_kill}."
    return f"Should it have to be ended: {blocker.kill}; risk: {blocker.kill_risk}."


def _whole(row: Row, name: str) -> int | None:
    value = number(row.get(name))
    return None if value is None else int(value)
