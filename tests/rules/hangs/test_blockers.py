"""The blocker of hanging sessions: what the diagnosis shows, what it does not decode, and when it gives no command to end a
session.
"""

from collections.abc import Mapping
from typing import Any

import pytest

from collectors.model import Missing, Row, Rows
from rules.hangs.blockers import process, readable
from rules.hangs.model import Blocker, Blockers
from rules.model import Diagnosis
from tests.rules.test_waits import SECONDS, judged, snapshot, waiters

HOLDER: Row = {
    "cache#": 8,
    "cache_name": "dc_objects",
    "key": "5D00000006004F5244455253",
    "lock_request": 3,
    "waiters": 38,
    "lock_mode": 5,
    "instance": 2,
    "sid": 312,
    "serial#": 48211,
    "type": "USER",
    "program": "sqlplus@build7",
    "username": "DEPLOY",
    "module": "release 4.2",
    "sql_id": "5ms6rbzdnq16t",
    "status": "ACTIVE",
    "state": "WAITING",
    "event": "db file sequential read",
    "wait_time_micro": 3_000_000,
}


def found(
    *rows: Row,
    stuck: int = 38,
    missing: Missing | None = None,
    beside: tuple[Row, ...] = (),
    cluster: tuple[Row, ...] = (),
    **more: Any,
) -> Diagnosis:
    """The Diagnosis while 38 sessions hang for 671 s, and the result of the look for blockers."""
    later = snapshot(SECONDS, db_time=650, look=waiters(stuck, 671, **more) if stuck else ())
    reading = missing or Rows("row_cache_blockers", rows)
    others = {"library_cache_waiters": Rows("library_cache_waiters", beside)} if beside else {}
    others |= {"gv$ges_blocking_enqueue": Rows("gv$ges_blocking_enqueue", cluster)} if cluster else {}
    readings: Mapping[str, Any] = {**later.readings, "row_cache_blockers": reading, **others}
    return judged(snapshot(0, db_time=0), type(later)(later.database, later.taken_at, readings))


def blockers(got: Diagnosis) -> Blockers:
    assert got.blockers is not None
    return got.blockers


def only(got: Diagnosis) -> Blocker:
    (blocker,) = blockers(got).blockers
    return blocker


def walk(got: Diagnosis) -> str:
    return next((step.statement for step in got.steps if step.step == "blocker"), "")


def test_blocker_is_told_with_its_entry_its_age_and_what_it_waits_for() -> None:
    got = found(HOLDER)
    blocker = only(got)
    assert (blocker.sid, blocker.serial, blocker.instance, blocker.background) == (312, 48211, 2, False)
    assert (blocker.mode, blocker.waiters, blocker.held_at_least_seconds) == ("exclusive", 38, 671.0)
    behind = {
        "blocking_session": 312,
        "blocking_instance": 2,
        "final_blocking_session": 312,
        "final_blocking_instance": 2,
    }
    assert only(found({**HOLDER, "waiters": 1}, **behind)).waiters == 38, "the view shows one of them"
    assert walk(got).startswith(
        "38 sessions wait behind session 312,48211 on instance 2. Session 312,48211 on instance 2 (foreground, DEPLOY, "
        "sqlplus@build7, release 4.2, SQL 5ms6rbzdnq16t), holds ORDERS of user number 93 in dc_objects exclusively for at "
        "least 11 minutes; itself waits for db file sequential read, for 3 seconds. Seen at 09:00:15 UTC. "
        "The one action"
    )
    assert (
        "The entry is ORDERS of user number 93 (key 5D00000006004F5244455253; raw bytes read as a public script for dc_objects "
        "does, not documented by Oracle: owner in four bytes, length of the name in 2, the name). To confirm it after the hang: "
        "select owner"
    ) in walk(got)


def test_entry_that_cannot_be_read_is_told_raw_with_what_is_readable_in_it() -> None:
    got = found({**HOLDER, "key": "5D000000010006004F5244455253"})
    assert (only(got).object, only(got).object_query) == (None, None)
    assert (
        "The key of the entry is 5D000000010006004F5244455253; readable in it: ORDERS. It stays raw: it does not fit"
        in walk(got)
    )


