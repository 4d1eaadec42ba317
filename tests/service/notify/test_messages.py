"""Notifications end to end over Apprise to a receiver on loopback: once each, grouped, held, retried, and masked."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from pydantic import TypeAdapter
from sqlalchemy import text as sql

from rules.changes import Change
from rules.explain.story import as_sure
from rules.model import Confidence, Severity
from service.config.settings import BadSettings, DatabaseSettings, NotificationSettings, Settings
from service.notify import build
from service.notify.build import STEADY_SECONDS, OutageWatch
from service.notify.delivery import DeliverySchedule
from service.notify.messages import (
    LONGEST_SENTENCE,
    MOST_EPISODES,
    Channel,
    Notifications,
    changes_in,
    message_of,
)
from service.state.board import AT_LEAST_SECONDS, MISSED_POLLS, Board, Failure, MonitoredDatabase
from service.state.episodes import Episode
from service.store.episodes import LoggedChange
from service.store.record import row_of
from service.store.repository import Repository
from tests.service.receiver import Receiver, receiver
from tests.service.stage import Stage
from tests.service.store.test_episodes import BEGAN, change, episode, write

QUICK = DeliverySchedule(first=0.01, longest=0.02, lease=0.1, look=0.02)
SECRET = "zx9mark-of-the-key"


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def written() -> Iterator[StringIO]:
    """What a process writes to stderr at its most verbose level. caplog also sees loggers without handlers."""
    text = StringIO()
    handler, root = logging.StreamHandler(text), logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield text
    root.setLevel(level)
    root.removeHandler(handler)


class Running:
    """A process, reduced to one receiver of notifications."""

    def __init__(self, folder: Path, to: Receiver, pace: DeliverySchedule = QUICK, **more: object) -> None:
        address = to.url.replace("http://", f"json://user:{SECRET}@")
        (folder / "address").write_text(f"# the chat of the night shift\n{address}\n", encoding="utf-8")
        given = {"name": "chat", "url_file": folder / "address", "group": 0, **more}
        self.own = CollectorRegistry()
        self.store = Repository(f"sqlite:///{folder}/store.db")
        settings = Settings(
            databases=[DatabaseSettings(name=name, dsn="demo:undo-storm") for name in ("erp1", "erp2")],
            notifications=[NotificationSettings.model_validate(given)],
            public_url="https://latchscope.example.com",
        )
        self.channel: Channel = Notifications(settings, self.store, self.own, pace).senders[0]

    def work(self) -> None:
        """Send everything that is due, as its thread does."""
        while self.channel.step() == 0.0:
            pass

    def outcomes(self, minutes: int = 0) -> list[tuple[str, str]]:
        """The outcome of each change of an episode."""
        told = self.store.deliveries.of("erp1", "undo-segments", BEGAN + timedelta(minutes=minutes))
        return [(each.change.what, each.outcome) for each in told]

    def metric(self, outcome: str) -> float | None:
        labels = {"target": "chat", "outcome": outcome}
        return self.own.get_sample_value("latchscope_notification_attempts_total", labels)


@contextmanager
def running(folder: Path, to: Receiver, pace: DeliverySchedule = QUICK, **more: object) -> Iterator[Running]:
    one = Running(folder, to, pace, **more)
    try:
        yield one
    finally:
        one.channel.stop()
        one.channel.join(60)
        one.store.close()


def told(to: Receiver) -> list[tuple[Any, Any, str]]:
    return [(each["type"], each["title"], each["message"].split(":")[0].split(".")[0]) for each in to.taken]


TITLE = "erp1: Too many undo segments on dc_rollback_segments"


def test_episode_is_told_once_for_each_rise_and_resolved_once(tmp_path: Path) -> None:
    storm = (change(), change("worse", severity="critical"), change("end", severity="critical"))
    begun, over = ("warning", TITLE, "Warning"), ("success", TITLE, "Resolved after 15 s")
    rise = ("failure", TITLE, "Critical waits now since 12")
    for number, (more, said, worse) in enumerate(
        (({}, [begun, rise, over], "told"), ({"on": ["begin", "end"]}, [begun, over], "skipped"))
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        with receiver() as to, running(folder, to, **more) as one:
            for each in (*storm[:2], *storm[1:]):
                write(one.store, each)
                one.work()
            assert told(to) == said
            assert all(each["message"].endswith("https://latchscope.example.com/db/erp1") for each in to.taken)
            assert one.outcomes() == [("begin", "told"), ("worse", worse), ("end", "told")]
            assert (one.metric("told"), one.metric("failed"), one.metric("gave_up")) == (len(said), 0, 0)


def test_episode_that_grows_into_its_severity_is_told_then(tmp_path: Path) -> None:
    with receiver() as to, running(tmp_path, to, min_severity="critical") as one:
        write(one.store, change(), change("worse", severity="critical"))
        one.work()
        write(one.store, change("end", severity="critical"), change(database="erp2"))
        one.work()
        assert told(to) == [
            ("failure", TITLE, "Critical waits now since 12"),
            ("success", TITLE, "Resolved after 15 s"),
        ]


def test_growing_worse_is_told_to_whom_asks(tmp_path: Path) -> None:
    with receiver() as to, running(tmp_path, to, on=["begin", "worse"], databases=["erp1"]) as one:
        for each in (change(), change("worse", severity="critical"), change("end"), change(database="erp2")):
            write(one.store, each)
            one.work()
        assert [each["type"] for each in to.taken] == ["warning", "failure"]


def test_what_happens_together_is_one_message(tmp_path: Path) -> None:
    with receiver() as to, running(tmp_path, to, group=3600) as one:
        write(one.store, change(), change(database="erp2"), change("end", database="erp2"))
        assert one.channel.step() > 0 and to.asked == [], "it waits for others"
    with receiver() as to, running(tmp_path, to, group=0.01) as one:
        write(one.store, change(minutes=1))
        one.channel.step()
        one.work()
        (only,) = to.taken
        assert only["title"] == "latchscope: 3 troubles on 2 databases, 1 of them over"
        assert one.outcomes() == [("begin", "told")] and one.metric("told") == 4


def test_quiet_hours_hold_what_is_not_urgent(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    quiet = f"{now - timedelta(hours=1):%H:%M}-{now + timedelta(hours=1):%H:%M}"
    with receiver() as to, running(tmp_path, to, quiet_hours=quiet) as one:
        write(one.store, change(), change(database="erp2"), change("end", database="erp2"))
        one.work()
        assert to.asked == []
        write(one.store, change("worse", severity="critical"))
        one.work()
        assert told(to) == [("failure", TITLE, "Critical waits now since 12")], "with the changes that were held back"
        assert one.outcomes() == [("begin", "told"), ("worse", "told")]
    with receiver() as to, running(tmp_path, to) as one:  # the night is over
        one.work()
        assert told(to) == [("success", TITLE.replace("erp1", "erp2"), "Resolved after 15 s")]


def test_failure_is_tried_again_said_once_and_holds_nothing_of_the_address(tmp_path: Path, written: StringIO) -> None:
    with receiver(500, 500, 0, 302) as to, running(tmp_path, to) as one:
        to.headers = {"Location": to.url}
        write(one.store, change(), change("end"))
        one.channel.start()
        to.wait(taken=1)
        assert len(to.asked) == 5, "it follows no redirect"
        assert "authorization" in to.asked[0][0]
    assert (one.metric("failed"), one.metric("told")) == (8, 2)
    assert (
        written.getvalue().count(
            "notification chat: not delivered, retrying: Failed to send JSON POST notification: Internal"
        )
        == 1
    )
    assert "notification chat: told again" in written.getvalue()
    stored = b"".join(each.read_bytes() for each in tmp_path.glob("store.db*"))
    for mark in (SECRET, "of-a-secret-path", "127.0.0.1"):
        assert mark not in written.getvalue(), mark
        assert mark.encode() not in stored, mark


def test_address_that_cannot_be_used_is_said_and_mended_without_a_restart(tmp_path: Path, written: StringIO) -> None:
    with receiver() as to, running(tmp_path, to, pace=replace(QUICK, first=0.0, longest=0.0)) as one:
        file = tmp_path / "address"
        good = file.read_text(encoding="utf-8")
        write(one.store, change())
        wrong = {
            "": "is empty; write an address into it",
            f"{good}{good}": "has 2 addresses",
            "secret-word": "has no address such as slack://",
            "nosuch://secret-word": "has no address that Apprise knows",
            "slack://secret-word": "has no address that Apprise knows",
        }
        for text, said in wrong.items():
            file.write_text(text, encoding="utf-8")
            one.channel.step()
            assert said in written.getvalue(), text
        file.unlink()
        one.channel.step()
        assert "address cannot be read: No such file or directory" in written.getvalue()
        file.write_text(good, encoding="utf-8")
        one.work()
        assert len(to.taken) == 1 and "secret-word" not in written.getvalue()


def test_two_processes_send_one_message(tmp_path: Path) -> None:
    with receiver() as to, running(tmp_path, to) as one, running(tmp_path, to) as two:
        write(one.store, change())
        (waiting,) = one.store.deliveries.open_of("chat", 10)
        assert one.store.deliveries.claim(waiting, datetime.now(UTC)) is not None
        assert two.channel.step() > 0 and to.asked == []


def test_notifications_without_apprise_are_refused_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.extras.find_spec", lambda name: None)
    store = Repository(f"sqlite:///{tmp_path}/store.db")
    channel = NotificationSettings(name="chat", url_file=tmp_path / "address")
    with pytest.raises(BadSettings, match=r"notifications need the package apprise.* the extra `notify`"):
        build.build_notifiers(Settings(notifications=[channel]), store, Board([]), CollectorRegistry())
    build.build_notifiers(Settings(), store, Board([]), CollectorRegistry())
    store.close()


# Messages for people: one sentence and a link, the same title at begin and end, and no name that takes effect

HOME = "https://latchscope.example.com/"
HIGH, LOW = Confidence.HIGH, Confidence.LOW
NOW = datetime(2026, 3, 1, 12, 1, tzinfo=UTC)


def logged(what: str = "begin", seq: int = 1, minutes: int = 12, **fields: Any) -> LoggedChange:
    given = {"headline": "Too many undo segments on dc_rollback_segments; 31 % of DB time", **fields}
    told = replace(episode(given.pop("database", "erp1")), **given)
    if what == "end":
        told = replace(told, end=told.begin + timedelta(minutes=minutes))
    document = TypeAdapter(Episode).dump_python(told, mode="json")
    return LoggedChange(seq, NOW, told.database, what, document)


def test_begin_and_end_have_one_title_a_sentence_and_a_link() -> None:
    begin, end = message_of([logged()], HOME), message_of([logged("end")], HOME)
    assert begin.title == end.title == "erp1: Too many undo segments on dc_rollback_segments"
    assert begin.body == (
        "Warning: waits since 12:00 UTC; too many undo segments on dc_rollback_segments; 31 % of DB time\n"
        "Do not drop the old undo tablespace right after the switch. Long readers get ORA-01555.\n"
        "https://latchscope.example.com/db/erp1"
    )
    assert (
        end.body == "Resolved after 12 min. It was warning, 31.0 % of DB time.\nhttps://latchscope.example.com/db/erp1"
    )
    assert (begin.severity, end.severity) == (Severity.WARNING, None)


def test_message_says_what_to_do_and_what_not_while_it_lasts() -> None:
    storm = {"do_now": "Switch to a new one.", "check_first": "Numbers are free.", "do_not": "Do not drop the old one."}
    sure, unsure = (message_of([logged("worse", confidence=each, **storm)], None).body for each in (HIGH, LOW))
    assert sure.splitlines()[1:] == [
        "Do now: Switch to a new one.",
        "Later: Drop the old one in a quiet hour, and find what made the segments.",
        "Check first: Numbers are free.",
        "Do not drop the old one.",
    ]
    assert f"\nDo now: {as_sure('Switch to a new one.', unsure=True, asked=True)}\n" in unsure
    assert message_of([logged("end", confidence=HIGH, **storm)], None).body.count("\n") == 0
    several = message_of([logged(seq=each, database=f"erp{each}", **storm) for each in (1, 2)], None).body
    assert [line for line in several.splitlines() if line.startswith("  Do now: ")] == [
        "  Do now: Switch to a new one."
    ], "once"


def test_what_was_over_before_it_was_told_says_what_it_was() -> None:
    told = message_of(
        [logged(), logged("end", 2, minutes=200, verdict="verified: after the change sleeps fell.")], None
    )
    assert told.body == (
        "Resolved after 3 h 20 min. At its worst warning, 31.0 % of DB time: "
        "Too many undo segments on dc_rollback_segments; 31 % of DB time. Verified. After the change sleeps fell."
    )
    assert told.severity is None


def test_several_episodes_are_one_message_with_the_worst_severity() -> None:
    worse = logged("worse", 3, database="erp2", peak_severity=Severity.CRITICAL)
    told = message_of([logged(), logged(seq=2, database="erp2"), worse, logged("end", 4, database="erp3")], HOME)
    assert told.title == "latchscope: 3 troubles on 3 databases, 1 of them over"
    assert told.severity is Severity.CRITICAL
    lines = told.body.splitlines()
    assert [line for line in lines if line.startswith("•")] == [
        "• erp1: Too many undo segments on dc_rollback_segments. Warning: waits since 12:00 UTC; "
        "too many undo segments on dc_rollback_segments; 31 % of DB time",
        "• erp2: Too many undo segments on dc_rollback_segments. Critical waits now since 12:00 UTC; "
        "too many undo segments on dc_rollback_segments; 31 % of DB time",
        "• erp3: Too many undo segments on dc_rollback_segments. Resolved after 12 min. It was warning, 31.0 % of DB time.",
    ]
    assert lines[-1] == HOME and "  https://latchscope.example.com/db/erp2" in lines


def test_long_incident_is_cut_and_counted() -> None:
    many = [logged(seq=place, begin=BEGAN + timedelta(minutes=place)) for place in range(MOST_EPISODES + 7)]
    told = message_of(many, None)
    assert told.title == "latchscope: 27 troubles on erp1"
    assert told.body.count("•") == MOST_EPISODES and told.body.endswith("and 7 more")


def test_names_from_a_database_call_nobody_and_drive_nothing() -> None:
    hostile = "\x1b[2J<!channel> @everyone [Grafana](http://evil.example/login) *bold* `code` \u202egnp " + "x" * 10_000
    told = message_of([logged(headline=hostile, cache=hostile, title=hostile)], HOME)
    for text in (told.title, told.body):
        assert not set(text) & set("\x1b<>@*`\u202e"), text[:200]
    assert "［U+001B］［2J‹!channel› ＠everyone ［Grafana］(http․//evil.example/login)" in told.body
    assert len(told.title) <= 200 and len(told.body) < LONGEST_SENTENCE + 300


def test_begin_has_the_three_nearest_changes_and_an_end_has_none() -> None:
    asked = list[tuple[str, datetime]]()

    def nearby(database: str, begin: datetime) -> list[Change]:
        asked.append((database, begin))
        times = (-3000, -60, -20, 30)
        return [
            Change(
                at=begin + timedelta(seconds=s),
                kind="ddl",
                text=f"TABLE @APP.T{-s} changed by DDL",
                source="dba_objects",
            )
            for s in times
        ]

    begin = message_of([logged()], HOME, nearby).body.splitlines()
    assert asked == [("erp1", BEGAN)]
    assert begin[-2] == (
        "Changed (UTC): 11:59:00 TABLE ＠APP.T60 changed by DDL, 60 s before the waits began; 11:59:40 TABLE ＠APP.T20 changed "
        "by DDL, 20 s before the waits began; 12:00:30 TABLE ＠APP.T-30 changed by DDL, 30 s after the waits began."
    )
    assert "Changes" not in message_of([logged("end")], HOME, nearby).body
    assert message_of([logged()], HOME).body.count("Changes") == 0, "nothing is known, so nothing is said"


def test_changes_of_a_message_are_those_of_the_store_around_the_begin(store: Repository) -> None:
    near, far = (
        Change(
            at=BEGAN + timedelta(minutes=minutes), kind="patch", text=f"patch {minutes}", source="dba_registry_sqlpatch"
        )
        for minutes in (-5, -90)
    )
    with store.engine.begin() as connection:
        store.timeline.write(connection, [("erp1", near), ("erp1", far), ("erp2", near)])
    assert list(changes_in(store)("erp1", BEGAN)) == [near]
    with store.engine.begin() as connection:
        connection.execute(sql("drop table database_changes"))
    assert list(changes_in(store)("erp1", BEGAN)) == [], "a message goes out without them"


# Outages: told once after a while and once when over, over restarts and replicas, to people alone

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
        first, replica = OutageWatch(watched.board, one.store), OutageWatch(watched.board, one.store)
        first.do(after(AT_LEAST_SECONDS - 1))
        one.work()
        assert to.asked == [], "a false alarm is worse than a late one"
        for process in (first, replica, OutageWatch(watched.board, one.store)):  # the last one after a restart
            process.do(after(AT_LEAST_SECONDS))
            one.work()
        (begun,) = to.taken
        assert (begun["type"], begun["title"]) == ("warning", "erp1: The database does not answer")
        assert begun["message"].splitlines() == [
            f"Since 12:00 UTC: {REFUSED}",
            "Do now: Look from here what is wrong: latchscope check erp1",
            "Do not take silence for health. Nothing is known until a poll succeeds.",
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


def test_database_that_left_the_configuration_ends_what_was_told_of_it(tmp_path: Path, stage: Stage) -> None:
    with receiver() as to, running(tmp_path, to) as one:
        watched = Watched(stage)
        watched.fails()
        OutageWatch(watched.board, one.store).do(after(AT_LEAST_SECONDS))
        write(one.store, change())
        with one.store.engine.begin() as connection:
            one.store.episodes.write(connection, [row_of(episode(name)) for name in ("erp1", "stays")])
        one.work()
        board = Board([MonitoredDatabase(DatabaseSettings(name="stays", dsn="demo:healthy-19c"), 15.0)])
        for _ in range(2):
            OutageWatch(board, one.store).do(after(600))
            one.work()
        ends = [each for each in to.taken if each["type"] == "success"]
        assert [each["title"] for each in ends] == ["erp1: The database does not answer", TITLE]
        assert all(each["message"].startswith("No longer watched: ") for each in ends)
        (stays,) = one.store.episodes.open()
        assert stays.database == "stays" and one.store.episode_log.open_outages() == {}
        (left,) = one.store.episodes.recent("erp1")
        assert (
            left.end == left.last_seen
            and left.verdict == "not verified because latchscope no longer watches the database"
        )


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
            watch = OutageWatch(slow.board, one.store)
            watch.do(after(600 * MISSED_POLLS - 1))
            assert one.store.episode_log.open_outages() == {}
            watch.do(after(600 * MISSED_POLLS))
            one.work()
            assert [each["title"] for each in to.taken] == ["erp1: The login is stopped"] * bound, more
            assert list(one.store.episode_log.open_outages()) == ["erp1"]
    assert "Do now: Correct the password." in to.taken[0]["message"]
