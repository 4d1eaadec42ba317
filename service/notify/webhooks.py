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

    def due(self, one: Delivery) -> datetime:
        """When the next attempt may be made; the same in every process, though it jitters."""
        if one.outcome == "sending":
            return one.at + timedelta(seconds=self.lease)
        if one.attempts == 0:
            return one.at
        jitter = random.Random(f"{one.target} {one.change.seq} {one.attempts}").uniform(0.75, 1.25)
        pause = min(self.longest, self.first * 2.0 ** min(one.attempts - 1, 30))
        return one.at + timedelta(seconds=pause * jitter)


def wants(webhook: WebhookSettings, change: EpisodeChange) -> bool:
    """Whether a receiver is told of a change; by the peak, so that whoever hears of a begin hears of its end."""
    one = change.episode
    named = not webhook.databases or one.database in webhook.databases
    return named and change.what in webhook.on and Severity(one.peak_severity).rank >= webhook.min_severity.rank


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
            Sender(one, store.deliveries, attempts, settings.public_url, pace or DeliverySchedule())
            for one in self._webhooks
        ]
        store.episode_log.recipients = self.recipients
        store.episode_log.on_news += [one.wake for one in self.senders]

    def recipients(self, change: EpisodeChange) -> list[str]:
        """Who is to be told of a change."""
        return [one.target for one in self._webhooks if wants(one, change)]

    def start(self) -> None:
        """Begin to tell, with what an earlier process left."""
        for one in self.senders:
            one.start()

    def stop(self) -> None:
        """Ask every thread to stop; a receiver that hangs is not waited for."""
        for one in self.senders:
            one.stop()

    def join(self, timeout: float) -> None:
        """Wait for the threads, at most so long for all."""
        for one in self.senders:
            one.join(timeout / len(self.senders))


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
        self._thread = threading.Thread(target=self._run, name=f"webhook {self.name}", daemon=True)

    @property
    def name(self) -> str:
        """What log, metrics and store call the receiver; never its address, which may be a secret."""
        return self._webhook.target

    def start(self) -> None:
        """Begin to tell."""
        self._thread.start()

    def stop(self) -> None:
        """Ask the thread to stop."""
        self._stopping = True
        self._news.set()

    def join(self, timeout: float) -> None:
        """Wait for the thread, at most so long."""
        if self._thread.is_alive():
            self._thread.join(timeout)

    def wake(self) -> None:
        """There is news."""
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
        told = 0
        pause = self._pace.look
        for one in self._deliveries.next_of(self.name):
            left = (self._pace.due(one) - datetime.now(UTC)).total_seconds()
            if left > 0:
                pause = min(pause, left)
            elif self._stopping:
                break
            elif (mine := self._deliveries.claim(one, datetime.now(UTC))) is not None:
                told += self._attempt(mine)
        return 0.0 if told else pause

    def _attempt(self, one: Delivery) -> bool:
        """One attempt; whether that settled it, so that the next change may follow."""
        try:
            post(self._webhook, document(one.change, self._public_url))
        except DeliveryRefused as error:
            return self._not_taken(one, error)
        self._deliveries.settle(one, "told", datetime.now(UTC))
        self._counted("told")
        if self._why is not None:
            log.info("webhook %s: told again", self.name)
        self._why = None
        return True

    def _not_taken(self, one: Delivery, error: DeliveryRefused) -> bool:
        """Leave it for another attempt, or give it up: said in the log and in the metrics, and kept in the store."""
        now = datetime.now(UTC)
        dead = error.final or now - one.change.at >= self._pace.patience
        self._deliveries.settle(one, "gave up" if dead else "waiting", now)
        self._counted("gave_up" if dead else "failed")
        if dead:
            change = f"{one.change.what} of {one.change.episode.get('cause')} on {one.change.database}"
            log.error("webhook %s: gave up on %s after %d attempts: %s", self.name, change, one.attempts, error)
        else:
            self._failing(f"not told, trying on: {error}")
        return dead

    def _failing(self, why: str) -> None:
        """Say what is wrong once, and not at every attempt."""
        if why != self._why:
            log.warning("webhook %s: %s", self.name, why)
        self._why = why
