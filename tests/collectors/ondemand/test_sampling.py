"""Bursts: every look counts, even one that finds no waiting session.

A view that cannot be read ends the burst. There are at most 60 looks.
"""

from dataclasses import dataclass, field

import pytest

from collectors.demo.database import ScriptedDatabase
from collectors.demo.scenarios import scenarios
from collectors.errors import SessionError, StatementError, ViewRefused
from collectors.model import Binds, Missing, Reading, Rows, Value
from collectors.ondemand.sampling import LONGEST_BURST, VIEW, Burst, not_sampled
from collectors.poll import Answer
from collectors.registry import collectors, view_of
from tests.collectors.scripted import BEGAN
from tests.collectors.shipped_sql import MADE_BY_US

WAITER: tuple[Value, ...] = (101, "row cache mutex")
OTHER: tuple[Value, ...] = (102, "row cache lock")
NOBODY: list[tuple[Value, ...]] = []


@dataclass
class Session:
    """Gives the answers in turn, then repeats the last one, and records the statements."""

    answers: list[list[tuple[Value, ...]] | Exception]
    asked: list[tuple[str, Binds]] = field(default_factory=list)

    def query(self, sql: str, binds: Binds) -> Answer:
        rows = self.answers[min(len(self.asked), len(self.answers) - 1)]
        self.asked.append((sql, binds))
        if isinstance(rows, Exception):
            raise rows
        return Answer(("sid", "event"), rows)

    def close(self) -> None:
        raise AssertionError("the session is not its own to close")


def after(session: Session, times: int, burst: Burst | None = None) -> Burst:
    """A burst with this many looks."""
    burst = burst or Burst("19.0.0.0.0")
    for _ in range(times):
        burst.look(session)
    return burst


def looks(reading: Reading) -> list[Value]:
    """The number of each look."""
    assert isinstance(reading, Rows)
    return [row["sample"] for row in reading.rows if row["sid"] is None]


def test_burst_numbers_its_looks_and_records_whom_each_met() -> None:
    reading = after(Session([[WAITER, OTHER], [WAITER]]), 2).taken()
    assert reading == Rows(
        VIEW,
        (
            {"sample": 1, "sid": None},
            {"sample": 1, "sid": 101, "event": "row cache mutex"},
            {"sample": 1, "sid": 102, "event": "row cache lock"},
            {"sample": 2, "sid": None},
            {"sample": 2, "sid": 101, "event": "row cache mutex"},
        ),
    )


def test_burst_counts_a_look_that_met_nobody() -> None:
    reading = after(Session([NOBODY, [WAITER], NOBODY]), 3).taken()
    assert looks(reading) == [1, 2, 3]
    assert isinstance(reading, Rows)
    assert [row["sample"] for row in reading.rows if row["sid"] is not None] == [2]


def test_rows_of_a_burst_have_unique_keys() -> None:
    reading = after(Session([[WAITER, OTHER]]), 5).taken()
    assert isinstance(reading, Rows)
    keys = [tuple(row[name] for name in collectors()[VIEW].key) for row in reading.rows]
    assert len(set(keys)) == len(keys) == 15


def test_sample_number_is_made_by_us_and_part_of_the_key() -> None:
    reading = after(Session([NOBODY]), 1).taken()
    assert isinstance(reading, Rows)
    (row,) = reading.rows
    assert set(row) == MADE_BY_US[VIEW] | {"sid"} == set(collectors()[VIEW].key)


@pytest.mark.parametrize("wanted", [None, 60, 61, 10_000])
def test_burst_takes_at_most_sixty_looks(wanted: int | None) -> None:
    session = Session([[WAITER]])
    burst = after(session, 75, Burst("19.0.0.0.0") if wanted is None else Burst("19.0.0.0.0", wanted))
    assert burst.spent
    assert len(session.asked) == LONGEST_BURST == 60
    assert looks(burst.taken()) == list(range(1, 61))


def test_burst_takes_fewer_looks_when_asked() -> None:
    session = Session([[WAITER]])
    burst = Burst("19.0.0.0.0", looks=2)
    spent = [burst.spent]
    for _ in range(3):
        burst.look(session)
        spent.append(burst.spent)
    assert spent == [False, False, True, True]
    assert len(session.asked) == 2


def crowd(sessions: int) -> list[tuple[Value, ...]]:
    return [(sid, "row cache lock") for sid in range(sessions)]


