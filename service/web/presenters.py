"""What REST and pages show of the board: databases in short, the fleet, and the last publication of one database."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from typing import get_args

from collectors.capabilities import capabilities
from collectors.model import ROW_CACHE_LATCH, Delta, Missing, NotComparable, Row, Snapshot, number
from collectors.ondemand.changes import gaps
from collectors.ondemand.holders import Holder, HolderProfile
from rules.base import ChangeMade, Easing, Severity, State
from rules.cache_map import CacheMap
from rules.changes import BEFORE, Change, timeline
from rules.context import LOOKUPS, SignalContext
from rules.engine import cannot_tell
from rules.latch import latch_statistics, ratio
from rules.model import Diagnosis, DiagnosisBasis, Impact
from service.history.comparison import GRACE, FleetPast, MarkOutcome, diagnosis_at
from service.state.board import (
    LAST_HOUR,
    MOST_KEPT,
    DatabaseSummary,
    MonitoredDatabase,
    easing_of,
    lasting_trouble,
    told_with,
)
from service.state.episodes import Episode
from service.state.time_window import Window
from service.store.episodes import EpisodePage, Mark, paged
from service.store.repository import Repository
from service.web import schemas

# Rows of the fleet: every database in short, from the board in memory, and the fleet as a whole.

ORDER: Sequence[State] = get_args(State)
"""The worst first. No data comes after fine."""
TROUBLED: Sequence[State] = ORDER[:3]


class FleetRows:
    """Rows, with data from the store beside the board. Without the store they are drawn all the same."""

    def __init__(self, store: Repository) -> None:
        self._past = FleetPast(store)

    def all(self, board: Iterable[MonitoredDatabase], only: str | None = None) -> tuple[schemas.DatabaseOut, ...]:
        """These databases, in their order. `only`: the name of the one that there is, for which alone the store is read."""
        watched, marks = list(board), self._past.marks(only)
        self._past.fill_hours(watched)
        return tuple(database_out(each, marks.get(each.name)) for each in watched)

    def row(self, watched: MonitoredDatabase) -> schemas.DatabaseOut:
        """One database."""
        return self.all((watched,), watched.name)[0]


def database_out(watched: MonitoredDatabase, marked: MarkOutcome | None = None) -> schemas.DatabaseOut:
    """One database in short. Figures of the last poll only while they are current."""
    summary = watched.summary
    shown = summary if watched.up else None
    return schemas.DatabaseOut(
        name=watched.name,
        cluster=watched.settings.cluster,
        labels=watched.settings.labels,
        up=watched.up,
        data_age_seconds=None if watched.age is None else round(watched.age, 3),
        interval_seconds=watched.interval,
        polled_by=watched.polled_by,
        release=summary.release if summary else None,
        instance=summary.instance if summary else None,
        started_at=summary.started_at if summary else None,
        since=_since(watched, shown),
        state=shown.state if shown else "No data",
        impact=_impact(shown),
        last_mark=_mark(marked),
        last_hour=watched.last_hour.values(time.time()),
        failure=_failure(watched),
        cause_name=shown.name if shown else None,
        cause_title=shown.title if shown else None,
        **{name: getattr(shown, name, None) for name in OF_SUMMARY},
    )


OF_SUMMARY = ("mechanism", "severity", "headline", "cause", "do_now", "do_not", "surface", "cache", "confidence", "other_wait",
              "easing")  # fmt: skip
"""Members of a row that are those of the summary, while it is current."""


def _since(watched: MonitoredDatabase, shown: DatabaseSummary | None) -> datetime | None:
    if shown is not None:
        return shown.since
    return datetime.fromtimestamp(watched.failure.since, UTC) if watched.failure else None


def _impact(shown: DatabaseSummary | None) -> Impact | None:
    costs = (shown.share_of_db_time, shown.waiting_sessions) if shown else (None, None)
    return None if costs == (None, None) else Impact(share_of_db_time=costs[0], waiting_sessions=costs[1])


def _failure(watched: MonitoredDatabase) -> schemas.FailureOut | None:
    failure = watched.failure
    if failure is None:
        return None
    return schemas.FailureOut(
        kind=failure.kind,
        why=failure.why,
        since=datetime.fromtimestamp(failure.since, UTC),
        next_attempt=datetime.fromtimestamp(failure.next_attempt, UTC) if failure.next_attempt else None,
    )


def _mark(marked: MarkOutcome | None) -> schemas.LastMarkOut | None:
    if marked is None:
        return None
    mark = marked.mark
    return schemas.LastMarkOut(id=mark.id, at=mark.at, text=mark.text, outcome=marked.outcome, verdict=marked.verdict)


def is_troubled(row: schemas.DatabaseOut) -> bool:
    """Whether a cause was found that costs something. One that costs nothing is found in a healthy database."""
    return row.cause is not None and row.state in TROUBLED


def having(board: Iterable[MonitoredDatabase]) -> Mapping[str, tuple[schemas.CauseFoundOut, ...]]:
    """Cause → the databases in trouble with it as first finding, the most expensive first."""
    found: dict[str, tuple[schemas.CauseFoundOut, ...]] = {}
    for row in sorted(filter(is_troubled, map(database_out, board)), key=_rank):
        impact = row.impact or Impact(share_of_db_time=None, waiting_sessions=None)
        shown = row.model_dump(include={"name", "state", "cache", "since"})
        out = schemas.CauseFoundOut(**shown, **impact.model_dump())
        found[str(row.cause)] = (*found.get(str(row.cause), ()), out)
    return found


def overview_out(rows: Sequence[schemas.DatabaseOut]) -> schemas.OverviewOut:
    """How many of these databases are in each state."""
    now = datetime.fromtimestamp(time.time(), UTC)
    troubled = [row for row in rows if row.state in TROUBLED]
    worst = min(troubled, key=_rank, default=None)
    return schemas.OverviewOut(
        at=now,
        states={state: sum(1 for row in rows if row.state == state) for state in ORDER},
        worst=worst and schemas.WorstOut(**{name: getattr(worst, name) for name in schemas.WorstOut.model_fields}),
        new=tuple(row.name for row in troubled if row.since is not None and now - row.since < LAST_HOUR),
        easing=tuple(row.name for row in rows if row.easing),
        databases=tuple(rows),
    )


def _rank(row: schemas.DatabaseOut) -> tuple[int, float, str]:
    """The worst state first, in it the most expensive."""
    cost = row.impact.share_of_db_time or 0.0 if row.impact else 0.0
    return ORDER.index(row.state), -cost, row.name


def diagnosis_of(watched: MonitoredDatabase) -> Diagnosis:
    """The current diagnosis. Without one, a diagnosis that says why everything is undetermined."""
    if watched.current is not None:
        return watched.current.diagnosis.later(watched.current.age)
    release = watched.published.snapshot.release if watched.published else None
    if watched.failure is not None:
        why = f"the database does not answer: {watched.failure.why}"
        return cannot_tell(NotComparable(watched.name, release, why, "restore the connection; polling goes on"))
    why = "no poll has finished yet" if watched.published is None else "the last poll is too old"
    return cannot_tell(NotComparable(watched.name, release, why, "wait for the next poll"))


def told_now(store: Repository, watched: MonitoredDatabase) -> Diagnosis:
    """The current diagnosis with its episodes and its timeline of changes, starting with what eases."""
    diagnosis, lasting = diagnosis_of(watched), watched.episodes.open
    summary = watched.summary
    elsewhere = not watched.owned and summary is not None and diagnosis.basis is not None
    easing = summary.easing if elsewhere and summary is not None else easing_of(diagnosis, lasting)
    told = _told(store, diagnosis, easing, lasting)
    begin, now = waits_began(told, lasting), _now(watched)
    marks = store.marks.between(watched.name, (begin or now) - BEFORE, now).items
    return with_timeline(told, watched, lasting, marks)


def with_timeline(
    diagnosis: Diagnosis, watched: MonitoredDatabase, lasting: Sequence[Episode], marks: Sequence[Mark] = ()
) -> Diagnosis:
    """The current diagnosis with what changed before its waits and since, as memory has it, and these marks."""
    readings = watched.published.snapshot.readings if watched.published else {}
    known = [*watched.timeline.changes, *map(_of_mark, marks)]
    return _ordered(diagnosis, known, waits_began(diagnosis, lasting), _now(watched), gaps(readings))


def _now(watched: MonitoredDatabase) -> datetime:
    """The end of the timeline: the last poll by the database's clock, and a little more for what was read after it."""
    taken_at = watched.published.snapshot.taken_at if watched.published else None
    return (taken_at or datetime.now(UTC)) + GRACE


