"""Webhooks: each receiver gets each change of an episode, at least once, in order, and over restarts.

Each change is written together with its receivers. One thread per receiver sends it, so that no receiver
waits for another. If several processes serve one receiver, a claim in the store gives each attempt to one of them.
"""

from datetime import UTC, datetime

from prometheus_client import CollectorRegistry, Counter

from rules.model import Severity
from service.config.settings import Settings
from service.config.webhooks import WebhookSettings
from service.notify.http import document, post
from service.notify.sending import DeliveryRefused, DeliverySchedule, ReceiverThread
from service.state.episodes import EpisodeChange
from service.store.queries.deliveries import Deliveries, Delivery
from service.store.repository import Repository


def wants(webhook: WebhookSettings, change: EpisodeChange) -> bool:
    """Whether a receiver gets a change. The peak decides, so that a receiver of a begin also gets the end."""
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
            "Attempts to deliver a change to a receiver, by result: told, failed or gave_up.",
            ["target", "outcome"],
            registry=own,
        )
        self.senders = [
            Sender(webhook, store.deliveries, attempts, settings.public_url, pace or DeliverySchedule())
            for webhook in self._webhooks
        ]
        store.episode_log.recipients.append(self.recipients)
        store.episode_log.on_news += [sender.wake for sender in self.senders]

    def recipients(self, change: EpisodeChange) -> list[str]:
        """The receivers of a change."""
        return [webhook.target for webhook in self._webhooks if wants(webhook, change)]

    def start(self) -> None:
        """Start to send, beginning with what an earlier process left."""
        for sender in self.senders:
            sender.start()

    def stop(self) -> None:
        """Ask every thread to stop. A receiver that hangs is not awaited."""
        for sender in self.senders:
            sender.stop()

    def join(self, timeout: float) -> None:
        """Wait for the threads, for at most this long in total."""
        for sender in self.senders:
            sender.join(timeout / len(self.senders))


class Sender(ReceiverThread):
    """Serves one webhook, one change after the other."""

    def __init__(
        self,
        webhook: WebhookSettings,
        deliveries: Deliveries,
        attempts: Counter,
        public_url: str | None,
        pace: DeliverySchedule,
    ) -> None:
        super().__init__(webhook.kind, webhook.target, deliveries, attempts, pace)
        self._webhook = webhook
        self._public_url = public_url

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
            post(self._webhook, document(delivery.change, self._public_url))
        except DeliveryRefused as error:
            return self.was_refused(delivery, error, datetime.now(UTC), delivery.change.at)
        self.was_told(delivery, datetime.now(UTC))
        return True
