"""What other replicas poll, as the store has it, so that every replica answers every question."""

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from collectors.delta import since_startup
from collectors.model import Delta, NotComparable, Snapshot
from rules.cache_map import cache_map
from rules.engine import cannot_tell, diagnose
from service.state.board import MonitoredDatabase, PeerReport, Published
from service.state.confirmations import Confirmed
from service.state.episodes import Episode, Episodes
from service.state.status import DatabaseStatus
from service.watch.pipeline import difference

log = logging.getLogger("latchscope.fleet")


class RemoteReader(Protocol):
    """What followers ask of the store. Every method raises what the store raises."""

    def standings(self) -> Mapping[str, DatabaseStatus]:
        """The last word about every database."""
        ...

    def standing(self, database: str) -> DatabaseStatus | None:
        """The last word about one."""
        ...

    def latest(self, database: str) -> Sequence[Snapshot]:
        """Its two newest snapshots, newest first."""
        ...

    def episodes(self, database: str) -> Sequence[Episode]:
        """Its episodes, newest first."""
        ...

    def confirmed(self, database: str) -> Mapping[str, Confirmed]:
        """Results of confirming queries that still count, by cause."""
        ...


class RemoteDatabases:
    """Brings databases that are polled elsewhere up to date when somebody asks for them."""

    def __init__(self, archive: RemoteReader, every: float, errors: tuple[type[Exception], ...]) -> None:
        """`every`: seconds for which the words of the others are remembered; `errors`: a store in trouble."""
        self._archive = archive
        self._every = every
        self._errors = errors
        self._glanced = float("-inf")

    def follow(self, elsewhere: Sequence[MonitoredDatabase], whole: bool) -> None:
        """All in short, or one as a whole. While the store does not answer, what is known grows old, and says so."""
        try:
            if whole:
                for watched in elsewhere:
                    self._whole(watched)
            elif time.monotonic() - self._glanced > self._every:
                self._glance(elsewhere)
        except self._errors as error:
            log.info("nothing could be read about other replicas' databases: %s", error)

    def _glance(self, elsewhere: Sequence[MonitoredDatabase]) -> None:
        standings = self._archive.standings()
        self._glanced = time.monotonic()
        for watched in elsewhere:
            with watched.placing:
                _hear(watched, standings.get(watched.name))

    def _whole(self, watched: MonitoredDatabase) -> None:
        standing = self._archive.standing(watched.name)
        snapshots = self._archive.latest(watched.name)
        known = watched.published.snapshot.taken_at if watched.published else None
        published = None
        if snapshots and snapshots[0].taken_at != known:
            confirmed = self._archive.confirmed(watched.name)
            published = publication(snapshots, confirmed, standing.ahead if standing else 0.0)
        episodes = Episodes()
        episodes.restore(self._archive.episodes(watched.name))
        with watched.placing:
            _hear(watched, standing)
            if not watched.owned:
                watched.episodes = episodes
                watched.published = published or watched.published


def _hear(watched: MonitoredDatabase, standing: DatabaseStatus | None) -> None:
    if standing is not None and not watched.owned:
        watched.pace, watched.failure = standing.pace, standing.failure
        watched.word = PeerReport(standing.polled_at, standing.summary)


def publication(snapshots: Sequence[Snapshot], confirmed: Mapping[str, Confirmed], ahead: float) -> Published:
    """The outcome of the newest of these polls, without metrics, which only who polls exports.

    `ahead`: seconds our clocks are ahead of the database's.
    """
    newest, earlier = snapshots[0], snapshots[1] if len(snapshots) > 1 else None
    change = _with(difference(earlier, newest), newest, confirmed)
    delta = change if isinstance(change, Delta) else None
    caches = cache_map(delta or since_startup(newest))
    clock = newest.taken_at.timestamp() + ahead if newest.taken_at else time.time()
    return Published(
        snapshot=newest,
        delta=delta,
        map=caches,
        labels=caches,
        diagnosis=cannot_tell(change) if isinstance(change, NotComparable) else diagnose(change),
        blocks={},
        poll_seconds=0.0,
        published_at=time.monotonic() - max(0.0, time.time() - clock),
        clock=clock,
    )


def _with(change: Delta | NotComparable, newest: Snapshot, confirmed: Mapping[str, Confirmed]) -> Delta | NotComparable:
    """The change with the results that count for this life of the instance."""
    if isinstance(change, NotComparable):
        return change
    live = {
        cause: result.value
        for cause, result in confirmed.items()
        if result.expires > time.monotonic() and result.startup_time == newest.startup_time
    }
    return replace(change, confirmations=live)
