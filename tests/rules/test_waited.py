"""Seconds of the waits that ended: of foreground sessions where Oracle separates them, None where they are unknown."""

from collectors.model import Row
from rules.waited import finished_seconds
from tests.each import each
from tests.rules.contexts import delta_of

LOCK = "row cache lock"


@each(
    ("row", "seconds"),
    [
        ({"event": LOCK, "time_waited_micro": 9_000_000, "time_waited_micro_fg": 2_000_000}, 2.0),
        ({"event": LOCK, "time_waited_micro": 9_000_000}, 9.0),
        ({"event": LOCK}, None),
        ({"event": "latch free", "time_waited_micro": 5}, 0.0),
    ],
)
def test_finished_seconds_are_those_of_foreground_sessions(row: Row, seconds: float | None) -> None:
    assert finished_seconds(delta_of({"v$system_event": [row]}), LOCK) == seconds


def test_finished_seconds_are_not_known_without_the_view() -> None:
    assert finished_seconds(delta_of(refused=["v$system_event"]), LOCK) is None
