"""What REST and pages show of the board, in every state of a database."""

from datetime import UTC, timedelta

import pytest

from collectors.model import number
from service.state.board import Failure
from service.web import presenters
from service.web.presenters import database_out, having, overview_out
from tests.service.stage import BEGAN, Stage


def test_presenters_show_no_data_before_the_first_poll_and_say_since_when_a_failure_lasts(stage: Stage) -> None:
    watched = stage["undo-storm"]
    told = database_out(watched)
    assert (told.up, told.state, told.since) == (False, "No data", None)
    assert [told.data_age_seconds, told.release, told.severity, told.failure] == [None] * 4
    assert "no poll has finished yet" in presenters.diagnosis_of(watched).headline
    for following in (4, None):
        due = following and BEGAN.timestamp() + following
        watched.failure = Failure("network", "no listener", BEGAN.timestamp(), due)
        told = database_out(watched)
        assert (told.state, told.since) == ("No data", BEGAN) and told.failure is not None
        assert told.failure.since == BEGAN and told.failure.since.tzinfo is UTC
        assert told.failure.next_attempt == (following and BEGAN + timedelta(seconds=following))


def test_presenters_know_the_instance_after_one_poll_and_why_figures_are_missing(stage: Stage) -> None:
    watched = stage["undo-storm"]
    stage.poll("undo-storm", at=1)
    told = database_out(watched)
    assert (told.up, told.release, told.instance) == (True, "11.2.0.4.0", "undo_storm")
    assert told.started_at == BEGAN - timedelta(days=9)
    assert told.headline == "Cannot tell yet: the first poll has nothing to compare with"
    missing = presenters.latches_out(watched).missing
    assert missing == "the first poll has nothing to compare with; wait for the next poll"
    stage.poll("undo-storm", at=3)
    stage.began = BEGAN + timedelta(seconds=4)
    stage.poll("undo-storm", at=5)
    assert "the instance restarted" in (presenters.latches_out(watched).missing or "")
    assert "the instance restarted" in (presenters.caches_out(watched).missing or "")


def test_presenters_show_no_verdict_when_the_last_poll_is_too_old(stage: Stage) -> None:
    stage.poll_all(1, 3)
    stage.at = 60
    watched = stage["undo-storm"]
    told = database_out(watched)
    assert (told.up, told.data_age_seconds, told.severity, told.headline) == (False, 57.0, None, None)
    assert told.release == "11.2.0.4.0", "the identity of the database does not grow old"
    assert "too old" in presenters.diagnosis_of(watched).headline
    assert presenters.caches_out(watched).caches == ()


def test_latch_figures_are_those_of_the_delta_and_ratios_have_no_value_without_gets(stage: Stage) -> None:
    stage.poll_all(40, 42)
    watched = stage["undo-storm"]
    assert watched.published is not None and watched.published.delta is not None
    rows = {row["child#"]: row for row in watched.published.delta.rows("v$latch_children")}
    children = presenters.latches_out(watched).children
    for one in children:
        assert (one.gets, one.sleeps) == (rows[one.child]["gets"], rows[one.child]["sleeps"])
        assert one.wait_seconds == pytest.approx((number(rows[one.child]["wait_time"]) or 0) / 1e6)
    idle = [(one.miss_ratio, one.sleeps_per_miss, one.wait_seconds_per_sleep) for one in children if not one.gets]
    assert idle and set(idle) == {(None, None, None)}


def test_shares_of_sleeps_have_no_value_when_nobody_slept(stage: Stage) -> None:
    stage.poll_all(20, 20.01)
    children = presenters.latches_out(stage["busy-but-fine"]).children
    assert {one.sleeps for one in children} == {0}
    assert {one.share_of_sleeps for one in children} == {None}


def test_inferred_children_say_so(stage: Stage) -> None:
    stage.refused = {"busy-but-fine": ("x$kqrst",)}
    stage.poll("busy-but-fine", at=20)
    stage.poll("busy-but-fine", at=30)
    told = {one.child: one for one in presenters.latches_out(stage["busy-but-fine"]).children}
    assert (told[8].cache, told[8].identity) == ("dc_users", "inferred")
    assert (told[46].cache, told[46].identity, told[46].caches) == ("unknown", None, ())


def test_row_tells_state_cause_cost_cache_last_hour_and_since_when(stage: Stage) -> None:
    stage.poll_all(60, 75)
    row = database_out(stage["undo-storm"])
    assert (row.state, row.cause, row.cache) == ("Critical", "undo-segments", "dc_rollback_segments")
    assert row.confidence == "high" and row.impact is not None and row.impact.share_of_db_time is not None
    known = [value for value in row.last_hour if value is not None]
    assert len(row.last_hour) == 60 and len(known) == 1, "the unwatched minutes are unknown"
    assert 0.3 < known[0] < 0.4 and 0.3 < row.impact.share_of_db_time < 0.4
    assert row.since is None, "one poll that shows it opens no episode yet"
    fine = database_out(stage["healthy-19c"])
    assert (fine.state, fine.severity, fine.since, fine.cause) == ("Fine", "info", None, None)
    result = database_out(stage["ads-result-cache"])
    assert result.surface == "result-cache" and result.impact is not None
    assert (result.impact.share_of_db_time or 0.0) > 0.25, "it counts its own waits"
    found = having(stage.board)
    assert {one.name for one in found["sequence-nocache"]} == {"nocache-sequence-1", "nocache-sequence-2"}
    assert [one.state for one in found["undo-segments"]] == ["Critical"]
    assert "spin-only" not in found, "a costless finding is no trouble"
    stage.poll("undo-storm", at=90)
    assert database_out(stage["undo-storm"]).since == BEGAN + timedelta(seconds=75)


def test_overview_counts_states_and_names_the_worst_and_what_is_new(stage: Stage) -> None:
    stage.poll_all(60, 75, 90)
    told = overview_out([database_out(watched) for watched in stage.board])
    assert sum(told.states.values()) == len(told.databases) == len(list(stage.board))
    assert told.states["Fine"] >= 2 and told.states["Critical"] >= 3 and told.states["No data"] == 0
    assert told.worst is not None and told.worst.state == "Critical"
    costs = [row.impact.share_of_db_time or 0.0 for row in told.databases if row.impact and row.state == "Critical"]
    assert told.worst.impact is not None and told.worst.impact.share_of_db_time == max(costs)
