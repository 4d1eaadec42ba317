"""Constructed hangs and the right answer of each: the captures of tests/data/hangs-4, and small edits of one of them."""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from collectors.capture import Capture, delta_of, load
from collectors.model import Rows, Snapshot
from rules.engine import diagnose
from rules.hangs.model import Blockers, WaitChain
from rules.hangs.words import entry_of, in_one_sentence, queries, tree
from tests.paths import DATA, HANG

HOME = DATA / "hangs-4"
KILL = "alter system kill session '300,5511,@1' immediate"
CANCEL = "alter system cancel sql '300, 5511, @1'"
STOP = "begin dbms_scheduler.stop_job(job_name => 'APP.NIGHTLY'); end;"
RDS_KILL = "begin rdsadmin.rdsadmin_util.kill(sid => 300, serial => 5511, method => 'IMMEDIATE'); end;"


class Case(NamedTuple):
    """What differs from examples/hang.json, and the right answer: the commands in their order, and what has to be said."""

    holder: Mapping[str, Any]
    said: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    views: Mapping[str, tuple[Mapping[str, Any], ...]] = {}
    release: str = "19.21.0.0.0"


def waits(event: str, **more: Any) -> dict[str, Any]:
    return {"state": "WAITING", "event": event, "status": "ACTIVE", **more}


ON_CPU = {"state": "WAITED SHORT TIME", "event": "db file sequential read", "status": "ACTIVE"}
IDLE = {"state": "WAITING", "event": "SQL*Net message from client", "status": "INACTIVE", "sql_id": None}
RUNNING = {**ON_CPU, "sql_id": "5ms6rbzdnq16t"}
DISCONNECT = "alter system disconnect session '300,5511' immediate"
RDS_DISCONNECT = RDS_KILL.replace("kill", "disconnect")
UNDO = {"v$transaction": ({"sid": 300, "serial#": 5511, "used_ublk": 3},)}
SLAVE = {**ON_CPU, "program": "oracle@db1 (P003)"}
KILL_400, DISCONNECT_400 = (text.replace("300,5511", "400,77") for text in (KILL, DISCONNECT))


def coordinator(slave: int = 5511, **more: Any) -> dict[str, tuple[Mapping[str, Any], ...]]:
    """The views that show session 400,77 as the coordinator of the slave 300."""
    row = {"instance": 1, "sid": 400, "serial#": 77, "type": "USER", "program": "JDBC", "status": "INACTIVE", **more}
    ids = {"sid": 300, "serial#": slave, "qcsid": 400, "qcserial#": 77, "qcinst_id": 1}
    return {"v$px_session": (ids,), "chain_sessions": (row,)}


