"""The data of a window's page: gaps with their reasons, levels that persist, names of children, successive tiers."""

from datetime import datetime, timedelta

import pytest

from rules.cache_map import CacheMap
from service.state.window import Window
from service.store.repository import Repository
from service.store.upkeep.rollup import roll_up
from service.web.charts.overview import Overview, overview
from tests.service.stage import BEGAN, FOR_EVER, Stage

DB = "undo-storm"


def at(seconds: float) -> datetime:
    return BEGAN + timedelta(seconds=seconds)


@pytest.fixture
def kept(stage: Stage) -> Repository:
    return Repository(f"sqlite:///{stage.folder}/store.db", FOR_EVER)


def seen(stage: Stage, store: Repository, begin: float, end: float, *moments: float) -> Overview:
    stage.keeper = store  # type: ignore[assignment]
    for moment in moments:
        stage.poll(DB, moment)
    published = stage[DB].published
    return overview(store, DB, Window(at(begin), at(end)), published.labels if published else CacheMap())


def test_stretches_cover_the_window_with_a_gap_before_the_first_poll(stage: Stage, kept: Repository) -> None:
    told = seen(stage, kept, 20, 47, 40, 42, 44.0004, 46)
    assert [(one.begin, one.end) for one in told.gaps] == [(at(20), at(40))]
    assert told.gaps[0].why == "not watched"
    assert [round(one.seconds, 2) for one in told.stretches] == [2, 2, 2]


def test_overview_of_a_first_poll_alone_is_a_gap_that_says_so(stage: Stage, kept: Repository) -> None:
    told = seen(stage, kept, 20, 47, 40)
    assert [one.why for one in told.gaps] == ["the first poll has nothing to compare with"]


def test_late_poll_leaves_a_gap_instead_of_an_average(stage: Stage, kept: Repository) -> None:
    told = seen(stage, kept, 41, 103, 40, 42, 44, 46, 100, 102)
    assert [(one.begin, one.end, one.why) for one in told.gaps] == [(at(46), at(100), "not watched")]
    assert len(told.stretches) == 4


def test_window_within_stretches_has_no_gap(stage: Stage, kept: Repository) -> None:
    told = seen(stage, kept, 41, 45, 40, 42, 44, 46)
    assert told.gaps == ()
    assert told.stretches[0].begin == at(41)


def test_level_kept_before_the_window_still_holds(stage: Stage, kept: Repository) -> None:
    told = seen(stage, kept, 45, 51, 40, 42, 44, 46, 48, 50)
    (used,) = [one for one in told.panels if one.key == "used"]
    assert len(used.lines[0].values) == 3
    assert len(set(used.lines[0].values)) == 1
    assert used.lines[0].values[0]


def test_sleeps_are_unknown_for_unreadable_children_and_zero_if_healthy(stage: Stage, kept: Repository) -> None:
    stage.refused = {DB: ("v$latch_children",)}
    told = seen(stage, kept, 39, 45, 40, 42, 44)
    sleeps = next(one for one in told.panels if one.key == "sleeps")
    assert {value for line in sleeps.lines for value in line.values} == {None}
    stage.refused = {}
    seen(stage, kept, 39, 45, 46, 48, 50)
    told = overview(kept, DB, Window(at(47), at(51)), CacheMap())
    sleeps = next(one for one in told.panels if one.key == "sleeps")
    assert "child 1" in [line.name for line in sleeps.lines], "without a map a child has its number"
    assert None not in sleeps.lines[0].values


def test_roll_ups_are_followed_by_polls_not_rolled_up_yet(stage: Stage, kept: Repository) -> None:
    seen(stage, kept, 0, 1, *range(0, 720, 60))
    roll_up(kept.engine, kept.partitions, kept.names, at(700))
    told = overview(kept, DB, Window(at(-10_000), at(661)), CacheMap())
    assert told.resolution == "five minutes"
    assert [(one.end - one.begin).total_seconds() for one in told.stretches] == [300, 300, 60]
    assert [(one.begin, one.end) for one in told.gaps] == [(at(-10_000), at(0))]


def test_overview_averages_many_stretches_and_says_so(
    stage: Stage, kept: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.web.charts.overview.MOST", 4)
    told = seen(stage, kept, 39, 61, *range(40, 58, 2))
    assert told.resolution == "every poll, 2 averaged at a time"
    assert [one.seconds for one in told.stretches] == [4] * 4
    assert {len(line.values) for panel in told.panels for line in panel.lines} == {4}
