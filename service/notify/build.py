"""Builds the receivers of episodes: the event feed, the webhooks and the notifications."""

import time
from dataclasses import dataclass

from prometheus_client import CollectorRegistry

from service.config.settings import BadSettings, Settings
from service.extras import MissingExtra
from service.notify.apprise import require_apprise
from service.notify.channels import Notifications
from service.notify.feed import EpisodeFeed
from service.notify.outages import LOOK_SECONDS, OutageWatch
from service.notify.sending import ReceiverThread
from service.notify.webhooks import Webhooks
from service.periodic import PeriodicJob
from service.state.board import Board
from service.store.repository import Repository
from service.threads import SupervisedThread


@dataclass(frozen=True, slots=True)
class Notifiers:
    """All of them, started and stopped together."""

    feed: EpisodeFeed
    receivers: list[ReceiverThread]
    outages: list[PeriodicJob]
    """The watch for outages, if a receiver wants to know of them."""

    @property
    def _parts(self) -> list[EpisodeFeed | ReceiverThread | PeriodicJob]:
        return [self.feed, *self.receivers, *self.outages]

    @property
    def threads(self) -> list[SupervisedThread]:
        """A thread for each part."""
        return [part.thread for part in self._parts]

    def start(self) -> None:
        """Start to follow the log of episodes, and send what an earlier process left."""
        for part in self._parts:
            part.start()

    def stop(self) -> None:
        """Ask all to end; `join` waits for them."""
        for part in self._parts:
            part.stop()

    def join(self, timeout: float) -> None:
        """Wait for all, for at most this many seconds."""
        until = time.monotonic() + timeout
        for part in self._parts:
            part.join(max(0.0, until - time.monotonic()))


def build_notifiers(settings: Settings, store: Repository, board: Board, registry: CollectorRegistry) -> Notifiers:
    """The feed of this store and the receivers of these settings. `registry` counts deliveries.

    Raises BadSettings if notifications are set and Apprise is not installed.
    """
    if settings.notifications:
        try:
            require_apprise()
        except MissingExtra as error:
            raise BadSettings(str(error)) from None
    webhooks, notifications = Webhooks(settings, store, registry), Notifications(settings, store, registry)
    outages = PeriodicJob("outages", LOOK_SECONDS, OutageWatch(board, store.episode_log).do)
    wanted = any("outage" in channel.on for channel in settings.notifications)
    senders = [*webhooks.senders, *notifications.senders]
    return Notifiers(EpisodeFeed(store.episode_log), senders, [outages] if wanted else [])
