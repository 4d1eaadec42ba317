"""Outages: told once after a while and once when over, over restarts and replicas, to people alone."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from service.config.settings import DatabaseSettings
from service.notify.build import STEADY_SECONDS, OutageWatch
from service.state.board import AT_LEAST_SECONDS, MISSED_POLLS, Board, Failure, MonitoredDatabase
from tests.service.notify.test_messages import _no_proxy, running  # noqa: F401
from tests.service.receiver import receiver
from tests.service.stage import Stage

DOWN = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
REFUSED = "DPY-6005: cannot connect to db1:1521: Connection refused"


class Watched:
    """One database on a board of its own, which answers or fails as the test says, and the watch of one process."""

    def __init__(self, stage: Stage, interval: float = 15.0) -> None:
        stage.poll("healthy-19c", 0)
        self.database = MonitoredDatabase(DatabaseSettings(name="erp1", dsn="demo:healthy-19c"), interval)
        self.database.published = stage["healthy-19c"].published
        self.board = Board([self.database])

    def fails(self, why: str | None = REFUSED, stopped: bool = False) -> None:
        failure = None if why is None else Failure("down", why, DOWN.timestamp(), None if stopped else 1.0)
        self.database.failure = failure


def after(seconds: float) -> datetime:
    return DOWN + timedelta(seconds=seconds)


def test_database_that_does_not_answer_is_told_once_and_once_when_it_is_back(tmp_path: Path, stage: Stage) -> None:
    with receiver() as to, running(tmp_path, to) as one:
        watched, log = Watched(stage), one.store.episode_log
        watched.fails()
        first, replica = OutageWatch(watched.board, log), OutageWatch(watched.board, log)
        first.do(after(AT_LEAST_SECONDS - 1))
        one.work()
        assert to.asked == [], "a false alarm is worse than a late one"
        for process in (first, replica, OutageWatch(watched.board, log)):  # the last one after a restart
            process.do(after(AT_LEAST_SECONDS))
            one.work()
        (begun,) = to.taken
        assert (begun["type"], begun["title"]) == ("warning", "erp1: The database does not answer")
        assert begun["message"].splitlines() == [
            f"Since 12:00 UTC: {REFUSED}",
            "Do: Look from here what is wrong: latchscope check erp1",
            "https://latchscope.example.com/db/erp1",
        ]
        watched.fails(None)
        for seconds in (600, 600 + STEADY_SECONDS - 1):
            first.do(after(seconds))
        watched.fails()
        first.do(after(700))
        one.work()
        assert len(to.taken) == 1, "a poll now and then is not back, and not a second outage"
        watched.fails(None)
        for seconds in (720, 720 + STEADY_SECONDS, 720 + 2 * STEADY_SECONDS):
            first.do(after(seconds))
            one.work()
        (_, back) = to.taken
        assert (back["type"], back["title"]) == ("success", begun["title"])
        assert back["message"].startswith("Answers again after 12 min.\n")
        assert log.since(0, 10) == [], "it is no episode, so no stream and no webhook gets it"


def test_outage_waits_for_missed_polls_quiet_hours_and_who_wants_it(tmp_path: Path, stage: Stage) -> None:
    quiet = {
        "quiet_hours": f"{datetime.now(UTC) - timedelta(hours=1):%H:%M}-{datetime.now(UTC) + timedelta(hours=1):%H:%M}"
    }
    for number, (more, bound) in enumerate(
        ((quiet, 0), ({"on": ["begin"]}, 0), ({"min_severity": "critical"}, 0), ({}, 1))
    ):
        (folder := tmp_path / str(number)).mkdir()
        with receiver() as to, running(folder, to, **more) as one:
            slow = Watched(stage, interval=600.0)
            slow.fails("ORA-01017: invalid username/password; logon denied", stopped=True)
            watch = OutageWatch(slow.board, one.store.episode_log)
            watch.do(after(600 * MISSED_POLLS - 1))
            assert one.store.episode_log.open_outages() == {}
            watch.do(after(600 * MISSED_POLLS))
            one.work()
            assert [each["title"] for each in to.taken] == ["erp1: The login is stopped"] * bound, more
            assert list(one.store.episode_log.open_outages()) == ["erp1"]
    assert "Do: Correct the password." in to.taken[0]["message"]