def test_kill_command_of_a_foreground_session_comes_with_its_risk() -> None:
    got = found(HOLDER)
    blocker = only(got)
    assert blocker.kill == "alter system kill session '312,48211,@2' immediate"
    assert blocker.kill_risk is not None and "rolled back" in blocker.kill_risk
    assert "; first collect a hanganalyze" in blocker.kill_risk
    assert blocker.kill not in walk(got) and "with the check that comes before it" in walk(got)


@pytest.mark.parametrize("program", ["oracle@db1 (LCK0)", "oracle@db1 (SMON)", "oracle@db1 (MMON)", None])
def test_kill_command_is_never_given_for_a_background_process(program: str | None) -> None:
    got = found({**HOLDER, "type": "BACKGROUND", "program": program, "username": None})
    blocker = only(got)
    assert (blocker.kill, blocker.kill_risk) == (None, None)
    assert blocker.no_kill is not None and blocker.no_kill.startswith(f"never kill {process(program)}: ")
    assert "alter system" not in walk(got) and "Never kill" in walk(got)


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("oracle@db1 (LCK0)", "the holder is a session behind it"),
        ("oracle@db1 (LMS1)", "carries the locks of the cluster"),
        ("oracle@db1 (SMON)", "starts over after a restart"),
        ("oracle@db1 (MMON)", "Oracle restarts it"),
        ("oracle@db1 (M000)", "ask Oracle Support"),
        ("oracle@db1 (CKPT)", "the instance may end with it"),
    ],
)
def test_background_process_is_named_with_the_reason_to_leave_it_alone(program: str, why: str) -> None:
    blocker = only(found({**HOLDER, "type": "BACKGROUND", "program": program}))
    assert blocker.no_kill is not None and why in blocker.no_kill


REMOTE: Row = {**dict.fromkeys(("cache#", "key", "cache_name", "waiters", "lock_mode")), "type": "USER", "serial#": 9}


def test_holder_on_another_instance_is_told_with_its_serial_number_and_its_mode_is_asked_for_there() -> None:
    """gv$session shows the session. In which mode it holds the entry, only v$rowcache_parent of its own instance shows."""
    row = {**REMOTE, "sid": 55, "instance": 3, "program": "JDBC", "state": "WAITED KNOWN TIME", "status": "ACTIVE"}
    got = found(row, final_blocking_session=55, final_blocking_instance=3)
    blocker = only(got)
    assert (blocker.sid, blocker.serial, blocker.waiters, blocker.held_at_least_seconds) == (55, 9, 38, None)
    assert blocker.kill is None
    missing, cluster = blockers(got).chains[0].missing
    assert cluster.query is not None and "gv$ges_blocking_enqueue" in cluster.query
    assert "the mode in which it holds" in missing.fact and missing.instance == 3
    assert missing.query is not None and "v$rowcache_parent" in missing.query and "s.sid = 55" in missing.query


LOCK = {"resource_name1": "[0x1f][0xbeef],[QI][ext 0x0,0x0]", "instance": 3, "owner_node": 2, "grant_level": "KJUSEREX"}
LCK0: Row = {
    **HOLDER,
    "key": "5D",
    "instance": 1,
    "sid": 20,
    "type": "BACKGROUND",
    "program": "oracle@db1 (LCK0)",
    "event": "rdbms ipc message",
    "inst_lock_request": 3,
    "inst_lock_type": "QI",
    "inst_lock_id1": "0000001F",
    "inst_lock_id2": "0000BEEF",
}
BEHIND: Row = {**REMOTE, "instance": 3, "sid": 70, "state": "WAITING", "event": "enq: TX - row lock contention"}


