"""Those who are told of episodes, put together: the event feed and the webhooks."""

from dataclasses import dataclass

from prometheus_client import CollectorRegistry

from service.config.settings import Settings
from service.notify.feed import EpisodeFeed
from service.notify.webhooks import Webhooks
from service.store.repository import Repository
from service.threads import SupervisedThread


@dataclass(frozen=True, slots=True)
class Notifiers:
    """Both, to be started and stopped together."""

    feed: EpisodeFeed
    webhooks: Webhooks

    @property
    def threads(self) -> list[SupervisedThread]:
        """The feed's, and one per webhook."""
        return [self.feed.thread, *(sender.thread for sender in self.webhooks.senders)]

    def start(self) -> None:
        """Begin to follow the log of episodes."""
        self.feed.start()
        self.webhooks.start()

    def stop(self) -> None:
        """Ask both to end; `join` waits for them."""
        self.feed.stop()
        self.webhooks.stop()

    def join(self, timeout: float) -> None:
        """Wait for each, at most so many seconds."""
        self.feed.join(timeout)
        self.webhooks.join(timeout)


def build_notifiers(settings: Settings, store: Repository, registry: CollectorRegistry) -> Notifiers:
    """The feed of this store and the webhooks of these settings; what webhooks do is counted in `registry`."""
    return Notifiers(EpisodeFeed(store.episode_log), Webhooks(settings, store, registry))
