"""The state of databases that other replicas poll, from the store, so that every replica can answer every request."""

import logging
import time
from collections.abc import Mapping, Sequence
from typing import Protocol

from collectors.model import Snapshot
from service.state.board import MonitoredDatabase, PeerReport, Published
from service.state.confirmations import Confirmed, still_counting
from service.state.episodes import Episode, Episodes
from service.state.status import DatabaseStatus
from service.watch.pipeline import difference, published_from

log = logging.getLogger("latchscope.fleet")


class RemoteReader(Protocol):
    """What a follower reads from the store. Every method raises what the store raises."""

    def statuses(self) -> Mapping[str, DatabaseStatus]:
        """The latest state of every database."""
        ...

    def status(self, database: str) -> DatabaseStatus | None:
        """The latest state of one database."""
        ...

    def latest(self, database: str) -> Sequence[Snapshot]:
        """Its two newest snapshots, newest first."""
        ...

    def episodes(self, database: str) -> Sequence[Episode]:
        """Its episodes, newest first."""
        ...

    def confirmed(self, database: str) -> Mapping[str, Confirmed]:
        """Results of confirming queries that are still valid, by cause."""
        ...


class RemoteDatabases:
    """Brings databases that are polled elsewhere up to date on request."""

    def __init__(self, reader: RemoteReader, every: float, errors: tuple[type[Exception], ...]) -> None:
        """`every`: seconds for which the others' state is reused; `errors`: exceptions of a store in trouble."""
        self._reader = reader
        self._every = every
        self._errors = errors
        self._refreshed_at = float("-inf")

    def refresh(self, elsewhere: Sequence[MonitoredDatabase], whole: bool) -> None:
        """All in short, or one in full. While the store does not answer, the last known state remains, with its age."""
        try:
            if whole:
                for watched in elsewhere:
                    self._refresh_one(watched)
            elif time.monotonic() - self._refreshed_at > self._every:
                self._refresh_statuses(elsewhere)
        except self._errors as error:
            log.info("the state of other replicas' databases cannot be read: %s", error)

    def _refresh_statuses(self, elsewhere: Sequence[MonitoredDatabase]) -> None:
        statuses = self._reader.statuses()
        self._refreshed_at = time.monotonic()
        for watched in elsewhere:
            with watched.ownership_lock:
                _apply_status(watched, statuses.get(watched.name))

    def _refresh_one(self, watched: MonitoredDatabase) -> None:
        status = self._reader.status(watched.name)
        snapshots = self._reader.latest(watched.name)
        known = watched.published.snapshot.taken_at if watched.published else None
        published = None
        if snapshots and snapshots[0].taken_at != known:
            confirmed = self._reader.confirmed(watched.name)
            published = publication(snapshots, confirmed, status.ahead if status else 0.0)
        episodes = Episodes()
        episodes.restore(self._reader.episodes(watched.name))
        with watched.ownership_lock:
            _apply_status(watched, status)
            if not watched.owned:
                watched.episodes = episodes
                watched.published = published or watched.published


def _apply_status(watched: MonitoredDatabase, status: DatabaseStatus | None) -> None:
    if status is not None and not watched.owned:
        watched.pace, watched.failure = status.pace, status.failure
        watched.peer_report = PeerReport(status.polled_at, status.summary)


def publication(snapshots: Sequence[Snapshot], confirmed: Mapping[str, Confirmed], ahead: float) -> Published:
    """The outcome of the newest of these polls, without metrics, which only the polling replica exports.

    `ahead`: seconds our clocks are ahead of the database's.
    """
    newest, earlier = snapshots[0], snapshots[1] if len(snapshots) > 1 else None
    change = difference(earlier, newest, still_counting(confirmed, newest.startup_time))
    return published_from(newest, change, clock=newest.taken_at.timestamp() + ahead if newest.taken_at else None)
