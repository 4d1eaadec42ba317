"""v$session during the interval: looks at waiting sessions, sessions that still wait at its ends, and holders."""

from collections.abc import Iterator

from tests.truth.dice import Dice
from tests.truth.instance import Instance
from tests.truth.outcome import Counted, Outcome
from tests.truth.parts import Hang, Stream
from tests.truth.releases import mutex_location

SEEN = ("latch: row cache objects", "row cache mutex", "row cache lock", "latch free")
LIBRARY_CACHE_LOCK = "library cache lock"
NAMESPACES = {"failed-logon-delay": 79, "ddl-invalidation": 1}
"""What the sessions of a cause want in the library cache: the status of an account, an object."""
PARSED = 82
"""What all others want there: a cursor that another session parses (our guess)."""
MOST_SEEN, MOST_LISTED = 500, 200
LONGEST_BURST = 60
SHARED, EXCLUSIVE = 3, 5
FIRST_ADDRESS = 0x0700011807B00000
PROGRAMS = ("JDBC Thin Client", "sqlplus@app1 (TNS V1-V3)", "w3wp.exe", "python@batch")

Seen = dict[str, int | float | str | None]


def address(child: int) -> str:
    """Address of a child latch, as v$latch_children and P1RAW print it."""
    return f"{FIRST_ADDRESS + child * 0xA0:016X}"


def looks(outcome: Outcome) -> list[Seen]:
    """Rows of the looks of one burst. Each look has its own row, even without a waiting session."""
    it, dice = outcome.instance, outcome.instance.dice
    number = min(max(1, int(it.seconds)), it.looks or dice.pick((8, 15, 30, LONGEST_BURST)))
    hanging = [_hanging(it, hang) for hang in it.hangs]
    rows: list[Seen] = []
    for look in range(1, number + 1):
        rows.append({"sample": look, "sid": None})
        left = (number - look) * it.seconds / number  # seconds from this look to the end of the interval
        met = [*_waiting(it, outcome.counted), *_still(hanging, left)]
        for row in met[:MOST_SEEN]:
            rows.append({"sample": look, **row})
    return rows


def waiting(outcome: Outcome, *, at_end: bool) -> list[Seen]:
    """The sessions that wait at one end of the interval, the longest first, and their number."""
    it = outcome.instance
    left = 0.0 if at_end else it.seconds
    met = [*_waiting(it, outcome.counted), *(row for hang in it.hangs for row in _still([_hanging(it, hang)], left))]
    met.sort(key=lambda row: -float(row["wait_time_micro"] or 0))
    return [{**row, "met": len(met)} for row in met[:MOST_LISTED]]


def in_library_cache(outcome: Outcome, *, at_end: bool) -> list[Seen]:
    """The sessions that wait for library cache lock at one end of the interval: those of a cause all for one handle."""
    it = outcome.instance
    rows: list[Seen] = []
    for each in outcome.counted:
        if each.stream.event != LIBRARY_CACHE_LOCK:
            continue
        dice = Dice(each.micros, each.waits, at_end)  # its own, so that the rest of the instance stays as it is
        namespace = NAMESPACES.get(each.stream.cause or "", PARSED)
        for _ in range(dice.count(each.micros / 1e6 / it.seconds)):
            handle = namespace if namespace in NAMESPACES.values() else dice.whole(100, 999)
            rows.append(
                {
                    "sid": dice.whole(9001, 19000),
                    "serial#": dice.whole(1, 60000),
                    "event": LIBRARY_CACHE_LOCK,
                    "p1raw": f"{FIRST_ADDRESS + handle * 0xA0:016X}",
                    "p3": namespace << 16 | 2,
                    "type": "USER",
                    "wait_time_micro": round(dice.between(0.0, 2.0) * each.stream.mean * 1e6),
                }
            )
    rows.sort(key=lambda row: -float(row["wait_time_micro"] or 0))
    return [{**row, "met": len(rows)} for row in rows[:MOST_LISTED]]


def _waiting(it: Instance, counted: tuple[Counted, ...]) -> Iterator[Seen]:
    taken: set[int] = set()
    for each in counted:
        if each.stream.event not in SEEN or not each.waits:
            continue
        average = each.micros / 1e6 / it.seconds
        for _ in range(min(it.dice.count(average), MOST_SEEN)):
            sid = it.dice.whole(20, 9000)
            if sid not in taken:
                taken.add(sid)
                yield _session(it, each.stream, sid)


def _session(it: Instance, stream: Stream, sid: int) -> Seen:
    dice, who = it.dice, stream.who
    lasted = dice.between(0.0, 2.0) * stream.mean * 1e6
    foreground = dice.chance(stream.foreground)
    return {
        "sid": sid,
        "serial#": dice.whole(1, 60000),
        "event": stream.event,
        **_parameters(it, stream),
        "sql_id": who.sql_id if dice.chance(0.8) else _sql(dice),
        "module": who.module,
        "program": who.program if foreground else "oracle@db1 (MMON)",
        "username": who.username if foreground else None,
        "type": "USER" if foreground else "BACKGROUND",
        "con_id": _container(it),
        "blocking_instance": 1 if stream.blocker else None,
        "blocking_session": stream.blocker,
        "final_blocking_instance": 1 if stream.blocker else None,
        "final_blocking_session": stream.blocker,
        "wait_time_micro": round(lasted),
    }


