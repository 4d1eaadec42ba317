"""The state of databases that other replicas poll, from the store, so that every replica can answer every request."""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from collectors.model import Snapshot
from service.state.board import ChangeLog, MonitoredDatabase, PeerReport, Published
from service.state.episodes import VALID_SECONDS, Confirmed, Episodes, still_counting
from service.state.replicas import DatabaseStatus, OwnerRequest, status_of
from service.store.engine import STORE_ERRORS, brief
from service.store.replicas import FleetStatusTable
from service.watch.pipeline import difference, examined_poll
from service.watch.worker import Worker

log = logging.getLogger("latchscope.fleet")


class RemoteDatabases:
    """Brings databases that are polled elsewhere up to date on request."""

    def __init__(self, status_table: FleetStatusTable, every: float) -> None:
        """`every`: seconds for which the others' state is reused."""
        self._status_table, self._every = status_table, every
        self._refreshed_at = float("-inf")
        self._away = False

    def refresh(self, elsewhere: Sequence[MonitoredDatabase], whole: bool) -> None:
        """All in short, or one in full. While the store does not answer, the last known state remains, with its age."""
        try:
            if whole:
                for watched in elsewhere:
                    self._refresh_one(watched)
            elif time.monotonic() - self._refreshed_at > self._every:
                self._refresh_statuses(elsewhere)
        except STORE_ERRORS as error:
            if not self._away:  # else each page and each scrape of the outage would write it
                log.info("the state of other replicas' databases cannot be read: %s", brief(error))
            self._away = True

    def _refresh_statuses(self, elsewhere: Sequence[MonitoredDatabase]) -> None:
        statuses = self._status_table.all()
        self._refreshed_at, self._away = time.monotonic(), False
        for watched in elsewhere:
            with watched.ownership_lock:
                _apply_status(watched, statuses.get(watched.name))

    def _refresh_one(self, watched: MonitoredDatabase) -> None:
        store, status = self._status_table.store, self._status_table.of(watched.name)
        snapshots, self._away = store.snapshots.latest(watched.name), False
        known = watched.published.snapshot.taken_at if watched.published else None
        published = None
        if snapshots and snapshots[0].taken_at != known:
            confirmed = store.confirmations.live(datetime.now(UTC)).get(watched.name, {})
            published = publication(snapshots, confirmed, status.ahead if status else 0.0)
        episodes = Episodes()
        episodes.restore(store.episodes.recent(watched.name))
        timeline = ChangeLog()
        timeline.restore(store.timeline.last_day(watched.name))
        with watched.ownership_lock:
            _apply_status(watched, status)
            if not watched.owned:
                watched.timeline = timeline
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
    return examined_poll(newest, change, clock=newest.taken_at.timestamp() + ahead if newest.taken_at else None)


# The exchange between replicas: the state of our databases, and requests about them.


class StatusExchange:
    """Acts for one replica, once per round."""

    def __init__(self, store: FleetStatusTable) -> None:
        self._store = store
        self._published: dict[str, DatabaseStatus] = {}

    def publish(self, own: Sequence[MonitoredDatabase], worker: Callable[[str], Worker | None]) -> None:
        """Publish what changed about our databases, and carry out requests.

        Store errors are reported by the writer.
        """
        now = {database.name: status_of(database) for database in own}
        try:
            self._store.put([status for name, status in now.items() if self._published.get(name) != status])
            self._published = now
            for request in self._store.asked(list(now)):
                self._carry_out(
                    request, {database.name: database for database in own}[request.database], worker(request.database)
                )
        except STORE_ERRORS as error:
            log.info("the state cannot be published to other replicas: %s", error)

    @staticmethod
    def _carry_out(request: OwnerRequest, watched: MonitoredDatabase, worker: Worker | None) -> None:
        if request.confirmed is not None:
            left = VALID_SECONDS - (time.time() - request.confirmed.at)
            result = replace(request.confirmed, expires=time.monotonic() + left)
            watched.confirmed[result.cause] = result
        elif worker is not None and request.do == "samples":
            worker.ask_for_samples()
        elif worker is not None:
            worker.resume_login()
