"""The looks beside that at v$rowcache_parent: each view is read only where the sessions met call for it."""

import pytest

from collectors.model import Binds, Missing, Row, Rows, Value
from collectors.ondemand.blockers import (
    COORDINATOR,
    JOBS,
    JOBS_OF_MANY,
    LOCKS,
    ORACLES,
    SESSIONS,
    SLAVES,
    UNDO,
    look_at_chains,
    look_for_blockers,
)
from collectors.poll import Answer
from collectors.registry import view_of


class Asked:
    """A connection with one blocker, whose program and event a test chooses."""

    def __init__(self, program: str = "sqlplus", event: str | None = None) -> None:
        self.blocker: dict[str, Value] = {"instance": 1, "sid": 312, "program": program, "event": event}
        self.sent: list[str | None] = []

    def query(self, sql: str, binds: Binds) -> Answer:
        view = "coordinator" if sql == COORDINATOR else view_of(sql)
        self.sent.append(view)
        rows: dict[str | None, Row] = {
            SESSIONS: self.blocker,
            SLAVES: {"sid": 312, "serial#": 5, "qcsid": 90, "qcserial#": 7, "qcinst_id": 1},
            "coordinator": {"instance": 1, "sid": binds.get("sid")},
        }
        row = rows.get(view, {"sid": 0})
        return Answer(tuple(row), [tuple(row.values())])

    def close(self) -> None:
        pass


@pytest.mark.parametrize(
    ("program", "event", "view"),
    [
        ("oracle@db1 (P003)", None, SLAVES),
        ("oracle@db1 (J004)", None, JOBS),
        ("sqlplus", "enq: TM - contention", LOCKS),
    ],
)
def test_view_is_read_only_if_a_blocker_calls_for_it(program: str, event: str | None, view: str) -> None:
    asked, plain = Asked(program, event), Asked()
    assert isinstance(look_at_chains(asked, "19.0.0.0.0")[view], Rows)
    assert isinstance(look_at_chains(plain, "19.0.0.0.0")[view], Missing)
    assert set(asked.sent) > set(plain.sent) and UNDO in plain.sent


def test_name_of_a_job_is_not_looked_up_in_many_containers() -> None:
    asked = Asked("oracle@db1 (J004)")
    assert look_for_blockers(asked, "19.0.0.0.0", instead=JOBS_OF_MANY)[JOBS] is JOBS_OF_MANY[JOBS]
    assert JOBS not in asked.sent


def test_coordinator_of_a_slave_is_read_by_its_number() -> None:
    asked = Asked("oracle@db1 (P003)")
    sessions = look_at_chains(asked, "19.0.0.0.0")[SESSIONS]
    assert isinstance(sessions, Rows) and [row["sid"] for row in sessions.rows] == [312, 90]


def test_oracles_own_analysis_is_read_only_if_the_setting_is_on() -> None:
    off, on = Asked(), Asked()
    missing = look_at_chains(off, "19.0.0.0.0")["v$wait_chains"]
    assert isinstance(missing, Missing) and "defaults.wait_chains" in missing.why
    look_at_chains(on, "19.0.0.0.0", wait_chains=True)
    assert set(on.sent) - set(off.sent) == set(ORACLES)
