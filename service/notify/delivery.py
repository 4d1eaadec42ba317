"""The common part of receivers: a thread each, the times of attempts, and a log line when one fails or works again."""

import hashlib
import hmac
import http.client
import json
import logging
import random
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, build_opener

from prometheus_client import CollectorRegistry, Counter

from collectors.errors import SetupError
from rules.model import Severity
from service.background import SupervisedThread
from service.client import NoRedirect, brief
from service.config.load import read_secret
from service.config.settings import Settings, WebhookSettings
from service.state.episodes import EpisodeChange
from service.store.engine import StoreUnavailable
from service.store.episodes import Delivery, LoggedChange
from service.store.repository import Repository

log = logging.getLogger("latchscope.notify")


class DeliveryRefused(Exception):
    """The receiver did not accept it: why, without the address. `final` if it wants no more attempts."""

    def __init__(self, why: str, final: bool = False) -> None:
        super().__init__(why)
        self.final = final


@dataclass(frozen=True, slots=True)
class DeliverySchedule:
    """When attempts run. Seconds, except `patience`."""

    first: float = 2.0
    """Pause after the first failure, doubled after each further one."""
    longest: float = 600.0
    lease: float = 60.0
    """An attempt without any result for this long died with its process. Another one is made."""
    look: float = 5.0
    """How often the store is read for what other processes left."""
    patience: timedelta = timedelta(hours=24)

    def due(self, delivery: Delivery) -> datetime:
        """The time of the next attempt. The same in every process, although it jitters."""
        if delivery.outcome == "sending":
            return delivery.at + timedelta(seconds=self.lease)
        if delivery.attempts == 0:
            return delivery.at
        jitter = random.Random(f"{delivery.target} {delivery.change.seq} {delivery.attempts}").uniform(0.75, 1.25)
        pause = min(self.longest, self.first * 2.0 ** min(delivery.attempts - 1, 30))
        return delivery.at + timedelta(seconds=pause * jitter)


class ReceiverThread:
    """Serves one receiver, in rounds of `step`, which a subclass defines."""

    def __init__(self, receiver: Any, store: Repository, attempts: Counter, of: "Sent", pace: DeliverySchedule) -> None:
        """`receiver`: its settings. Log, metrics and store have its name, never its address."""
        self.receiver, self.store, self.of, self.pace = receiver, store, of, pace
        self.name, self._kind = receiver.target, receiver.kind
        self.deliveries = store.deliveries
        self.stopping = False
        self.thread = SupervisedThread(f"{self._kind} {self.name}", self._run)
        self._attempts = attempts
        for outcome in ("told", "failed", "gave_up"):
            attempts.labels(self.name, outcome)
        self._why: str | None = None
        self._news = threading.Event()

    def step(self) -> float:
        """Send what is due. Returns the seconds until there is something to do. Raises StoreUnavailable."""
        raise NotImplementedError

    def start(self) -> None:
        self.thread.start()

    def stop(self) -> None:
        """Ask it to end. A receiver that hangs is not awaited."""
        self.thread.stop()
        self.stopping = True
        self._news.set()

    def join(self, timeout: float) -> None:
        """Wait for the thread, for at most this many seconds."""
        self.thread.join(timeout)

    def wake(self) -> None:
        self._news.set()

    def _run(self) -> None:
        while not self.stopping:
            self._news.clear()
            try:
                pause = self.step()
            except StoreUnavailable as error:
                self.failing(f"the store does not answer: {error}")
                pause = self.pace.look
            except Exception:
                log.exception("%s %s: an error in latchscope", self._kind, self.name)
                pause = self.pace.look
            self._news.wait(pause)

    def was_told(self, delivery: Delivery, now: datetime) -> None:
        """Record that the receiver accepted it. Log it after a failure."""
        self.deliveries.settle(delivery, "told", now)
        self._attempts.labels(self.name, "told").inc()
        if self._why is not None:
            log.info("%s %s: told again", self._kind, self.name)
        self._why = None

    def was_refused(self, delivery: Delivery, error: DeliveryRefused, now: datetime, since: datetime) -> bool:
        """Leave it for another attempt, or give it up: with a log line and a metric, and recorded in the store.

        `since`: the earliest time to send it. Returns whether it is given up.
        """
        dead = error.final or now - since >= self.pace.patience
        self.deliveries.settle(delivery, "gave up" if dead else "waiting", now)
        self._attempts.labels(self.name, "gave_up" if dead else "failed").inc()
        if dead:
            change = f"{delivery.change.what} of {delivery.change.episode.get('cause')} on {delivery.change.database}"
            log.error(
                "%s %s: gave up on %s after %d attempts: %s", self._kind, self.name, change, delivery.attempts, error
            )
        else:
            self.failing(f"not delivered, retrying: {error}")
        return dead

    def failing(self, why: str) -> None:
        """Log an error once, not at every attempt."""
        if why != self._why:
            log.warning("%s %s: %s", self._kind, self.name, why)
        self._why = why


# One signed POST to a webhook: its content, and the meaning of its answer. Nothing here is logged.

TIMEOUT_SECONDS = 10.0
"""For each step of a post."""
GONE = 410


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """HMAC-SHA256 over `timestamp.body`, as `sha256=` and hexadecimal digits."""
    return "sha256=" + hmac.new(secret.encode(), f"{timestamp}.".encode() + body, hashlib.sha256).hexdigest()


@dataclass(frozen=True, slots=True)
class Sent:
    """What messages have beside the news: where the pages are, and the labels of each database."""

    public_url: str | None = None
    labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @classmethod
    def of(cls, settings: Settings) -> "Sent":
        """That of these settings."""
        return cls(settings.public_url, {each.name: each.labels for each in settings.databases if each.labels})


