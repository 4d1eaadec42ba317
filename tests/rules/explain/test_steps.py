"""The steps in words: the published incident figure by figure, its variants, and the text when little is known."""

import json
import re
from dataclasses import replace

import pytest

from collectors.capture import Capture
from collectors.capture import delta_of as capture_delta
from collectors.delta import since_startup
from collectors.model import Delta, Missing
from rules.catalogue import catalogue
from rules.engine import diagnose
from rules.model import Diagnosis
from tests.collectors.scripted import delta_from, poll_at
from tests.paths import DATA
from tests.rules.contexts import SICK, TOTALS, delta_of, no_grant, steps_of, with_rows


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
