"""The steps in words: the published incident figure by figure, its variants, and the text when little is known."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from collectors.capture import Capture, load
from collectors.capture import delta_of as capture_delta
from collectors.delta import since_startup
from collectors.model import (
    RESULT_CACHE_LATCH,
    ROW_CACHE_LATCH,
    ROW_CACHE_LOCK_EVENT,
    ROW_CACHE_MUTEX_EVENT,
    Basis,
    Changes,
    Delta,
    Missing,
    Oddity,
    Row,
)
from rules.cause import catalogue
from rules.context import REMEMBER, DeltaSource, SignalContext
from rules.engine import diagnose
from rules.explain.steps import implausible, lock_steps, mutex_steps, notes, result_cache_steps
from rules.model import Diagnosis, Severity
from tests.collectors.scripted import delta_from, poll_at
from tests.paths import DATA, PROBES
from tests.rules.contexts import INTERVAL, SICK, TOTALS, context_of, delta_of, no_grant, steps_of, with_rows
from tests.rules.rich import RICH, waiters
from tests.rules.test_demo_verdicts import SICK_AT
from tests.rules.test_demo_verdicts import diagnosed as demo_diagnosis


def judged(capture: Capture) -> Diagnosis:
    delta = capture_delta(capture)
    assert isinstance(delta, Delta)
    return diagnose(delta)


def without(capture: Capture, view: str, missing: Missing | None = None) -> Capture:
    """The capture without a view: never read, or missing for a reason."""
    (snapshot,) = capture.snapshots
    kept = {name: reading for name, reading in snapshot.readings.items() if name != view}
    readings = {**kept, view: missing} if missing else kept
    return replace(capture, snapshots=(replace(snapshot, readings=readings),))


INCIDENT = {
    "hot child": (
        "Child 1 of latch# 270 (row cache objects) has 99.998 % of the sleeps: 24,241,645 of 24,242,220, "
        "in totals since an unknown instance start."
    ),
    "cache": "Child 1 → cache# 3 dc_rollback_segments, parent only (read from x$kqrst of this instance).",
    "confirmation": (
        "dc_rollback_segments had 310,995,555 gets = 78.5 % of 395,935,656 in totals since an unknown instance start. "
        "A get of it sleeps "
        "about 11,400 × as often as one of other caches (0.0779 sleeps for each get, against 6.86e-06 of dc_tablespaces)."
    ),
    "miss location": (
        "Holders by location: kqrpre: find obj 85.03 % / kqreqd: reget 10.74 % / kqreqd 4.24 % of 24,241,589 sleeps "
        "(chain: holders search for the entry: a long list is walked under the latch). "
        "v$latch_misses does not separate children, so these are shares over the whole latch."
    ),
}


@pytest.mark.parametrize("step", INCIDENT)
def test_incident_steps_match_figure_by_figure(step: str, incident: Capture) -> None:
    assert steps_of(judged(incident))[step] == INCIDENT[step]


def test_incident_steps_run_from_the_hot_child_to_the_references(incident: Capture) -> None:
    got = judged(incident)
    told = steps_of(got)
    walk = ["hot child", "cache", "confirmation", "miss location", "cause", "confirming query", "remedy", "references"]
    assert list(told) == walk
    assert "matches the symptom of bug 5749075" in told["cause"]
    assert "reported for releases older than 11.2" in told["cause"]
    assert told["confirming query"].startswith("select count(*) from dba_rollback_segs; the record has 14,838.")
    assert {"ORA-30013", "ORA-01555", "ORA-01552"} <= set(re.findall(r"ORA-\d{5}", told["remedy"]))
    assert "Large but partial" in told["remedy"]
    assert "afatkulin.blogspot.com/2010/06" in told["references"]
    (finding,) = got.findings
    assert (finding.cause, finding.severity, finding.confidence) == ("undo-segments", "warning", "high")
    assert (finding.child, finding.cache, finding.location) == (1, "dc_rollback_segments", "kqrpre: find obj")
    assert finding.confirm is not None
    assert finding.confirm.result == 14_838


def test_incident_figures_are_the_published_ones(incident: Capture) -> None:
    seed = json.loads((DATA / "row-cache-incident-2010.json").read_text(encoding="utf-8"))
    figures = {figure.name: figure.value for step in judged(incident).steps for figure in step.figures}
    sleeps = {row["child#"]: row["sleeps"] for row in seed["latch_children"]}
    gets = [row["gets"] for row in seed["rowcache_gets"]]
    locations = {row["where"]: row["sleep_count"] for row in seed["latch_misses"]}
    assert figures["sleeps of the child"] == sleeps[1]
    assert figures["sleeps of all children"] == sum(sleeps.values())
    assert figures["gets"] == max(gets)
    assert figures["share of dictionary gets"] == pytest.approx(max(gets) / sum(gets))
    for place in ("kqrpre: find obj", "kqreqd: reget", "kqreqd"):
        assert figures[place] == pytest.approx(locations[place] / sum(locations.values()))
    tablespaces = next(row["gets"] for row in seed["rowcache_gets"] if row["parameter"] == "dc_tablespaces")
    assert figures["hold anomaly index"] == pytest.approx((sleeps[1] / max(gets)) / (sleeps[5] / tablespaces))


def test_incident_totals_of_unknown_age_give_no_rate(incident: Capture) -> None:
    got = judged(incident)
    words = got.model_dump_json()
    assert got.impact is None
    assert got.basis is not None
    assert (got.basis.kind, got.basis.begin, got.basis.seconds) == ("totals", None, None)
    assert not re.search(r"per second|/s\b|on average|% of DB time", words)


def test_incident_without_x_kqrst_explains_its_low_confidence_candidate(incident: Capture) -> None:
    got = judged(without(incident, "x$kqrst"))
    (finding,) = got.findings
    assert (finding.confidence, finding.identity, finding.child, finding.caches) == ("low", "candidate", None, ())
    assert finding.cache == "dc_rollback_segments"
    assert "Perhaps too many undo segments on dc_rollback_segments (low confidence)" in got.headline
    assert finding.unknown == (
        "the cache of child 1 is unknown: x$kqrst was not read, and there are no child gets to infer it from",
        "v$rowcache has no usage here",
    )
    told = steps_of(got)
    assert told["cache"].startswith("Cannot tell which cache child 1 guards: x$kqrst was not read")
    assert told["confirmation"].startswith("dc_rollback_segments, the busiest cache, had 310,995,555 gets")
    assert "Low confidence." in told["cause"]


def test_incident_without_v_rowcache_names_the_grant_but_not_the_cache(incident: Capture) -> None:
    got = judged(without(incident, "v$rowcache", no_grant("v$rowcache")))
    cure = "grant select on sys.v_$rowcache to <user>"
    assert got.findings == ()
    assert f"cannot tell which cache: {cure}" in got.headline
    told = steps_of(got)
    assert "cache# 3 (name unknown)" in told["cache"]
    assert "Cannot tell which cache that is by name: v$rowcache: ORA-00942" in told["cache"]
    assert cure in told["cache"]
    undo = next(one for one in got.undetermined if one.cause == "undo-segments")
    assert (undo.missing, undo.way_out) == ("v$rowcache", cure)
    assert "dc_" not in told["cache"]


def test_incident_without_v_latch_children_cannot_tell_the_hot_child(incident: Capture) -> None:
    got = judged(without(incident, "v$latch_children", no_grant("v$latch_children")))
    told = steps_of(got)
    assert told["hot child"].startswith("Cannot tell which child is hot: v$latch_children: ORA-00942")
    assert "cache" not in told


def test_miss_location_step_says_that_v_latch_misses_is_missing(incident: Capture) -> None:
    got = judged(without(incident, "v$latch_misses", no_grant("v$latch_misses")))
    assert steps_of(got)["miss location"].startswith("No miss locations: v$latch_misses: ORA-00942")


def test_cache_step_of_the_demo_without_x_kqrst_says_inferred() -> None:
    got = diagnose(delta_from("undo-storm", 60, 90, refused=("x$kqrst",)))
    (finding,) = got.findings
    assert (finding.identity, finding.child, finding.cache) == ("inferred", 1, "dc_rollback_segments")
    assert finding.confidence == "medium"
    assert "(inferred from its gets by the load model)" in steps_of(got)["cache"]


def test_interval_diagnosis_states_cost_seconds_and_entries() -> None:
    got = diagnose(delta_from("undo-storm", 60, 90))
    assert re.fullmatch(
        r"Too many undo segments on dc_rollback_segments; row cache waits cost \d+\.\d % of DB time over an interval of 30\.0 s",
        got.headline,
    )
    assert "It holds 14,600 entries." in steps_of(got)["confirmation"]


def test_headline_gives_the_cost_in_sessions_or_says_it_is_unknown() -> None:
    sessions = diagnose(delta_of(refused=["v$sys_time_model"]))
    assert "0.08 sessions wait for the row cache on average over an interval of 30.0 s" in sessions.headline
    blind = diagnose(delta_of(refused=["v$system_event", "v$latch"]))
    gap = "the time of latch: row cache objects and row cache lock was not captured"
    assert f"what it costs is unknown: {gap}" in blind.headline.lower()


def test_headline_of_quiet_totals_says_nothing_to_do() -> None:
    few = [{**row, "sleeps": 3} for row in SICK["v$latch_children"]]
    only = {"undo-segments": catalogue()["undo-segments"]}
    quiet = {**with_rows("v$latch_children", *few), "v$latch_misses": []}
    headline = diagnose(delta_of(quiet, basis=TOTALS), only).headline
    assert headline.startswith("Nothing to do about the row cache")


def test_totals_since_a_known_start_have_rates() -> None:
    got = diagnose(since_startup(poll_at("undo-storm", 60)))
    assert got.basis is not None
    assert got.basis.kind == "since_startup"
    assert got.impact is not None
    assert "totals since instance start, 777,660 s" in got.headline


def test_largest_wait_is_a_step_where_it_is_large_and_none_of_the_row_cache() -> None:
    def with_wait(event: str, micro: int) -> dict[str, str]:
        waits = {"event": event, "total_waits": 900, "time_waited_micro": micro}
        rows = [row for row in SICK["v$system_event"] if row["event"] != event]
        return steps_of(diagnose(delta_of({**SICK, "v$system_event": [*rows, waits]})))

    said = with_wait("library cache lock", 33_000_000)["largest wait"]
    assert said == "Of the waits that are read the largest is library cache lock, 33.0 % of DB time."
    assert "largest wait" not in with_wait("library cache lock", 4_900_000), "too little to be worth a sentence"
    assert "largest wait" not in with_wait("row cache lock", 33_000_000), "our own view, which everything else is about"
    assert "largest wait" not in with_wait("library cache lock", 133_000_000), "more than all of DB time cannot be"


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


def test_notes_keep_their_order() -> None:
    delta = delta_of(refused=["v$osstat"], oddities=(Oddity("v$latch", ("x",), "gets", "fell", 9, 3),))
    readings = {**delta.readings, "v$latch": Changes("v$latch", tuple(SICK["v$latch"]), ("gets were cut off",))}
    told = notes(SignalContext(replace(delta, readings=readings, notes=("a long window",))))
    assert [told[0], told[1]] == ["a long window", "assumed: gets were cut off"]
    assert told[-2].startswith("v$latch gets of x fell")
    assert told[-1].startswith("v$osstat: ORA-00942; grant select on")


def test_notes_of_a_report_say_that_it_is_one() -> None:
    assert notes(SignalContext(replace(delta_of(), source="report")))[0] == REMEMBER
    assert REMEMBER not in notes(SignalContext(delta_of()))


def test_implausible_names_more_misses_than_gets() -> None:
    rows = [
        {"parameter": "dc_users", "gets": 500, "getmisses": 501},
        {"parameter": "dc_objects", "gets": 76_843, "getmisses": 508_432},
    ]
    first, second = implausible(context_of(with_rows("v$rowcache", *rows)))
    assert first.startswith("v$rowcache dc_objects has 508,432 misses on 76,843 gets")
    assert second.startswith("v$rowcache dc_users has 501 misses on 500 gets")


@pytest.mark.parametrize(("gets", "misses"), [(500, 500), (0, 100), (None, 900), (900, None)])
def test_implausible_accepts_as_many_misses_as_gets_or_unknown_counts(gets: int | None, misses: int | None) -> None:
    assert implausible(context_of(with_rows("v$rowcache", {"parameter": "x", "gets": gets, "getmisses": misses}))) == ()


def test_window_of_many_hours_hides_short_storms() -> None:
    def noted(seconds: float, source: DeltaSource = "views") -> list[str]:
        basis = Basis("interval", INTERVAL.begin, INTERVAL.end, seconds)
        told = notes(SignalContext(replace(delta_of(), basis=basis, source=source)))
        return [note for note in told if "hide short storms" in note]

    assert noted(604_800.0) == ["a window of 168.0 hours: averages over it hide short storms"]
    assert noted(3_603.0) == []
    assert noted(604_800.0, "report") == [], "the reader of a report says so itself"


@pytest.mark.parametrize("probe", ["P09_19c_latch_rows", "P09b_122_latch_event", "P12_7days"])
def test_probes_say_once_what_is_odd_about_them(probe: str) -> None:
    delta = capture_delta(load((PROBES / f"{probe}.json").read_bytes(), probe))
    assert isinstance(delta, Delta)
    told = diagnose(delta)
    said = " ".join((*told.notes, *(step.statement for step in told.steps)))
    odd = {
        "P09_19c_latch_rows": "sleeps on the latch row cache objects are ignored",
        "P09b_122_latch_event": "takes 46.7 % of DB time, which should not be: from 12.2 on mutexes guard the row cache",
        "P12_7days": "a window of 168.0 hours: averages over it hide short storms",
    }
    assert said.count(odd[probe]) == 1
    assert said.count("from 12.2 on mutexes guard the row cache") == ("P09" in probe)


def test_latch_waits_on_a_release_of_mutexes_are_counted_in_the_cost() -> None:
    name = "P09b_122_latch_event"
    delta = capture_delta(load((PROBES / f"{name}.json").read_bytes(), name))
    assert isinstance(delta, Delta)
    told = diagnose(delta)
    assert told.impact is not None and told.impact.share_of_db_time == pytest.approx(0.467, abs=0.001)
    assert told.severity is not Severity.INFO and "Nothing to do" not in told.headline


def test_totals_count_every_waiter_once_by_statement_and_once_by_module() -> None:
    told = demo_diagnosis("undo-storm", SICK_AT["undo-storm"])
    totals = told.who_totals
    assert totals is not None
    assert totals.looks == 15
    for parts in (totals.by_sql_id, totals.by_module):
        assert sum(part.waiters for part in parts) == totals.waiters
        assert abs(sum(part.share for part in parts) - 1) < 1e-9
    assert totals.by_sql_id[0].name == "g7w5kz3h1rq2m"
    assert abs(sum(part.sessions for part in totals.by_module) - totals.waiters / totals.looks) < 1e-9


def test_totals_are_null_where_nobody_was_sampled() -> None:
    assert diagnose(delta_of(SICK)).who_totals is None
