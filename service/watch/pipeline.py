"""THE MAIN PATH on one page: poll, difference, diagnose, publish, keep."""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Protocol

from collectors.delta import between, since_startup
from collectors.model import ConfirmationResult, Delta, NotComparable, Reading, Snapshot
from collectors.ondemand.blockers import not_looked
from collectors.ondemand.sampling import VIEW as SESSIONS
from collectors.ondemand.sampling import not_sampled
from collectors.poll import Connection, Grouping, poll, same_life
from rules.baseline import UsualRange
from rules.cache_map import CacheMap, cache_map
from rules.engine import Examination, cannot_tell
from rules.model import Diagnosis, verdict_of
from service.metrics.exposition import render
from service.state.board import MonitoredDatabase, PollRecord, Published
from service.state.replicas import LeasesLost

WEIGH_EVERY = timedelta(minutes=5)
"""A poll is diagnosed in short while the verdict stays the same, and in full this often, for the store."""

Usual = Callable[[datetime], Mapping[str, UsualRange]]


class PollKeeper(Protocol):
    """Where polls are kept: the store, or nothing."""

    def keep(self, snapshot: Snapshot, diagnosis: Diagnosis, poll_record: PollRecord | None = None) -> None:
        """Keep one poll. Must not raise and must not block."""
        ...


def run_poll(
    watched: MonitoredDatabase,
    connection: Connection,
    keeper: PollKeeper,
    clock: Callable[[], float] = time.monotonic,
    seen: Reading | None = None,
    blockers: Mapping[str, Reading] | None = None,
    holds: Callable[[], bool] = lambda: True,
    grouping: Grouping | None = None,
    rendered: bool = True,
) -> Published:
    """One poll of one database, from Oracle's rows to every output. Raises SessionError if the session is lost.

    `seen` are the waiting sessions sampled since the last poll, `blockers` who holds what they hang on. Raises LeasesLost
    if the database is no longer ours (`holds`) at the diagnosis. Then nothing is shown or kept. A poll that nobody scrapes
    needs no metrics (`rendered`).
    """
    began = clock()
    previous = watched.published.snapshot if watched.published else watched.resume()
    snapshot = with_samples(poll(watched.name, connection, previous, clock, grouping), seen, blockers)
    seconds = clock() - began
    change = with_gap(difference(previous, snapshot, watched.confirmations()), watched)
    following = watched.episodes.following
    judged = published_from(snapshot, change, watched.usual, last=watched.published, following=following)
    if not holds():
        raise LeasesLost("the lease was lost during the poll")
    published = publish(watched, judged, seconds, rendered=rendered)
    keeper.keep(snapshot, published.diagnosis, poll_record(watched, published, change, previous))
    watched.take(published)
    return published


def with_samples(snapshot: Snapshot, seen: Reading | None, blockers: Mapping[str, Reading] | None = None) -> Snapshot:
    """The snapshot with the samples since the one before it, and who holds what sessions hang on."""
    sampled = not_sampled() if seen is None else seen
    held = not_looked() if blockers is None else blockers
    return replace(snapshot, readings={**snapshot.readings, SESSIONS: sampled, **held})


def difference(
    previous: Snapshot | None, snapshot: Snapshot, confirmations: Mapping[str, ConfirmationResult]
) -> Delta | NotComparable:
    """The change since the last poll with the confirmations that are still valid, or why there is none."""
    if previous is None:
        why, way_out = "the first poll has nothing to compare with", "wait for the next poll"
        return NotComparable(snapshot.database, snapshot.release, why, way_out, kind="first_poll")
    change = between(previous, snapshot)
    return change if isinstance(change, NotComparable) else replace(change, confirmations=confirmations)


def with_gap(change: Delta | NotComparable, watched: MonitoredDatabase) -> Delta | NotComparable:
    """The change, with a note if it reaches back to a poll of an earlier run of latchscope."""
    if isinstance(change, NotComparable) or watched.published is not None:
        return change
    if (change.basis.seconds or 0.0) <= 2 * watched.interval:
        return change  # another replica watched, or at most one poll was missed
    begin, end = change.basis.begin, change.basis.end
    gap = f"latchscope did not watch between {begin:%Y-%m-%d %H:%M:%S} and {end:%Y-%m-%d %H:%M:%S} UTC; these figures span it"
    return replace(change, notes=(*change.notes, gap))