def waits_began(diagnosis: Diagnosis, lasting: Sequence[Episode]) -> datetime | None:
    """When the oldest open problem or the longest wait began. None if nothing costs anything."""
    begins = [episode.begin for episode in lasting]
    if (basis := diagnosis.basis) is not None and basis.begin and basis.end and diagnosis.severity is not Severity.INFO:
        waited = [group.longest_seconds for group in diagnosis.waiting if group.hanging]
        begins += [basis.end - timedelta(seconds=max(waited))] if waited else [] if begins else [basis.begin]
    return min(begins, default=None)


def _of_mark(mark: Mark) -> Change:
    return Change(at=mark.at, kind="mark", text=f"{mark.text} (set by {mark.who})", source="marks")


def _ordered(
    diagnosis: Diagnosis, known: Iterable[Change], begin: datetime | None, now: datetime, missing: tuple[str, ...]
) -> Diagnosis:
    shown = timeline(known, begin, now)
    return diagnosis.model_copy(update={"changes": shown, "waits_began": begin, "changes_missing": missing})


THEN_UNKNOWN = "which sources of changes could be read then is not kept"


def told_at(store: Repository, watched: MonitoredDatabase, at: datetime) -> Diagnosis:
    """The diagnosis of a past time with the episodes and the timeline of then. Raises what the store does."""
    diagnosis = diagnosis_at(store, watched.name, at)
    episodes = episode_page(store, [watched], watched.name, Window(at - GRACE, at + GRACE), None, limit=100).items
    lasting = [episode for episode in episodes if episode.begin <= at and (episode.end is None or at <= episode.end)]
    open_then = {verdict.cause: verdict.missing for verdict in diagnosis.undetermined}
    then = [
        replace(episode, waits="falling", missing=open_then.get(episode.cause)) if episode.last_seen < at else episode
        for episode in lasting
    ]
    told = _told(store, diagnosis, easing_of(diagnosis, then), lasting)
    begin = waits_began(told, lasting)
    since = (begin or at) - BEFORE
    marks = map(_of_mark, store.marks.between(watched.name, since, at + GRACE).items)
    known = store.timeline.between(watched.name, since, at + GRACE, limit=MOST_KEPT).items
    return _ordered(told, [*known, *marks], begin, at + GRACE, (THEN_UNKNOWN,))


