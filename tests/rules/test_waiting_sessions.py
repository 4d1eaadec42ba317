"""Whether a wait is one or goes on in slices, by the number of the wait and its length."""

import pytest

from collectors.model import Row
from rules.waiting_sessions import in_full, timed_out

LOCK = "row cache lock"


def row(seq: int | None, waited: float, **more: object) -> Row:
    told = {"sid": 7, "serial#": 1, "event": LOCK, "p1": 8, "seq#": seq, "wait_time_micro": waited * 1e6, "met": 1}
    return {**told, **more}  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("then", "now", "release", "seconds"),
    [
        (row(10, 2.0), row(15, 2.5), "11.2.0.4.0", 17.0),  # five slices ended in 15 s
        (row(10, 20.0), row(10, 35.0), "11.2.0.4.0", 35.0),  # one wait
        (row(10, 2.0), row(12, 2.5), "11.2.0.4.0", 2.5),  # too few for a timer: it did something between
        (row(10, 2.0), row(30, 2.5), "11.2.0.4.0", 2.5),  # too many: a queue that moves
        (row(10, 2.0), row(15, 9.0), "11.2.0.4.0", 9.0),  # longer than a slice
        (row(10, 50.0), row(11, 5.0), "12.1.0.2.0", 65.0),  # a slice of a cluster ended
        (row(10, 30.0), row(11, 5.0), "12.1.0.2.0", 5.0),  # it ended before its timer
        (row(10, 2.0), row(15, 2.5), "19.0.0.0.0", 2.5),  # no timer there, and nothing counted says otherwise
        (row(10, 2.0, p1=9), row(15, 2.5), "11.2.0.4.0", 2.5),  # for another cache
        (row(10, 2.0, **{"serial#": 2}), row(15, 2.5), "11.2.0.4.0", 2.5),  # another session
        (row(None, 2.0), row(None, 2.5), "11.2.0.4.0", 2.5),  # not numbered
    ],
)
def test_slices_of_one_wait_are_added_up(then: Row, now: Row, release: str, seconds: float) -> None:
    (whole,) = in_full([now], [then], {}, 15.0, release)
    assert whole["wait_time_micro"] == pytest.approx(seconds * 1e6)
    assert ("slices" in whole) == (seconds > now["wait_time_micro"] / 1e6)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("timeouts", "average", "share"), [(95, 2.9, 0.95), (95, 0.4, 0.0), (0, 2.9, 0.0), (95, 60.0, 0.0)]
)
def test_waits_that_a_timer_ended_count_where_they_are_as_long_as_a_slice(
    timeouts: int, average: float, share: float
) -> None:
    event = {"total_waits": 100, "total_timeouts": timeouts, "time_waited_micro": 100e6 * average}
    told = timed_out(event)
    assert told is not None and told[0] == share
    (whole,) = in_full([row(None, 1.0)], [], {"event": LOCK, **event}, 30.0, "19.0.0.0.0")
    assert (whole["wait_time_micro"] == pytest.approx(31e6)) == (share >= 0.9)
    assert timed_out({"total_waits": 1, "time_waited_micro": 1}) is None