CASES: dict[str, Case] = {
    # States of the holder.
    "K01 killed, rolls back": Case(
        {**ON_CPU, "status": "KILLED"},
        ("rolls back 180,000 undo blocks", "no second kill", "t.used_ublk", "v$fast_start_transactions"),
        views={"v$transaction": ({"sid": 300, "serial#": 5511, "used_ublk": 180_000},)},
    ),
    "K02 killed, idle": Case(
        {**IDLE, "status": "KILLED"},
        ("killed already and has nothing to roll back", "has not noticed"),
        views={"v$transaction": ()},
    ),
    "killed, clean-up pending": Case(
        {**IDLE, "status": "KILLED", "saddr": "000000007A1B"},
        ("KILLED SESSION, CLEANUP PENDING, after 4 attempts", "38 sessions are blocked by that", "PMON cleans up"),
        views={
            "v$dead_cleanup": (
                {
                    "type": "KILLED SESSION",
                    "saddr": "000000007A1B",
                    "state": "CLEANUP PENDING",
                    "cleanup_attempts": 4,
                    "num_blocked": 38,
                },
            ),
            "v$cleanup_process": ({"name": "PMON", "state": "BUSY", "cleanup_time": 12},),
        },
    ),
    "K11 sniped": Case({**IDLE, "status": "SNIPED"}, ("its status is SNIPED",), (KILL, DISCONNECT)),
    "K46 cached (XA)": Case({**IDLE, "status": "CACHED"}, ("transaction manager", "v$global_transaction")),
    "K12 datapatch": Case({**RUNNING, "username": "SYS", "module": "datapatch"}, ("datapatch", "stays INVALID")),
    "K12 catupgrd": Case(
        {**RUNNING, "username": "SYS", "program": "sqlplus@db1", "module": "catupgrd.sql"}, ("INVALID",)
    ),
    "K40 latchscope itself": Case({**RUNNING, "module": "latchscope"}, ("session of latchscope itself",)),
    "K31 branch of another database": Case(
        {**IDLE, "program": "oracle@otherdb (TNS V1-V3)"},
        ("session of another database", "v$global_transaction", "ORA-01591"),
    ),
    # What it waits for.
    "K05 rdbms ipc reply": Case(waits("rdbms ipc reply"), ("CKPT, DBWn or LGWR", "p.pid = w.p1")),
    "K06 SGA": Case(waits("SGA: allocation forcing component growth"), ("MMAN", "v$sga_resize_ops")),
    "K07 archiver": Case(waits("log file switch (archiving needed)"), ("ARCn", "v$recovery_file_dest")),
    "K08 dblink": Case(waits("SQL*Net message from dblink"), ("session of another database", "ORA-00031")),
    "K09 in doubt": Case(waits("enq: TX - contention"), ("in doubt", "rollback force", "after the hang")),
    "K10 suspended": Case(
        waits("statement suspended, wait error to be cleared"), ("lacks space", "once there is space")
    ),
    "K13 free buffer waits": Case(waits("free buffer waits"), ("DBWn", "storage")),
    "K14 reliable message": Case(waits("reliable message"), ("v$channel_waits",)),
    "K15 buffer latch": Case(waits("buffer latch"), ("holds that latch", "v$latchholder")),
    "K41 resource plan": Case(waits("resmgr:cpu quantum"), ("resource plan", "raise its group")),
    "K48 undo record": Case(waits("wait for a undo record"), ("slaves of SMON", "let it finish")),
    "K49 PX": Case(waits("PX Deq: Execute Reply"), ("parallel slaves", "p.qcsid = 300")),
    "K51 undo segment extension": Case(waits("undo segment extension"), ("SMON or SMCO",)),
    "K53 inactive branch": Case(waits("inactive transaction branch"), ("another branch", "v$global_transaction")),
    "K54 latch list": Case(waits("wait list latch free"), ("holds that latch",)),
    "K55 write complete": Case(waits("write complete waits"), ("DBWn",)),
    "K56 kksfbc": Case(waits("kksfbc child completion"), ("another session that parses",)),
    "K38 library cache lock": Case(waits("library cache lock"), ("the session that holds that object",)),
    "unknown event": Case(waits("kjbdrmcvtq lmon drm quiesce"), ("who it waits for is not known",)),
    "unknown event, NOT IN WAIT": Case(
        waits("kjbdrm", blocking_session_status="UNKNOWN"), ("who it waits for is not known",)
    ),
    "unknown event without holder": Case(
        waits("some new event", blocking_session_status="NO HOLDER"), (), (KILL, DISCONNECT)
    ),
    "awaited event without holder": Case(waits("rdbms ipc reply", blocking_session_status="NO HOLDER"), ("CKPT",)),
    # Processes that Oracle starts, and clients that are called so.
    "K03 LCK0": Case({**ON_CPU, "type": "BACKGROUND", "program": "oracle@db1 (LCK0)"}, ("Never kill LCK0",)),
    "K04 PMON": Case({**ON_CPU, "type": "BACKGROUND", "program": "oracle@db1 (PMON)"}, ("Never kill PMON",)),
    "K25 Windows": Case({**ON_CPU, "type": "BACKGROUND", "program": "ORACLE.EXE (LCK0)"}, ("Never kill LCK0",)),
    "K42 MMON slave": Case({**ON_CPU, "program": "oracle@db1 (M000)"}, ("M000, a process that Oracle starts",)),
    "K43 data pump": Case({**ON_CPU, "program": "oracle@db1 (DW00)"}, ("DW00, a process that Oracle starts",)),
    "K44 shared server": Case({**ON_CPU, "program": "oracle@db1 (S000)"}, ("S000, a process that Oracle starts",)),
    "K29 client (PROD)": Case({**RUNNING, "program": "billing (PROD)"}, ("foreground",), (CANCEL, KILL, DISCONNECT)),
    "K29b client (JAVA)": Case({**IDLE, "program": "app (JAVA)"}, ("foreground",), (KILL, DISCONNECT)),
    "K23 slave, coordinator unknown": Case({**ON_CPU, "program": "oracle@db1 (P003)"}, ("its coordinator",)),
    "slave, coordinator known": Case(SLAVE, ("P003",), (KILL_400, DISCONNECT_400), coordinator()),
    "slave, coordinator in a job": Case(SLAVE, ("its coordinator",), (), coordinator(program="oracle@db1 (J004)")),
    "slave, SID of the coordinator used again": Case(SLAVE, ("its coordinator",), (), coordinator(**{"serial#": 78})),
    "slave, SID of the slave used again": Case(SLAVE, ("its coordinator",), (), coordinator(slave=5512)),
    "job without a name": Case({**RUNNING, "program": "oracle@db1 (J004)"}, ("the name of the job",)),
    "K32 job": Case(
        {**RUNNING, "program": "oracle@db1 (J004)"},
        ("job APP.NIGHTLY",),
        (STOP, STOP.replace("'); end", "', force => true); end")),
        {"running_jobs": ({"owner": "APP", "job_name": "NIGHTLY", "session_id": 300, "running_instance": 1},)},
    ),
    # The milder command, the platform's form, and the risk by undo.
    "active, 19c": Case(RUNNING, ("(3 undo blocks: a moment)",), (CANCEL, KILL, DISCONNECT), UNDO),
    "active, 12.2": Case(RUNNING, (), (KILL, DISCONNECT), release="12.2.0.1.0"),
    "idle in a transaction": Case(IDLE, ("it is idle",), (KILL, DISCONNECT)),
    "sleeps": Case(waits("PL/SQL lock timer"), (), (KILL, DISCONNECT)),
    "much undo": Case(
        IDLE,
        ("which may take as long as the work did", "ask first whether it finishes sooner"),
        (KILL, DISCONNECT),
        {"v$transaction": ({"sid": 300, "serial#": 5511, "used_ublk": 180_000},)},
    ),
    "RDS, container": Case(
        {**IDLE},
        ("as the master user",),
        (RDS_KILL, RDS_DISCONNECT),
        {"sys_context": ({"db_unique_name": "ERP1", "cdb_name": "RDSCDB"},)},
    ),
    "K35 RDS without containers": Case(
        {**IDLE},
        ("as the master user",),
        (RDS_KILL, RDS_DISCONNECT),
        {"all_users": ({"username": "RDSADMIN"},)},
    ),
    "RDS, active": Case(
        RUNNING,
        (),
        (
            "begin rdsadmin.rdsadmin_util.cancel(sid => 300, serial => 5511, sql_id => '5ms6rbzdnq16t'); end;",
            RDS_KILL,
            RDS_DISCONNECT,
        ),
        {"sys_context": ({"db_unique_name": "ERP1", "cdb_name": "RDSCDB"},)},
    ),
    "Autonomous": Case(
        RUNNING, ("as ADMIN",), (KILL,), {"sys_context": ({"db_unique_name": "ERP1", "cloud_service": "OLTP"},)}
    ),
    # What is not known.
    "K30 share": Case({**ON_CPU, "lock_mode": 3}, ("It holds in share mode",)),
    "K17 serial number not known": Case({**ON_CPU, "serial#": None}, ("its serial number",)),
    "kind not known": Case({**ON_CPU, "type": None}, ("whether it is a foreground session",)),
    "K27 no session": Case(
        dict.fromkeys(("sid", "serial#", "type", "program", "username", "status", "state", "event"))
        | {"saddr": "000000007A1B"},
        ("saddr 000000007A1B", "a process that died", "x$ksuse", "v$dead_cleanup"),
    ),
}


