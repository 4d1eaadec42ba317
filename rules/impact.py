"""The impact gate: how severe a trouble is by what its waits cost."""

from collections.abc import Sequence

from rules.model import Impact, Severity

IDLE_SESSIONS = 0.01
"""If fewer sessions wait on average it costs nothing, whatever their share of an idle instance's DB time."""
NOTICEABLE_SHARE = 0.005
SHARE_GATE = ((0.10, Severity.CRITICAL), (0.02, Severity.WARNING), (NOTICEABLE_SHARE, Severity.NOTICE))
SESSIONS_GATE = ((5.0, Severity.CRITICAL), (0.5, Severity.WARNING), (0.05, Severity.NOTICE))


def severity_of(impact: Impact | None) -> Severity | None:
    """Share of DB time decides, else waiting sessions. If no session waits it costs nothing, whatever its share."""
    if impact is None or (impact.share_of_db_time is None and impact.waiting_sessions is None):
        return None
    if impact.waiting_sessions is not None and impact.waiting_sessions < IDLE_SESSIONS:
        return Severity.INFO
    if impact.share_of_db_time is not None:
        return _graded(impact.share_of_db_time, SHARE_GATE)
    return _graded(impact.waiting_sessions or 0.0, SESSIONS_GATE)


def severity_of_hang(sessions: int, basis: str) -> Severity | None:
    """Severity of this many sessions that hang at one moment; next to totals at most a warning. None if none hangs."""
    if not sessions:
        return None
    return _graded(float(sessions), SESSIONS_GATE).at_most(Severity.WARNING if basis == "totals" else Severity.CRITICAL)


def _graded(value: float, gate: Sequence[tuple[float, Severity]]) -> Severity:
    return next((severity for floor, severity in gate if value >= floor), Severity.INFO)
