"""Rows of the fleet: every database in short, from the board in memory, and the fleet as a whole."""

import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, get_args

from rules.base import State
from rules.model import Impact
from service.history.fleet_past import FleetPast, MarkOutcome
from service.state.board import MonitoredDatabase
from service.state.last_hour import LAST_HOUR
from service.state.summary import DatabaseSummary
from service.store.repository import Repository
from service.web.fleet_schemas import CauseFoundOut, DatabaseOut, FailureOut, LastMarkOut, OverviewOut, WorstOut

ORDER: Sequence[State] = get_args(State)
"""The worst first. No data comes after fine."""
TROUBLED: Sequence[State] = ORDER[:3]
OF_NOW: Mapping[str, str] = {
    **{
        name: name
        for name in ("mechanism", "severity", "headline", "cause", "do_now", "do_not", "surface", "cache", "confidence")
    },
    "easing": "easing",
    "cause_name": "name",
    "cause_title": "title",
}
"""Member of a row → the member of the last poll's summary, only while that is current."""


class FleetRows:
    """Rows, with data from the store beside the board. Without the store they are drawn all the same."""

    def __init__(self, store: Repository) -> None:
        self._past = FleetPast(store)

    def all(self, board: Iterable[MonitoredDatabase]) -> tuple[DatabaseOut, ...]:
        """Every database, in the order of the configuration."""
        watched, marks = list(board), self._past.marks()
        self._past.fill_hours(watched)
        return tuple(database_out(each, marks.get(each.name)) for each in watched)

    def row(self, watched: MonitoredDatabase) -> DatabaseOut:
        """One database; the store is read only for that one."""
        marks = self._past.marks(watched.name)
        self._past.fill_hours((watched,))
        return database_out(watched, marks.get(watched.name))

    def overview(self, board: Iterable[MonitoredDatabase]) -> OverviewOut:
        """Every database, and how many are in each state."""
        return overview_out(self.all(board))


def database_out(watched: MonitoredDatabase, marked: MarkOutcome | None = None) -> DatabaseOut:
    """One database in short. Figures of the last poll only while they are current."""
    summary = watched.summary
    shown = summary if watched.up else None
    told: dict[str, Any] = {field: getattr(shown, member, None) for field, member in OF_NOW.items()}
    return DatabaseOut(
        name=watched.name,
        cluster=watched.settings.cluster,
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
        **told,
    )


def _since(watched: MonitoredDatabase, shown: DatabaseSummary | None) -> datetime | None:
    if shown is not None:
        return shown.since
    return datetime.fromtimestamp(watched.failure.since, UTC) if watched.failure else None


def _impact(shown: DatabaseSummary | None) -> Impact | None:
    if shown is None or (shown.share_of_db_time is None and shown.waiting_sessions is None):
        return None
    return Impact(share_of_db_time=shown.share_of_db_time, waiting_sessions=shown.waiting_sessions)


def _failure(watched: MonitoredDatabase) -> FailureOut | None:
    failure = watched.failure
    if failure is None:
        return None
    return FailureOut(
        kind=failure.kind,
        why=failure.why,
        since=datetime.fromtimestamp(failure.since, UTC),
        next_attempt=datetime.fromtimestamp(failure.next_attempt, UTC) if failure.next_attempt else None,
    )


def _mark(marked: MarkOutcome | None) -> LastMarkOut | None:
    if marked is None:
        return None
    mark = marked.mark
    return LastMarkOut(id=mark.id, at=mark.at, text=mark.text, outcome=marked.outcome, verdict=marked.verdict)


def is_troubled(row: DatabaseOut) -> bool:
    """Whether a cause was found that costs something. One that costs nothing is found in a healthy database."""
    return row.cause is not None and row.state in TROUBLED


def having(board: Iterable[MonitoredDatabase]) -> Mapping[str, tuple[CauseFoundOut, ...]]:
    """Cause → the databases in trouble with it as first finding, the most expensive first."""
    found: dict[str, tuple[CauseFoundOut, ...]] = {}
    for row in sorted(filter(is_troubled, map(database_out, board)), key=_rank):
        impact = row.impact or Impact(share_of_db_time=None, waiting_sessions=None)
        out = CauseFoundOut(
            name=row.name,
            state=row.state,
            cache=row.cache,
            since=row.since,
            share_of_db_time=impact.share_of_db_time,
            waiting_sessions=impact.waiting_sessions,
        )
        found[str(row.cause)] = (*found.get(str(row.cause), ()), out)
    return found


def overview_out(rows: Sequence[DatabaseOut]) -> OverviewOut:
    """How many of these databases are in each state."""
    now = datetime.fromtimestamp(time.time(), UTC)
    troubled = [row for row in rows if row.state in TROUBLED]
    worst = min(troubled, key=_rank, default=None)
    return OverviewOut(
        at=now,
        states={state: sum(1 for row in rows if row.state == state) for state in ORDER},
        worst=worst
        and WorstOut(
            name=worst.name,
            state=worst.state,
            cause_title=worst.cause_title,
            impact=worst.impact,
            since=worst.since,
        ),
        new=tuple(row.name for row in troubled if row.since is not None and now - row.since < LAST_HOUR),
        easing=tuple(row.name for row in rows if row.easing),
        databases=tuple(rows),
    )


def _rank(row: DatabaseOut) -> tuple[int, float, str]:
    """The worst state first, in it the most expensive."""
    cost = row.impact.share_of_db_time or 0.0 if row.impact else 0.0
    return ORDER.index(row.state), -cost, row.name
