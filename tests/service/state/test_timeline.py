"""The changes in memory: each once, a day of them, and what the store does not have yet."""

from datetime import UTC, datetime, timedelta

from rules.changes import Change
from service.state.board import KEEP, MOST_KEPT, ChangeLog

AT = datetime(2026, 3, 1, 14, 2, tzinfo=UTC)


def job(seconds: float, name: str = "NIGHTLY") -> Change:
    return Change(at=AT + timedelta(seconds=seconds), kind="job", text=f"job APP.{name} began", source="jobs_begun")


def test_event_that_two_readings_time_a_little_differently_is_one() -> None:
    log = ChangeLog()
    assert log.add([job(0), job(1)]) == 1 and log.add([job(2), job(60)]) == 1
    assert log.changes == (job(0), job(60))


def test_what_is_new_goes_to_the_store_once() -> None:
    log = ChangeLog()
    log.add([job(0)])
    assert log.take_new() == (job(0),) and log.take_new() == ()


def test_what_the_store_had_is_not_new() -> None:
    log = ChangeLog()
    log.restore([job(9), job(0)])
    assert log.changes == (job(0), job(9)) and log.add([job(0)]) == 0 and log.take_new() == ()


def test_log_keeps_a_day_and_no_more_than_its_limit() -> None:
    log = ChangeLog()
    log.restore([job(0), job(KEEP.total_seconds() + 1)])
    assert log.changes == (job(KEEP.total_seconds() + 1),)
    log.restore(job(second, f"J{second}") for second in range(MOST_KEPT + 9))
    assert len(log.changes) == MOST_KEPT and log.changes[-1].text == f"job APP.J{MOST_KEPT + 8} began"
