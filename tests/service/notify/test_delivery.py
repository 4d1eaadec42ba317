"""Webhooks: every change reaches its receivers once, in order, whatever fails or restarts."""

import hashlib
import hmac
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from service.config.settings import DatabaseSettings, Settings, WebhookSettings
from service.notify.delivery import DeliverySchedule, Webhooks
from service.notify.feed import EpisodeFeed, TooManyListeners
from service.store.engine import StoreUnavailable
from service.store.episodes import Delivery, LoggedChange
from service.store.repository import Repository
from tests.oracle_standin.deadline import HANGS
from tests.service.receiver import Receiver, receiver
from tests.service.store.test_episodes import BEGAN, change, write

QUICK = DeliverySchedule(first=0.01, longest=0.02, lease=0.1, look=0.02)
SECRET = "zx9mark-of-the-key"


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/store.db"


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    file = tmp_path / "key"
    file.write_text(SECRET + "\n", encoding="utf-8")
    return file


class Running:
    """A process, reduced to webhooks: its store, its threads, its metrics."""

    def __init__(self, url: str, webhooks: list[WebhookSettings], pace: DeliverySchedule) -> None:
        self.own = CollectorRegistry()
        self.store = Repository(url)
        databases = [DatabaseSettings(name=name, dsn="demo:undo-storm") for name in ("erp1", "erp2")]
        settings = Settings(databases=databases, webhooks=webhooks, public_url="https://latchscope.example.com/")
        self.webhooks = Webhooks(settings, self.store, self.own, pace)

    def metric(self, outcome: str, target: str = "one") -> float | None:
        return self.own.get_sample_value("latchscope_webhook_attempts_total", {"target": target, "outcome": outcome})

    def outcomes(self) -> list[tuple[str, int]]:
        return [(one.outcome, one.attempts) for one in self.store.deliveries.of("erp1", "undo-segments", BEGAN)]

    def end(self) -> None:
        for one in self.webhooks.senders:
            one.stop(), one.join(60)
        assert not any(one.thread.alive for one in self.webhooks.senders)
        self.store.close()


@contextmanager
def running(
    url: str, *webhooks: WebhookSettings, pace: DeliverySchedule = QUICK, started: bool = True
) -> Iterator[Running]:
    one = Running(url, list(webhooks), pace)
    for each in one.webhooks.senders if started else ():
        each.start()
    try:
        yield one
    finally:
        one.end()


def hook(to: Receiver, **more: object) -> WebhookSettings:
    return WebhookSettings.model_validate({"url": to.url, "name": "one", **more})


def events(to: Receiver) -> list[tuple[str, str]]:
    return [(one["database"], one["event"]) for one in to.taken]


def test_webhook_gives_a_failing_receiver_each_change_once_in_order(url: str, secret: Path) -> None:
    with receiver(500, 0, 302, 404) as to, running(url, hook(to, secret_file=secret)) as one:
        to.headers = {"Location": to.url}
        write(one.store, change())
        write(one.store, change("worse", severity="critical"), change("end", severity="critical"))
        to.wait(asked=7, taken=3)
        one.end()
        assert events(to) == [("erp1", "begin"), ("erp1", "worse"), ("erp1", "end")]
        assert len(to.asked) == 7, "four failures, and no redirect followed"
        assert [one["episode"]["peak_severity"] for one in to.taken] == ["warning", "critical", "critical"]
        assert {one["url"] for one in to.taken} == {"https://latchscope.example.com/db/erp1"}
        assert one.outcomes() == [("told", 5), ("told", 1), ("told", 1)]
        assert (one.metric("told"), one.metric("failed"), one.metric("gave_up")) == (3, 4, 0)


