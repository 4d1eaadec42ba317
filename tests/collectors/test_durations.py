"""Spans of time in words."""

from collectors.durations import hours, lasting
from tests.each import each


@each(
    ("seconds", "words"),
    [
        (30.04, "30.0 s"),
        (599.94, "599.9 s"),
        (600.0, "600 s"),
        (3600.0, "3,600 s"),
        (7200.0, "7,200 s (2 h 0 min)"),
        (550_800.0, "550,800 s (153 h 0 min)"),
    ],
)
def test_lasting_gives_a_long_span_in_hours_too(seconds: float, words: str) -> None:
    assert lasting(seconds) == words


def test_hours_rounds_minutes_before_they_become_hours() -> None:
    assert hours(3599.0) == "1 h 0 min"
    assert hours(61.0) == "0 h 1 min"
