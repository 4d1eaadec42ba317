"""poll(): every view once, into one Snapshot; a refused view costs that view alone."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest

from collectors.errors import SessionError, StatementError, ViewRefused
from collectors.model import Binds, Missing, Rows, Value
from collectors.poll import Answer, poll
from collectors.registry import collectors, marker, view_of
from tests.collectors.scripted import BEGAN, poll_at

NOW = datetime(2026, 3, 2, 9, 0)  # noqa: DTZ001  (as the driver gives it: UTC without saying so)
INSTANCE: Mapping[str, Value] = {
    "instance_number": 1,
    "version": "11.2.0.4.0",
    "startup_time": "2026-02-20 04:11:00",
    "uptime_seconds": 42,
    "taken_at": NOW,
}
NAMES = Answer(("latch#", "name"), [(461, "Result Cache: RC Latch"), (270, "row cache objects")], 2, 99)


@dataclass
class Session:
    """Answers by view; a view that is not given answers no rows. Remembers what it was asked."""

    answers: dict[str, Answer | Exception] = field(default_factory=dict)
    instance: Mapping[str, Value] = field(default_factory=lambda: dict(INSTANCE))
    asked: list[tuple[str, str, Binds]] = field(default_factory=list)

    def query(self, sql: str, binds: Binds) -> Answer:
        view = view_of(sql)
        assert view is not None, sql
        self.asked.append((view, sql, binds))
        row = Answer(tuple(self.instance), [tuple(self.instance.values())] if self.instance else [])
        answer = self.answers.get(view, row if view == "v$instance" else Answer(collectors()[view].key, []))
        if isinstance(answer, Exception):
            raise answer
        return answer

    def close(self) -> None:
        raise AssertionError("poll does not close a session that is not its own")

    @property
    def views(self) -> list[str]:
        return [view for view, _, _ in self.asked]


POLLED = sorted(view for view, one in collectors().items() if not one.sampled and not one.on_request)
"""Views of a poll; sampled ones are looked at in between."""


def test_poll_reads_every_view_once_and_marked() -> None:
    session = Session({"v$latchname": NAMES})
    snapshot = poll("erp1", session)
    assert sorted(session.views) == POLLED
    assert sorted(snapshot.readings) == POLLED
    assert all(marker(view) in sql for view, sql, _ in session.asked)
    assert (snapshot.database, snapshot.release) == ("erp1", "11.2.0.4.0")


def test_taken_at_is_the_database_clock_as_utc() -> None:
    assert poll("erp1", Session()).taken_at == NOW.replace(tzinfo=UTC)
    assert poll("erp1", Session(instance={**INSTANCE, "taken_at": "later"})).taken_at is None
    assert poll("erp1", Session(instance={})).taken_at is None


def test_children_are_asked_for_one_latch_number() -> None:
    session = Session({"v$latchname": NAMES})
    poll("erp1", session)
    assert [binds for view, _, binds in session.asked if view == "v$latch_children"] == [{"latch": 270}]
    assert [binds for view, _, binds in session.asked if view != "v$latch_children" and binds] == []


def test_children_are_not_asked_for_without_the_latch_number() -> None:
    unnamed = Session({"v$latchname": Answer(("latch#", "name"), [(461, "Result Cache: RC Latch")])})
    reading = poll("erp1", unnamed).read("v$latch_children")
    assert isinstance(reading, Missing)
    assert (reading.kind, reading.why) == ("not_asked", "this instance has no latch named row cache objects")
    hidden = Session({"v$latchname": ViewRefused("ORA-00942: no")})
    reading = poll("erp1", hidden).read("v$latch_children")
    assert isinstance(reading, Missing)
    assert reading.kind == "refused"
    assert reading.why == "v$latch_children needs a latch number; v$latchname: ORA-00942: no"
    assert "v_$latchname" in reading.way_out
    assert "v$latch_children" not in [*unnamed.views, *hidden.views]


def test_cost_is_told_for_each_view_that_answered() -> None:
    session = Session({"v$latchname": NAMES, "v$latch": ViewRefused("ORA-00942")})
    costs = poll("erp1", session).costs
    assert set(costs) == set(POLLED) - {"v$latch"}
    cost = costs["v$latchname"]
    assert (cost.rows, cost.round_trips, cost.bytes) == (2, 2, 99)
    assert cost.seconds >= 0


@pytest.mark.parametrize("view", [view for view in POLLED if view not in ("v$instance", "v$latchname")])
def test_refused_view_costs_that_view_alone(view: str) -> None:
    snapshot = poll("erp1", Session({"v$latchname": NAMES, view: ViewRefused("ORA-00942: table or view")}))
    missing = {name: reading for name, reading in snapshot.readings.items() if isinstance(reading, Missing)}
    assert list(missing) == [view]
    reading = missing[view]
    assert (reading.kind, reading.why) == ("refused", f"{view}: ORA-00942: table or view")


def test_way_out_is_the_grant_and_for_x_tables_a_view_of_sys() -> None:
    snapshot = poll("erp1", Session({"v$latch": ViewRefused("ORA-00942"), "x$kqrst": ViewRefused("ORA-00942")}))
    latch, kqrst = snapshot.read("v$latch"), snapshot.read("x$kqrst")
    assert isinstance(latch, Missing)
    assert isinstance(kqrst, Missing)
    assert "grant select on sys.v_$latch to" in latch.way_out.lower()
    assert "create" in kqrst.way_out.lower()
    assert "sys.x_$kqrst" in kqrst.way_out.lower()


def test_failed_statement_is_not_a_missing_grant() -> None:
    reading = poll("erp1", Session({"v$latch": StatementError("ORA-01555: snapshot too old")})).read("v$latch")
    assert isinstance(reading, Missing)
    assert (reading.kind, reading.why) == ("failed", "v$latch: ORA-01555: snapshot too old")


def test_lost_session_ends_the_poll() -> None:
    session = Session({"v$latch": SessionError("ORA-03113: end of file")})
    with pytest.raises(SessionError, match="ORA-03113"):
        poll("erp1", session)
    assert session.views[-1] == "v$latch"


def test_undeclared_column_raises_key_error() -> None:
    with pytest.raises(KeyError, match=r"v\$latch declares no column surprise"):
        poll("erp1", Session({"v$latch": Answer(("name", "surprise"), [("x", 1)])}))


@pytest.mark.parametrize(
    ("release", "column", "there"),
    [("11.2.0.4.0", "fastgets", False), ("12.1.0.2.0", "fastgets", True), ("19.0.0.0.0", "fastgets", True)],
)
def test_statement_text_fits_the_release(release: str, column: str, there: bool) -> None:
    session = Session(instance={**INSTANCE, "version": release})
    poll("erp1", session)
    (sql,) = [sql for view, sql, _ in session.asked if view == "v$rowcache"]
    assert (column in sql) is there


def test_release_older_than_any_statement_is_not_asked() -> None:
    snapshot = poll("erp1", Session(instance={**INSTANCE, "version": "9.2.0.8.0"}))
    reading = snapshot.read("v$latch")
    assert isinstance(reading, Missing)
    assert reading.kind == "not_asked"
    assert reading.why == "v$latch needs Oracle 11.2 or newer, this is 9.2.0.8.0"


ONCE = sorted(view for view, one in collectors().items() if one.once)


def test_views_that_change_only_at_startup_are_carried_over() -> None:
    first = poll("erp1", Session({"v$latchname": NAMES}))
    session = Session({"v$latchname": NAMES})
    second = poll("erp1", session, first)
    assert sorted(set(POLLED) - set(session.views)) == ONCE
    assert {view: second.readings[view] for view in ONCE} == {view: first.readings[view] for view in ONCE}
    assert set(second.costs) == set(session.views)


def test_views_that_change_only_at_startup_are_reread_after_a_restart() -> None:
    first = poll("erp1", Session({"v$latchname": NAMES}))
    moved = Answer(("latch#", "name"), [(411, "row cache objects")])
    session = Session({"v$latchname": moved}, {**INSTANCE, "startup_time": "2026-03-02 08:59:58"})
    second = poll("erp1", session, first)
    assert set(ONCE) <= set(session.views)
    assert [binds for view, _, binds in session.asked if view == "v$latch_children"] == [{"latch": 411}]
    assert second.rows("v$latchname") == ({"latch#": 411, "name": "row cache objects"},)


@pytest.mark.parametrize("instance", [{**INSTANCE, "startup_time": None}, {}], ids=["no start time", "no instance"])
def test_views_carried_over_are_reread_where_a_restart_could_go_unseen(instance: Mapping[str, Value]) -> None:
    first = poll("erp1", Session({"v$latchname": NAMES}, instance))
    session = Session({"v$latchname": NAMES}, instance)
    poll("erp1", session, first)
    assert set(ONCE) <= set(session.views)


def test_new_grant_is_noticed_at_the_next_poll() -> None:
    first = poll("erp1", Session({"x$kqrst": ViewRefused("ORA-00942")}))
    second = poll("erp1", Session(), first)
    assert isinstance(second.read("x$kqrst"), Rows)


def test_scripted_database_answers_every_view() -> None:
    snapshot = poll_at("undo-storm", 30)
    assert [view for view in POLLED if isinstance(snapshot.read(view), Missing)] == []
    assert snapshot.taken_at is not None
    assert (snapshot.taken_at - BEGAN).total_seconds() == 30