def capture(name: str) -> Capture:
    return load((HOME / name).read_bytes(), name)


@cache
def base() -> tuple[Snapshot, Snapshot]:
    first, last = load(HANG.read_bytes(), HANG.name).snapshots
    return first, last


def judged(first: Snapshot, last: Snapshot) -> Blockers:
    got = diagnose(delta_of(Capture(last.database, (first, last), "")))  # type: ignore[arg-type]
    assert got.blockers is not None
    return got.blockers


def found(case: Case) -> Blockers:
    first, last = base()
    readings = dict(last.readings)
    (holder,) = last.rows("row_cache_blockers")
    readings["row_cache_blockers"] = Rows("row_cache_blockers", ({**holder, **case.holder},))
    if not case.holder.get("sid", 300):
        named = ("blocking_session", "blocking_instance", "final_blocking_session", "final_blocking_instance")
        unnamed = tuple({**row, **dict.fromkeys(named)} for row in last.rows("waiting_sessions"))
        readings["waiting_sessions"] = Rows("waiting_sessions", unnamed)
    for view, rows in case.views.items():
        readings[view] = Rows(view, rows)
    of_release = {"version": case.release, "version_full": case.release}
    readings["v$instance"] = Rows("v$instance", tuple({**row, **of_release} for row in last.rows("v$instance")))
    once = {view: readings[view] for view in ("v$instance", "sys_context") if view in readings}
    earlier = replace(first, readings={**first.readings, **once})
    return judged(earlier, replace(last, readings=readings))


