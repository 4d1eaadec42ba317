"""The steps to the hot child in words: its caches, a map in doubt, few sleeps, views that are missing, the shape."""

import pytest

from collectors.model import ROW_CACHE_LATCH, Row
from rules.engine import diagnose
from tests.rules.contexts import SICK, delta_of, steps_of, with_rows


def test_cache_step_counts_subordinates_and_reports_a_doubtful_map() -> None:
    users = [{**row, "sleeps": 5_000 if row["child#"] == 8 else 1} for row in SICK["v$latch_children"]]
    told = steps_of(diagnose(delta_of(with_rows("v$latch_children", *users))))
    assert told["cache"].startswith("Child 8 → cache# 10 dc_users, with 1 subordinate (read")
    off = [{**row, "gets": 60_000} if row["child#"] == 1 else row for row in SICK["v$latch_children"]]
    told = steps_of(diagnose(delta_of(with_rows("v$latch_children", *off))))
    assert "but child 1 had 60,000 latch gets where dc_rollback_segments predict 36,000 (+67%)" in told["cache"]


def test_hot_child_step_dismisses_few_sleeps_and_names_none_without_sleeps() -> None:
    few = [{**row, "sleeps": 3} for row in SICK["v$latch_children"]]
    told = steps_of(diagnose(delta_of(with_rows("v$latch_children", *few))))["hot child"]
    assert told.startswith("All children of `row cache objects` together slept ") and "%" not in told
    assert told.endswith(" times over an interval of 30.0 s, too few to tell a hot one.")
    none = [{**row, "sleeps": 0} for row in SICK["v$latch_children"]]
    told = steps_of(diagnose(delta_of(with_rows("v$latch_children", *none))))
    assert told["hot child"] == "No child of `row cache objects` slept over an interval of 30.0 s."


def test_hot_child_step_omits_an_unknown_latch_number() -> None:
    bare = [{name: cell for name, cell in row.items() if name != "latch#"} for row in SICK["v$latch_children"]]
    told = steps_of(diagnose(delta_of(with_rows("v$latch_children", *bare))))
    assert told["hot child"].startswith("Child 1 (row cache objects) has 99.0 % of the sleeps")


def test_cache_step_cannot_tell_without_a_map_or_a_fit() -> None:
    odd: list[Row] = [{**row, "gets": 77_777} for row in SICK["v$latch_children"]]
    told = steps_of(diagnose(delta_of(with_rows("v$latch_children", *odd), refused=["x$kqrst"])))
    assert told["cache"].startswith(
        "Cannot tell which cache child 1 guards: x$kqrst: ORA-00942, and its gets fit no cache"
    )


@pytest.mark.parametrize(
    ("held", "said"),
    [
        ({"kqrpre: find obj": 99}, "(too few sleeps for a shape, at least 100 are needed)"),
        ({"kqrpre: find obj": 900, "kqreqd": 100}, "(chain: holders search for the entry"),
        ({"kqreqd: reget": 800, "kqrpre: find obj": 100, "kqreqd": 100}, "(normal: the ordinary mix"),
    ],
)
def test_miss_location_step_describes_the_shape_of_the_holders(held: dict[str, int], said: str) -> None:
    rows: list[Row] = [
        {"parent_name": ROW_CACHE_LATCH, "location": place, "sleep_count": slept} for place, slept in held.items()
    ]
    told = steps_of(diagnose(delta_of(with_rows("v$latch_misses", *rows))))
    assert said in told["miss location"]
    assert told["miss location"].endswith("so these are shares over the whole latch.")


def test_no_other_child_or_cache_is_hot_where_the_sleeps_of_one_are_not_known() -> None:
    first, *others = SICK["v$latch_children"]
    children = [{name: cell for name, cell in first.items() if name != "sleeps"}, *others]
    dear = {"event": "latch: row cache objects", "total_waits": 1_000, "time_waited_micro": 40_000_000}
    got = diagnose(delta_of({**SICK, "v$latch_children": children, "v$system_event": [dear]}))
    said = steps_of(got)
    assert "at child" not in got.headline and "dc_tablespaces" not in got.headline, got.headline
    assert said["hot child"].startswith("Cannot tell which child is hot: v$latch_children has no sleeps")
    assert "cache" not in said and "confirmation" not in said, "a step that does not know the child names no cache"
    assert {finding.child for finding in got.findings} <= {None}


def test_cache_of_a_map_that_does_not_fit_is_named_as_certain_by_nobody() -> None:
    swapped = [{**row, "child#": {1: 5, 5: 1}.get(int(str(row["child#"])), row["child#"])} for row in SICK["x$kqrst"]]
    dear = {"event": "latch: row cache objects", "total_waits": 1_000, "time_waited_micro": 40_000_000}
    got = diagnose(delta_of({**SICK, "x$kqrst": swapped, "v$system_event": [dear]}), {})
    said = steps_of(got)
    assert "most at child 1 (its cache is in doubt)" in got.headline
    assert said["cache"].startswith(
        "Cannot tell which cache child 1 guards: x$kqrst says dc_tablespaces, but child 1 had"
    )
    assert "confirmation" not in said
