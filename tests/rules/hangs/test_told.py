"""Who holds what hanging sessions wait for, word for word: tests/golden/hangs.txt has what is said of each scene.

The first scene is told whole, every other one by the lines in which it differs from that. `pytest FILE --renew-golden` writes
the file; read the difference before you keep it, above all each line with a command.
"""

from collections.abc import Callable, Iterator

from collectors.model import Missing, Row
from rules.model import Diagnosis
from tests.rules.hangs.test_blockers import BEHIND, ENQUEUES, HOLDER, LCK0, LOCK, REMOTE, found, only

HERE = {**HOLDER, "instance": 1}
THERE: Row = {**REMOTE, "sid": 55, "instance": 3, "program": "JDBC", "state": "WAITED KNOWN TIME", "status": "ACTIVE"}
LIBRARY_CACHE = "library_cache_waiters"
LIBRARY: Row = {"event": "library cache lock", "p3": 79 << 16 | 2, "sessions": 12, "wait_time_micro": 40_000_000}


def named(blocking: int | None = None, final: int | None = None, at: int = 1, final_at: int = 1) -> dict[str, int]:
    """Whom the waiting sessions name."""
    told = {"blocking_session": blocking, "blocking_instance": at} if blocking else {}
    return told | ({"final_blocking_session": final, "final_blocking_instance": final_at} if final else {})  # type: ignore[return-value]


def scenes() -> Iterator[tuple[str, Diagnosis]]:
    yield "one session holds the entry", found(HOLDER)
    yield "the view shows one of its waiters", found({**HOLDER, "waiters": 1}, **named(312, 312, 2, 2))
    yield "a key that fits no layout", found({**HOLDER, "key": "5D000000010006004F5244455253"})
    yield "a cache without a name", found({**HOLDER, "cache#": 37, "cache_name": None})
    for name in ("LCK0", "LMS1", "SMON", "MMON", "M000", "CKPT"):
        yield (
            f"{name} holds it",
            found({**HOLDER, "type": "BACKGROUND", "program": f"oracle@db1 ({name})", "username": None}),
        )
    yield "a background process without a name", found({**HOLDER, "type": "BACKGROUND", "program": None})
    for lacking in ("sid", "serial#", "type"):
        yield f"{lacking} is not known", found({**HOLDER, lacking: None})
    yield (
        "the holder is of another instance, on Amazon RDS",
        found(HOLDER, views={"sys_context": ({"cdb_name": "RDSCDB"},)}),
    )
    critical: Row = {"instance": 2, "sid": 312, "fatal_background": "Y"}
    victim: Row = {"victim_instance": 2, "victim_session_id": 312, "fatal_background": "Y"}
    for view, row in (("v$hang_session_info", critical), ("v$hang_info", victim)):
        yield f"Oracle calls it critical in {view}", found(HOLDER, views={view: (row,)})
    yield "a session of another instance", found(THERE, **named(final=55, final_at=3))
    yield "LCK0 for another instance, whose session nobody names", found(LCK0, views={ENQUEUES: (LOCK,)}, **named(20))
    yield "the same SID on another instance", found(HERE, **named(final=312, final_at=3))
    yield "the same SID on another instance, which is named", found(HERE, **named(final=312, final_at=2))
    yield "one here and one elsewhere", found(HERE, **named(312, 55, 1, 3))
    yield "the waiters name another one", found(HOLDER, final_blocking_session=77, blocking_session=76)
    middle = {**HERE, "sid": 200, "serial#": 77, "event": "enq: TM - contention"}
    yield "the middle of a chain", found(middle, **named(200, 300))
    end: Row = {"instance": 1, "sid": 300, "serial#": 9, "type": "USER", "program": "JDBC", "status": "INACTIVE"}
    for lmode in (3, 6):
        lock: Row = {"sid": 300, "type": "TM", "id1": 5, "id2": 0, "lmode": lmode}
        views = {"chain_sessions": ({**end, "state": "WAITED SHORT TIME"},), "v$lock": (lock,)}
        asked = {**middle, "p1": 0x544D0006, "p2": 5, "p3": 0, "blocking_session": 300, "blocking_instance": 1}
        yield f"the end holds an enqueue in mode {lmode}", found(asked, views=views, **named(200, 300))
    again: Row = {"chain_id": 1, "instance": 2, "sid": 312, "sess_serial#": 99, "in_wait": "FALSE"}
    yield "a serial number that was used again", found(HOLDER, views={"v$wait_chains": (again,)})
    other = {"sid": 400, "serial#": 8, "cache#": 10, "cache_name": "dc_users", "waiters": 5}
    yield "two chains, each with a holder", found(HOLDER, {**HOLDER, **other})
    programs = {201: "oracle@db1 (P003)", 202: "oracle@db1 (J004)", 203: "sqlplus"}
    shared = [{**HERE, "sid": sid, "lock_mode": 3, "program": program} for sid, program in programs.items()]
    yield "three in share mode", found(*shared)
    refused = Missing("row_cache_blockers", "refused", "ORA-00942", "grant select on sys.v_$rowcache_parent to <user>;")
    yield "the holders are not read", found(missing=refused, **named(final=55, final_at=3))
    yield "no view shows a holder", found()
    yield "nobody hangs", found(HOLDER, stuck=0)
    for name, row in (
        ("behind another session", {"final_blocking_session": 77, "final_blocking_instance": 2}),
        ("behind the holder", {"blocking_session": 640, "final_blocking_session": 312, "final_blocking_instance": 1}),
        ("behind a session that nobody names", {}),
    ):
        yield f"the library cache, {name}", found(HOLDER, views={LIBRARY_CACHE: ({**LIBRARY, **row},)})
    inside = {**HOLDER, "event": "library cache lock"}
    for sid in (100, 641):
        row = {**LIBRARY, "sessions": 1, "blocking_session": sid}
        yield f"the holder waits in the library cache, behind {sid}", found(inside, views={LIBRARY_CACHE: (row,)})
    yield "nobody waits there, and the holder does", found(inside)
    for kind in (4, 200, 0, None):
        row = {**LIBRARY, "p3": None if kind is None else kind << 16 | 2, "final_blocking_session": 77}
        yield f"the library cache, type {kind}", found(HOLDER, views={LIBRARY_CACHE: (row,)})
    yield (
        "waits behind a session of the other instance",
        found(LCK0, THERE, BEHIND, views={ENQUEUES: (LOCK,)}, **named(20, 55, 1, 3)),
    )


