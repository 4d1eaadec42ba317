"""The last hour by the minute: weighted by the watched time, unknown without a watch, bounded."""

from service.state.last_hour import MINUTES, LastHour

NOW = 60.0 * 1_000_000


def test_minute_is_the_mean_weighted_by_seconds_and_the_rest_is_unknown() -> None:
    hour = LastHour()
    hour.add(NOW + 10, 10.0, 0.2)
    hour.add(NOW + 40, 30.0, 0.6)
    hour.add(NOW + 50, None, 0.9)
    hour.add(NOW + 50, 5.0, None)
    values = hour.values(NOW + 59)
    assert values[-1] == 0.5
    assert set(values[:-1]) == {None}


def test_memory_is_bounded_and_old_minutes_leave_the_window() -> None:
    hour = LastHour()
    for minute in range(1_000):
        hour.add(NOW + 60 * minute, 15.0, 0.1)
    assert len(hour._minutes) <= 2 * MINUTES
    assert hour.values(NOW + 60 * 999) == (0.1,) * MINUTES
    assert hour.values(NOW + 60 * 1_100) == (None,) * MINUTES


def test_what_was_kept_fills_minutes_that_were_not_seen() -> None:
    hour = LastHour()
    hour.add(NOW, 15.0, 0.1)
    hour.fill({1_000_000: 0.9, 999_999: 0.4})
    assert hour.filled
    assert hour.values(NOW)[-2:] == (0.4, 0.1)
    hour.fill({1_000_000: 0.7}, anew=True)
    assert hour.values(NOW)[-2:] == (None, 0.7)
