"""The steps where no child latch is hot: mutexes, row cache lock, the latch of the result cache, and waiters."""

from collections.abc import Mapping, Sequence
from typing import Any

from collectors.model import RESULT_CACHE_LATCH, ROW_CACHE_LOCK_EVENT, ROW_CACHE_MUTEX_EVENT, Row
from rules.engine import diagnose
from rules.explanation.waits import lock_steps, mutex_steps, result_cache_steps
from rules.model import Diagnosis
from tests.rules.contexts import context_of, delta_of
from tests.rules.rich import RICH, waiters

LATCH_ROW: Row = {"name": "row cache objects", "gets": 41, "misses": 0, "sleeps": 0, "wait_time": 0}


def told(steps: Any, refused: tuple[str, ...] = (), **changed: Sequence[Row]) -> Mapping[str, str]:
    views: dict[str, Any] = {**RICH, **{f"v${view}": rows for view, rows in changed.items()}}
    context = context_of(views, release="19.0.0.0.0", refused=refused)
    return {step.step: step.statement for step in steps(context) if step is not None}


def test_mutex_steps_give_locations_with_their_shape() -> None:
    assert told(mutex_steps)["hot location"] == (
        "Row cache mutexes: 400 sleeps and 1.2 s waited over an interval of 30.0 s, at [19] kqrpre 75.0 % / "
        "[10] kqreqd 25.0 % (normal: look-ups by key, the usual place, which points to no cause among those that look up)."
    )
    few: list[Row] = [{"location": "[32] kqrsfd", "sleeps": 9, "wait_time": 2_000}]
    assert "(too few sleeps for a shape, at least 100 are needed)" in told(mutex_steps, mutex_sleep=few)["hot location"]


def test_mutex_steps_without_sleeps_or_without_access() -> None:
    nobody = "No session slept for a row cache mutex over an interval of 30.0 s."
    assert told(mutex_steps, mutex_sleep=[])["hot location"] == nobody
    assert told(mutex_steps, mutex_sleep=[{"location": "x", "sleeps": 0}])["hot location"] == nobody
    blind = told(mutex_steps, refused=("v$mutex_sleep",))["hot location"]
    assert blind.startswith("Cannot tell where sessions sleep: v$mutex_sleep: ORA-00942. grant select on")


def test_mutex_steps_say_that_the_silent_latch_means_nothing() -> None:
    said = told(mutex_steps, latch=[LATCH_ROW])["not the latch"]
    assert "(41 gets over an interval of 30.0 s)" in said
    assert "zeros in them show nothing" in said
    assert "not the latch" not in told(mutex_steps, latch=[])


def test_mutex_steps_take_the_cache_from_the_waiters_only() -> None:
    assert told(mutex_steps)["cache"] == (
        "Waiters name their cache in P1: dc_rollback_segments 80.0 %, dc_tablespaces 20.0 % of 20 met in 1 looks."
    )
    unasked = told(mutex_steps, refused=("v$session",))["cache"]
    assert unasked.startswith("Cannot tell for certain which cache: v$session: ORA-00942")
    other = waiters(ROW_CACHE_LOCK_EVENT, {3: 20})
    assert "no session waiting for row cache mutex was met" in told(mutex_steps, session=other)["cache"]
    assert "only its waiters name one" in told(mutex_steps, session=other)["cache"]


def test_confirmation_step_ranks_by_gets_for_mutex_and_changes_for_lock() -> None:
    assert told(mutex_steps)["confirmation"] == (
        "Most gets in v$rowcache: dc_rollback_segments 60.0 %, dc_tablespaces 35.0 %, dc_users 5.0 % of 20,000 over an "
        "interval of 30.0 s."
    )
    assert told(lock_steps)["confirmation"].startswith(
        "Most modifications in v$rowcache: dc_rollback_segments 80.0 %, dc_tablespaces 20.0 %"
    )
    unchanged = [{**row, "modifications": 0} for row in RICH["v$rowcache"]]
    assert told(lock_steps, rowcache=unchanged)["confirmation"].startswith("v$rowcache counted no modifications")
    assert told(lock_steps, refused=("v$rowcache",))["confirmation"].startswith("v$rowcache cannot confirm it")


def test_lock_steps_describe_the_wait() -> None:
    assert told(lock_steps)["hot wait"] == (
        "row cache lock: 10 waits and 0.5 s over an interval of 30.0 s, 50.0 ms each."
    )
    none = told(lock_steps, system_event=[])["hot wait"]
    assert none.startswith("Cannot tell how long row cache lock was waited for")
    once: list[Row] = [{"event": ROW_CACHE_LOCK_EVENT, "total_waits": 0, "time_waited_micro": 0}]
    assert told(lock_steps, system_event=once)["hot wait"].endswith("0.0 s over an interval of 30.0 s.")