def _told(store: Repository, diagnosis: Diagnosis, easing: Easing | None, lasting: Sequence[Episode]) -> Diagnosis:
    """A diagnosis with its episodes, with what eases, and with the change that was marked in that."""
    told = [lasting_trouble(each, store.recent.earlier(each.database, each.cause, each.begin)) for each in lasting]
    diagnosis = diagnosis.model_copy(update={"episodes": tuple(told)})
    if easing is None:
        return diagnosis
    begin = next((episode.begin for episode in lasting if episode.cause == easing.cause), None)
    if begin is not None and diagnosis.basis and diagnosis.basis.end:
        marks = store.marks.between(diagnosis.database, begin, diagnosis.basis.end + GRACE, limit=1).items
        change = ChangeMade(at=marks[0].at, text=marks[0].text) if marks else None
        easing = easing.model_copy(update={"change": change})
    return told_with(diagnosis, easing)


def latches_out(watched: MonitoredDatabase) -> schemas.LatchesOut:
    """The child latches over the last interval."""
    delta, caches = _delta(watched), watched.map
    rows = delta.rows("v$latch_children") if delta else ()
    total = sum(number(row.get("sleeps")) or 0.0 for row in rows)
    cpus = delta.cell("v$osstat", "stat_name", "NUM_CPUS", "level_now") if delta else None
    seconds = delta.basis.seconds if delta else None
    children = [_child(row, caches, total, seconds, cpus) for row in rows]
    return schemas.LatchesOut(
        database=watched.name,
        basis=_basis(delta),
        latch=ROW_CACHE_LATCH,
        children=tuple(sorted(children, key=lambda child: (-(child.sleeps or 0), -(child.gets or 0), child.child))),
        missing=_missing(watched, delta, "v$latch_children"),
        notes=tuple(str(disagreement) for disagreement in caches.disagreements),
    )


def _child(row: Row, caches: CacheMap, total: float, seconds: float | None, cpus: float | None) -> schemas.ChildOut:
    child = int(number(row.get("child#")) or 0)
    guarded = caches.children.get(child)
    figures = latch_statistics(row, seconds, cpus)
    waited = number(row.get("wait_time"))
    return schemas.ChildOut(
        child=child,
        cache=caches.name(child),
        identity=guarded.identity.name.lower() if guarded else None,
        caches=guarded.caches if guarded else (),
        share_of_sleeps=ratio(figures.sleeps, total),
        sleeps_per_miss=figures.sleep_ratio,
        wait_seconds=None if waited is None else waited / 1e6,
        **{name: value for name, value in asdict(figures).items() if name in schemas.ChildOut.model_fields},
    )


def caches_out(watched: MonitoredDatabase) -> schemas.CachesOut:
    """The dictionary caches over the last interval."""
    delta, caches = _delta(watched), watched.map
    context = SignalContext(delta, caches) if delta else None
    rows = context.rowcache if context else ()
    total = context.sum_of(rows, LOOKUPS) if context else None
    owner = {
        (ref.cache_id, ref.type, ref.subordinate): child
        for child, guarded in caches.children.items()
        for ref in guarded.caches
    }
    out = [_cache(row, owner, total) for row in rows]
    return schemas.CachesOut(
        database=watched.name,
        basis=_basis(delta),
        caches=tuple(
            sorted(out, key=lambda cache: (-(cache.gets or 0), cache.cache_id, cache.type, cache.subordinate or 0))
        ),
        missing=_missing(watched, delta, "v$rowcache"),
    )


