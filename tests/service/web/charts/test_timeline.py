"""The timeline as SVG: lanes, names beside small episodes, links that zoom, text that stays text."""

from datetime import datetime, timedelta

import pytest

from rules.cache_map import CacheMap
from service.state.time_window import Window
from service.store.repository import Repository
from service.web.charts.svg import Gap
from service.web.charts.timeline import LANE, Event, Overview, events, overview
from tests.service.stage import BEGAN, FOR_EVER, AtOnce, Stage
from tests.service.web.charts.drawings import AXIS, HOSTILE, drawn, x
from tests.service.web.charts.drawings import at as minute

DB = "undo-storm"


def at(seconds: float) -> datetime:
    return BEGAN + timedelta(seconds=seconds)


@pytest.fixture
def kept(stage: Stage) -> Repository:
    return Repository(f"sqlite:///{stage.folder}/store.db", FOR_EVER)


def seen(stage: Stage, store: Repository, begin: float, end: float, *moments: float) -> Overview:
    stage.keeper = AtOnce(store)
    for moment in moments:
        stage.poll(DB, moment)
    published = stage[DB].published
    return overview(store, DB, Window(at(begin), at(end)), published.map if published else CacheMap())


def test_stretches_cover_the_window_with_a_gap_only_before_the_first_poll(stage: Stage, kept: Repository) -> None:
    told = seen(stage, kept, 20, 47, 40, 42, 44.0004, 46)
    assert [(one.begin, one.end) for one in told.gaps] == [(at(20), at(40))]
    assert told.gaps[0].why == "not watched"
    assert [round(one.seconds, 2) for one in told.stretches] == [2, 2, 2]
    told = overview(kept, DB, Window(at(41), at(45)), CacheMap())
    assert told.gaps == ()
    assert told.stretches[0].begin == at(41)


def test_late_poll_leaves_a_gap_instead_of_an_average_and_a_first_one_says_so(stage: Stage, kept: Repository) -> None:
    told = seen(stage, kept, 41, 103, 40, 42, 44, 46, 100, 102)
    assert [(one.begin, one.end, one.why) for one in told.gaps] == [(at(46), at(100), "not watched")]
    assert len(told.stretches) == 4
    told = overview(kept, DB, Window(at(20), at(41)), CacheMap())
    assert [one.why for one in told.gaps] == ["the first poll has nothing to compare with"]


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
    assert [line.name for line in sleeps.lines] == ["all"], "what the latch itself counts is known"
    stage.refused = {DB: ("v$latch_children", "v$latch")}
    told = seen(stage, kept, 45.5, 50.5, 50)
    sleeps = next(one for one in told.panels if one.key == "sleeps")
    assert {value for line in sleeps.lines for value in line.values} == {None}
    stage.refused = {}
    seen(stage, kept, 39, 45, 56, 58, 60)
    told = overview(kept, DB, Window(at(57), at(61)), CacheMap())
    sleeps = next(one for one in told.panels if one.key == "sleeps")
    assert "child 1" in [line.name for line in sleeps.lines], "without a map a child has its number"
    assert None not in sleeps.lines[0].values


def test_roll_ups_are_followed_by_polls_not_rolled_up_yet(stage: Stage, kept: Repository) -> None:
    seen(stage, kept, 0, 1, *range(0, 720, 60))
    kept.upkeep.sum_hours(at(700))
    told = overview(kept, DB, Window(at(-10_000), at(661)), CacheMap())
    assert told.resolution == "five minutes"
    assert [(one.end - one.begin).total_seconds() for one in told.stretches] == [300, 300, 60]
    assert [(one.begin, one.end) for one in told.gaps] == [(at(-10_000), at(0))]


def test_overview_averages_many_stretches_and_says_so(
    stage: Stage, kept: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.web.charts.timeline.MOST", 4)
    told = seen(stage, kept, 39, 61, *range(40, 58, 2))
    assert told.resolution == "every poll, 2 averaged at a time"
    assert [one.seconds for one in told.stretches] == [4] * 4
    assert {len(line.values) for panel in told.panels for line in panel.lines} == {4}


def test_overlapping_episodes_have_lanes_and_marks_the_topmost() -> None:
    told = [
        Event(minute(0), minute(50), "critical", "one", "/1", "one"),
        Event(minute(40), minute(90), "warning", "two", "/2", "two"),
        Event(minute(70), minute(99), "notice", "three", "/3", "three"),
        Event(minute(45), None, "mark", "mark", "/m", ""),
    ]
    bands = drawn(events(told, AXIS)).findall(".//rect[@class='lane']")
    assert [one.get("y") for one in bands] == [str(3 + LANE), str(3 + 2 * LANE), str(3 + LANE)]
    assert [one.get("x") for one in bands] == [x(0), x(40), x(70)]


def test_small_episode_has_its_name_beside_it_and_a_zoom_link_leads_to_the_time_between_ticks() -> None:
    small = [Event(minute(90), minute(91), "critical", "storm", "/1", "storm")]
    (label,) = [one for one in drawn(events(small, AXIS)).iter("text") if one.get("class") == "beside"]
    assert (label.text, label.get("text-anchor")) == ("storm", "end")
    assert "beside" not in events(small * 13, AXIS)
    links = [one for one in drawn(events([], AXIS, zoom="/db/x/history")).iter("a") if one.get("class") == "zoom"]
    assert next(one.get("href") for one in links) == f"/db/x/history?{Window(minute(0), minute(30)).query}"


def test_timeline_text_is_escaped() -> None:
    event = Event(minute(0), minute(90), f'critical" onload="{HOSTILE}', HOSTILE, f"/db/x?{HOSTILE}", HOSTILE)
    markup = events([event], AXIS, [Gap(minute(0), minute(9), HOSTILE)])
    assert "<script" not in markup
    assert not any("onload" in one.attrib for one in drawn(markup).iter())


def test_spike_of_one_poll_is_seen_in_a_window_of_thirty_days(stage: Stage) -> None:
    kept = Repository(f"sqlite:///{stage.folder}/store.db", FOR_EVER)
    stage.keeper = AtOnce(kept)
    for moment in (*range(0, 20, 2), 40, 42):
        stage.poll(DB, moment)
    published = stage[DB].published
    assert published is not None and published.diagnosis.impact is not None
    spike = 100 * (published.diagnosis.impact.share_of_db_time or 0)
    kept.upkeep.sum_hours(BEGAN + timedelta(hours=3))
    told = overview(kept, DB, Window(BEGAN - timedelta(days=29), BEGAN + timedelta(days=1)), published.map)
    assert told.resolution == "one hour"
    (share,) = next(one for one in told.panels if one.key == "share").lines
    assert share.highs == (pytest.approx(spike, rel=0.01),)
    assert share.values[0] is not None and share.values[0] < spike / 1.1, "the hour itself shows its mean"
    hot = next(one for one in told.panels if one.key == "sleeps").lines[0]
    assert hot.name == "dc_rollback_segments" and hot.highs == (), "details know no highest poll"
