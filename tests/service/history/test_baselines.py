"""What is usual: learned from hours of history, closest first, ready for polls, and part of the headline."""

from datetime import UTC, datetime, timedelta

import pytest

from rules.baseline import RATES, figures
from service.history.baselines import DAYS, SOURCES, WEEK, BaselineCache, learn, samples, slots, usual_at, usual_over
from service.history.curves import MOST_HOURS, hours_of
from service.state.time_window import Window
from service.store.episodes import Baseline
from service.store.repository import Repository
from tests.service.marked import DB, at, polled
from tests.service.stage import BEGAN, Stage

HOUR = timedelta(hours=1)


def hours(store: Repository, monkeypatch: pytest.MonkeyPatch, days: int) -> None:
    """A history in which every figure is the hour of the day, from midnight of a Sunday."""
    first = BEGAN.replace(hour=0)
    told = [(first + place * HOUR, float(place % 24)) for place in range(days * 24)]
    monkeypatch.setattr("service.history.baselines.samples", lambda *_: dict.fromkeys(SOURCES, told))


def test_sources_match_the_figures_of_the_rules(stage: Stage) -> None:
    published = [stage.poll(DB, moment) for moment in (40, 42)][-1]
    assert published.delta is not None
    assert set(SOURCES) == set(figures(published.delta))
    assert set(RATES) <= set(SOURCES)


def test_samples_match_the_figures_of_the_rules(store: Repository, stage: Stage) -> None:
    polled(store, stage, 40, 60, 5)
    store.upkeep.sum_hours(at(86400))
    whole = store.snapshots.delta_over(DB, at(40), at(60))
    told = figures(whole)  # type: ignore[arg-type]
    found = samples(store, DB, at(7200))
    assert found.keys() == SOURCES.keys()
    for figure, by_hour in found.items():
        ((when, value),) = by_hour
        assert when == BEGAN and value == pytest.approx(told[figure], rel=1e-3), figure


@pytest.mark.parametrize(("days", "scope"), [(3, "all hours"), (20, "hour of the day"), (80, "hour of the week")])
def test_usual_comes_from_the_closest_scope_with_enough_hours(
    store: Repository, monkeypatch: pytest.MonkeyPatch, days: int, scope: str
) -> None:
    hours(store, monkeypatch, days)
    assert learn(store, DB, BEGAN) > 0
    usual = usual_at(store, DB, BEGAN + timedelta(hours=3))["row_cache_wait_share"]
    assert usual.scope == scope
    assert usual.median == (15 if scope != "all hours" else pytest.approx(11.5))


def test_baseline_is_absent_with_too_little_history(store: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    hours(store, monkeypatch, 0)
    assert learn(store, DB, BEGAN) == 0 and usual_at(store, DB, BEGAN) == {}
    assert list(slots(BEGAN)) == [6 * 24 + 12, DAYS + 12, WEEK]


def test_headline_of_a_poll_tells_how_many_times_the_usual_it_is(
    store: Repository, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = BEGAN.replace(hour=0)
    told = [(first + place * HOUR, 0.001) for place in range(20 * 24)]
    asked: list[str] = []

    def counted(store: Repository, database: str, now: datetime) -> dict[str, list[tuple[datetime, float]]]:
        asked.append(database)
        return dict.fromkeys(SOURCES, told)

    monkeypatch.setattr("service.history.baselines.samples", counted)
    usuals = BaselineCache(store, [DB])
    usuals.do(at(0))
    usuals.do(at(1800))
    assert asked == [DB], "learned once"
    stage[DB].usual = lambda when: usuals.of(DB, when)
    plain = stage.poll(DB, 40).diagnosis.headline
    assert "the usual" not in plain, "nothing to show before the first interval"
    assert "× the usual for this hour of the day" in stage.poll(DB, 60).diagnosis.headline
    assert usuals.of(DB, at(3600)).keys() == usuals.of(DB, at(0)).keys(), "the usual of the next hour is ready"
    assert usuals.of(DB, at(7200)) == {}, "another hour is another usual"
    usuals.do(at(3600))
    assert asked == [DB], "learns twenty days of history again after some hours"
    assert usuals.of(DB, at(7200)).keys() == usuals.of(DB, at(3600)).keys() != set(), "and reads the result each hour"
    for hour in range(2, 26):
        usuals.do(at(3600 * hour))
    assert len(asked) == 5, "every six hours"
    usuals = BaselineCache(store, [DB], clock=iter((0.0, 0.0, 2.0)).__next__)
    usuals.do(at(0))
    assert len(asked) == 5 and usuals.of(DB, at(0)), "what it learned is ready at a start"
    assert BaselineCache(store, [DB]).of(DB, at(0)) == {}


def test_fleet_is_learned_over_many_rounds_each_new_database_once_an_hour(
    store: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    spent = 0.0
    learned: list[str] = []

    def slowly(_: Repository, database: str, now: object) -> int:
        nonlocal spent
        spent += 0.3
        learned.append(database)
        return 0

    monkeypatch.setattr("service.history.baselines.learn", slowly)
    names = [f"db-{number:02}" for number in range(12)]
    usuals = BaselineCache(store, names, clock=lambda: spent)
    counted = []
    for seconds in range(0, 3300, 30):
        usuals.do(at(seconds))
        counted.append(len(learned))
    assert counted[:4] == [4, 8, 12, 12], "a second of work in each round, then the next continues"
    assert sorted(learned) == names
    usuals.do(at(3300))
    assert learned[12:] == names[:4], "the databases whose last time is longest ago"


# Hour by hour: the closest known slot, empty if nothing was learned

MONDAY = datetime(2024, 1, 1, 9, 30, tzinfo=UTC)


def test_hours_are_all_that_a_window_touches_and_no_more_than_three_months() -> None:
    hours = hours_of(Window(MONDAY, MONDAY + timedelta(hours=2)))
    assert [hour.hour for hour in hours] == [9, 10, 11]
    assert len(hours_of(Window(MONDAY, MONDAY + timedelta(days=900)))) == MOST_HOURS


def test_usual_takes_the_hour_of_the_week_before_the_hour_of_the_day(store: Repository) -> None:
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