def test_webhook_signs_every_attempt_and_keeps_its_id(url: str, secret: Path) -> None:
    with receiver(503, 503) as to, running(url, hook(to, secret_file=secret)) as one:
        write(one.store, change(), change("end"))
        to.wait(asked=4, taken=2)
    for headers, body in to.asked:
        signed = headers["x-latchscope-timestamp"].encode() + b"." + body
        wanted = hmac.new(SECRET.encode(), signed, hashlib.sha256).hexdigest()
        assert headers["x-latchscope-signature"] == f"sha256={wanted}"
        assert abs(datetime.now(UTC).timestamp() - int(headers["x-latchscope-timestamp"])) < 600
        assert headers["content-type"] == "application/json"
    ids = [headers["x-latchscope-id"] for headers, _ in to.asked]
    assert len(set(ids)) == 2 and ids[0] == ids[1] == ids[2]
    assert [one["id"] for one in to.taken] == ids[2:]


def test_webhook_signs_only_with_a_key_and_waits_for_a_readable_one(url: str, tmp_path: Path) -> None:
    with receiver() as to, running(url, hook(to)) as one:
        write(one.store, change())
        to.wait(taken=1)
        assert "x-latchscope-signature" not in to.asked[0][0]
    (tmp_path / "empty").touch()
    for name in ("none", "empty"):
        with receiver() as to, running(url, hook(to, secret_file=tmp_path / name), started=False) as one:
            write(one.store, change(minutes=len(name)))
            one.webhooks.senders[0].step()
            assert to.asked == [] and one.metric("failed") == 1
            one.store.deliveries.settle(one.store.deliveries.next_of("one")[0], "told", datetime.now(UTC))


def test_webhook_queue_survives_a_restart(url: str) -> None:
    with receiver(*[503] * 3) as to:
        with running(url, hook(to)) as one:
            write(one.store, change(), change("end"))
            to.wait(asked=3)
        left = len(to.taken)
        with running(url, hook(to)) as one:
            to.wait(taken=2)
            write(one.store, change(minutes=5))
            to.wait(taken=3)
        assert left <= 2 and events(to) == [("erp1", "begin"), ("erp1", "end"), ("erp1", "begin")]


def test_webhook_resends_what_a_dead_process_was_sending(url: str) -> None:
    with receiver() as to:
        with running(url, hook(to), pace=replace(QUICK, lease=3600.0), started=False) as dead:
            write(dead.store, change(), change("end"))
            (head,) = dead.store.deliveries.next_of("one")
            assert dead.store.deliveries.claim(head, datetime.now(UTC)) is not None
            assert dead.webhooks.senders[0].step() > 0 and to.asked == [], (
                "while it may still be sending, no other process does"
            )
        with running(url, hook(to)) as one:
            to.wait(taken=2)
            one.end()
            assert one.outcomes() == [("told", 2), ("told", 1)]
    assert events(to) == [("erp1", "begin"), ("erp1", "end")]


def test_webhook_change_is_sent_by_exactly_one_of_many_processes(url: str) -> None:
    with receiver(500, 500, 500) as to:
        calm = replace(QUICK, lease=60.0)
        with running(url, hook(to), pace=calm) as one, running(url, hook(to), pace=calm) as two:
            for minute in range(15):
                write(one.store, change(minutes=minute))
                write(two.store, change(minutes=minute, database="erp2"))
            to.wait(taken=30)
            both = (one, two)
            for each in both:
                each.end()
            assert sum(each.metric("told") or 0 for each in both) == 30
    assert len({told["id"] for told in to.taken}) == len(to.taken) == 30
    for name in ("erp1", "erp2"):
        begun = [told["episode"]["begin"] for told in to.taken if told["database"] == name]
        assert begun == sorted(begun), "each database in order"


def test_webhook_failure_delays_only_its_own_database(url: str) -> None:
    slow = DeliverySchedule(first=3600.0)
    with receiver(500) as to, running(url, hook(to), pace=slow, started=False) as one:
        write(one.store, change(), change("end"), change(database="erp2"), change("end", database="erp2"))
        while one.webhooks.senders[0].step() == 0.0:
            pass
        assert events(to) == [("erp2", "begin"), ("erp2", "end")]
        assert one.outcomes() == [("waiting", 1), ("waiting", 0)]


