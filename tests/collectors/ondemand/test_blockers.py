"""The look for blockers: a few bounded statements that find the holder of a hang, each view read only where it is called for."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from collectors.errors import Cancelled, SessionError, StatementError, ViewRefused
from collectors.model import Missing, Row, Rows
from collectors.ondemand import blockers
from collectors.ondemand.blockers import (
    COORDINATOR,
    ELSEWHERE,
    JOBS,
    JOBS_OF_MANY,
    LIBRARY_CACHE,
    LOCKS,
    NOBODY,
    ORACLES,
    SAMPLES,
    SESSIONS,
    SLAVES,
    UNDO,
    VIEW,
    VIEWS,
    look_at_chains,
    look_for_blockers,
    looks,
    not_looked,
    of_look,
    warm_up,
)
from collectors.registry import collectors
from tests.collectors.scripted import Asked, one_row, poll_at

HELD: Row = {"cache#": 8, "sid": 312}


def test_look_is_a_few_marked_statements_with_row_limits() -> None:
    asked = Asked(other=one_row(HELD))
    assert look_for_blockers(asked, "19.0.0.0.0")[VIEW] == Rows(VIEW, (HELD,))
    assert asked.asked == [*VIEWS, SESSIONS, UNDO], "no other instance is queried, and nothing that needs a setting"
    for view, (sql, _) in zip(asked.asked, asked.sent, strict=True):
        assert f"/* latchscope {view} */" in sql and of_look(sql) and ("rownum <=" in sql or "from dual" in sql)


@pytest.mark.parametrize(
    ("error", "kind", "why", "way_out"),
    [
        (ViewRefused("ORA-00942"), "refused", "ORA-00942", "grant select on sys.v_$rowcache_parent to <user>;"),
        (StatementError("ORA-01013"), "failed", "ORA-01013", "the polls go on"),
        (Cancelled("DPY-4024; cancelled"), "failed", "hit its deadline and was ended: DPY-4024", "docs/emergency.md"),
    ],
)
def test_look_that_gives_nothing_says_why_and_how_to_go_on(error: Exception, kind: str, why: str, way_out: str) -> None:
    found = look_for_blockers(Asked(other=error), "11.2.0.4.0")[VIEW]
    assert isinstance(found, Missing) and found.kind == kind and why in found.why and way_out in found.way_out


def test_look_that_loses_its_session_raises() -> None:
    with pytest.raises(SessionError):
        look_for_blockers(Asked(other=SessionError("ORA-03113")), "11.2.0.4.0")


def test_look_is_never_a_part_of_a_poll() -> None:
    assert all(collectors()[view].on_request for view in VIEWS)
    assert {reading.kind for reading in not_looked().values() if isinstance(reading, Missing)} == {"not_asked"}
    assert set(not_looked()) >= {VIEW, LIBRARY_CACHE, SESSIONS, "v$wait_chains"}


def test_look_asks_for_a_session_of_another_instance_by_its_name_and_for_two_at_most() -> None:
    asked = Asked({ELSEWHERE: lambda binds: one_row({**binds, "serial#": 9})}, one_row(HELD))
    held = look_for_blockers(asked, "19.0.0.0.0", [(2, 55), (3, 66), (4, 77)])[VIEW]
    assert isinstance(held, Rows)
    assert [(row.get("instance"), row["sid"], row.get("serial#")) for row in held.rows[1:]] == [(2, 55, 9), (3, 66, 9)]
    assert asked.asked.count(ELSEWHERE) == 2 and of_look(ELSEWHERE)


@pytest.mark.parametrize(
    ("error", "cure"),
    [(ViewRefused("ORA-00942"), "grant read on sys.gv_$session to <user>;"), (Cancelled("DPY-4024"), "DPY-4024")],
)
def test_look_that_may_not_ask_other_instances_keeps_what_it_found_and_says_so(error: Exception, cure: str) -> None:
    asked = Asked({ELSEWHERE: error}, one_row(HELD))
    held = look_for_blockers(asked, "19.0.0.0.0", [(2, 55), (3, 66)])[VIEW]
    assert isinstance(held, Rows) and len(held.rows) == 1
    (note,) = held.notes
    assert note.startswith("session 55 of instance 2 is known by its SID alone") and cure in note
    assert asked.asked.count(ELSEWHERE) == 1, "a view that failed once is not read again"


# What else is read, by what the sessions met do.


def met(program: str = "sqlplus", event: str | None = None) -> Asked:
    """A session of an instance with one blocker."""
    answers: Mapping[str, Row] = {
        SESSIONS: {"instance": 1, "sid": 312, "program": program, "event": event},
        SLAVES: {"sid": 312, "serial#": 5, "qcsid": 90, "qcserial#": 7, "qcinst_id": 1},
    }
    of_coordinator = {COORDINATOR: lambda binds: one_row({"instance": 1, "sid": binds["sid"]})}
    return Asked({view: one_row(row) for view, row in answers.items()} | of_coordinator, one_row({"sid": 0}))


@pytest.mark.parametrize(
    ("program", "event", "view"),
    [
        ("oracle@db1 (P003)", None, SLAVES),
        ("oracle@db1 (J004)", None, JOBS),
        ("sqlplus", "enq: TM - contention", LOCKS),
    ],
)
def test_view_is_read_only_if_a_blocker_calls_for_it(program: str, event: str | None, view: str) -> None:
    asked, plain = met(program, event), met()
    assert isinstance(look_at_chains(asked, "19.0.0.0.0")[view], Rows)
    assert isinstance(look_at_chains(plain, "19.0.0.0.0")[view], Missing)
    assert set(asked.asked) > set(plain.asked) and UNDO in plain.asked


def test_name_of_a_job_is_not_looked_up_in_many_containers() -> None:
    asked = met("oracle@db1 (J004)")
    assert look_for_blockers(asked, "19.0.0.0.0", instead=JOBS_OF_MANY)[JOBS] is JOBS_OF_MANY[JOBS]
    assert JOBS not in asked.asked


def test_coordinator_of_a_slave_is_read_by_its_number() -> None:
    sessions = look_at_chains(met("oracle@db1 (P003)"), "19.0.0.0.0")[SESSIONS]
    assert isinstance(sessions, Rows) and [row["sid"] for row in sessions.rows] == [312, 90]


def test_oracles_own_analysis_is_read_only_if_the_setting_is_on() -> None:
    off, on = met(), met()
    missing = look_at_chains(off, "19.0.0.0.0")["v$wait_chains"]
    assert isinstance(missing, Missing) and "defaults.wait_chains" in missing.why
    look_at_chains(on, "19.0.0.0.0", wait_chains=True)
    assert set(on.asked) - set(off.asked) == set(ORACLES)
    assert set(ORACLES) <= {view for view, _, _ in looks(poll_at("healthy-19c", 30.0), wait_chains=True)}


# What runs once while nobody hangs.


def test_every_look_of_a_hang_runs_once() -> None:
    asked = Asked()
    assert warm_up(asked, poll_at("healthy-19c", 30.0)) == {}
    tree = [view for view in blockers.CHAIN_VIEWS if view not in (*ORACLES, blockers.CLUSTER)]
    assert asked.asked == [VIEW, LIBRARY_CACHE, *tree, SAMPLES]


def test_other_instances_are_asked_for_a_session_that_does_not_exist() -> None:
    snapshot = poll_at("healthy-19c", 30.0)
    instance = Rows("v$instance", ({**snapshot.instance, "parallel": "YES"},))
    *views, last = looks(replace(snapshot, readings={**snapshot.readings, "v$instance": instance}))
    assert blockers.CLUSTER in [view for view, _, _ in views] and last == ("gv$session", ELSEWHERE, NOBODY)


def test_look_whose_view_is_refused_is_left_out() -> None:
    snapshot = poll_at("healthy-19c", 30.0, ("waiting_sessions",))
    left = [VIEW, SLAVES, JOBS, LOCKS, UNDO, "v$dead_cleanup", "v$cleanup_process"]
    assert [view for view, _, _ in looks(snapshot)] == left, "each has a grant of its own"


def test_refused_look_is_not_cold_and_the_others_run() -> None:
    asked = Asked({VIEW: ViewRefused("ORA-00942")})
    assert warm_up(asked, poll_at("healthy-19c", 30.0)) == {} and len(asked.sent) == 3 + 7


def test_look_that_hits_its_deadline_is_cold_and_the_others_do_not_run() -> None:
    asked = Asked({VIEW: Cancelled("DPY-4024")})
    cold = warm_up(asked, poll_at("healthy-19c", 30.0))
    assert asked.asked == [VIEW] and set(cold) == {VIEW} and "cold" in cold[VIEW].why and "DPY-4024" in cold[VIEW].why
    with pytest.raises(SessionError):
        warm_up(Asked({VIEW: SessionError("ORA-03113")}), poll_at("healthy-19c", 30.0))
