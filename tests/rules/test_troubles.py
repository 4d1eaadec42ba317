"""The troubles, by surface and hot cache: probes of two troubles at once, and costs per surface."""

import pytest

from collectors.capture import delta_of, load
from collectors.model import RESULT_CACHE_LATCH, Delta
from rules.engine import diagnose
from rules.model import Diagnosis, Severity
from tests.paths import PROBES
from tests.rules.contexts import delta_of as delta_of_rows
from tests.rules.contexts import with_rows


def diagnosed(name: str) -> Diagnosis:
    (path,) = PROBES.glob(f"{name}_*.json")
    delta = delta_of(load(path.read_text(encoding="utf-8"), path.name))
    assert isinstance(delta, Delta)
    return diagnose(delta)


def told(got: Diagnosis) -> list[tuple[str, str | None, tuple[str, ...]]]:
    return [(one.surface, one.cache, one.causes) for one in got.troubles]


def test_two_hot_children_are_two_troubles_each_with_its_share() -> None:
    got = diagnosed("P01")
    assert [one.cause for one in got.findings] == ["undo-segments"]
    assert told(got) == [("latch", "dc_rollback_segments", ("undo-segments",)), ("latch", "dc_users", ())]
    assert [one.share_of_db_time for one in got.troubles] == pytest.approx([0.281, 0.239], abs=0.001)
    assert got.severity is Severity.CRITICAL
    assert "beside it dc_users (latch: row cache objects) costs 23.9 %: cause open" in got.headline
    assert [step.statement[:8] for step in got.steps if step.step == "hot child"] == ["Child 1 ", "Child 8 "]


def test_two_surfaces_are_two_troubles() -> None:
    got = diagnosed("P32")
    assert [one.cause for one in got.findings] == ["sequence-nocache"]
    assert sorted(told(got)) == [("lock", "dc_sequences", ("sequence-nocache",)), ("mutex", "dc_users", ())]
    assert got.severity is Severity.CRITICAL
    assert "dc_sequences" in got.headline and "dc_users (row cache mutex) costs 30.0 %" in got.headline


@pytest.mark.parametrize(("probe", "first"), [("P29", "starved-host"), ("P30", "hard-parse-storm")])
def test_what_exonerates_comes_first_and_the_undo_storm_stands_on_its_own_signs(probe: str, first: str) -> None:
    assert [one.cause for one in diagnosed(probe).findings] == [first, "undo-segments"]


def test_a_result_cache_finding_has_the_cost_of_its_own_surface_everywhere() -> None:
    busy = {"name": RESULT_CACHE_LATCH, "gets": 50_000, "misses": 5_000, "sleeps": 2_000, "wait_time": 29_700_000}
    idle = {"event": "latch: row cache objects", "total_waits": 9, "time_waited_micro": 2_000}
    views = {**with_rows("v$latch", busy), "v$system_event": [idle], "v$latch_children": []}
    got = diagnose(delta_of_rows(views))
    assert got.findings[0].cause == "result-cache-latch"
    assert got.impact is not None and got.impact.share_of_db_time == pytest.approx(0.297, abs=0.001)
    assert got.findings[0].impact is not None and got.findings[0].impact.share_of_db_time == pytest.approx(0.297)
    costs = {one.surface: one.share_of_db_time for one in got.surfaces}
    assert costs["result-cache"] == pytest.approx(0.297) and costs["latch"] == pytest.approx(0.00002)


def test_several_dozen_sessions_in_one_look_are_not_fine() -> None:
    cheap = {"event": "row cache lock", "total_waits": 9, "time_waited_micro": 2_000}
    crowd = [
        {"sample": 1, "sid": sid, "event": "row cache lock", "p1": 3, "p3": 3, "sql_id": None} for sid in range(40)
    ]
    quiet = {**with_rows("v$system_event", cheap), "v$latch_children": [], "v$latch": [], "v$latch_misses": []}
    assert diagnose(delta_of_rows(quiet), {}).severity is Severity.INFO
    got = diagnose(delta_of_rows({**quiet, "v$session": crowd}), {})
    assert got.severity is Severity.WARNING
    assert "40 sessions were met in one look" in got.headline
