"""THE MAIN PATH on one page: poll, difference, examine, publish, keep."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

from collectors.delta import Answers, between, since_startup
from collectors.model import ConfirmationResult, Delta, MadeOnRequest, NotComparable, Reading, Snapshot
from collectors.ondemand import changes
from collectors.ondemand.blockers import not_looked
from collectors.ondemand.sampling import VIEW as SESSIONS
from collectors.ondemand.sampling import not_sampled
from collectors.poll import Connection, Grouping, poll, same_life
from rules.baseline import UsualRange
from rules.cache_map import cache_map
from rules.changes import between_polls
from rules.engine import examine, held
from rules.model import Diagnosis, Severity
from service.metrics.exposition import render
from service.state.board import MonitoredDatabase, PollRecord, Published
from service.state.replicas import LeasesLost

Usual = Callable[[datetime], Mapping[str, UsualRange]]


class PollKeeper(Protocol):
    """Where polls are kept: the store, or nothing."""

    def keep(self, snapshot: Snapshot, verdict: Diagnosis, poll_record: PollRecord | None = None) -> None:
        """Keep one poll. Must not raise and must not block."""
        ...


@dataclass(frozen=True, slots=True)
class PollContext:
    """What a poll needs beside its views."""

    samples: Reading | None = None
    """The waiting sessions that were sampled since the last poll."""
    blockers: Callable[[Snapshot, Connection], Mapping[str, Reading] | None] = lambda *_: None
    """Reads who holds what sessions hang on."""
    rarely: Mapping[str, Reading] | None = None
    """What is read once an hour."""
    changed: Mapping[str, Reading] | None = None
    """What is known of the last reading of changes."""
    holds: Callable[[], bool] = lambda: True
    """Whether the database is still ours."""
    grouping: Grouping | None = None
    each_judged: bool = False
    """Whether each poll judges its causes again, also where those of an earlier one may stand."""
    clock: Callable[[], float] = time.monotonic


def run_poll(
    watched: MonitoredDatabase, connection: Connection, keeper: PollKeeper, beside: PollContext = PollContext()
) -> Published:
    """One poll of one database, from Oracle's rows to every output. Raises SessionError if the session is lost.

    Raises LeasesLost if the database is no longer ours at the diagnosis. Then nothing is shown or kept.
    """
    began = beside.clock()
    previous = watched.published.snapshot if watched.published else watched.resume()
    polled = poll(watched.name, connection, previous, beside.clock, beside.grouping)
    blockers = beside.blockers(polled, connection)
    snapshot = with_samples(polled, beside.samples, blockers, beside.rarely, beside.changed)
    seconds = beside.clock() - began
    change = with_gap(difference(previous, snapshot, watched.confirmations()), watched)
    anew, watched.anew = watched.anew or beside.each_judged, False
    judged = examined_poll(snapshot, change, watched.usual, before=None if anew else watched.settled)
    if not beside.holds():
        raise LeasesLost("the lease was lost during the poll")
    watched.timeline.add(between_polls(previous, snapshot))
    published = publish(watched, judged, seconds)
    keeper.keep(snapshot, published.examined.told, poll_record(watched, published, change, previous))
    watched.take(published)
    published.examined.release()
    for made in (previous, snapshot, published.delta):
        if made is not None and isinstance(made.readings, MadeOnRequest):
            made.readings.release()
    return published


def with_samples(
    snapshot: Snapshot,
    seen: Reading | None,
    blockers: Mapping[str, Reading] | None = None,
    rarely: Mapping[str, Reading] | None = None,
    changed: Mapping[str, Reading] | None = None,
) -> Snapshot:
    """The snapshot with what is read between polls: samples, holders in a hang, what is read once an hour, what changed."""
    more = {
        SESSIONS: not_sampled() if seen is None else seen,
        **(changes.rare_not_read() if rarely is None else rarely),
        **(changes.not_read() if changed is None else changed),
        **(not_looked() if blockers is None else blockers),
    }
    known = snapshot.readings
    return replace(snapshot, readings=known.beside(more) if isinstance(known, Answers) else {**known, **more})


def difference(
    previous: Snapshot | None, snapshot: Snapshot, confirmations: Mapping[str, ConfirmationResult]
) -> Delta | NotComparable:
    """The change since the last poll with the confirmations that are still valid, or why there is none."""
    if previous is None:
        why, way_out = "the first poll has nothing to compare with", "wait for the next poll"
        return NotComparable(snapshot.database, snapshot.release, why, way_out, kind="first_poll")
    return between(previous, snapshot, confirmations)


def with_gap(change: Delta | NotComparable, watched: MonitoredDatabase) -> Delta | NotComparable:
    """The change, with a note if it reaches back to a poll of an earlier run of latchscope."""
    if isinstance(change, NotComparable) or watched.published is not None:
        return change
    if (change.basis.seconds or 0.0) <= 2 * watched.interval:
        return change  # another replica watched, or at most one poll was missed
    begin, end = change.basis.begin, change.basis.end
    gap = f"latchscope did not watch between {begin:%Y-%m-%d %H:%M:%S} and {end:%Y-%m-%d %H:%M:%S} UTC; these figures span it"
    return replace(change, notes=(*change.notes, gap))


def examined_poll(
    snapshot: Snapshot,
    change: Delta | NotComparable,
    usual: Usual = lambda _: {},
    clock: float | None = None,
    before: Published | None = None,
) -> Published:
    """A judged poll, with its cache map made once. Episodes and metrics belong to the polling process.

    `clock`: time.time() of a poll made elsewhere, else now; `before`: the poll before, if its causes may still stand.
    """
    delta = change if isinstance(change, Delta) else None
    known = usual(delta.basis.end) if delta and delta.basis.end else {}
    kept = before.map if before and before.examined.judged.severity is Severity.INFO and before.map.lasts else None
    caches = kept or cache_map(delta or since_startup(snapshot))
    standing = held(change, known, caches, before.examined) if before else None
    if kept and not standing:  # a judgement has the map of its own interval
        caches = cache_map(delta or since_startup(snapshot))
    return Published(
        snapshot=snapshot,
        delta=delta,
        map=caches,
        examined=standing or examine(change, usual=known, caches=caches),
        published_at=time.monotonic() - (0.0 if clock is None else max(0.0, time.time() - clock)),
        clock=time.time() if clock is None else clock,
    )


def publish(watched: MonitoredDatabase, judged: Published, poll_seconds: float) -> Published:
    """The outcome of a poll with its changes of episodes. Its metrics are made when somebody scrapes them."""
    last, snapshot, examined = watched.published, judged.snapshot, judged.examined
    began_or_ended = tuple(watched.episodes.update(examined.told, examined.open_causes))
    lasting = watched.episodes.open
    same_start = last is not None and same_life(snapshot.instance, last.snapshot.instance)
    caches = judged.map.after(last.map) if last is not None and same_start else judged.map
    if caches.lasts and examined.told.severity is Severity.INFO and not examined.gated:
        caches = caches.bare  # it is the map of the next polls too

    def rendering() -> Mapping[str, bytes]:
        return render(watched.settings, snapshot, caches, examined.verdict if lasting else examined.told, lasting)

    if last is not None:  # a scrape once a minute would miss three of four polls, so each counts for its part of one
        part = min(1.0, (watched.pace or watched.interval) / 60)
        poll_seconds = part * poll_seconds + (1 - part) * last.poll_seconds
    return replace(judged, map=caches, render=rendering, episode_changes=began_or_ended, poll_seconds=poll_seconds)


def poll_record(
    watched: MonitoredDatabase, published: Published, change: Delta | NotComparable, previous: Snapshot | None
) -> PollRecord:
    """The store's part of a poll beside its snapshot and verdict."""
    ended = [change.episode for change in published.episode_changes if change.what == "end"]
    lasting = (*watched.episodes.open, *ended)
    return PollRecord(
        change,
        previous,
        episodes=lasting,
        confirmed=tuple(watched.confirmed.values()),
        episode_changes=published.episode_changes,
        happened=watched.timeline.take_new(),
        examined=published.examined,
    )
