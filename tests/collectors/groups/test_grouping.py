"""Groups in a poll: the same readings.

After a refusal, a failure or a slow answer, latchscope does not send that statement for an hour.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest

from collectors.errors import SessionError, StatementError, ViewRefused
from collectors.groups.group import group_text_of, groups
from collectors.groups.grouping import ASIDE_SECONDS, Grouping
from collectors.model import Binds, Missing, Rows
from collectors.poll import Answer, poll
from collectors.scenarios import scenarios
from collectors.simulator.database import ScriptedDatabase
from tests.collectors.scripted import BEGAN
from tests.each import each

GROUPED = frozenset(view for group in groups().values() for view in group.views)


@dataclass
class Session:
    """A scripted database. `spoil` changes or refuses the answers to the statements of groups."""

    scenario: str = "undo-storm"
    refused: tuple[str, ...] = ()
    spoil: Callable[[Answer], Answer] = lambda answer: answer
    asked: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._database = ScriptedDatabase(scenarios()[self.scenario], BEGAN, lambda: 60.0, self.refused)

    def query(self, sql: str, binds: Binds) -> Answer:
        self.asked.append(sql)
        answer = self._database.query(sql, binds)
        return self.spoil(answer) if group_text_of(sql) else answer

    def close(self) -> None:
        """Nothing to give back."""

    def groups(self) -> int:
        """How many statements of groups ran since the last call."""
        asked, self.asked = [sql for sql in self.asked if group_text_of(sql)], []
        return len(asked)


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def refuse(_: Answer) -> Answer:
    raise ViewRefused("ORA-00942: table or view does not exist")


def fail(_: Answer) -> Answer:
    raise StatementError("ORA-01790: expression must have same datatype as corresponding expression")


@each("name", scenarios())
def test_groups_read_what_single_statements_read(name: str) -> None:
    grouped, alone = Session(name), Session(name)
    together, apart = poll("erp1", grouped, grouping=Grouping("erp1")), poll("erp1", alone)
    assert together.readings == apart.readings and together.taken_at == apart.taken_at
    assert grouped.groups() in (1, 2) and alone.groups() == 0
    assert not GROUPED & together.costs.keys() - {"waiting_sessions"}
    assert together.costs["counters_and_levels"].round_trips == 1 and "counters" not in together.costs


@pytest.mark.parametrize("spoil", [refuse, fail])
def test_group_that_is_refused_or_fails_is_asked_one_by_one_for_an_hour(
    spoil: Callable[[Answer], Answer], caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    session, grouping = Session(spoil=spoil), Grouping("erp1", clock)
    with caplog.at_level("INFO", "latchscope.poll"):
        snapshot = poll("erp1", session, grouping=grouping)
    assert "erp1: the views of the group counters are not asked for together for an hour: ORA-" in caplog.text
    assert snapshot.readings == poll("erp1", Session()).readings, "nothing is lost in the meantime"
    assert session.groups() == 3
    clock.now += ASIDE_SECONDS - 1.0
    poll("erp1", session, snapshot, grouping=grouping)
    assert session.groups() == 0
    clock.now += 1.0
    session.spoil = lambda answer: answer
    assert poll("erp1", session, snapshot, grouping=grouping).readings.keys() == snapshot.readings.keys()
    assert session.groups() in (1, 2)


@each("view", sorted(GROUPED))
def test_refused_view_of_a_group_costs_itself_alone(view: str) -> None:
    snapshot = poll("erp1", Session(refused=(view,)), grouping=Grouping("erp1"))
    assert [name for name, reading in snapshot.readings.items() if isinstance(reading, Missing)] == [view]
    assert snapshot.readings == poll("erp1", Session(refused=(view,))).readings


def test_slow_group_is_used_once_and_then_set_aside() -> None:
    session, grouping = Session(spoil=lambda answer: replace(answer, seconds=1.5)), Grouping("erp1", Clock())
    assert poll("erp1", session, grouping=grouping).readings == poll("erp1", Session()).readings
    assert session.groups() == 2
    poll("erp1", session, grouping=grouping)
    assert session.groups() == 1, "the smaller group has not been slow yet"
    poll("erp1", session, grouping=grouping)
    assert session.groups() == 0


def test_refused_level_leaves_the_group_of_what_every_poll_asks() -> None:
    session, grouping = Session(refused=("v$undostat",)), Grouping("erp1", Clock())
    first = poll("erp1", session, grouping=grouping)
    assert "counters" in first.costs and "counters_and_levels" not in first.costs
    assert {"v$sgastat", "v$sga_resize_ops"} <= first.costs.keys(), "the other levels are read by themselves"


def test_group_in_which_the_session_was_lost_is_set_aside() -> None:
    def lose(_: Answer) -> Answer:
        raise SessionError("ORA-03113: end-of-file on communication channel")

    session, grouping = Session(spoil=lose), Grouping("erp1", Clock())
    with pytest.raises(SessionError, match="ORA-03113"):
        poll("erp1", session, grouping=grouping)
    assert [group.name for group in grouping.usable()] == ["counters", "waits"]


def test_children_that_are_not_asked_leave_the_look_at_sessions() -> None:
    session = Session("users-mutex")
    snapshot = poll("erp1", session, grouping=Grouping("erp1"))
    children = snapshot.read("v$latch_children")
    assert isinstance(children, Missing) and children.kind == "not_asked"
    assert "waiting_sessions" in snapshot.costs and "waits" not in snapshot.costs


def test_levels_are_read_once_a_minute_without_a_round_trip_of_their_own() -> None:
    clock = [60.0]
    database = ScriptedDatabase(scenarios()["undo-storm"], BEGAN, lambda: clock[0])
    snapshot, grouping = None, Grouping("erp1", Clock())
    ages, statements = [], []
    for clock[0] in range(60, 211, 15):
        snapshot = poll("erp1", database, snapshot, grouping=grouping)
        assert snapshot.taken_at is not None
        reading = snapshot.read("v$undostat")
        assert isinstance(reading, Rows) and reading.rows
        ages.append(0 if reading.read_at is None else round((snapshot.taken_at - reading.read_at).total_seconds()))
        statements.append({"counters", "counters_and_levels"} & snapshot.costs.keys())
    assert ages == [0, 15, 30, 45, 0, 15, 30, 45, 0, 15, 30]
    assert statements == [{"counters"} if age else {"counters_and_levels"} for age in ages]
