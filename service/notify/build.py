"""Builds the receivers of episodes: the event feed, the webhooks and the notifications."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from prometheus_client import CollectorRegistry

from service.background import PeriodicJob, SupervisedThread
from service.config.settings import BadSettings, Settings
from service.extras import MissingExtra
from service.notify.delivery import Receivers, ReceiverThread, Webhooks
from service.notify.feed import EpisodeFeed
from service.notify.messages import Notifications, require_apprise
from service.state.board import UNWATCHED, Board, lasts, outage_of, over, unwatched
from service.state.episodes import Episode, EpisodeChange
from service.store.record import row_of
from service.store.repository import Repository

# Says when a database gives no figures for a while, and when it answers again: once each, over restarts and replicas.

LOOK_SECONDS = 15.0
STEADY_SECONDS = 60.0
"""A database is back when it has answered all this time. One that comes and goes gives one message."""
STILL_POLLED = timedelta(minutes=10)
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


class OutageWatch:
    """Looks after the databases that this process polls. The log has what people know, and the next process finds it there.

    It also ends the episodes and outages of databases that left the configuration, so that nobody waits for an end.
    """

    def __init__(self, board: Board, store: Repository) -> None:
        self._board = board
        self._store = store
        self._log = store.episode_log
        self._answers_since: dict[str, datetime] = {}

    def do(self, now: datetime) -> None:
        """Log what is new. Raises what the store does."""
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
        lasting = self._store.episodes.open()
        left = self._left({*told, *(episode.database for episode in lasting)}, now)
        changes += [EpisodeChange("back", unwatched(told[name], now)) for name in told if name in left]
        if changes:
            self._log.add_outages(changes)
        self._end([unwatched(each, each.last_seen) for each in lasting if each.database in left])

    def _left(self, names: set[str], now: datetime) -> set[str]:
        """Those that nobody watches. Where replicas share the store, one may still have the configuration of before."""
        left = {name for name in names if self._board.get(name) is None}
        # One configuration may be read an hour before the other.
        if left and self._log.shared:
            polls = self._store.newest_polls()
            left = {name for name in left if now - polls.get(name, LONG_AGO) > STILL_POLLED}
        return left

    def _end(self, ended: Sequence[Episode]) -> None:
        """Keep the end of these, and log it."""
        if ended:
            with self._store.engine.begin() as connection:
                self._store.episodes.write(connection, [row_of(each) for each in ended])
                self._log.append(connection, [EpisodeChange("end", each) for each in ended])
            self._log.announce()
        for each in ended:
            self._store.episodes.verdict(each.database, each.cause, each.begin, "not_verified", UNWATCHED)


@dataclass(frozen=True, slots=True)
class Notifiers:
    """All of them, started and stopped together."""

    feed: EpisodeFeed
    receivers: Sequence[Receivers]
    outages: PeriodicJob

    @property
    def _parts(self) -> list[EpisodeFeed | ReceiverThread | PeriodicJob]:
        return [self.feed, *(sender for each in self.receivers for sender in each.senders), self.outages]

    @property
    def threads(self) -> list[SupervisedThread]:
        """A thread for each part."""
        return [part.thread for part in self._parts]

    def take(self, settings: Settings) -> None:
        """Tell the receivers of these settings from now on. What runs goes on."""
        for each in self.receivers:
            each.take(settings)
        if self.feed.thread.alive:
            self.start()

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


def refuse_untold(settings: Settings) -> None:
    """Raise BadSettings if notifications are set and Apprise is not installed."""
    if settings.notifications:
        try:
            require_apprise()
        except MissingExtra as error:
            raise BadSettings(str(error)) from None


def build_notifiers(settings: Settings, store: Repository, board: Board, registry: CollectorRegistry) -> Notifiers:
    """The feed of this store and the receivers of these settings. `registry` counts deliveries. Raises BadSettings."""
    refuse_untold(settings)
    receivers = [Webhooks(settings, store, registry), Notifications(settings, store, registry)]
    outages = PeriodicJob("outages", LOOK_SECONDS, OutageWatch(board, store).do)
    return Notifiers(EpisodeFeed(store.episode_log), receivers, outages)
