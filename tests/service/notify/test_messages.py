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

from service.config.settings import BadSettings, DatabaseSettings, NotificationSettings, Settings
from service.notify import build
from service.notify.delivery import DeliverySchedule
from service.notify.messages import Channel, Notifications
from service.state.board import Board
from service.store.repository import Repository
from tests.service.receiver import Receiver, receiver
from tests.service.store.test_episodes import BEGAN, change, write

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
    begun, over = ("warning", TITLE, "WARNING, since 12"), ("success", TITLE, "Resolved after 15 s")
    rise = ("failure", TITLE, "CRITICAL now, since 12")
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


def test_thread_tells_what_comes_and_ends_when_asked(tmp_path: Path) -> None:
    with receiver() as to, running(tmp_path, to) as one:
        one.channel.start()
        write(one.store, change())
        one.channel.wake()
        to.wait(taken=1)
        assert one.channel.thread.alive
    assert not one.channel.thread.alive


def test_episode_that_grows_into_its_severity_is_told_then(tmp_path: Path) -> None:
    with receiver() as to, running(tmp_path, to, min_severity="critical") as one:
        write(one.store, change(), change("worse", severity="critical"))
        one.work()
        write(one.store, change("end", severity="critical"), change(database="erp2"))
        one.work()
        assert told(to) == [("failure", TITLE, "CRITICAL now, since 12"), ("success", TITLE, "Resolved after 15 s")]


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
        assert told(to) == [("failure", TITLE, "CRITICAL now, since 12")], "with the changes that were held back"
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


def test_what_is_given_up_is_an_error_and_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with receiver(500) as to, running(tmp_path, to, pace=replace(QUICK, patience=timedelta())) as one:
        write(one.store, change())
        one.work()
        assert one.outcomes() == [("begin", "gave up")] and one.metric("gave_up") == 1
    (said,) = [each.getMessage() for each in caplog.records if each.levelno == logging.ERROR]
    assert said.startswith(
        "notification chat: gave up on begin of undo-segments on erp1 after 1 attempts: Failed to send"
    )


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
