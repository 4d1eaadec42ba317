"""THE MAIN PATH on one page: poll, difference, diagnose, publish."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from collectors.delta import between, since_startup
from collectors.model import Delta, NotComparable, Reading, Snapshot
from collectors.ondemand.sampling import VIEW as SESSIONS
from collectors.ondemand.sampling import not_sampled
from collectors.poll import Connection, poll
from rules.cache_map import CacheMap, cache_map
from rules.engine import cannot_tell, diagnose
from rules.model import Diagnosis
from service.metrics.exposition import render
from service.state.board import MonitoredDatabase, Published
from service.state.leases import LeasesLost
from service.store.ingest.record import PollRecord

FIRST_POLL = "the first poll has nothing to compare with"


class PollKeeper(Protocol):
    """Where polls are kept: the store, or nothing."""

    def keep(self, snapshot: Snapshot, diagnosis: Diagnosis, turn: PollRecord | None = None) -> None:
        """Keep one poll; must neither raise nor wait."""
        ...


def turn(
    watched: MonitoredDatabase,
    connection: Connection,
    keeper: PollKeeper,
    clock: Callable[[], float] = time.monotonic,
    seen: Reading | None = None,
    holds: Callable[[], bool] = lambda: True,
) -> Published:
    """One poll of one database, from Oracle's rows to every face. Raises SessionError when the session is lost.

    `seen` are the waiting sessions sampled since the last poll. Raises LeasesLost, and nothing is shown or kept, where
    the database is not ours any more (`holds`) when the diagnosis is made.
    """
    began = clock()
    previous = watched.published.snapshot if watched.published else watched.resume()
    snapshot = with_samples(poll(watched.name, connection, previous, clock), seen)
    seconds = clock() - began
    change = with_gap(with_confirmations(difference(previous, snapshot), watched), watched)
    diagnosis = judged(watched, change)
    if not holds():
        raise LeasesLost("the lease was lost during the poll")
    published = publish(watched, snapshot, change, diagnosis, seconds)
    keeper.keep(snapshot, diagnosis, kept_beside(watched, change, previous))
    return published


def judged(watched: MonitoredDatabase, change: Delta | NotComparable) -> Diagnosis:
    """The diagnosis of a change, which says how many times the usual it costs where that is known."""
    if isinstance(change, NotComparable):
        return cannot_tell(change)
    return diagnose(change, usual=watched.usual(change.basis.end) if change.basis.end else None)


def with_samples(snapshot: Snapshot, seen: Reading | None) -> Snapshot:
    """The snapshot with what was sampled since the one before it."""
    reading = not_sampled() if seen is None else seen
    return replace(snapshot, readings={**snapshot.readings, SESSIONS: reading})


def with_confirmations(change: Delta | NotComparable, watched: MonitoredDatabase) -> Delta | NotComparable:
    """The change with the results of confirming queries that still speak for this life of the instance."""
    if isinstance(change, NotComparable):
        return change
    return replace(change, confirmations=watched.confirmations())


def with_gap(change: Delta | NotComparable, watched: MonitoredDatabase) -> Delta | NotComparable:
    """The change, saying so where it reaches back to a poll of an earlier run of latchscope."""
    if isinstance(change, NotComparable) or watched.published is not None:
        return change
    if (change.basis.seconds or 0.0) <= 2 * watched.interval:
        return change  # another replica watched, or hardly a poll was missed
    begin, end = change.basis.begin, change.basis.end
    gap = f"latchscope did not watch between {begin:%Y-%m-%d %H:%M:%S} and {end:%Y-%m-%d %H:%M:%S} UTC; these figures span it"
    return replace(change, notes=(*change.notes, gap))


def kept_beside(watched: MonitoredDatabase, change: Delta | NotComparable, previous: Snapshot | None) -> PollRecord:
    """What the store keeps of a poll beside its snapshot and diagnosis."""
    ended = [change.episode for change in watched.changes if change.what == "end"]
    lasting = (*watched.episodes.open, *ended)
    return PollRecord(change, previous, lasting, tuple(watched.confirmed.values()), tuple(watched.changes))


def difference(previous: Snapshot | None, snapshot: Snapshot) -> Delta | NotComparable:
    """The change since the last poll, or why there is none."""
    if previous is None:
        return NotComparable(snapshot.database, snapshot.release, FIRST_POLL, "wait for the next poll")
    return between(previous, snapshot)


def publish(
    watched: MonitoredDatabase, snapshot: Snapshot, change: Delta | NotComparable, diagnosis: Diagnosis, seconds: float
) -> Published:
    """Put the outcome of a poll on the board, with its metrics rendered once."""
    delta = change if isinstance(change, Delta) else None
    watched.changes = watched.episodes.update(diagnosis)
    caches = cache_map(delta or since_startup(snapshot))
    labels = _labels(watched.published, snapshot, caches)
    published = Published(
        snapshot=snapshot,
        delta=delta,
        map=caches,
        labels=labels,
        diagnosis=diagnosis,
        blocks=render(watched.settings, snapshot, labels, diagnosis, watched.episodes.open),
        poll_seconds=seconds,
        published_at=time.monotonic(),
        clock=time.time(),
    )
    watched.published, watched.failure = published, None
    return published


def _labels(last: Published | None, snapshot: Snapshot, caches: CacheMap) -> CacheMap:
    """The map by which series are named. An idle child infers nothing; its series keeps the name it had since start."""
    if last is None or last.snapshot.startup_time != snapshot.startup_time:
        return caches
    taken = {guarded.name for guarded in caches.children.values()}
    kept = {child: guarded for child, guarded in last.labels.children.items() if guarded.name not in taken}
    return CacheMap({**kept, **caches.children})
