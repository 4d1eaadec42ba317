"""What appears as current, and what is too old for that."""

import pytest

from service.config.settings import DatabaseSettings
from service.state.board import Board, Failure, MonitoredDatabase
from tests.service.stage import Stage


def test_board_knows_nothing_before_the_first_poll(stage: Stage) -> None:
    watched = stage["undo-storm"]
    assert watched.age is None
    assert not watched.up
    assert watched.current is None


def test_poll_is_current_until_it_is_stale(stage: Stage) -> None:
    watched, published = stage["undo-storm"], stage.poll("undo-storm", at=10)
    assert watched.up
    assert watched.current is published
    stage.at = 10 + max(3 * watched.interval, watched.interval + 5)
    assert watched.up
    stage.at += 0.1
    assert not watched.up
    assert watched.current is None
    assert watched.published is published, "the last poll stays, to show its age"


def test_failure_hides_what_was_known_until_the_next_poll(stage: Stage) -> None:
    watched = stage["undo-storm"]
    stage.poll("undo-storm", at=1)
    watched.failure = Failure("network", "ORA-12541: no listener", since=0.0, next_attempt=None)
    assert not watched.up
    assert watched.current is None
    stage.poll("undo-storm", at=3)
    assert watched.failure is None
    assert watched.up


def test_board_keeps_the_order_of_the_configuration() -> None:
    databases = [DatabaseSettings(name=name, dsn="demo:undo-storm") for name in ("zulu", "alpha")]
    board = Board([MonitoredDatabase(one, 15.0) for one in databases])
    assert [one.name for one in board] == ["zulu", "alpha"]
    assert len(board) == 2
    assert board.get("nobody") is None


@pytest.mark.parametrize(("interval", "fresh"), [(0.2, 5.2), (2.0, 7.0), (15.0, 45.0)])
def test_short_intervals_get_five_seconds_of_grace(stage: Stage, interval: float, fresh: float) -> None:
    stage.watch(DatabaseSettings(name="undo-storm", dsn="demo:undo-storm", interval=interval))
    stage.poll("undo-storm", at=0)
    stage.at = fresh - 0.01
    assert stage["undo-storm"].up
    stage.at = fresh + 0.01
    assert not stage["undo-storm"].up
