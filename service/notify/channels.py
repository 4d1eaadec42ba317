"""Notifications: people get one message when an episode begins, rises or ends. Simultaneous changes share a message.

They use the same log of deliveries as webhooks, so that nothing is lost over restarts and only one of several processes
sends. Changes that wait (for others, or for the end of quiet hours) wait in the store.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from prometheus_client import CollectorRegistry, Counter

from rules.model import Severity
from service.config.notifications import NotificationSettings
from service.config.settings import Settings
from service.notify.apprise import send
from service.notify.message import episode_key, message_of
from service.notify.sending import DeliveryRefused, DeliverySchedule, ReceiverThread
from service.state.episodes import EpisodeChange
from service.store.queries.deliveries import Deliveries, Delivery
from service.store.repository import Repository

MOST_AT_ONCE = 500
ALSO_WANTED = {"worse": "begin", "back": "outage"}
"""Changes that go to receivers of another one too."""


def concerns(channel: NotificationSettings, change: EpisodeChange) -> bool:
    """Whether a receiver may need a change. One that grew worse may be the first that it gets."""
    if channel.databases and change.episode.database not in channel.databases:
        return False
    if change.episode.peak_severity.rank < channel.min_severity.rank:
        return False
    return change.what in channel.on or ALSO_WANTED.get(change.what) in channel.on


class Notifications:
    """Every receiver of the configuration, with its thread."""

    def __init__(
        self, settings: Settings, store: Repository, own: CollectorRegistry, pace: DeliverySchedule | None = None
    ) -> None:
        attempts = Counter(
            "latchscope_notification_attempts_total",
            "Attempts to notify people of a change, by result: told, failed or gave_up.",
            ["target", "outcome"],
            registry=own,
        )
        self._channels = settings.notifications
        self.senders = [
            Channel(channel, store.deliveries, attempts, settings.public_url, pace or DeliverySchedule())
            for channel in self._channels
        ]
        store.episode_log.recipients.append(self.recipients)
        store.episode_log.on_news += [sender.wake for sender in self.senders]

    def recipients(self, change: EpisodeChange) -> list[str]:
        """The receivers that may need the change."""
        return [channel.target for channel in self._channels if concerns(channel, change)]


class Channel(ReceiverThread):
    """Serves one receiver, in messages of one change or several."""

    def __init__(
        self,
        channel: NotificationSettings,
        deliveries: Deliveries,
        attempts: Counter,
        public_url: str | None,
        pace: DeliverySchedule,
    ) -> None:
        super().__init__(channel.kind, channel.target, deliveries, attempts, pace)
        self._channel = channel
        self._public_url = public_url

    def step(self) -> float:
        """Send what is due as one message. Returns the seconds until there is something to do. Raises StoreUnavailable."""
        now = datetime.now(UTC)
        waiting = self.deliveries.open_of(self.name, MOST_AT_ONCE)
        released = [each for each in waiting if self._released(each) <= now]
        if not released:
            soonest = min((self._released(each) for each in waiting), default=now + timedelta(days=1))
            return min(self.pace.look, (soonest - now).total_seconds())
        if (left := (self._due(released) - now).total_seconds()) > 0:
            return min(self.pace.look, left)
        if self.stopping:
            return self.pace.look
        batch = [
            mine for each in self._batch(waiting, released) if (mine := self.deliveries.claim(each, now)) is not None
        ]
        return 0.0 if self._told(batch) else self.pace.look

    def _released(self, delivery: Delivery) -> datetime:
        """The earliest time to send it."""
        peak = Severity(delivery.change.episode["peak_severity"])
        return self._channel.held_until(delivery.change.at, peak)

    def _due(self, released: Sequence[Delivery]) -> datetime:
        """When the next message goes out: after the pause of a failed attempt, else when the first change has waited."""
        tried = [self.pace.due(each) for each in released if each.attempts]
        return max(tried) if tried else min(map(self._released, released)) + timedelta(seconds=self._channel.group)

    def _batch(self, waiting: Sequence[Delivery], released: Sequence[Delivery]) -> list[Delivery]:
        """The content of one message, with earlier changes of the same episodes that were held back."""
        keys = {episode_key(each.change) for each in (released if self._channel.group else released[:1])}
        newest = released[-1].change.seq
        return [each for each in waiting if episode_key(each.change) in keys and each.change.seq <= newest]

    def _told(self, batch: Sequence[Delivery]) -> bool:
        """Send a message with these. Returns whether all of them are settled."""
        news = [each for each in batch if not self._known(each, batch)]
        for each in batch:
            if each not in news:
                self.deliveries.settle(each, "skipped", datetime.now(UTC))
        if not news:
            return True
        try:
            send(self._channel, message_of([each.change for each in news], self._public_url))
        except DeliveryRefused as error:
            now = datetime.now(UTC)
            given_up = [self.was_refused(each, error, now, self._released(each)) for each in news]
            return all(given_up)
        for each in news:
            self.was_told(each, datetime.now(UTC))
        return True

    def _known(self, delivery: Delivery, batch: Sequence[Delivery]) -> bool:
        """Whether the message would repeat an episode that only grew worse, for a receiver that did not ask for that."""
        if delivery.change.what != "worse" or "worse" in self._channel.on:
            return False
        database, cause, began = episode_key(delivery.change)
        earlier = self.deliveries.of(database, cause, datetime.fromisoformat(began))
        ours = [each for each in earlier if each.target == self.name and each.change.seq < delivery.change.seq]
        claimed = {each.change.seq for each in batch}
        return any(each.outcome == "told" and each.change.seq not in claimed for each in ours)
