"""Webhooks: changes of episodes are told to others, at least once each, in order, and over restarts.

To whom a change is to be told is written with the change itself. One thread per receiver works that off, so that none
waits for another; where several processes serve one receiver, a claim in the store gives each attempt to one of them.
"""

import logging
import random
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from prometheus_client import CollectorRegistry, Counter

from rules.model import Severity
from service.config.settings import Settings
from service.config.webhooks import WebhookSettings
from service.notify.http import DeliveryRefused, document, post
from service.state.episodes import EpisodeChange
from service.store.queries.deliveries import Deliveries, Delivery
from service.store.repository import Repository
from service.store.schema.engine import StoreUnavailable
from service.threads import SupervisedThread

log = logging.getLogger("latchscope.webhooks")


@dataclass(frozen=True, slots=True)
class DeliverySchedule:
    """When attempts are made. Seconds, but for `patience`."""

    first: float = 2.0
    """Pause after the first failure; doubled after each further one."""
    longest: float = 600.0
    lease: float = 60.0
    """An attempt of which nothing was heard for so long died with its process; another one is made."""
    look: float = 5.0
    """How often the store is looked at for what other processes left."""
    patience: timedelta = timedelta(hours=24)

    def due(self, delivery: Delivery) -> datetime:
        """When the next attempt may be made; the same in every process, though it jitters."""
        if delivery.outcome == "sending":
            return delivery.at + timedelta(seconds=self.lease)
        if delivery.attempts == 0:
            return delivery.at
        jitter = random.Random(f"{delivery.target} {delivery.change.seq} {delivery.attempts}").uniform(0.75, 1.25)
        pause = min(self.longest, self.first * 2.0 ** min(delivery.attempts - 1, 30))
        return delivery.at + timedelta(seconds=pause * jitter)


def wants(webhook: WebhookSettings, change: EpisodeChange) -> bool:
    """Whether a receiver is told of a change; by the peak, so that whoever hears of a begin hears of its end."""
    episode = change.episode
    named = not webhook.databases or episode.database in webhook.databases
    return named and change.what in webhook.on and Severity(episode.peak_severity).rank >= webhook.min_severity.rank


class Webhooks:
    """Every receiver of the configuration, with its thread."""

    def __init__(
        self, settings: Settings, store: Repository, own: CollectorRegistry, pace: DeliverySchedule | None = None
    ) -> None:
        self._webhooks = settings.webhooks
        attempts = Counter(
            "latchscope_webhook_attempts_total",
            "Attempts to tell a receiver of a change, by what came of them: told, failed or gave_up.",
            ["target", "outcome"],
            registry=own,
        )
        self.senders = [
            Sender(webhook, store.deliveries, attempts, settings.public_url, pace or DeliverySchedule())
            for webhook in self._webhooks
        ]
        store.episode_log.recipients = self.recipients
        store.episode_log.on_news += [sender.wake for sender in self.senders]

    def recipients(self, change: EpisodeChange) -> list[str]:
        """Who is to be told of a change."""
        return [webhook.target for webhook in self._webhooks if wants(webhook, change)]

    def start(self) -> None:
        """Begin to tell, with what an earlier process left."""
        for sender in self.senders:
            sender.start()

    def stop(self) -> None:
        """Ask every thread to stop; a receiver that hangs is not waited for."""
        for sender in self.senders:
            sender.stop()

    def join(self, timeout: float) -> None:
        """Wait for the threads, at most so long for all."""
        for sender in self.senders:
            sender.join(timeout / len(self.senders))


class Sender:
    """Tells one receiver, one change after the other."""

    def __init__(
        self,
        webhook: WebhookSettings,
        deliveries: Deliveries,
        attempts: Counter,
        public_url: str | None,
        pace: DeliverySchedule,
    ) -> None:
        self._webhook = webhook
        self._deliveries = deliveries
        self._public_url = public_url
        self._pace = pace
        self._counted: Callable[[str], None] = lambda outcome: attempts.labels(self.name, outcome).inc()
        for outcome in ("told", "failed", "gave_up"):
            attempts.labels(self.name, outcome)
        self._why: str | None = None
        self._news = threading.Event()
        self._stopping = False
        self.thread = SupervisedThread(f"webhook {self.name}", self._run)

    @property
    def name(self) -> str:
        """What log, metrics and store call the receiver; never its address, which may be a secret."""
        return self._webhook.target

    def start(self) -> None:
        self.thread.start()

    def stop(self) -> None:
        self.thread.stop()
        self._stopping = True
        self._news.set()

    def join(self, timeout: float) -> None:
        """Wait for the thread, at most so long."""
        self.thread.join(timeout)

    def wake(self) -> None:
        self._news.set()

    def _run(self) -> None:
        while not self._stopping:
            self._news.clear()
            try:
                pause = self.step()
            except StoreUnavailable as error:
                self._failing(f"the store does not answer: {error}")
                pause = self._pace.look
            except Exception:
                log.exception("webhook %s: a fault of latchscope", self.name)
                pause = self._pace.look
            self._news.wait(pause)

    def step(self) -> float:
        """Tell what is due; seconds until there is something to do again. Raises StoreTrouble."""
        sent = 0
        pause = self._pace.look
        for delivery in self._deliveries.next_of(self.name):
            left = (self._pace.due(delivery) - datetime.now(UTC)).total_seconds()
            if left > 0:
                pause = min(pause, left)
            elif self._stopping:
                break
            elif (mine := self._deliveries.claim(delivery, datetime.now(UTC))) is not None:
                sent += self._attempt(mine)
        return 0.0 if sent else pause

    def _attempt(self, delivery: Delivery) -> bool:
        """One attempt; whether that settled it, so that the next change may follow."""
        try:
            post(self._webhook, document(delivery.change, self._public_url))
        except DeliveryRefused as error:
            return self._not_taken(delivery, error)
        self._deliveries.settle(delivery, "told", datetime.now(UTC))
        self._counted("told")
        if self._why is not None:
            log.info("webhook %s: told again", self.name)
        self._why = None
        return True

    def _not_taken(self, delivery: Delivery, error: DeliveryRefused) -> bool:
        """Leave it for another attempt, or give it up: said in the log and in the metrics, and kept in the store."""
        now = datetime.now(UTC)
        dead = error.final or now - delivery.change.at >= self._pace.patience
        self._deliveries.settle(delivery, "gave up" if dead else "waiting", now)
        self._counted("gave_up" if dead else "failed")
        if dead:
            change = f"{delivery.change.what} of {delivery.change.episode.get('cause')} on {delivery.change.database}"
            log.error("webhook %s: gave up on %s after %d attempts: %s", self.name, change, delivery.attempts, error)
        else:
            self._failing(f"not told, trying on: {error}")
        return dead

    def _failing(self, why: str) -> None:
        """Say what is wrong once, and not at every attempt."""
        if why != self._why:
            log.warning("webhook %s: %s", self.name, why)
        self._why = why