def document(change: LoggedChange, of: Sent) -> dict[str, Any]:
    """The message to a receiver. `id` is the same at every attempt and in every process."""
    body = change.document()
    body["id"] = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{body['at']} {change.database} {change.seq}"))
    if labels := of.labels.get(change.database):
        body["labels"] = dict(labels)
    if of.public_url is not None:
        body["url"] = f"{of.public_url.rstrip('/')}/db/{change.database}"
    return body


def post(webhook: WebhookSettings, document: dict[str, Any]) -> None:
    """Post to the receiver. Raises DeliveryRefused."""
    body = json.dumps(document, ensure_ascii=False).encode()
    timestamp = str(int(time.time()))
    headers = {
        "Content-Type": "application/json",
        "User-Agent": f"latchscope/{version('latchscope')}",
        "X-Latchscope-Id": document["id"],
        "X-Latchscope-Timestamp": timestamp,
    }
    if webhook.secret_file is not None:
        headers["X-Latchscope-Signature"] = signature(_secret(webhook), timestamp, body)
    request = Request(webhook.url, body, headers, method="POST")
    try:
        with build_opener(NoRedirect).open(request, timeout=TIMEOUT_SECONDS):
            pass
    except HTTPError as error:
        error.close()
        raise DeliveryRefused(f"it answers {error.code}", final=error.code == GONE) from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise DeliveryRefused(brief(error)) from None


def _secret(webhook: WebhookSettings) -> str:
    assert webhook.secret_file is not None
    try:
        secret = read_secret(webhook.secret_file, "secret_file")
    except SetupError as error:
        raise DeliveryRefused(str(error)) from None
    if not secret:
        raise DeliveryRefused(f"secret_file {webhook.secret_file} is empty")
    return secret


# Webhooks: each receiver gets each change of an episode, at least once, in order, and over restarts.
#
# Each change is written together with its receivers. One thread per receiver sends it, so that no receiver
# waits for another. If several processes serve one receiver, a claim in the store gives each attempt to one of them.


class Receivers:
    """The receivers of one kind, each with its thread: `of` this setting, counted by a metric, served by `sender`."""

    of: str
    counter: tuple[str, str]
    sender: Callable[..., ReceiverThread]

    def __init__(
        self, settings: Settings, store: Repository, own: CollectorRegistry, pace: DeliverySchedule | None = None
    ) -> None:
        self._store, self._pace = store, pace or DeliverySchedule()
        self._attempts = Counter(*self.counter, ["target", "outcome"], registry=own)
        self._served: dict[str, tuple[Any, Sent, ReceiverThread]] = {}
        self.take(settings)
        store.episode_log.recipients.append(self.recipients)
        store.episode_log.on_news.append(self.wake)

    @property
    def senders(self) -> list[ReceiverThread]:
        """The thread of each."""
        return [sender for _, _, sender in self._served.values()]

    def take(self, settings: Settings) -> None:
        """Serve these from now on. Who stays as it is keeps its thread, who is new gets one that its owner starts.

        What waits for one that left stays in the store.
        """
        before, of, served = self._served, Sent.of(settings), dict[str, tuple[Any, Sent, ReceiverThread]]()
        for each in getattr(settings, self.of):
            known = before.get(each.target)
            kept = known if known is not None and known[:2] == (each, of) else None
            served[each.target] = kept or (each, of, self.sender(each, self._store, self._attempts, of, self._pace))
        self._served = served
        for known in before.values():
            if known not in served.values():
                known[2].stop()

    @staticmethod
    def wants(receiver: Any, change: EpisodeChange) -> bool:
        """Whether a receiver gets a change."""
        raise NotImplementedError

    def recipients(self, change: EpisodeChange) -> list[str]:
        """The names of those that get a change."""
        return [name for name, (receiver, _, _) in self._served.items() if self.wants(receiver, change)]

    def wake(self) -> None:
        """Send what is new."""
        for sender in self.senders:
            sender.wake()


class Sender(ReceiverThread):
    """Serves one webhook, one change after the other."""

    def step(self) -> float:
        """Send what is due. Returns the seconds until there is something to do. Raises StoreUnavailable."""
        sent = 0
        pause = self.pace.look
        for delivery in self.deliveries.next_of(self.name):
            left = (self.pace.due(delivery) - datetime.now(UTC)).total_seconds()
            if left > 0:
                pause = min(pause, left)
            elif self.stopping:
                break
            elif (mine := self.deliveries.claim(delivery, datetime.now(UTC))) is not None:
                sent += self._attempt(mine)
        return 0.0 if sent else pause

    def _attempt(self, delivery: Delivery) -> bool:
        """One attempt. Returns whether it settled the change, so that the next may follow."""
        try:
            post(self.receiver, document(delivery.change, self.of))
        except DeliveryRefused as error:
            return self.was_refused(delivery, error, datetime.now(UTC), delivery.change.at)
        self.was_told(delivery, datetime.now(UTC))
        return True


class Webhooks(Receivers):
    """Those that programs serve."""

    of = "webhooks"
    counter = (
        "latchscope_webhook_attempts_total",
        "Attempts to deliver a change to a receiver, by result: told, failed or gave_up.",
    )
    sender = Sender

    @staticmethod
    def wants(receiver: WebhookSettings, change: EpisodeChange) -> bool:
        """Whether it gets a change. The peak decides, so that a receiver of a begin also gets the end."""
        episode, what = change.episode, "outage" if change.what == "back" else change.what
        named = not receiver.databases or episode.database in receiver.databases
        return named and what in receiver.on and Severity(episode.peak_severity).rank >= receiver.min_severity.rank
