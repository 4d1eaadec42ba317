"""What is usual, hour by hour: the closest known slot, empty if nothing was learned."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from service.history.baselines import DAYS
from service.history.timeseries import MOST_HOURS, hours_of, usual_over
from service.state.window import Window
from service.store.episodes import Baseline
from service.store.repository import Repository

MONDAY = datetime(2024, 1, 1, 9, 30, tzinfo=UTC)


def test_hours_are_all_that_a_window_touches_and_no_more_than_three_months() -> None:
    hours = hours_of(Window(MONDAY, MONDAY + timedelta(hours=2)))
    assert [hour.hour for hour in hours] == [9, 10, 11]
    assert len(hours_of(Window(MONDAY, MONDAY + timedelta(days=900)))) == MOST_HOURS


def test_usual_takes_the_hour_of_the_week_before_the_hour_of_the_day(tmp_path: Path) -> None:
    store = Repository(f"sqlite:///{tmp_path}/store.db")
    store.baselines.put(
        [
            Baseline("erp1", "row_cache_wait_share", 9, 0.02, 0.01, 0.03, 12),
            Baseline("erp1", "row_cache_wait_share", DAYS + 10, 0.04, 0.0, 0.05, 60),
        ]
    )
    found = usual_over(store, "erp1", hours_of(Window(MONDAY, MONDAY + timedelta(hours=2))))
    assert list(found) == ["row_cache_wait_share"]
    nine, ten, eleven = found["row_cache_wait_share"]
    assert nine is not None and (nine.median, nine.scope) == (0.02, "hour of the week")
    assert ten is not None and (ten.median, ten.scope) == (0.04, "hour of the day")
    assert eleven is None
    store.close()