@pytest.mark.parametrize(
    ("lock", "asked", "beside", "mode"),
    [
        ((LOCK, {**LOCK, "instance": 2}), {}, (), "exclusive"),
        ((LOCK,), {"inst_lock_id1": "1F000000", "inst_lock_id2": "EFBE0000"}, (), "exclusive"),
        ((LOCK,), {}, (BEHIND,), "exclusive"),
        (({**LOCK, "grant_level": "KJUSERPR"},), {}, (), "share"),
        ((LOCK, {**LOCK, "grant_level": "KJUSERCW"}), {}, (), "unknown"),
        ((LOCK, {**LOCK, "owner_node": 1}), {}, (), "unknown"),
        (({**LOCK, "owner_node": 1},), {}, (), "unknown"),
        (({**LOCK, "resource_name1": "[0x1f][0xbeef],[QN]"},), {}, (), "unknown"),
        ((LOCK,), {"inst_lock_request": 0}, (), "unknown"),
        ((LOCK,), {}, ({**LCK0, "key": "5E"},), "unknown"),
        ((LOCK,), {}, ({**BEHIND, "blocking_instance": 3, "blocking_session": 55},), "unknown"),
        ((), {}, (), "unknown"),
    ],
)
def test_holder_on_another_instance_has_its_mode_by_the_lock_between_instances(
    lock: tuple[Row, ...], asked: Row, beside: tuple[Row, ...], mode: str
) -> None:
    row = {**REMOTE, "sid": 55, "instance": 3, "program": "JDBC", "state": "WAITED KNOWN TIME", "status": "ACTIVE"}
    via = {"blocking_instance": 1, "blocking_session": 20, "final_blocking_instance": 3, "final_blocking_session": 55}
    chain = blockers(found({**LCK0, **asked}, row, *beside, cluster=lock, **via)).chains[0]
    assert chain.end is not None and (chain.end.sid, chain.end.holds) == (55, mode)
    assert [each.sid for each in chain.direct] == [100] and chain.direct[0].cache == "dc_objects"
    if mode != "exclusive":
        assert chain.action is None
        return
    assert chain.action is not None and chain.action.command == "alter system kill session '55,9,@3' immediate"
    assert "rawtohex(p.key) = '5D'" in chain.action.check and "session 55,9 on instance 3" in chain.action.still
    assert "gv$ges_blocking_enqueue" in chain.end.sources


def test_instance_that_keeps_the_others_out_is_named_where_nobody_names_its_session() -> None:
    chain = blockers(found(LCK0, cluster=(LOCK,), blocking_session=20, blocking_instance=1)).chains[0]
    (missing,) = chain.missing
    assert (chain.end and chain.end.name, missing.instance) == ("LCK0", 3) and "'5D'" in (missing.query or "")


def test_session_of_the_same_sid_on_another_instance_is_a_stranger() -> None:
    """Both stay, the sources are said to disagree, and nobody is told to end either."""
    got = found({**HOLDER, "instance": 1}, final_blocking_session=312, final_blocking_instance=3)
    assert [(one.sid, one.instance, one.kill) for one in blockers(got).blockers] == [(312, 1, None), (312, 3, None)]
    assert all(chain.action is None and chain.disagreements for chain in blockers(got).chains)
    assert blockers(got).blockers[1].look_up == (
        "on instance 3: select sid, serial#, type, program, username, status, state, event, blocking_instance, blocking_session "
        "from v$session where sid = 312"
    )


def test_holder_here_and_one_elsewhere_are_both_told() -> None:
    both = found(
        {**HOLDER, "instance": 1},
        blocking_session=312,
        blocking_instance=1,
        final_blocking_session=55,
        final_blocking_instance=3,
    )
    assert [(one.sid, one.instance) for one in blockers(both).blockers] == [(312, 1), (55, 3)]


def test_waiters_of_the_library_cache_stand_beside_the_blockers() -> None:
    row: Row = {
        "event": "library cache lock",
        "p3": 79 << 16 | 2,
        "blocking_session": 640,
        "final_blocking_session": 312,
        "final_blocking_instance": 1,
        "sessions": 12,
        "wait_time_micro": 40_000_000,
    }
    (told,) = blockers(found(HOLDER, beside=(row,))).library_cache
    assert (told.sessions, told.longest_seconds, told.type) == (12, 40.0, 79)
    assert (told.sid, told.instance, told.final_sid, told.final_instance) == (640, None, 312, 1)


@pytest.mark.parametrize("lacking", ["sid", "serial#", "type"])
def test_kill_command_needs_a_session_that_is_known_for_certain(lacking: str) -> None:
    blocker = only(found({**HOLDER, lacking: None}))
    assert blocker.kill is None and blocker.no_kill


def test_blocker_without_a_look_is_what_the_waiters_name() -> None:
    """The end of a chain is not said to hold the entry: nobody showed that it does."""
    refused = Missing("row_cache_blockers", "refused", "ORA-00942", "grant select on sys.v_$rowcache_parent to <user>;")
    got = found(missing=refused, final_blocking_session=55, final_blocking_instance=3)
    blocker = only(got)
    assert (blocker.sid, blocker.instance, blocker.serial, blocker.background, blocker.kill) == (
        55,
        3,
        None,
        None,
        None,
    )
    assert (blocker.cache, blocker.held_at_least_seconds) == (None, None)
    assert blockers(got).unknown == f"ORA-00942; {refused.way_out}"
    assert "38 sessions wait behind session 55 on instance 3." in walk(got)
    assert "holds an entry" not in walk(got)
    assert "whether it is a foreground session, a parallel slave, a job or a background process" in walk(got)


