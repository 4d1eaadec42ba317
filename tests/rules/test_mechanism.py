"""What guards the row cache: told by the events an instance knows, else by its release, else by nothing."""

import pytest

from collectors.model import Row
from rules.mechanism import mechanism_of
from tests.rules.contexts import delta_of

LATCH: Row = {"name": "latch: row cache objects"}
MUTEX: Row = {"name": "row cache mutex"}


@pytest.mark.parametrize(
    ("events", "release", "expected"),
    [
        ([LATCH, MUTEX], "11.2.0.4.0", "mutex"),
        ([LATCH], "19.0.0.0.0", "latch"),
        ([], "19.0.0.0.0", "mutex"),
        ([], "12.1.0.2.0", "latch"),
        ([], None, None),
    ],
)
def test_mechanism_is_known_by_events_then_by_release(
    events: list[Row], release: str | None, expected: str | None
) -> None:
    assert mechanism_of(delta_of({"v$event_name": events}, release=release)) == expected