def _parameters(it: Instance, stream: Stream) -> Seen:
    """P1 to P3, by event."""
    dice, cache = it.dice, stream.cache
    if stream.event == "row cache lock" and cache:
        asked = EXCLUSIVE if dice.chance(stream.exclusive) else SHARED
        return {"p1": cache.id, "p1raw": f"{cache.id:016X}", "p2": stream.held, "p3": asked}
    if stream.event == "row cache mutex" and cache and stream.shape:
        places = list(stream.shape.mutex)
        place = places[_dealt(dice, [stream.shape.mutex[name] for name in places])]
        number = mutex_location(it.release, place)[0]
        return {"p1": cache.id, "p1raw": f"{cache.id:016X}", "p2": number, "p3": 0}
    if cache:
        where = address(cache.child)
        return {"p1": int(where, 16), "p1raw": where, "p2": it.release.latch_number, "p3": 0}
    number = it.release.result_cache_latch_number if stream.surface == "result-cache" else dice.whole(20, 250)
    where = f"{0x06000000 + number * 0xA0:016X}"
    return {"p1": int(where, 16), "p1raw": where, "p2": number, "p3": 0}


def _dealt(dice: Dice, weights: list[float]) -> int:
    return dice.split(1, weights).index(1)


def _container(it: Instance) -> int | None:
    if not it.release.multitenant:
        return None
    return it.dice.whole(3, 2 + it.containers) if it.containers else 0


def _sql(dice: Dice) -> str:
    return "".join(dice.pick("0123456789abcdfghjkmnpqrstuvwxyz") for _ in range(13))


def _hanging(it: Instance, hang: Hang) -> list[tuple[float, Seen]]:
    """The sessions of a hang with the seconds that each has waited at the end. The first came first, the others later."""
    dice = Dice(hang.holder, hang.sessions, round(hang.since))  # the same sessions at every look
    rows = []
    for index in range(hang.sessions):
        waited = hang.since if index == 0 else hang.since * dice.between(0.15, 1.0)
        row: Seen = {
            "sid": 10000 + index,
            "serial#": dice.whole(1, 60000),
            "event": hang.event,
            "p1": hang.cache.id,
            "p1raw": f"{hang.cache.id:016X}",
            "p2": hang.held,
            "p3": hang.requested,
            "sql_id": hang.who.sql_id,
            "module": hang.who.module,
            "program": hang.who.program,
            "username": hang.who.username,
            "type": "USER",
            "con_id": (3 if it.containers else 0) if it.release.multitenant else None,
            "blocking_instance": 1,
            "blocking_session": hang.holder,
            "final_blocking_instance": 1,
            "final_blocking_session": hang.holder,
        }
        if hang.event == "row cache mutex":
            row |= {"p2": 19, "p3": 0, "blocking_instance": None, "blocking_session": None}
            row |= {"final_blocking_instance": None, "final_blocking_session": None}
        rows.append((waited, row))
    return rows


def _still(hanging: list[list[tuple[float, Seen]]], left: float) -> Iterator[Seen]:
    """The sessions that had already waited `left` seconds before the end."""
    for sessions in hanging:
        for waited, row in sessions:
            if waited > left:
                yield {**row, "wait_time_micro": round((waited - left) * 1e6)}


def blockers(outcome: Outcome) -> list[Seen]:
    """The look at the holder for the hanging sessions, with its session."""
    it = outcome.instance
    rows: list[Seen] = []
    for hang in it.hangs:
        if hang.event != "row cache lock":
            continue
        rows.append(
            {
                "cache#": hang.cache.id,
                "key": it.dice.pick(("0D00000041505000", "1F2A000000000000", "0500000053595300")),
                "sid": hang.holder,
                "cache_name": hang.cache.name,
                "lock_request": hang.requested,
                "waiters": hang.sessions,
                "lock_mode": 5,
                "instance": 1,
                "serial#": it.dice.whole(1, 60000),
                "type": "BACKGROUND" if hang.background else "USER",
                "program": "oracle@db1 (SMON)" if hang.background else "sqlplus@admin (TNS V1-V3)",
                "username": None if hang.background else "ADMIN",
                "machine": "db1" if hang.background else "admin",
                "module": None if hang.background else "SQL*Plus",
                "sql_id": None if hang.background else "1gu8t96d0bdmu",
                "status": "ACTIVE",
                "state": "WAITING",
                "event": "db file sequential read" if hang.background else "enq: TX - row lock contention",
                "wait_time_micro": round(min(hang.since, 100.0) * 1e6),
                "last_call_et": round(hang.since),
            }
        )
    return rows
