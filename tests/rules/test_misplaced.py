"""Figures of the latch where mutexes guard the row cache: doubted where they cost something, else ignored with a note."""

from collectors.model import Delta, Row
from rules.misplaced import misplaced_latch_wait, misplaced_notes, misplaced_sleeps
from tests.each import each
from tests.rules.contexts import delta_of


def nineteen(waited: int | None = None, sleeps: int = 0, db_time: int | None = 10_000_000) -> Delta:
    events: list[Row] = [] if waited is None else [{"event": "latch: row cache objects", "time_waited_micro": waited}]
    time: list[Row] = [] if db_time is None else [{"stat_name": "DB time", "value": db_time}]
    children: list[Row] = [{"child#": 1, "sleeps": sleeps}, {"child#": 2, "sleeps": None}]
    return delta_of({"v$system_event": events, "v$sys_time_model": time, "v$latch_children": children})


@each(
    ("waited", "db_time", "doubted"),
    [
        (4_700_000, 10_000_000, True),
        (400_000, 100_000_000, False),
        (None, 10_000_000, False),
        (4_700_000, None, True),
        (900_000, None, False),
    ],
)
def test_wait_is_doubted_where_it_costs_something(waited: int | None, db_time: int | None, doubted: bool) -> None:
    delta = nineteen(waited, db_time=db_time)
    assert (misplaced_latch_wait(delta, "mutex") is not None) is doubted
    assert misplaced_latch_wait(delta, "latch") is None
    assert misplaced_latch_wait(delta, None) is None


def test_sleeps_are_ignored_aloud_and_once() -> None:
    (ignored,) = misplaced_notes(nineteen(sleeps=7_000), "mutex")
    assert ignored.startswith("7,000 sleeps on the latch row cache objects are ignored")
    (doubted,) = misplaced_notes(nineteen(4_700_000, sleeps=7_000), "mutex")
    assert doubted.startswith("latch: row cache objects takes 47.0 % of DB time, which should not be")
    (timeless,) = misplaced_notes(nineteen(4_700_000, db_time=None), "mutex")
    assert timeless.startswith("latch: row cache objects keeps 0.16 sessions waiting, which should not be")
    assert misplaced_notes(nineteen(), "mutex") == ()
    assert misplaced_notes(nineteen(4_700_000, sleeps=7_000), "latch") == ()
    assert misplaced_sleeps(nineteen(sleeps=7_000), "latch") == 0