def test_look_that_met_as_many_as_it_reads_is_told() -> None:
    reading = after(Session([crowd(499), crowd(500), crowd(3)]), 3).taken()
    assert isinstance(reading, Rows)
    assert reading.notes == ("the 500 waiting sessions that a sample reads at most stand for all of them",)
    fewer = after(Session([crowd(499)]), 3).taken()
    assert isinstance(fewer, Rows) and fewer.notes == ()


@pytest.mark.parametrize("statement", collectors()[VIEW].statements.values())
def test_statement_reads_so_many_sessions_at_most(statement: str) -> None:
    assert "rownum <= 500" in statement


def test_burst_of_a_crowd_ends_before_it_holds_too_many_rows() -> None:
    session = Session([crowd(500)])
    burst = after(session, 60)
    assert burst.spent and len(session.asked) == 10
    reading = burst.taken()
    assert isinstance(reading, Rows) and len(reading.rows) == 5010
    assert reading.notes[1:] == ("10 samples stand for the whole interval, for they had met 5,000 sessions",)


def test_burst_on_a_slow_database_ends_when_its_time_is_used_up(monkeypatch: pytest.MonkeyPatch) -> None:
    glances = iter(range(10**6))
    monkeypatch.setattr("collectors.ondemand.sampling.monotonic", lambda: next(glances) * 0.7, raising=False)
    session = Session([[WAITER]])
    burst = after(session, 60)
    assert burst.spent and len(session.asked) == 5
    reading = burst.taken()
    assert isinstance(reading, Rows) and looks(reading) == [1, 2, 3, 4, 5]
    assert reading.notes == ("5 samples stand for the whole interval, for they had taken 3.5 s",)


def test_burst_that_ran_its_course_has_nothing_to_note() -> None:
    reading = after(Session([[WAITER]]), 60).taken()
    assert isinstance(reading, Rows) and reading.notes == ()


def test_burst_ends_at_a_refused_view_and_names_its_grant() -> None:
    session = Session([ViewRefused("ORA-00942: table or view does not exist")])
    burst = after(session, 5)
    assert burst.spent
    assert len(session.asked) == 1
    assert burst.taken() == Missing(
        VIEW,
        "refused",
        "v$session: ORA-00942: table or view does not exist",
        "grant read on sys.v_$session to <user>;",
    )


def test_burst_ends_at_a_failed_look_without_naming_a_missing_grant() -> None:
    session = Session([[WAITER], StatementError("ORA-01555: snapshot too old")])
    burst = after(session, 5)
    assert burst.spent
    assert len(session.asked) == 2
    reading = burst.taken()
    assert isinstance(reading, Missing), "a partial look must not pass for a whole one"
    assert (reading.kind, reading.why) == ("failed", "v$session: ORA-01555: snapshot too old")
    assert "grant" not in reading.way_out


def test_burst_passes_a_lost_session_on_and_keeps_what_was_seen() -> None:
    session = Session([[WAITER], SessionError("ORA-03113: end of file")])
    burst = after(session, 1)
    with pytest.raises(SessionError, match="ORA-03113"):
        burst.look(session)
    assert looks(burst.taken()) == [1]
    assert not burst.spent


def test_burst_without_a_look_is_not_sampled() -> None:
    reading = Burst("19.0.0.0.0").taken()
    assert reading == not_sampled()
    assert (not_sampled().view, not_sampled().kind) == (VIEW, "not_asked")


@pytest.mark.parametrize(("release", "con_id"), [("11.2.0.4.0", False), ("12.1.0.2.0", True), (None, False)])
def test_burst_sends_the_statement_for_the_release(release: str | None, con_id: bool) -> None:
    session = Session([NOBODY])
    after(session, 1, Burst(release))
    ((sql, binds),) = session.asked
    assert view_of(sql) == VIEW
    assert binds == {}
    assert ("con_id" in sql) is con_id


def test_burst_asks_nothing_of_a_release_older_than_any_statement() -> None:
    session = Session([NOBODY])
    assert after(session, 3, Burst("9.2.0.8.0")).taken() == not_sampled()
    assert session.asked == []


def test_scripted_database_shows_who_waits() -> None:
    at = iter(range(100))
    database = ScriptedDatabase(scenarios()["users-mutex"], BEGAN, lambda: float(next(at)))
    burst = Burst("19.0.0.0.0", looks=10)
    for _ in range(10):
        burst.look(database)
    reading = burst.taken()
    assert isinstance(reading, Rows)
    assert looks(reading) == list(range(1, 11))
    met = [row for row in reading.rows if row["sid"] is not None]
    assert {row["event"] for row in met} == {"row cache mutex"}
    declared = {column.name for column in collectors()[VIEW].columns}
    assert all(set(row) == declared for row in met)
