"""Dilution does not rule out a known cache, and special causes come before general ones."""

from collections.abc import Mapping, Sequence
from typing import Any

from collectors.model import Row
from rules.catalogue import catalogue
from rules.engine import diagnose
from rules.model import Confidence, Diagnosis
from tests.rules.contexts import SICK, delta_of, with_rows


def metadata(executions: int) -> Diagnosis:
    """The sick instance with dc_objects behind its hot child, with 12,000 gets."""
    rowcache = [
        {**row, "parameter": "dc_objects"} if row["parameter"] == "dc_rollback_segments" else row
        for row in SICK["v$rowcache"]
    ]
    work: Sequence[Row] = [
        {"name": "execute count", "value": executions},
        {"name": "parse count (total)", "value": 900},
        {"name": "parse count (failures)", "value": 0},
    ]
    views: Mapping[str, Any] = {
        **with_rows("v$rowcache", *rowcache),
        "v$sysstat": work,
        "v$latch_misses": [],
        "v$sys_time_model": [
            {"stat_name": "DB time", "value": 100_000_000},
            {"stat_name": "parse time elapsed", "value": 1_000_000},
            {"stat_name": "hard parse elapsed time", "value": 500_000},
        ],
    }
    return diagnose(delta_of(views), {"metadata-queries": catalogue()["metadata-queries"]})


def test_other_executions_do_not_rule_a_named_cache_out() -> None:
    assert [one.confidence for one in metadata(2_000).findings] == [Confidence.MEDIUM]
    diluted = metadata(40_000)
    assert diluted.ruled_out == ()
    (open_one,) = diluted.undetermined
    assert open_one.missing == "v$session" and "lookups_per_execution is 0.3" in open_one.why


def undo(**changed: Any) -> Diagnosis:
    """Too many undo segments, kept online by a floor."""
    rowcache = [
        {**row, **(changed if row["parameter"] == "dc_rollback_segments" else {})} for row in SICK["v$rowcache"]
    ]
    floor = {"name": "_rollback_segment_count", "con_id": 0, "value": "14000"}
    causes = {name: catalogue()[name] for name in ("undo-segments", "undo-segment-floor")}
    return diagnose(delta_of({**with_rows("v$rowcache", *rowcache), "v$parameter": [floor]}), causes)


def test_special_cause_stands_above_the_general_one() -> None:
    assert [one.cause for one in undo().findings] == ["undo-segment-floor", "undo-segments"]


def test_near_miss_is_found_with_low_confidence_where_nothing_else_explains_its_cache() -> None:
    rows = [{**row, "gets": 300_000} if row["parameter"] == "dc_tablespaces" else row for row in SICK["v$rowcache"]]
    got = diagnose(delta_of(with_rows("v$rowcache", *rows)), {"undo-segments": catalogue()["undo-segments"]})
    assert [one.confidence for one in got.findings] == [Confidence.LOW]
    assert any("share_of_lookups is" in why for why in got.findings[0].unknown)


def test_a_ruled_out_cause_states_its_figure_and_not_the_reason_of_the_bound() -> None:
    told = {verdict.cause: verdict for verdict in diagnose(delta_of()).ruled_out if verdict.bound is not None}
    assert len(told) > 10
    for cause, verdict in told.items():
        beyond = "below" if verdict.bound and verdict.bound.operator == ">=" else "above"
        assert verdict.because.startswith(f"the figure for {verdict.name} is "), (cause, verdict.because)
        assert f", {beyond} the " in verdict.because, (cause, verdict.because)