def test_blocker_that_no_view_shows_is_said_to_be_unknown() -> None:
    got = found()
    assert blockers(got).blockers == ()
    assert "it may be on another instance" in walk(got)


def test_holder_that_the_waiters_do_not_name_is_kept_without_a_command() -> None:
    """The look is older than the poll, and Oracle often names a wrong blocker for this lock: neither source is believed."""
    got = found(HOLDER, final_blocking_session=77, blocking_session=76)
    assert {one.sid for one in blockers(got).blockers} == {312, 77}
    assert [one.kill for one in blockers(got).blockers] == [None, None]
    assert "The sources disagree" in walk(got)
    assert "alter system" not in walk(got)


def test_middle_of_a_chain_has_no_command() -> None:
    """40 sessions name 200 as blocker and 300 as final blocker, and 200 waits for an enqueue."""
    middle = {**HOLDER, "sid": 200, "serial#": 77, "instance": 1, "event": "enq: TM - contention"}
    named = {
        "blocking_session": 200,
        "blocking_instance": 1,
        "final_blocking_session": 300,
        "final_blocking_instance": 1,
    }
    got = found(middle, **named)
    assert [(one.sid, one.kill) for one in blockers(got).blockers] == [(200, None), (300, None)]
    (chain,) = blockers(got).chains
    assert chain.end is not None and (chain.end.sid, chain.end.holds) == (300, "unknown")
    assert [(each.sid, each.behind, each.alike) for each in chain.waiters] == [(200, "300@1", 1), (100, "200@1", 38)]
    assert "alter system" not in walk(got) and "on instance 1" in walk(got)


def test_share_holders_have_no_command_and_no_age() -> None:
    programs = {201: "oracle@db1 (P003)", 202: "oracle@db1 (J004)", 203: "sqlplus"}
    rows = [
        {**HOLDER, "sid": sid, "instance": 1, "lock_mode": 3, "program": program} for sid, program in programs.items()
    ]
    got = found(*rows)
    assert [(one.mode, one.held_at_least_seconds, one.kill) for one in blockers(got).blockers] == [
        ("share", None, None)
    ] * 3
    assert "since when is unknown" in walk(got) and "for at least" not in walk(got)


def test_sid_of_this_instance_is_not_blamed_for_a_blocker_on_another() -> None:
    here = {**HOLDER, "instance": 1}
    other = found(here, final_blocking_session=312, final_blocking_instance=2)
    assert [one.kill for one in blockers(other).blockers] == [None, None]
    own = only(found(here, final_blocking_session=312, final_blocking_instance=1))
    assert (own.sid, own.instance, own.kill) == (312, 1, "alter system kill session '312,48211,@1' immediate")


def test_entry_of_a_cache_without_a_name_is_told_by_its_id() -> None:
    nameless = found({**HOLDER, "cache#": 37, "cache_name": None})
    blocker = only(nameless)
    assert blocker.cache == "cache id 37, not listed in v$rowcache"
    assert blocker.kill is not None, "v$rowcache_parent itself counts 38 that ask for what it holds exclusively"


def test_blocker_is_no_matter_once_nobody_hangs() -> None:
    got = found(HOLDER, stuck=0)
    assert (got.blockers, walk(got)) == (None, "")


@pytest.mark.parametrize(
    ("key", "text"),
    [("5D000000010006004F5244455253", "ORDERS"), ("0000000A", None), ("414243", None), ("not hex", None), (None, None)],
)
def test_readable_gives_the_characters_of_a_key_and_decodes_nothing(key: str | None, text: str | None) -> None:
    assert readable(key) == text


@pytest.mark.parametrize(
    ("program", "name"),
    [("oracle@db1 (LCK0)", "LCK0"), ("oracle@db1 (TNS V1-V3)", "a background process"), (None, "a background process")],
)
def test_process_is_named_as_its_program_ends(program: str | None, name: str) -> None:
    assert process(program) == name
