"""When to try again: each class of error by its cure, a fleet in turns, and expensive polls that slow themselves down."""

import re
from dataclasses import dataclass
from statistics import pstdev

import pytest

from collectors.demo.database import ScriptedDatabase
from collectors.demo.scenarios import scenarios
from collectors.errors import CredentialError, SessionError, SetupError, StartingError
from collectors.model import Binds, Cost
from collectors.poll import Answer, Connection
from service.metrics.exposition import exposition
from service.state.board import MonitoredDatabase
from service.watch.backoff import FARTHEST_SECONDS, LONGEST_PAUSE, after_failure, felt, interval_after, nearest, turn_of
from service.watch.pipeline import run_poll
from service.watch.worker import Worker
from tests.each import each
from tests.service.stage import Stage


def middle(low: float, high: float) -> float:
    return (low + high) / 2


def pauses(error: Exception, count: int) -> list[float | None]:
    return [after_failure(error, number, middle).pause for number in range(1, count + 1)]


def test_refused_credential_is_not_retried() -> None:
    assert after_failure(CredentialError("ORA-01017"), 1).pause is None


def test_starting_instance_is_retried_in_seconds_then_ever_more_rarely() -> None:
    found = [pause or 0.0 for pause in pauses(StartingError("ORA-01033"), 2000)]
    assert found[:40] == [3.0] * 40 and found[-1] == LONGEST_PAUSE
    assert found == sorted(found)


def test_pauses_differ_from_database_to_database() -> None:
    for error in (StartingError("ORA-12514"), SessionError("gone")):
        assert len({after_failure(error, 3).pause for _ in range(20)}) > 15


@pytest.mark.parametrize(("error", "kind"), [(SessionError("gone"), "network"), (KeyError("ours"), "bug")])
def test_network_errors_and_bugs_are_retried_ever_more_rarely(error: Exception, kind: str) -> None:
    found = [pause or 0.0 for pause in pauses(error, 12)]
    assert after_failure(error, 1).kind == kind
    assert found[:4] == pytest.approx([1.8, 3.6, 7.2, 14.4])
    assert max(found) <= LONGEST_PAUSE and after_failure(error, 10**6).pause is not None


def test_setup_error_is_retried_after_a_minute() -> None:
    assert pauses(SetupError("DPY-3010"), 2) == [60.0, 60.0]


def test_turns_of_a_fleet_spread_over_the_interval() -> None:
    turns = sorted(turn_of(f"db-{number}", 1000.0, 15.0) - 1000.0 for number in range(500))
    assert turns[0] >= 0 and turns[-1] < 15.0
    assert pstdev(turns) == pytest.approx(15.0 / 12**0.5, rel=0.05)
    assert turn_of("erp", 1000.0, 15.0) == turn_of("erp", turn_of("erp", 1000.0, 15.0) - 14.0, 15.0)


@each(("poll", "expected"), [(0.05, 15.0), (0.15, 15.0), (0.3, 30.0), (3.0, 300.0), (60.0, 600.0), (0.0, 15.0)])
def test_interval_grows_when_polls_exceed_their_share(poll: float, expected: float) -> None:
    assert interval_after([poll, poll], 15.0, 0.01) == pytest.approx(expected)


def test_interval_is_unchanged_by_a_single_expensive_poll() -> None:
    for recent in ([], [3.0], [3.0, 0.05], [0.05, 3.0], [3.0, 3.0, 0.05]):
        assert interval_after(recent, 15.0, 0.01) == 15.0


@dataclass
class Dear:
    """Connections to a scripted database whose every statement takes simulated time."""

    stage: Stage
    seconds: float = 0.0

    def open(self, _: MonitoredDatabase) -> Connection:
        self._inner = ScriptedDatabase(scenarios()["busy-but-fine"], self.stage.began, lambda: self.stage.at)
        return self

    def credential(self, _: MonitoredDatabase) -> str:
        return ""

    def query(self, sql: str, binds: Binds) -> Answer:
        self.stage.at += self.seconds
        return self._inner.query(sql, binds)

    def close(self) -> None:
        """Nothing to give back."""


def test_worker_slows_down_for_expensive_polls_and_speeds_up_again(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched, dear = stage["busy-but-fine"], Dear(stage)
    watched.interval = 15.0
    monkeypatch.setattr(
        "service.watch.worker.run_poll", lambda *given, **more: run_poll(*given, clock=lambda: stage.at, **more)
    )
    worker = Worker(watched, dear, stage.keeper, budget=0.01)
    found = []
    for dear.seconds in (0.0, 0.2, 0.2, 0.2, 0.0):
        found.append(worker.step())
        stage.at += found[-1]
        page = exposition([watched], None)[0].decode()
        (told,) = re.findall(r"^latchscope_poll_interval_seconds\{.*\} (\S+)$", page, re.MULTILINE)
        assert float(told) == pytest.approx(found[-1])
    assert found[0] == found[1] == found[4] == 15.0
    assert all(45.0 <= pause <= 90.0 for pause in found[2:4])


@pytest.mark.parametrize("seconds", [0.012, 0.2])
def test_distance_does_not_lengthen_the_interval(seconds: float, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    watched = stage["busy-but-fine"]
    watched.interval = 15.0
    monkeypatch.setattr(
        "service.watch.worker.run_poll", lambda *given, **more: run_poll(*given, clock=lambda: stage.at, **more)
    )
    worker = Worker(watched, Dear(stage, seconds), stage.keeper, budget=0.01)
    assert [worker.step() for _ in range(4)] == [15.0] * 4


def test_felt_is_what_exceeds_the_way_there_and_back() -> None:
    costs = [Cost(0.012, 1, 1), Cost(0.512, 3, 1), Cost(0.036, 4000, 3)]
    assert nearest(costs) == pytest.approx(0.012) and felt(costs, nearest(costs)) == pytest.approx(0.5)
    assert nearest([]) == nearest([Cost(2.0, 1, 1)]) == FARTHEST_SECONDS
    assert felt([Cost(2.0, 1, 1)], FARTHEST_SECONDS) == pytest.approx(1.75), "slow by itself, whatever the distance"


def test_late_polls_tell_the_interval_in_fact(stage: Stage) -> None:
    watched, dear = stage["busy-but-fine"], Dear(stage)
    watched.interval = 15.0
    worker = Worker(watched, dear, stage.keeper)
    worker._poll(1000.0)
    assert watched.pace == 15.0
    worker._due = 1015.0
    worker._poll(1015.5)
    assert watched.pace == 15.0
    worker._due = 1030.0
    worker._poll(1045.5)
    assert watched.pace == 30.0, "our own queue was too long"
    worker._due = 1060.0
    worker._poll(1060.0)
    assert watched.pace == 15.0
