"""Windows in an address: RFC 3339 and relative times, refusals, and the links to other windows."""

from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs

import pytest

from service.state.time_window import LONGEST, BadWindow, Window, moment, parse_window, window

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("now", NOW),
        ("", NOW),
        ("-6h", NOW - timedelta(hours=6)),
        ("-90s", NOW - timedelta(seconds=90)),
        ("-2w", NOW - timedelta(days=14)),
        ("2026-03-01T11:00Z", NOW - timedelta(hours=1)),
        ("2026-03-01T13:00:00+02:00", NOW - timedelta(hours=1)),
        ("2026-03-01T13:00:00 02:00", NOW - timedelta(hours=1)),
    ],
)
def test_moment_reads_absolute_and_relative_times(text: str, wanted: datetime) -> None:
    assert moment(text, NOW) == wanted


WRITE = r"write|year"


@pytest.mark.parametrize(
    ("begin", "end", "why"),
    [
        *((text, "now", WRITE) for text in ("yesterday", "-6x", "6h", "2026-13-01T00:00Z", "-999999w", "<script>")),
        ("0001-01-01", "now", WRITE),
        ("2026-03-01T11:00", "now", "no time zone"),
        ("now", "-1h", "not after"),
        ("now", "now", "not after"),
        ("-9000d", "now", "longer"),
        ("1950-01-01T00:00Z", "now", "years"),
    ],
)
def test_window_refuses_what_is_no_time_and_impossible_bounds(begin: str, end: str, why: str) -> None:
    with pytest.raises(BadWindow, match=why):
        window(begin, end, NOW)


def test_window_reads_begin_and_end_from_one_word() -> None:
    told = parse_window("-2h..-1h", NOW)
    assert told == Window(NOW - timedelta(hours=2), NOW - timedelta(hours=1))
    assert parse_window(told.dots, NOW) == told
    for bad in ("-2h", "..-1h", ""):
        with pytest.raises(BadWindow, match=r"begin\.\.end"):
            parse_window(bad, NOW)


def test_window_can_be_moved_scaled_and_written_as_a_query() -> None:
    told = Window(NOW - timedelta(hours=2), NOW)
    assert told.moved(-0.5) == Window(NOW - timedelta(hours=3), NOW - timedelta(hours=1))
    assert told.scaled(0.5) == Window(NOW - timedelta(minutes=90), NOW - timedelta(minutes=30))
    assert told.scaled(1e9).length == LONGEST
    assert told.scaled(1e-9).length == timedelta(seconds=10)
    asked = parse_qs(told.query)
    assert window(asked["begin"][0], asked["end"][0], NOW) == told
