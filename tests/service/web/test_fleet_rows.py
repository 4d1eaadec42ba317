"""Rows of the fleet: state in a word, since when, what it costs, what eases, and counts by state."""

from datetime import UTC, timedelta

from service.state.board import Failure
from service.web.fleet_rows import database_out, having, overview_out
from tests.service.stage import BEGAN, Stage


def test_row_tells_state_cause_cost_cache_and_since_when(stage: Stage) -> None:
    stage.poll_all(60, 75)
    row = database_out(stage["undo-storm"])
    assert (row.state, row.cause, row.cache, row.confidence) == (
        "Critical",
        "undo-segments",
        "dc_rollback_segments",
        "high",
    )
    assert row.impact is not None and row.impact.share_of_db_time is not None
    assert 0.3 < row.impact.share_of_db_time < 0.4
    assert row.since is None, "one poll that shows it opens no episode yet"
    fine = database_out(stage["healthy-19c"])
    assert (fine.state, fine.severity, fine.since, fine.cause) == ("Fine", "info", None, None)
    stage.poll("undo-storm", at=90)
    assert database_out(stage["undo-storm"]).since == BEGAN + timedelta(seconds=75)


def test_row_of_the_result_cache_counts_its_own_waits(stage: Stage) -> None:
    stage.poll_all(60, 75)
    row = database_out(stage["ads-result-cache"])
    assert row.surface == "result-cache"
    assert row.impact is not None and (row.impact.share_of_db_time or 0.0) > 0.25


def test_row_has_no_data_where_nothing_was_read_and_says_since_when(stage: Stage) -> None:
    watched = stage["undo-storm"]
    assert (database_out(watched).state, database_out(watched).since) == ("No data", None)
    watched.failure = Failure("network", "no listener", BEGAN.timestamp(), None)
    assert (database_out(watched).state, database_out(watched).since) == ("No data", BEGAN)


def test_last_hour_has_sixty_values_of_which_the_unwatched_are_unknown(stage: Stage) -> None:
    stage.poll_all(60, 75)
    values = database_out(stage["undo-storm"]).last_hour
    assert len(values) == 60
    known = [value for value in values if value is not None]
    assert len(known) == 1 and 0.3 < known[0] < 0.4


def test_overview_counts_states_and_names_the_worst_and_what_is_new(stage: Stage) -> None:
    stage.poll_all(60, 75, 90)
    told = overview_out([database_out(watched) for watched in stage.board])
    assert sum(told.states.values()) == len(told.databases) == len(list(stage.board))
    assert told.states["Fine"] >= 2 and told.states["Critical"] >= 3 and told.states["No data"] == 0
    assert told.worst is not None and told.worst.state == "Critical"
    costs = [row.impact.share_of_db_time or 0.0 for row in told.databases if row.impact and row.state == "Critical"]
    assert told.worst.impact is not None and told.worst.impact.share_of_db_time == max(costs)


def test_failure_times_are_in_utc(stage: Stage) -> None:
    watched = stage["undo-storm"]
    watched.failure = Failure("network", "no listener", BEGAN.timestamp(), BEGAN.timestamp() + 4)
    told = database_out(watched).failure
    assert told is not None
    assert (told.since, told.next_attempt) == (BEGAN, BEGAN + timedelta(seconds=4))
    assert told.since.tzinfo is UTC
    watched.failure = Failure("credential", "ORA-01017", BEGAN.timestamp(), None)
    told = database_out(watched).failure
    assert told is not None
    assert told.next_attempt is None


def test_causes_have_the_databases_in_trouble_by_them_the_dearest_first(stage: Stage) -> None:
    stage.poll_all(60, 75)
    found = having(stage.board)
    assert {one.name for one in found["sequence-nocache"]} == {"nocache-sequence-1", "nocache-sequence-2"}
    assert [one.state for one in found["undo-segments"]] == ["Critical"]
    assert "spin-only" not in found, "a costless finding is no trouble"
