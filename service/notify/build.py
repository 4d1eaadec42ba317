"""Builds the receivers of episodes: the event feed, the webhooks and the notifications."""

import time
from dataclasses import dataclass
from datetime import UTC, datetime

from prometheus_client import CollectorRegistry

from service.background import PeriodicJob, SupervisedThread
from service.config.settings import BadSettings, Settings
from service.extras import MissingExtra
from service.notify.delivery import ReceiverThread, Webhooks
from service.notify.feed import EpisodeFeed
from service.notify.messages import Notifications, require_apprise
from service.state.board import Board, lasts, outage_of, over
from service.state.episodes import EpisodeChange
from service.store.episodes import EpisodeLog
from service.store.repository import Repository

# Says when a database gives no figures for a while, and when it answers again: once each, over restarts and replicas.

LOOK_SECONDS = 15.0
STEADY_SECONDS = 60.0
"""A database is back when it has answered all this time. One that comes and goes gives one message."""


class OutageWatch:
    """Looks after the databases that this process polls. The log has what people know, and the next process finds it there."""

    def __init__(self, board: Board, log: EpisodeLog) -> None:
        self._board = board
        self._log = log
        self._answers_since: dict[str, datetime] = {}

    def do(self, now: datetime) -> None:
        """Log what is new. Raises StoreUnavailable."""
        told = self._log.open_outages()
        before, self._answers_since = self._answers_since, {}
        changes = []
        for watched in self._board.own():
            known, failure = told.get(watched.name), watched.failure
            if failure is not None:
                if known is None and lasts(watched, now):
                    changes.append(EpisodeChange("outage", outage_of(watched.name, failure, now)))
            elif known is not None and watched.up:
                since = before.get(watched.name, now)
                self._answers_since[watched.name] = since
                if (now - since).total_seconds() >= STEADY_SECONDS:
                    changes.append(EpisodeChange("back", over(known, since.astimezone(UTC))))
        if changes:
            self._log.add_outages(changes)


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
