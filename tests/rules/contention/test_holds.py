"""From views to the input of the model, and what remains unknown."""

from dataclasses import replace
from math import log

import pytest

from collectors.model import Basis, Changes, Delta, Missing
from rules.contention.readings import NotPredictable, child_named, counts_of, middle, ordinary_hold, processors
from rules.context import SignalContext
from tests.rules.contention.test_remedy import demo

STORM = demo("undo-storm", 60, 90)


def test_counters_of_a_child_with_the_sessions_that_use_it() -> None:
    counts = counts_of(SignalContext(STORM), 1)
    assert counts.processes == pytest.approx(31, abs=0.5) and counts.seconds == 30
    assert counts.miss_ratio == pytest.approx(0.21, rel=1e-3) and counts.sleeps == pytest.approx(156_000, rel=1e-3)
    assert counts.wait_per_sleep == pytest.approx(1.9e-3, rel=1e-3)
    assert processors(SignalContext(STORM)) == 16


def test_child_is_the_one_that_guards_the_cache_or_sleeps_most() -> None:
    context = SignalContext(STORM)
    assert (child_named(context, None), child_named(context, "dc_tablespaces")) == (1, 5)
    with pytest.raises(
        NotPredictable, match=r"no child latch is known to guard dc_nothing; the caches are: .*dc_users"
    ):
        child_named(context, "dc_nothing")


def test_mutexes_say_what_cannot_be_predicted() -> None:
    with pytest.raises(NotPredictable, match="no gets and no misses"):
        child_named(SignalContext(demo("users-mutex", 30, 60)), None)


def test_latch_rows_of_a_release_with_mutexes_are_not_predicted_from() -> None:
    mutexes = demo("users-mutex", 30, 60)
    both = replace(mutexes, readings={**mutexes.readings, "v$latch_children": STORM.readings["v$latch_children"]})
    with pytest.raises(NotPredictable, match="no gets and no misses"):
        child_named(SignalContext(both), None)


def test_child_that_cannot_be_told_is_not_passed_over_for_another() -> None:
    view = STORM.readings["v$latch_children"]
    assert isinstance(view, Changes)
    rows = tuple(
        {name: value for name, value in row.items() if name != "sleeps"} if row["child#"] == 1 else row
        for row in view.rows
    )
    context = SignalContext(replace(STORM, readings={**STORM.readings, view.view: replace(view, rows=rows)}))
    with pytest.raises(NotPredictable, match="the sleeps of child 1 are missing: name a cache"):
        child_named(context, None)
    assert child_named(context, "dc_tablespaces") == 5


def test_source_without_children_is_told_what_helps_it() -> None:
    refused = Missing("v$latch_children", "refused", "ORA-00942", "GRANT SELECT ON SYS.V_$LATCH_CHILDREN TO LATCHSCOPE")
    views = replace(STORM, readings={**STORM.readings, "v$latch_children": refused})
    for delta, way_out in ((views, "GRANT SELECT"), (replace(views, source="report"), "take a capture with")):
        with pytest.raises(NotPredictable, match=way_out):
            child_named(SignalContext(delta), None)


def without(delta: Delta, view: str) -> Delta:
    return replace(delta, readings={**delta.readings, view: Changes(view, ())})


def test_totals_and_missing_figures_are_refused_with_the_reason() -> None:
    with pytest.raises(NotPredictable, match="take an interval"):
        counts_of(SignalContext(replace(STORM, basis=Basis("totals", None, None, None))), 1)
    with pytest.raises(NotPredictable, match="v\\$sys_time_model"):
        counts_of(SignalContext(without(STORM, "v$sys_time_model")), 1)
    with pytest.raises(NotPredictable, match="no child 99"):
        counts_of(SignalContext(STORM), 99)
    with pytest.raises(NotPredictable, match="v\\$latch_children has no row"):
        child_named(SignalContext(without(STORM, "v$latch_children")), None)


def test_ordinary_hold_is_that_of_the_other_children() -> None:
    hold, scatter = ordinary_hold(SignalContext(STORM), 1)
    assert hold == pytest.approx(1.0e-7, rel=0.1)  # 0.002 misses per get at 20,769 gets a second
    assert 0.1 < scatter < 0.4
    quiet = tuple({**row, "misses": 0} for row in STORM.rows("v$latch_children"))
    calm = replace(STORM, readings={**STORM.readings, "v$latch_children": Changes("v$latch_children", quiet)})
    with pytest.raises(NotPredictable, match="hardly any misses"):
        ordinary_hold(SignalContext(calm), 1)


def test_middle_of_a_range_is_that_of_its_logarithms() -> None:
    assert middle(0.25, 1.0) == (pytest.approx(0.5), pytest.approx(log(4) / 12**0.5))
    assert middle(1.0, 1.0) == (1.0, 0.0)
