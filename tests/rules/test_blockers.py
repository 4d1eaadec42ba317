"""The blocker of hanging sessions: what the diagnosis shows, what it does not decode, and when it gives no command to end a
session.
"""

from collections.abc import Mapping
from typing import Any

import pytest

from collectors.model import Missing, Row, Rows
from rules.blockers import process, readable
from rules.hang_model import Blocker, Blockers
from rules.model import Diagnosis
from tests.each import each
from tests.rules.test_hangs import SECONDS, judged, snapshot, waiters

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
    "state": "WAITING",
    "event": "db file sequential read",
    "wait_time_micro": 3_000_000,
}


def found(
    *rows: Row, stuck: int = 38, missing: Missing | None = None, beside: tuple[Row, ...] = (), **more: Any
) -> Diagnosis:
    """The Diagnosis while 38 sessions hang for 671 s, and the result of the look for blockers."""
    later = snapshot(SECONDS, db_time=650, look=waiters(stuck, 671, **more) if stuck else ())
    reading = missing or Rows("row_cache_blockers", rows)
    others = {"library_cache_waiters": Rows("library_cache_waiters", beside)} if beside else {}
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
    assert walk(got).startswith(
        "Session 312,48211 on instance 2 (DEPLOY, sqlplus@build7, release 4.2, SQL 5ms6rbzdnq16t) holds an entry of dc_objects "
        "in exclusive mode for at least 11 minutes; 38 wait for it. The entry is ORDERS of user number 93 (key "
        "5D00000006004F5244455253; raw bytes read as a public script for dc_objects does, not documented by Oracle: owner in "
        "four bytes, length of the name in 2, the name). To confirm it: select owner, object_name, object_type from dba_objects "
        "where object_name = 'ORDERS' and owner = (select username from dba_users where user_id = 93) and rownum <= 20. "
        "It waits for db file sequential read itself, for 3 seconds."
    )


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
    assert f"Should it have to be ended: {blocker.kill}; risk: {blocker.kill_risk}." in walk(got)


@each("program", ["oracle@db1 (LCK0)", "oracle@db1 (SMON)", "oracle@db1 (MMON)", None])
def test_kill_command_is_never_given_for_a_background_process(program: str | None) -> None:
    got = found({**HOLDER, "type": "BACKGROUND", "program": program, "username": None})
    blocker = only(got)
    assert (blocker.kill, blocker.kill_risk) == (None, None)
    assert blocker.no_kill is not None and blocker.no_kill.startswith(f"never kill {process(program)}: ")
    assert "alter system" not in walk(got) and "never kill" in walk(got)


@each(
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


def test_holder_on_another_instance_is_told_with_its_serial_number() -> None:
    """gv$session shows the session, and its waiters show what it holds."""
    row = {**REMOTE, "sid": 55, "instance": 3, "program": "JDBC"}
    blocker = only(found(row, final_blocking_session=55, final_blocking_instance=3))
    assert (blocker.cache, blocker.waiters, blocker.held_at_least_seconds) == ("dc_objects", 38, 671.0)
    assert blocker.kill == "alter system kill session '55,9,@3' immediate"


def test_session_of_the_same_sid_on_another_instance_is_a_stranger() -> None:
    got = found({**HOLDER, "instance": 1}, final_blocking_session=312, final_blocking_instance=3)
    blocker = only(got)
    assert (blocker.sid, blocker.instance, blocker.serial, blocker.kill) == (312, 3, None, None)
    assert blocker.look_up is not None and blocker.look_up.startswith("on instance 3: select sid, serial#")


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
    assert blockers(got).unknown == f"ORA-00942; {refused.way_out}"
    assert "Session 55 on instance 3 holds an entry of dc_objects for at least 11 minutes" in walk(got)
    assert "whether it is a background process is not known" in walk(got)


def test_blocker_that_no_view_shows_is_said_to_be_unknown() -> None:
    got = found()
    assert blockers(got).blockers == ()
    assert "it may be on another instance" in walk(got)


def test_blocker_that_nobody_waits_for_any_more_is_not_told_as_one() -> None:
    """The look is older than the poll: a command to kill a session that no longer holds the entry would end other work."""
    blocker = only(found(HOLDER, final_blocking_session=77, blocking_session=76))
    assert (blocker.sid, blocker.kill) == (77, None)
    chained = only(found(HOLDER, final_blocking_session=77, blocking_session=312))
    assert (chained.sid, chained.kill) == (312, "alter system kill session '312,48211,@2' immediate")


def test_sid_of_this_instance_is_not_blamed_for_a_blocker_on_another() -> None:
    here = {**HOLDER, "instance": 1}
    other = only(found(here, final_blocking_session=312, final_blocking_instance=2))
    assert (other.sid, other.instance, other.serial, other.kill) == (312, 2, None, None)
    own = only(found(here, final_blocking_session=312, final_blocking_instance=1))
    assert (own.sid, own.instance, own.kill) == (312, 1, "alter system kill session '312,48211,@1' immediate")


def test_entry_of_a_cache_without_a_name_is_told_by_its_id() -> None:
    nameless = found({**HOLDER, "cache#": 37, "cache_name": None})
    blocker = only(nameless)
    assert blocker.cache == "cache id 37, not listed in v$rowcache"
    assert "holds an entry of cache id 37, not listed in v$rowcache, in exclusive mode" in walk(nameless)


def test_blocker_is_no_matter_once_nobody_hangs() -> None:
    got = found(HOLDER, stuck=0)
    assert (got.blockers, walk(got)) == (None, "")


@each(
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
