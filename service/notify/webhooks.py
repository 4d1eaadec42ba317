"""Webhooks: others get each change of an episode, at least once, in order, and over restarts.

Each change is written together with the receivers that must get it. One thread per receiver works that off, so that none
waits for another; where several processes serve one receiver, a claim in the store gives each attempt to one of them.
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
    """Whether a receiver gets a change. The peak decides, so that whoever hears of a begin hears of its end."""
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
        store.episode_log.recipients.append(self.recipients)
        store.episode_log.on_news += [sender.wake for sender in self.senders]

    def recipients(self, change: EpisodeChange) -> list[str]:
        """The receivers of a change."""
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


class Sender(ReceiverThread):
    """Tells one webhook, one change after the other."""

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
        """Tell what is due; seconds until there is something to do again. Raises StoreTrouble."""
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
        """One attempt; whether that settled it, so that the next change may follow."""
        try:
            post(self._webhook, document(delivery.change, self._public_url))
        except DeliveryRefused as error:
            return self.was_refused(delivery, error, datetime.now(UTC), delivery.change.at)
        self.was_told(delivery, datetime.now(UTC))
        return True