def whole(chain: WaitChain, blockers: Blockers) -> str:
    """All that is said of a chain."""
    lines = [line.text for line in tree(chain, entry_of(chain, blockers))]
    where = list(chain.action.model_dump(exclude={"kind", "then"}).values()) if chain.action else []
    where += [
        text for each in (chain.action.then if chain.action else ()) for text in (each.when, each.command, each.risk)
    ]
    return " ".join(
        (in_one_sentence(chain, blockers), *lines, *filter(None, where), *(each.query or "" for each in queries(chain)))
    )


def given(chain: WaitChain) -> tuple[str, ...]:
    return () if chain.action is None else (chain.action.command, *(each.command for each in chain.action.then))


@pytest.mark.parametrize("name", CASES)
def test_case_has_its_right_answer(name: str) -> None:
    case = CASES[name]
    blockers = found(case)
    (chain,) = blockers.chains
    assert given(chain) == case.commands
    said = whole(chain, blockers)
    for words in case.said:
        assert words in said, said
    if chain.action is None:
        assert chain.why_no_action and "alter system" not in said and "rdsadmin_util" not in said
    else:
        assert chain.why_no_action is None and chain.age_seconds == 0.0 and chain.seen_at is not None
        assert "300" in chain.action.check and chain.action.command not in in_one_sentence(chain, blockers)
    printed = (chain.action.check, *case.commands) if chain.action else [each.query or "" for each in chain.missing]
    assert not [text for text in printed if re.search(r"\b(dba|cdb|all)_", text)], "the dictionary is what hangs"


def test_rollback_of_a_killed_session_has_its_rate_and_the_time_left() -> None:
    case = CASES["K01 killed, rolls back"]
    first, last = base()
    readings = {**last.readings, **{view: Rows(view, rows) for view, rows in case.views.items()}}
    (holder,) = last.rows("row_cache_blockers")
    readings["row_cache_blockers"] = Rows("row_cache_blockers", ({**holder, **case.holder},))
    undo = Rows("v$transaction", ({"sid": 300, "serial#": 5511, "used_ublk": 195_000},))
    earlier = replace(first, readings={**first.readings, "v$transaction": undo})
    why = judged(earlier, replace(last, readings=readings)).chains[0].why_no_action
    assert why is not None and "it rolled back 60,000 undo blocks a minute, so it needs about 3 minutes more" in why


@pytest.mark.parametrize(("age", "given_then"), [(59, (KILL, DISCONNECT)), (61, ())])
def test_command_is_given_for_a_minute_after_it_was_seen_that_the_session_holds(
    age: int, given_then: tuple[str, ...]
) -> None:
    first, last = base()
    (holder,) = last.rows("row_cache_blockers")
    assert last.taken_at is not None
    seen = Rows("row_cache_blockers", ({**holder, **IDLE},), read_at=last.taken_at - timedelta(seconds=age))
    (chain,) = judged(first, replace(last, readings={**last.readings, "row_cache_blockers": seen})).chains
    assert given(chain) == given_then
    assert chain.action or "it was last seen to hold that 61 seconds ago" in (chain.why_no_action or "")


RIGHT = {
    "K01": ("rolls back 180,000 undo blocks", "no second kill", "no restart of the instance"),
    "K22": ("session 300 on instance 2", "LCK0", "run on instance 2", "gv$ges_blocking_enqueue"),
    "K27": ("a process that died", "v$dead_cleanup", "s.saddr (+) = p.saddr"),
}


@pytest.mark.parametrize("path", sorted(HOME.glob("*.json")), ids=lambda path: path.stem)
def test_capture_has_its_right_answer_and_no_command(path: Path) -> None:
    got = diagnose(delta_of(capture(path.name)))  # type: ignore[arg-type]
    chains = got.blockers.chains if got.blockers else ()
    assert not [chain.action for chain in chains if chain.action]
    assert "alter system kill" not in json.dumps(got.model_dump(mode="json"))
    if words := RIGHT.get(path.stem[:3]):
        assert got.blockers is not None
        (chain,) = chains
        assert not chain.disagreements
        said = whole(chain, got.blockers)
        for each in words:
            assert each in said, said
