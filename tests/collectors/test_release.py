"""Comparing releases, and choosing the text for a release."""

import pytest

from collectors.model import Missing, Reading, Rows
from collectors.release import OLDEST, at_least, mechanism_in, mechanism_of, parts, text_for, without_latch


@pytest.mark.parametrize(
    ("release", "numbers"),
    [
        ("11.2.0.4.0", (11, 2, 0, 4, 0)),
        ("11.2", (11, 2)),
        ("19c", (19,)),
        ("23ai", (23,)),
        ("12.1.0.2.0 - 64bit Production", (12, 1, 0, 2, 0)),
        ("beta", ()),
        ("", ()),
        (" 12.1 ", (12, 1)),
        ("1²", (1,)),
    ],
)
def test_parts_are_the_numbers_of_a_release(release: str, numbers: tuple[int, ...]) -> None:
    assert parts(release) == numbers


@pytest.mark.parametrize(
    ("release", "floor", "reached"),
    [
        ("12.2.0.1.0", "12.2", True),
        ("12.1.0.2.0", "12.2", False),
        ("19.0.0.0.0", "12.2", True),
        ("9.2.0.8.0", "11.2", False),
        ("18.0.0.0.0", "18", True),
    ],
)
def test_at_least_compares_a_release_with_a_floor(release: str, floor: str, reached: bool) -> None:
    assert at_least(release, floor) is reached


TEXTS = {"11.2": "old", "12.1": "newer", "18": "new"}


@pytest.mark.parametrize(
    ("release", "text"),
    [
        ("11.2.0.1.0", "old"),
        ("12.1.0.2.0", "newer"),
        ("12.2.0.1.0", "newer"),
        ("18.0.0.0.0", "new"),
        ("23.26.0.0.0", "new"),
        ("10.2.0.5.0", None),
        ("9.2", None),
        (None, "old"),
    ],
)
def test_text_for_takes_the_nearest_lower_release(release: str | None, text: str | None) -> None:
    assert text_for(TEXTS, release) == text
    assert text_for({"9.2": "nine", "10.2": "ten", OLDEST: "eleven"}, "10.2.0.4.0") == "ten"


MUTEX, LATCH = "row cache mutex", "latch: row cache objects"


@pytest.mark.parametrize(
    ("events", "release", "mechanism"),
    [
        ({MUTEX}, "11.2.0.4.0", "mutex"),
        ({LATCH, MUTEX}, None, "mutex"),
        ({LATCH}, "19.0.0.0.0", "latch"),
        (set(), "12.2.0.1.0", "mutex"),
        (set(), "12.1.0.2.0", "latch"),
        (set(), None, None),
    ],
)
def test_mechanism_of_follows_the_events_then_the_release(
    events: set[str], release: str | None, mechanism: str | None
) -> None:
    assert mechanism_of(events, release) == mechanism


def test_mechanism_in_readings_takes_what_was_read() -> None:
    instance = Rows("v$instance", ({"version": "19.0.0.0.0"},))
    refused = Missing("v$event_name", "refused", "", "")
    readings: dict[str, Reading] = {"v$instance": instance, "v$event_name": refused}
    assert mechanism_in(readings) == "mutex"
    assert mechanism_in(readings | {"v$event_name": Rows("v$event_name", ({"name": LATCH},))}) == "latch"
    assert mechanism_in({}) is None
    assert without_latch("v$latch_children").kind == "not_asked", "a mutex in its place is no failure"
