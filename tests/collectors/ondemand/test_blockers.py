"""The look for blockers: one bounded statement that finds the holder of a hang, and does nothing on a calm instance."""

from dataclasses import dataclass, field, replace

import pytest

from collectors.errors import Cancelled, SessionError, StatementError, ViewRefused
from collectors.model import Binds, Missing, Rows, Snapshot
from collectors.ondemand import blockers
from collectors.ondemand.blockers import (
    ELSEWHERE,
    LIBRARY_CACHE,
    NOBODY,
    SAMPLES,
    VIEW,
    VIEWS,
    look_for_blockers,
    looks,
    not_looked,
    of_look,
    warm_up,
)
from collectors.poll import Answer
from collectors.registry import collectors, view_of
from tests.collectors.scripted import poll_at


class Asked:
    """A connection that raises, and counts its calls."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error, self.sent = error, list[str]()

    def query(self, sql: str, binds: Binds) -> Answer:
        self.sent.append(sql)
        if self.error is not None:
            raise self.error
        return Answer(("cache#", "sid"), [(8, 312)])

    def close(self) -> None:
        pass


def test_look_is_a_few_marked_statements_with_row_limits() -> None:
    asked = Asked()
    assert look_for_blockers(asked, "19.0.0.0.0")[VIEW] == Rows(VIEW, ({"cache#": 8, "sid": 312},))
    sent = [*VIEWS, "chain_sessions", "v$transaction"]
    assert [view_of(sql) for sql in asked.sent] == sent, (
        "no other instance is queried, and nothing that needs a setting"
    )
    assert all(f"/* latchscope {view} */" in sql for view, sql in zip(sent, asked.sent, strict=True))
    assert all("rownum <=" in sql or "from dual" in sql for sql in asked.sent)
    assert all(of_look(sql) for sql in asked.sent)


@pytest.mark.parametrize(
    ("error", "kind"), [(ViewRefused("ORA-00942"), "refused"), (StatementError("ORA-01013"), "failed")]
)
def test_look_that_is_refused_or_fails_says_so(error: Exception, kind: str) -> None:
    found = look_for_blockers(Asked(error), "11.2.0.4.0")[VIEW]
    assert isinstance(found, Missing) and found.kind == kind
    assert kind == "failed" or found.way_out == "grant select on sys.v_$rowcache_parent to <user>;"


def test_look_that_hits_its_deadline_says_so_and_how_to_go_on() -> None:
    found = look_for_blockers(Asked(Cancelled("DPY-4024; the statement was cancelled")), "11.2.0.4.0")[VIEW]
    assert isinstance(found, Missing) and found.kind == "failed"
    assert "hit its deadline" in found.why and "DPY-4024" in found.why
    assert "docs/emergency.md" in found.way_out


def test_look_that_loses_its_session_raises() -> None:
    with pytest.raises(SessionError):
        look_for_blockers(Asked(SessionError("ORA-03113")), "11.2.0.4.0")


def test_look_is_never_a_part_of_a_poll() -> None:
    assert all(collectors()[view].on_request for view in VIEWS)
    assert {reading.kind for reading in not_looked().values() if isinstance(reading, Missing)} == {"not_asked"}
    assert set(not_looked()) >= {VIEW, LIBRARY_CACHE, "chain_sessions", "v$wait_chains"}


class Cluster(Asked):
    """A connection that can read sessions of other instances, or may not."""

    refused: Exception | None = None

    def query(self, sql: str, binds: Binds) -> Answer:
        if sql != ELSEWHERE:
            return super().query(sql, binds)
        self.sent.append(sql)
        if self.refused is not None:
            raise self.refused
        return Answer(("instance", "sid", "serial#"), [(binds["instance"], binds["sid"], 9)])


def test_look_asks_for_a_session_of_another_instance_by_its_name_and_for_two_at_most() -> None:
    asked = Cluster()
    held = look_for_blockers(asked, "19.0.0.0.0", [(2, 55), (3, 66), (4, 77)])[VIEW]
    assert isinstance(held, Rows)
    assert [(row.get("instance"), row["sid"], row.get("serial#")) for row in held.rows[1:]] == [(2, 55, 9), (3, 66, 9)]
    assert asked.sent.count(ELSEWHERE) == 2 and of_look(ELSEWHERE)


@pytest.mark.parametrize(
    ("error", "cure"),
    [(ViewRefused("ORA-00942"), "grant read on sys.gv_$session to <user>;"), (Cancelled("DPY-4024"), "DPY-4024")],
)
def test_look_that_may_not_ask_other_instances_keeps_what_it_found_and_says_so(error: Exception, cure: str) -> None:
    asked = Cluster()
    asked.refused = error
    held = look_for_blockers(asked, "19.0.0.0.0", [(2, 55), (3, 66)])[VIEW]
    assert isinstance(held, Rows) and len(held.rows) == 1
    (note,) = held.notes
    assert note.startswith("session 55 of instance 2 is known by its SID alone") and cure in note
    assert asked.sent.count(ELSEWHERE) == 1, "a view that failed once is not read again"


@dataclass
class WarmAsked:
    """A session that answers with nothing, or with an error at one view."""

    error: Exception | None = None
    at: str = VIEW
    views: list[str] = field(default_factory=list)

    def query(self, sql: str, binds: Binds) -> Answer:
        self.views.append("gv$session" if sql == ELSEWHERE else view_of(sql) or sql)
        if self.error is not None and self.views[-1] == self.at:
            raise self.error
        return Answer((), [])

    def close(self) -> None:
        """Nothing to close."""


def clustered(snapshot: Snapshot) -> Snapshot:
    row = {**snapshot.instance, "parallel": "YES"}
    return replace(snapshot, readings={**snapshot.readings, "v$instance": Rows("v$instance", (row,))})


def test_every_look_of_a_hang_runs_once() -> None:
    asked = WarmAsked()
    assert warm_up(asked, poll_at("healthy-19c", 30.0)) == {}
    tree = [view for view in blockers.CHAIN_VIEWS if view not in (*blockers.ORACLES, blockers.CLUSTER)]
    assert asked.views == [VIEW, LIBRARY_CACHE, *tree, SAMPLES]


def test_analysis_of_oracle_runs_only_where_it_is_switched_on() -> None:
    listed = [view for view, _, _ in looks(poll_at("healthy-19c", 30.0), wait_chains=True)]
    assert set(blockers.ORACLES) <= set(listed)


def test_other_instances_are_asked_for_a_session_that_does_not_exist() -> None:
    *views, last = looks(clustered(poll_at("healthy-19c", 30.0)))
    assert blockers.CLUSTER in [view for view, _, _ in views] and last == ("gv$session", ELSEWHERE, NOBODY)


def test_look_whose_view_is_refused_is_left_out() -> None:
    snapshot = poll_at("healthy-19c", 30.0, ("waiting_sessions",))
    left = [VIEW, "v$px_session", "running_jobs", "v$lock", "v$transaction", "v$dead_cleanup", "v$cleanup_process"]
    assert [view for view, _, _ in looks(snapshot)] == left, "each has a grant of its own"


def test_refused_look_is_not_cold_and_the_others_run() -> None:
    asked = WarmAsked(ViewRefused("ORA-00942"))
    assert warm_up(asked, poll_at("healthy-19c", 30.0)) == {} and len(asked.views) == 3 + 7


def test_look_that_hits_its_deadline_is_cold_and_the_others_do_not_run() -> None:
    asked = WarmAsked(Cancelled("DPY-4024"))
    cold = warm_up(asked, poll_at("healthy-19c", 30.0))
    assert asked.views == [VIEW] and set(cold) == {VIEW}
    assert isinstance(cold[VIEW], Missing) and "cold" in cold[VIEW].why and "DPY-4024" in cold[VIEW].why


def test_lost_session_is_not_passed_over() -> None:
    with pytest.raises(SessionError):
        warm_up(WarmAsked(SessionError("ORA-03113")), poll_at("healthy-19c", 30.0))
