"""Which alerts fire now, as far as the last polls show. Only Prometheus knows for how long."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from rules.base import Severity
from rules.model import Surface
from service.state.board import MonitoredDatabase

HANGING: Sequence[tuple[Severity, int]] = ((Severity.CRITICAL, 5), (Severity.WARNING, 2))
"""The number of hanging sessions for the alert, as in alerts.yml."""
LOSES: Sequence[tuple[Severity, float, float]] = ((Severity.CRITICAL, 0.1, 5.0), (Severity.WARNING, 0.02, 0.5))
"""From this share of DB time on, waits make an alert; without DB time, from this number of sessions on."""
IDLE = 0.05
"""If fewer sessions wait on average, it costs nothing, whatever their share."""


@dataclass(frozen=True, slots=True)
class AlertNow:
    """A database that meets an alert's condition in its last poll."""

    database: str
    severity: str


def firing(board: Iterable[MonitoredDatabase]) -> Mapping[str, Sequence[AlertNow] | None]:
    """Alert → its databases, the worst first. None if a database is polled by another replica.

    An alert that is absent is one that this service cannot judge.
    """
    watched = list(board)
    elsewhere = any(each.published is None and each.peer_report is not None for each in watched)
    found: dict[str, Sequence[AlertNow] | None] = {}
    for alert, judge in JUDGES.items():
        held = [AlertNow(each.name, severity.value) for each in watched if (severity := judge(each)) is not None]
        whole = not elsewhere or alert in FROM_SUMMARY
        found[alert] = sorted(held, key=lambda now: (now.severity != "critical", now.database)) if whole else None
    return found


def _down(watched: MonitoredDatabase) -> Severity | None:
    return Severity.CRITICAL if watched.failure is not None else None


def _stopped(watched: MonitoredDatabase) -> Severity | None:
    failure = watched.failure
    return Severity.WARNING if failure is not None and failure.next_attempt is None else None


def _found(watched: MonitoredDatabase) -> Severity | None:
    summary = watched.summary if watched.up else None
    return summary.severity if summary and summary.cause and summary.severity is not Severity.INFO else None


def _hangs(watched: MonitoredDatabase) -> Severity | None:
    groups = watched.current.diagnosis.waiting if watched.current else ()
    most = max((group.hanging for group in groups), default=0)
    return next((severity for severity, enough in HANGING if most >= enough), None)


def _loses(surface: Surface) -> Callable[[MonitoredDatabase], Severity | None]:
    def judge(watched: MonitoredDatabase) -> Severity | None:
        costs = watched.current.diagnosis.surfaces if watched.current else ()
        cost = next((each for each in costs if each.surface == surface), None)
        if cost is None:
            return None
        share, sessions = cost.share_of_db_time, cost.waiting_sessions or 0.0
        for severity, enough, many in LOSES:
            if (share >= enough and sessions >= IDLE) if share is not None else sessions >= many:
                return severity
        return None

    return judge


JUDGES: Mapping[str, Callable[[MonitoredDatabase], Severity | None]] = {
    "LatchscopeDatabaseDown": _down,
    "LatchscopeLoginStopped": _stopped,
    "LatchscopeFindingActive": _found,
    "RowCacheHang": _hangs,
    "RowCacheObjectsSleepsHigh": _loses("latch"),
    "RowCacheMutexWaits": _loses("mutex"),
    "RowCacheLockWaits": _loses("lock"),
    "ResultCacheLatchWaits": _loses("result-cache"),
}
FROM_SUMMARY = frozenset({"LatchscopeFindingActive"})
"""What the short report of another replica is enough for."""