def test_webhook_receiver_that_is_down_delays_no_other(url: str) -> None:
    with receiver() as to, receiver(*[500] * 1000) as down, running(url, hook(to), hook(down, name="down")) as one:
        write(one.store, change(), change("end"))
        to.wait(taken=2)
        assert down.taken == []


@pytest.mark.parametrize(("answer", "patience", "why"), [(500, 0.0, "it answers 500"), (410, 3600.0, "it answers 410")])
def test_webhook_reports_what_it_gives_up(
    url: str, caplog: pytest.LogCaptureFixture, answer: int, patience: float, why: str
) -> None:
    pace = replace(QUICK, patience=timedelta(seconds=patience))
    with receiver(answer) as to, running(url, hook(to), pace=pace) as one:
        write(one.store, change(), change("end"))
        to.wait(asked=2, taken=1)
        one.end()
        assert one.outcomes() == [("gave up", 1), ("told", 1)]
        assert one.metric("gave_up") == 1
    (said,) = [each.getMessage() for each in caplog.records if each.levelno == logging.ERROR]
    assert said == f"webhook one: gave up on begin of undo-segments on erp1 after 1 attempts: {why}"


def test_webhook_key_and_address_appear_nowhere(
    url: str, secret: Path, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    caplog.set_level(logging.DEBUG)
    with receiver(500, 0, 302) as to, running(url, hook(to, secret_file=secret)) as one:
        write(one.store, change())
        to.wait(taken=1)
    to_nobody = WebhookSettings(url=to.url, name="gone", secret_file=secret)  # the receiver is down by now
    with running(url, to_nobody, started=False) as one:
        write(one.store, change(minutes=1))
        one.webhooks.senders[0].step()
        assert one.metric("failed", "gone") == 1
    stored = b"".join(each.read_bytes() for each in tmp_path.glob("store.db*"))
    for mark in (SECRET, "of-a-secret-path"):
        assert mark not in caplog.text and mark.encode() not in stored
    assert "webhook one: not delivered, retrying: it answers 500" in caplog.text
    assert "webhook gone: not delivered, retrying: Connection refused" in caplog.text
    assert "webhook one: told again" in caplog.text


def test_webhook_wants_changes_by_kind_database_and_severity_and_the_end_of_what_it_was_told() -> None:
    url = "https://alerts.example.com/"
    everything = WebhookSettings(url=url)
    assert all(Webhooks.wants(everything, change(what)) for what in ("begin", "worse", "end"))
    some = WebhookSettings(url=url, on=["begin"], databases=["erp2"], min_severity="critical")  # type: ignore[arg-type]
    for what, database, severity, wanted in (
        ("begin", "erp2", "critical", True),
        ("end", "erp2", "critical", False),
        ("begin", "erp1", "critical", False),
        ("begin", "erp2", "warning", False),
    ):
        assert Webhooks.wants(some, change(what, database=database, severity=severity)) == wanted
    ended = change("end", severity="critical")
    calm = replace(ended, episode=replace(ended.episode, severity=change(severity="notice").episode.severity))
    assert Webhooks.wants(WebhookSettings(url=url, min_severity="critical"), calm)  # type: ignore[arg-type]


def test_webhook_pauses_grow_to_a_limit_and_are_the_same_for_all(url: str) -> None:
    with receiver() as to, running(url, hook(to), started=False) as one:
        write(one.store, change())
        (head,) = one.store.deliveries.next_of("one")
    pace = DeliverySchedule()

    def pause(attempts: int, of: Delivery = head) -> float:
        return (pace.due(replace(of, attempts=attempts)) - of.at).total_seconds()

    assert pause(0) == 0.0
    for attempts, wanted in ((1, 2.0), (2, 4.0), (3, 8.0), (20, 600.0), (100_000, 600.0)):
        assert wanted * 0.75 <= pause(attempts) <= wanted * 1.25
        assert pause(attempts) == pause(attempts)
    assert pause(1) != pause(1, replace(head, target="two")), "two receivers do not wait for each other"
    assert (pace.due(replace(head, outcome="sending")) - head.at).total_seconds() == pace.lease


# The feed: one reader of the log for all listeners, from memory where possible, and never a gap


@pytest.fixture
def path(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/store.db"


@pytest.fixture
def store(path: str) -> Iterator[Repository]:
    opened = Repository(path)
    yield opened
    opened.close()


def follow(feed: EpisodeFeed, position: int) -> list[LoggedChange]:
    """Everything after a position, as a listener reads it."""
    told: list[LoggedChange] = []
    while True:
        after = told[-1].seq if told else position
        remembered = feed.remembered(after)
        page = feed.read(after) if remembered is None else remembered
        if not page:
            return told
        told += page


def test_feed_memory_reaches_back_to_its_start_and_no_further(store: Repository) -> None:
    write(store, change(minutes=0), change(minutes=1))
    feed = EpisodeFeed(store.episode_log)
    assert feed.remembered(0) is None, "unknown before the first look"
    assert feed.look()
    write(store, change(minutes=2))
    assert feed.look() and not feed.look()
    assert feed.remembered(1) is None
    assert [one.seq for one in feed.remembered(2) or ()] == [3]
    assert feed.remembered(3) == []


def test_listener_far_behind_reads_the_rest_from_the_store(store: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.notify.feed.RECENT", 3)
    feed = EpisodeFeed(store.episode_log)
    feed.look()
    for each in range(10):
        write(store, change(minutes=each))
        feed.look()
    assert [one.seq for one in feed.remembered(7) or ()] == [8, 9, 10]
    assert feed.remembered(6) is None
    for position in range(11):
        assert [one.seq for one in follow(feed, position)] == list(range(position + 1, 11)), position


def test_feed_wakes_at_once_for_own_changes_and_soon_for_others(
    store: Repository, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.notify.feed.LOOK_SECONDS_ALONE", 1.0)
    feed, woken = EpisodeFeed(store.episode_log), threading.Semaphore(0)
    other = Repository(path)
    with feed.listening(lambda: woken.release()):
        feed.start()
        assert woken.acquire(timeout=HANGS), "the first look wakes the listeners that came before it"
        for minute, writer in enumerate((store, other, store)):
            write(writer, change(minutes=minute))
            assert woken.acquire(timeout=HANGS), minute
            assert [one.seq for one in follow(feed, minute)] == [minute + 1]
        feed.stop()
        assert woken.acquire(timeout=HANGS), "listeners see the end"
    feed.join(HANGS)
    other.close()
    assert not feed.thread.alive


def test_feed_logs_a_failing_store_once_and_misses_nothing(
    store: Repository, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.notify.feed.LOOK_SECONDS", 0.01)
    feed, woken, asked = EpisodeFeed(store.episode_log), threading.Semaphore(0), threading.Semaphore(0)
    since = store.episode_log.since

    def gone(*_: int) -> list[LoggedChange]:
        asked.release()
        raise StoreUnavailable("no route to the store")

    with feed.listening(lambda: woken.release()):
        feed.start()
        assert woken.acquire(timeout=HANGS)
        monkeypatch.setattr(store.episode_log, "since", gone)
        write(store, change())
        for _ in range(3):
            assert asked.acquire(timeout=HANGS)
        monkeypatch.setattr(store.episode_log, "since", since)
        assert woken.acquire(timeout=HANGS)
        assert [one.seq for one in feed.remembered(0) or ()] == [1]
        feed.stop()
    feed.join(HANGS)
    assert caplog.text.count("no route to the store") == 1


def test_listeners_are_limited_and_their_places_are_freed(store: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.notify.feed.MOST_LISTENERS", 1)
    feed = EpisodeFeed(store.episode_log)
    for _ in range(2):
        with suppress(RuntimeError), feed.listening(lambda: None):
            with pytest.raises(TooManyListeners), feed.listening(lambda: None):
                pass
            raise RuntimeError("a listener broke")
