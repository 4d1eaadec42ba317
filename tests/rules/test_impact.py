"""The impact gate: the severity of a cost at each of its bounds."""

from rules.impact import severity_of
from rules.model import Impact, Severity
from tests.each import each


@each(
    ("share", "sessions", "expected"),
    [
        (0.10, 4.0, Severity.CRITICAL),
        (0.099, 4.0, Severity.WARNING),
        (0.02, None, Severity.WARNING),
        (0.005, None, Severity.NOTICE),
        (0.004, 9.0, Severity.INFO),
        (0.5, 0.009, Severity.INFO),
        (None, 5.0, Severity.CRITICAL),
        (None, 0.5, Severity.WARNING),
        (None, 0.05, Severity.NOTICE),
        (None, 0.04, Severity.INFO),
    ],
)
def test_the_share_decides_then_the_sessions(share: float | None, sessions: float | None, expected: Severity) -> None:
    assert severity_of(Impact(share_of_db_time=share, waiting_sessions=sessions)) is expected


def test_what_is_not_known_has_no_severity() -> None:
    assert severity_of(None) is None
    assert severity_of(Impact(share_of_db_time=None, waiting_sessions=None)) is None