def published_from(
    snapshot: Snapshot,
    change: Delta | NotComparable,
    usual: Usual = lambda _: {},
    clock: float | None = None,
    last: Published | None = None,
    *,
    following: bool = False,
) -> Published:
    """A judged poll, with its cache map made once. Episodes and metrics belong to the polling process.

    `clock`: time.time() of a poll made elsewhere, else now. `last`: the poll before, if the short form is enough while nothing
    changes. `following`: whether episodes are followed, which need the open causes.
    """
    delta = change if isinstance(change, Delta) else None
    caches = cache_map(delta or since_startup(snapshot))
    known = usual(delta.basis.end) if delta and delta.basis.end else {}
    if isinstance(change, NotComparable):
        diagnosis, weighed_at = cannot_tell(change), snapshot.taken_at
    else:
        examined = Examination(change, usual=known, caches=caches)
        diagnosis, weighed_at = diagnosed(examined, snapshot, last, following)
    at = time.time() if clock is None else clock
    return Published(
        snapshot=snapshot,
        delta=delta,
        map=caches,
        labels=caches,
        diagnosis=diagnosis,
        published_at=time.monotonic() - (0.0 if clock is None else max(0.0, time.time() - clock)),
        clock=at,
        usual=known,
        weighed_at=weighed_at,
    )


def diagnosed(
    examined: Examination, snapshot: Snapshot, last: Published | None, following: bool
) -> tuple[Diagnosis, datetime | None]:
    """The diagnosis, in short if it is unchanged and its full form is recent; with the time of the full form."""
    if last is not None and _weighed_lately(last, snapshot):
        short = examined.short(undetermined=following)
        if verdict_of(short) == verdict_of(last.diagnosis):
            return short, last.weighed_at
    return examined.whole(), snapshot.taken_at


def _weighed_lately(last: Published, snapshot: Snapshot) -> bool:
    if last.delta is None or last.weighed_at is None or snapshot.taken_at is None:
        return False
    return timedelta(0) < snapshot.taken_at - last.weighed_at < WEIGH_EVERY


def publish(watched: MonitoredDatabase, judged: Published, poll_seconds: float, *, rendered: bool = True) -> Published:
    """The outcome of a poll with its changes of episodes, and its metrics rendered once, unless nobody scrapes it."""
    changes = tuple(watched.episodes.update(judged.diagnosis))
    labels = _labels(watched.published, judged.snapshot, judged.map)
    lasting = watched.episodes.open
    blocks = render(watched.settings, judged.snapshot, labels, judged.diagnosis, lasting) if rendered else {}
    return replace(judged, labels=labels, blocks=blocks, episode_changes=changes, poll_seconds=poll_seconds)


def poll_record(
    watched: MonitoredDatabase, published: Published, change: Delta | NotComparable, previous: Snapshot | None
) -> PollRecord:
    """The store's part of a poll beside its snapshot and diagnosis."""
    ended = [change.episode for change in published.episode_changes if change.what == "end"]
    lasting = (*watched.episodes.open, *ended)
    confirmed = tuple(watched.confirmed.values())
    return PollRecord(change, previous, lasting, confirmed, published.episode_changes, published.short)


def _labels(last: Published | None, snapshot: Snapshot, caches: CacheMap) -> CacheMap:
    """The map that names series. An idle child infers nothing, so its series keeps the name it had since start."""
    if last is None or not same_life(snapshot.instance, last.snapshot.instance):
        return caches
    if last.labels.children.keys() <= caches.children.keys():
        return CacheMap(caches.children)
    taken = {guarded.name for guarded in caches.children.values()}
    kept = {child: guarded for child, guarded in last.labels.children.items() if guarded.name not in taken}
    return CacheMap({**kept, **caches.children})
