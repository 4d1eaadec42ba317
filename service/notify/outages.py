"""Says when a database gives no figures for a while, and when it answers again: once each, over restarts and replicas."""

from datetime import UTC, datetime

from service.state.board import Board
from service.state.episodes import EpisodeChange
from service.state.outages import lasts, outage_of, over
from service.store.queries.episode_log import EpisodeLog

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