def test_lock_steps_count_foreground_waits_when_others_waited_too() -> None:
    row: Row = {
        "event": ROW_CACHE_LOCK_EVENT,
        "total_waits": 20_139,
        "total_waits_fg": 19_939,
        "time_waited_micro": 25_900_000,
    }
    said = "row cache lock: 20,139 waits, 19,939 of them in foreground sessions, and 25.9 s over"
    assert told(lock_steps, system_event=[row])["hot wait"].startswith(said)
    alone = {**row, "total_waits_fg": 20_139}
    assert told(lock_steps, system_event=[alone])["hot wait"].startswith("row cache lock: 20,139 waits and 25.9 s over")


def test_lock_steps_name_the_worst_cache_only_in_a_cluster() -> None:
    assert told(lock_steps)["cluster"] == (
        "Between instances, dc_rollback_segments had 40 conflicts on 400 cluster lock requests (10.0 %) over an "
        "interval of 30.0 s."
    )
    alone = [{**row, "dlm_requests": 0} for row in RICH["v$rowcache"]]
    assert "cluster" not in told(lock_steps, rowcache=alone)
    few = [{**row, "dlm_requests": 1_204, "dlm_conflicts": 11} for row in RICH["v$rowcache"]]
    assert "cluster" not in told(lock_steps, rowcache=few), "0.9 % has nothing to do with the waits"


def test_lock_steps_without_waiters_name_the_cache_with_nearly_all_changes() -> None:
    changed = [{**row, "modifications": 990 if row["cache#"] == 3 else 1} for row in RICH["v$rowcache"]]
    likely = "Most likely dc_rollback_segments, which has 99.698 % of the changes, but not for certain: "
    assert told(lock_steps, session=[], rowcache=changed)["cache"].startswith(likely)
    assert told(lock_steps, session=[])["cache"].startswith("Cannot tell for certain which cache: "), "80 % is too few"


def test_result_cache_steps_describe_its_latch() -> None:
    said = told(result_cache_steps)
    assert said["hot latch"] == (
        "Result Cache: RC Latch: 50,000 gets, 200 sleeps, 3.0 s waited over an interval of 30.0 s. "
        "Its waits have no event of their own; they appear as latch free."
    )
    assert said["miss location"] == (
        "Holders by location: kqrpre: find obj 90.0 % / Result Cache: Serialization12 10.0 % of 10,000 sleeps."
    )
    assert told(result_cache_steps, latch=[LATCH_ROW])["hot latch"] == f"{RESULT_CACHE_LATCH} was not read."
    assert "miss location" not in told(result_cache_steps, latch_misses=[])


def diagnosed(**changed: Sequence[Row]) -> Diagnosis:
    views: dict[str, Any] = {**RICH, **{f"v${view}": rows for view, rows in changed.items()}}
    return diagnose(delta_of(views, release="19.0.0.0.0"), {})


def test_steps_without_a_finding_follow_the_costliest_surface() -> None:
    events: list[Row] = [
        {"event": ROW_CACHE_MUTEX_EVENT, "total_waits": 9, "time_waited_micro": 9},
        {"event": ROW_CACHE_LOCK_EVENT, "total_waits": 90, "time_waited_micro": 9_000_000},
        {"event": "row cache mutex", "time_waited_micro": 9},
    ]
    names: list[Row] = [{"name": ROW_CACHE_MUTEX_EVENT}]
    lock = diagnosed(system_event=events, event_name=names)
    assert [step.step for step in lock.steps][:2] == ["hot wait", "cache"]
    mutex = [{**events[0], "time_waited_micro": 20_000_000}]
    assert diagnosed(system_event=mutex, event_name=names).steps[0].step == "hot location"


def test_who_step_gives_statement_and_module() -> None:
    crowd: list[Row] = [
        {**row, "module": "ORDERS", "program": "orders@app", "blocking_session": 312}
        for row in waiters(ROW_CACHE_LOCK_EVENT, {3: 12})
    ]
    steps = {step.step: step.statement for step in diagnosed(session=crowd).steps}
    assert steps["who"] == (
        "Of 12 waiters met in 1 looks at v$session: 100.0 % for dc_rollback_segments (row cache lock), SQL g7w5, "
        "module ORDERS, program orders@app, blocked by session 312."
    )
