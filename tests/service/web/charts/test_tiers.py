"""Figures of several tiers in one window: an hour in place of its polls keeps their peak."""

from datetime import timedelta

import pytest

from collectors.model import Delta
from service.state.window import Window
from service.store.repository import Repository
from service.store.upkeep.rollup import roll_up
from service.web.charts.overview import overview
from tests.service.stage import BEGAN, FOR_EVER, Stage

DB = "undo-storm"


def test_spike_of_one_poll_is_seen_in_a_window_of_thirty_days(stage: Stage) -> None:
    kept = Repository(f"sqlite:///{stage.folder}/store.db", FOR_EVER)
    stage.keeper = kept  # type: ignore[assignment]
    for moment in (*range(0, 20, 2), 40, 42):
        stage.poll(DB, moment)
    published = stage[DB].published
    assert published is not None and published.diagnosis.impact is not None
    spike = 100 * (published.diagnosis.impact.share_of_db_time or 0)
    roll_up(kept.engine, kept.partitions, kept.names, BEGAN + timedelta(hours=3))
    told = overview(kept, DB, Window(BEGAN - timedelta(days=29), BEGAN + timedelta(days=1)), published.labels)
    assert told.resolution == "one hour"
    (share,) = next(one for one in told.panels if one.key == "share").lines
    assert share.highs == (pytest.approx(spike, rel=0.01),)
    assert share.values[0] is not None and share.values[0] < spike / 1.1, "the hour itself shows its mean"
    hot = next(one for one in told.panels if one.key == "sleeps").lines[0]
    assert hot.name == "dc_rollback_segments"
    assert hot.highs[0] == pytest.approx(told_of(published.delta, 1), rel=0.01)


def told_of(delta: Delta | None, child: int) -> float:
    """Sleeps of a child per second."""
    assert delta is not None and delta.basis.seconds
    row = next(row for row in delta.rows("v$latch_children") if row["child#"] == child)
    return float(str(row["sleeps"])) / delta.basis.seconds
