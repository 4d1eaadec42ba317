"""The blocker of hanging sessions: what the diagnosis shows, what it does not decode, and when it gives no command to end a
session.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from collectors.model import Missing, Row, Rows
from rules.hangs.blockers import readable
from rules.hangs.graph import process
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
    views: Mapping[str, tuple[Row, ...]] = {},
    **more: Any,
) -> Diagnosis:
    """The Diagnosis while 38 sessions hang for 671 s, with the result of the look for blockers, and rows of other views."""
    first, later = (
        snapshot(0, db_time=0),
        snapshot(SECONDS, db_time=650, look=waiters(stuck, 671, **more) if stuck else ()),
    )
    beside = {view: Rows(view, seen) for view, seen in views.items()}
    holders = {"row_cache_blockers": missing or Rows("row_cache_blockers", rows)}
    return judged(
        replace(first, readings={**first.readings, **beside}),
        replace(later, readings={**later.readings, **holders, **beside}),
    )


def blockers(got: Diagnosis) -> Blockers:
    assert got.blockers is not None
    return got.blockers


def only(got: Diagnosis) -> Blocker:
    (blocker,) = blockers(got).blockers
    return blocker


REMOTE: Row = {**dict.fromkeys(("cache#", "key", "cache_name", "waiters", "lock_mode")), "type": "USER", "serial#": 9}


ENQUEUES = "gv$ges_blocking_enqueue"
LOCK: Row = {
    "resource_name1": "[0x1f][0xbeef],[QI][ext 0x0,0x0]",
    "instance": 3,
    "owner_node": 2,
    "grant_level": "KJUSEREX",
}
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
    chain = blockers(found({**LCK0, **asked}, row, *beside, views={ENQUEUES: lock}, **via)).chains[0]
    assert chain.end is not None and (chain.end.sid, chain.end.holds) == (55, mode)
    assert [each.sid for each in chain.direct] == [100] and chain.direct[0].cache == "dc_objects"
    if mode != "exclusive":
        assert chain.action is None
        return
    assert chain.action is not None and chain.action.command == "alter system kill session '55,9,@3' immediate"
    assert "rawtohex(p.key) = '5D'" in chain.action.check and "session 55,9 on instance 3" in chain.action.still
    assert "gv$ges_blocking_enqueue" in chain.end.sources


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