def lines(got: Diagnosis) -> Iterator[str]:
    """The holders with all that is known of them, the step by its sentences, each chain with its command or why there is none."""
    if got.blockers is None:
        return
    for place, holder in enumerate(got.blockers.blockers, 1):
        yield from (f"holder {place}, {name}: {value}" for name, value in holder.model_dump(exclude_none=True).items())
    for step in got.steps:
        if step.step in ("blocker", "library cache"):
            yield from (f"{step.step}: {said}" for said in step.statement.split(". "))
    for chain in got.blockers.chains:
        yield f"command: {chain.action.command}" if chain.action else f"no command: {chain.why_no_action}"
        waiters = ", ".join(f"{each.alike} × {each.sid} behind {each.behind}" for each in chain.waiters)
        yield f"{chain.waiting} wait: {waiters}"


def test_what_is_said_of_each_scene(golden: Callable[[str, str], None]) -> None:
    told = {name: [*lines(got)] for name, got in scenes()}
    first = next(iter(told.values()))
    text = []
    for name, said in told.items():
        text += [f"== {name}", *(said if said is first else [f"+ {line}" for line in said if line not in first])]
        about = {line.partition(":")[0] for line in said}
        text += [f"- {line.partition(':')[0]}" for line in first if line.partition(":")[0] not in about]
    golden("hangs.txt", "\n".join([*text, ""]))


def test_no_command_is_in_the_prose_and_none_is_for_a_process_of_oracle() -> None:
    for name, got in scenes():
        said = " ".join(step.statement for step in got.steps)
        assert "alter system" not in said, name
        if "holds it" in name:
            assert only(got).kill is None, name
