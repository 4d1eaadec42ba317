"""Polls stand back during a scrape, with a limit for each time and for their total."""

import threading

import pytest

from service.watch.right_of_way import LONGEST, SHARE, RightOfWay
from tests.oracle_standin.deadline import HANGS


class Stage:
    """A right of way in simulated time."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.way = RightOfWay(clock=lambda: self.now)


@pytest.fixture
def stage() -> Stage:
    return Stage()


def test_polls_stand_back_until_the_last_of_those_ahead_is_done(stage: Stage) -> None:
    with stage.way.first():
        with stage.way.first():
            assert stage.way.taken
        assert stage.way.taken
    assert not stage.way.taken


def test_poll_goes_on_when_the_scrape_is_done(stage: Stage) -> None:
    gone = threading.Event()
    poll = threading.Thread(target=lambda: (stage.way.wait(), gone.set()), daemon=True)
    with stage.way.first():
        poll.start()
    assert gone.wait(HANGS)


def test_slow_reader_holds_polls_up_for_a_bounded_time(stage: Stage) -> None:
    with stage.way.first():
        stage.now += LONGEST
        assert not stage.way.taken
        stage.way.wait()


def test_endless_scrapes_hold_polls_up_for_a_bounded_part_of_the_time(stage: Stage) -> None:
    stood_back = 0.0
    for _ in range(1000):
        with stage.way.first():
            stood_back += 0.1 if stage.way.taken else 0.0
            stage.now += 0.1
    assert stood_back == pytest.approx(100 * SHARE, rel=0.02)


def test_scrape_that_fails_leaves_no_poll_waiting(stage: Stage) -> None:
    with pytest.raises(ZeroDivisionError), stage.way.first():
        raise ZeroDivisionError
    stage.way.wait()
