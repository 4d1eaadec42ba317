"""Bursts: every look counts, even one that finds no waiting session.

A view that cannot be read ends the burst. There are at most 60 looks.
"""

import pytest

from collectors.demo.database import ScriptedDatabase
from collectors.demo.scenarios import scenarios
from collectors.errors import SessionError, StatementError, ViewRefused
from collectors.model import Binds, Missing, Reading, Rows, Value
from collectors.ondemand.sampling import LONGEST_BURST, VIEW, Burst, not_sampled
from collectors.poll import Answer
from collectors.registry import collectors, view_of
from tests.collectors.scripted import BEGAN, Asked
from tests.collectors.shipped_sql import MADE_BY_US

WAITER: tuple[Value, ...] = (101, "row cache mutex")
OTHER: tuple[Value, ...] = (102, "row cache lock")


def after(times: int, *given: list[tuple[Value, ...]] | Exception, burst: Burst | None = None) -> tuple[Burst, Asked]:
    """A burst with this many looks, which get the answers in turn and then the last one again, and its session."""
    burst, answers = burst or Burst("19.0.0.0.0"), [*given[:-1], *[given[-1]] * times]

    def answer(_: Binds) -> Answer:
        rows = answers[len(session.sent) - 1]
        if isinstance(rows, Exception):
            raise rows
        return Answer(("sid", "event"), rows)

    session = Asked(other=answer)
    for _ in range(times):
        burst.look(session)
    return burst, session


def taken(times: int, *given: list[tuple[Value, ...]] | Exception) -> Rows:
    """What such a burst saw."""
    reading = after(times, *given)[0].taken()
    assert isinstance(reading, Rows)
    return reading


def looks(reading: Reading) -> list[Value]:
    """The number of each look."""
    assert isinstance(reading, Rows)
    return [row["sample"] for row in reading.rows if row["sid"] is None]


def test_burst_numbers_its_looks_and_records_whom_each_met_if_anybody() -> None:
    assert taken(3, [WAITER, OTHER], [], [WAITER]) == Rows(
        VIEW,
        (
            {"sample": 1, "sid": None},
            {"sample": 1, "sid": 101, "event": "row cache mutex"},
            {"sample": 1, "sid": 102, "event": "row cache lock"},
            {"sample": 2, "sid": None},
            {"sample": 3, "sid": None},
            {"sample": 3, "sid": 101, "event": "row cache mutex"},
        ),
    )
    (row,) = taken(1, []).rows
    assert set(row) == MADE_BY_US[VIEW] | {"sid"} == set(collectors()[VIEW].key)


@pytest.mark.parametrize(("wanted", "most"), [(60, 60), (61, 60), (10_000, 60), (2, 2)])
def test_burst_takes_at_most_the_looks_asked_for_and_sixty(wanted: int, most: int) -> None:
    burst, session = after(75, [WAITER], burst=Burst("19.0.0.0.0", wanted))
    assert burst.spent and len(session.sent) == most <= LONGEST_BURST == 60
    reading = burst.taken()
    assert looks(reading) == list(range(1, most + 1)) and isinstance(reading, Rows) and reading.notes == ()
    assert not after(1, [WAITER], burst=Burst("19.0.0.0.0", wanted))[0].spent


def crowd(sessions: int) -> list[tuple[Value, ...]]:
    return [(sid, "row cache lock") for sid in range(sessions)]


def test_look_that_met_as_many_as_it_reads_is_told() -> None:
    assert all("rownum <= 500" in statement for statement in collectors()[VIEW].statements.values())
    full = "the 500 waiting sessions that a sample reads at most stand for all of them"
    assert taken(3, crowd(499), crowd(500), crowd(3)).notes == (full,)
    assert taken(3, crowd(499)).notes == ()


def test_burst_of_a_crowd_ends_before_it_holds_too_many_rows() -> None:
    burst, session = after(60, crowd(500))
    assert burst.spent and len(session.sent) == 10
    reading = burst.taken()
    assert isinstance(reading, Rows) and len(reading.rows) == 5010
    assert reading.notes[1:] == ("10 samples stand for the whole interval, for they had met 5,000 sessions",)


def test_burst_on_a_slow_database_ends_when_its_time_is_used_up(monkeypatch: pytest.MonkeyPatch) -> None:
    glances = iter(range(10**6))
    monkeypatch.setattr("collectors.ondemand.sampling.monotonic", lambda: next(glances) * 0.7)
    reading = taken(60, [WAITER])
    assert looks(reading) == [1, 2, 3, 4, 5]
    assert reading.notes == ("5 samples stand for the whole interval, for they had taken 3.5 s",)


@pytest.mark.parametrize(
    ("given", "asked", "missing"),
    [
        (
            [ViewRefused("ORA-00942")],
            1,
            Missing(VIEW, "refused", "v$session: ORA-00942", "grant read on sys.v_$session to <user>;"),
        ),
        (
            [[WAITER], StatementError("ORA-01555: too old")],
            2,
            Missing(VIEW, "failed", "v$session: ORA-01555: too old", "see the error; the polls go on"),
        ),
    ],
    ids=["refused", "failed: a part must not pass for a whole"],
)
def test_burst_ends_at_a_view_that_is_not_read(
    given: list[list[tuple[Value, ...]] | Exception], asked: int, missing: Missing
) -> None:
    burst, session = after(5, *given)
    assert burst.spent and len(session.sent) == asked and burst.taken() == missing


def test_burst_passes_a_lost_session_on_and_keeps_what_was_seen() -> None:
    burst, _ = after(1, [WAITER])
    with pytest.raises(SessionError, match="ORA-03113"):
        burst.look(Asked(other=SessionError("ORA-03113: end of file")))
    assert looks(burst.taken()) == [1] and not burst.spent


@pytest.mark.parametrize(("release", "con_id"), [("11.2.0.4.0", False), ("12.1.0.2.0", True), (None, False)])
def test_burst_sends_the_statement_for_the_release(release: str | None, con_id: bool) -> None:
    _, session = after(1, [], burst=Burst(release))
    ((sql, binds),) = session.sent
    assert view_of(sql) == VIEW and binds == {} and ("con_id" in sql) is con_id


def test_burst_without_a_look_or_a_statement_for_the_release_is_not_sampled() -> None:
    burst, session = after(3, [], burst=Burst("9.2.0.8.0"))
    assert Burst("19.0.0.0.0").taken() == burst.taken() == not_sampled() and session.sent == []
    assert (not_sampled().view, not_sampled().kind) == (VIEW, "not_asked")


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
