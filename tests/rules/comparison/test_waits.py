"""Costs, surfaces and the hot child, as far as both sides have them."""

import pytest

from collectors.model import RESULT_CACHE_LATCH, Row
from rules.comparison.changes import ComparedSides
from rules.comparison.waits import child_changes, child_sleeps, children_of, cost_changes, sick_cache, surface_changes
from rules.context import Known, SignalContext, Unknown
from tests.rules.contexts import SICK, context_of, delta_of, with_rows
from tests.rules.printed import printed, scripted

STORM, RELIEVED = SignalContext(scripted("undo-storm", 60.0)), SignalContext(scripted("undo-storm", 158.0, 30.0))
MUTEXES = SignalContext(scripted("users-mutex", 30.0))


def test_cost_changes_are_shares_of_db_time_in_total_and_by_surface() -> None:
    told = {one.name: one for one in cost_changes(ComparedSides(STORM, RELIEVED))}
    assert list(told) == ["row_cache_wait_share", "latch_wait_share", "lock_wait_share"]
    assert told["row_cache_wait_share"].unit == "of DB time"
    assert told["row_cache_wait_share"].before == pytest.approx(0.319, abs=0.001)
    assert told["latch_wait_share"].direction == "fell"


def test_cost_changes_without_db_time_count_waiting_sessions() -> None:
    blind = context_of(refused=["v$sys_time_model"])
    (first, *_) = cost_changes(ComparedSides(blind, blind))
    assert (first.unit, first.before) == ("per second", pytest.approx(2.5 / 30))


def test_cost_changes_below_a_printed_second_are_noise() -> None:
    rows = [
        delta_of(
            with_rows("v$system_event", {"event": "row cache lock", "total_waits": 900, "time_waited_micro": micro})
        )
        for micro in (900_000, 0)
    ]
    live = next(iter(cost_changes(ComparedSides(SignalContext(rows[0]), SignalContext(rows[1])))))
    report = next(
        iter(cost_changes(ComparedSides(SignalContext(rows[0]), SignalContext(printed(scripted("healthy-19c", 30.0))))))
    )
    assert live.verdict == "changed"
    assert report.verdict == "within noise"


def test_surface_changes_cover_only_surfaces_present_on_both_sides() -> None:
    def names(pair: ComparedSides) -> set[str]:
        return {one.name for one in surface_changes(pair)}

    assert names(ComparedSides(STORM, RELIEVED)) >= {"latch_gets", "latch_misses", "latch_sleeps", "lock_waits"}
    assert names(ComparedSides(MUTEXES, MUTEXES)) >= {"mutex_sleeps", "lock_waits"}
    assert not names(ComparedSides(STORM, MUTEXES)) & {"latch_sleeps", "mutex_sleeps"}
    assert list(child_changes(ComparedSides(STORM, MUTEXES))) == []


def test_result_cache_is_compared_when_at_least_one_side_has_it() -> None:
    latch: Row = {"name": RESULT_CACHE_LATCH, "sleeps": 400}
    with_it, without = context_of(with_rows("v$latch", *SICK["v$latch"], latch)), context_of()
    (told,) = (one for one in surface_changes(ComparedSides(with_it, without)) if one.name == "result_cache_sleeps")
    assert (told.verdict, told.counted_before, told.counted_after) == ("cannot tell", 400, None)
    assert not any(one.name == "result_cache_sleeps" for one in surface_changes(ComparedSides(without, without)))


def test_sick_cache_is_that_of_the_side_with_more_sleeps() -> None:
    assert (
        sick_cache(ComparedSides(STORM, RELIEVED))
        == sick_cache(ComparedSides(RELIEVED, STORM))
        == "dc_rollback_segments"
    )
    assert sick_cache(ComparedSides(context_of(refused=["x$kqrst", "v$rowcache"]), context_of({}))) is None


def test_child_changes_follow_the_cache_not_the_child_number() -> None:
    moved: list[Row] = [
        {**row, "child#": {1: 5, 5: 1}.get(int(str(row["child#"])), row["child#"])} for row in SICK["x$kqrst"]
    ]
    calmer: list[Row] = [{**row, "sleeps": int(str(row["sleeps"])) // 2 + 4} for row in SICK["v$latch_children"]]
    other = context_of({**with_rows("x$kqrst", *moved), "v$latch_children": calmer})
    assert children_of(other, "dc_rollback_segments") == (5,)
    assert child_sleeps(other, "dc_rollback_segments") == Known(7.0), "half of seven, and four"
    assert child_sleeps(context_of(), "dc_rollback_segments") == Known(990.0)
    slept, _ = child_changes(ComparedSides(context_of(), other))
    assert (slept.of, slept.counted_before, slept.counted_after) == ("dc_rollback_segments", 990, 7)


def test_child_sleeps_are_unknown_when_no_child_is_tied_to_the_cache() -> None:
    reading = child_sleeps(context_of(), "dc_sequences")
    assert isinstance(reading, Unknown)
    assert reading.why == "which child guards dc_sequences is not known"


def test_hold_anomaly_of_a_child_with_few_sleeps_is_cannot_tell() -> None:
    quiet = context_of(with_rows("v$latch_children", {"latch#": 270, "child#": 1, "gets": 36_000, "sleeps": 9}))
    _, held = child_changes(ComparedSides(context_of(), quiet))
    assert held.verdict == "cannot tell"
    assert held.why == "not known after: too few events: 9 sleeps of all children"


@pytest.mark.parametrize("at", [30.0, 180.0])
@pytest.mark.parametrize("seconds", [(4.0, 100.0), (100.0, 4.0)])
def test_hold_anomaly_at_equal_rates_does_not_change_with_the_window(at: float, seconds: tuple[float, float]) -> None:
    first, second = (
        SignalContext(scripted("undo-storm", at, min(one, 160.0 - at) if at < 100 else one)) for one in seconds
    )
    _, held = child_changes(ComparedSides(first, second))
    assert (held.direction, held.verdict) == ("cannot tell", "cannot tell")
    assert "too few sleeps of other children over windows that differ" in held.why
    assert "sleeps per get of dc_rollback_segments itself are" in held.why


def test_hold_anomaly_lower_bound_over_like_windows_follows_only_the_child() -> None:
    def held(own: int, other: int) -> str:
        rows: list[Row] = [{**row, "sleeps": own if row["child#"] == 1 else other} for row in SICK["v$latch_children"]]
        _, told = child_changes(ComparedSides(context_of(), context_of(with_rows("v$latch_children", *rows))))
        return told.verdict

    assert held(990, 0) == "within noise"
    assert held(110, 1) == "changed"