def _cache(row: Row, owner: dict[tuple[int, str, int | None], int], total: float | None) -> schemas.CacheOut:
    subordinate = number(row.get("subordinate#")) if row.get("type") != "PARENT" else None
    key = (int(number(row.get("cache#")) or 0), str(row.get("type")), None if subordinate is None else int(subordinate))
    return schemas.CacheOut(
        cache_id=key[0],
        cache=str(row.get("parameter")),
        type=key[1],
        subordinate=key[2],
        child=owner.get(key),
        gets=number(row.get("gets")),
        fastgets=number(row.get("fastgets")),
        share_of_gets=ratio(number(row.get(LOOKUPS)), total),
        getmisses=number(row.get("getmisses")),
        modifications=number(row.get("modifications")),
        entries=number(row.get("count")),
        entries_used=number(row.get("usage")),
    )


def capabilities_out(watched: MonitoredDatabase) -> schemas.CapabilitiesOut:
    """The preflight, from the last poll."""
    snapshot = watched.published.snapshot if watched.published else Snapshot(watched.name, None, {})
    readable = capabilities(snapshot, watched.settings.user)
    return schemas.CapabilitiesOut(
        database=watched.name,
        **{name: getattr(readable, name) for name in ("release", "mechanism", "cluster", "container", "inside_pdb")},
        views=tuple(schemas.ReadableOut(**asdict(view)) for view in readable.views) if watched.published else (),
        notes=readable.notes,
    )


def episode_out(episode: Episode) -> schemas.EpisodeOut:
    return schemas.EpisodeOut(**{name: getattr(episode, name) for name in schemas.EpisodeOut.model_fields})


def episode_page(
    store: Repository,
    watched: Iterable[MonitoredDatabase],
    db: str | None,
    within: Window,
    cursor: str | None,
    limit: int,
) -> EpisodePage[Episode]:
    """Kept episodes, newest first. The first page includes current ones, which may not be stored yet.

    Raises BadCursor.
    """
    page = store.episodes.between(db, within.begin, within.end, cursor, limit)
    if cursor is not None:
        return page
    found = {(episode.database, episode.cause, episode.begin): episode for episode in page.items}
    reached = page.items[-1].begin if page.cursor else within.begin
    for episode in (each for on_board in watched for each in on_board.episodes.all):
        key = (episode.database, episode.cause, episode.begin)
        if key in found:
            found[key] = replace(episode, verdict=found[key].verdict, prediction=found[key].prediction)
        elif episode.begin < within.end and (episode.end or within.end) >= reached:
            found[key] = episode
    by_name = sorted(found.values(), key=lambda episode: (episode.database, episode.cause))
    ordered = sorted(by_name, key=lambda episode: episode.begin, reverse=True)
    part = paged(ordered, limit, lambda last: (last.begin, last.database, last.cause))
    return replace(part, cursor=part.cursor or page.cursor)


def holders_out(watched: MonitoredDatabase, found: HolderProfile) -> schemas.HoldersOut:
    """A profile of holders with the caches of the children they held."""
    rows = watched.published.snapshot.rows("v$latch_children") if watched.published else ()
    children = {str(row.get("addr")): int(number(row.get("child#")) or 0) for row in rows}
    caches = watched.map
    return schemas.HoldersOut(
        database=watched.name,
        latch=found.latch,
        seconds=round(found.seconds, 3),
        looks=found.looks,
        note=found.note,
        holders=tuple(_holder(held, found.looks, children, caches) for held in found.held),
    )


def _holder(held: Holder, looks: int, children: dict[str, int], caches: CacheMap) -> schemas.HolderOut:
    child = children.get(held.address)
    return schemas.HolderOut(
        child=child,
        cache="unknown" if child is None else caches.name(child),
        share_of_looks=held.looks / looks,
        average_hold_microseconds=held.average_microseconds,
        **{name: getattr(held, name) for name in ("sid", "sql_id", "module", "program", "username", "looks", "holds")},
    )


def _delta(watched: MonitoredDatabase) -> Delta | None:
    return watched.current.delta if watched.current else None


def _basis(delta: Delta | None) -> DiagnosisBasis | None:
    return None if delta is None else DiagnosisBasis(**asdict(delta.basis))


def _missing(watched: MonitoredDatabase, delta: Delta | None, view: str) -> str | None:
    if delta is None:
        diagnosis = diagnosis_of(watched)
        return next((f"{verdict.why}; {verdict.way_out}" for verdict in diagnosis.undetermined), diagnosis.headline)
    reading = delta.read(view)
    return f"{reading.why}; {reading.way_out}" if isinstance(reading, Missing) else None
