"""Which looks run while no session hangs, and what becomes of one that hits its deadline."""

from dataclasses import dataclass, field, replace

import pytest

from collectors.errors import SessionError, ViewRefused
from collectors.model import Binds, Missing, Rows, Snapshot
from collectors.ondemand import chains
from collectors.ondemand.blockers import ELSEWHERE, LIBRARY_CACHE, VIEW
from collectors.ondemand.warm import NOBODY, SAMPLES, looks, warm_up
from collectors.oracle_errors import Cancelled
from collectors.poll import Answer
from collectors.registry import view_of
from tests.collectors.scripted import poll_at


@dataclass
class Asked:
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
    asked = Asked()
    assert warm_up(asked, poll_at("healthy-19c", 30.0)) == {}
    tree = [view for view in chains.VIEWS if view not in chains.ORACLES]
    assert asked.views == [VIEW, LIBRARY_CACHE, *tree, SAMPLES]


def test_analysis_of_oracle_runs_only_where_it_is_switched_on() -> None:
    listed = [view for view, _, _ in looks(poll_at("healthy-19c", 30.0), wait_chains=True)]
    assert set(chains.ORACLES) <= set(listed)


def test_other_instances_are_asked_for_a_session_that_does_not_exist() -> None:
    *_, last = looks(clustered(poll_at("healthy-19c", 30.0)))
    assert last == ("gv$session", ELSEWHERE, NOBODY)


def test_look_whose_view_is_refused_is_left_out() -> None:
    snapshot = poll_at("healthy-19c", 30.0, ("waiting_sessions",))
    left = [VIEW, "v$px_session", "running_jobs", "v$lock", "v$transaction"]
    assert [view for view, _, _ in looks(snapshot)] == left, "each has a grant of its own"


def test_refused_look_is_not_cold_and_the_others_run() -> None:
    asked = Asked(ViewRefused("ORA-00942"))
    assert warm_up(asked, poll_at("healthy-19c", 30.0)) == {} and len(asked.views) == 3 + 5


def test_look_that_hits_its_deadline_is_cold_and_the_others_do_not_run() -> None:
    asked = Asked(Cancelled("DPY-4024"))
    cold = warm_up(asked, poll_at("healthy-19c", 30.0))
    assert asked.views == [VIEW] and set(cold) == {VIEW}
    assert isinstance(cold[VIEW], Missing) and "cold" in cold[VIEW].why and "DPY-4024" in cold[VIEW].why


def test_lost_session_is_not_passed_over() -> None:
    with pytest.raises(SessionError):
        warm_up(Asked(SessionError("ORA-03113")), poll_at("healthy-19c", 30.0))
