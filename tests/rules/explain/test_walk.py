"""The walk: the published incident figure by figure, its variants, and the chain from the wait to the cause."""

import json
from dataclasses import replace

import pytest
import sqlglot

from collectors.capture import Capture
from collectors.capture import delta_of as capture_delta
from collectors.delta import since_startup
from collectors.demo.scenarios import scenarios
from collectors.model import (
    Delta,
    Missing,
)
from rules.engine import diagnose
from rules.formatting import within
from rules.model import Diagnosis
from tests.collectors.scripted import poll_at
from tests.paths import DATA
from tests.rules.contexts import SICK, delta_of, no_grant, steps_of, with_rows
from tests.rules.test_demo_verdicts import SICK_AT
from tests.rules.test_demo_verdicts import diagnosed as demo


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


def test_incident_without_x_kqrst_explains_its_candidate(incident: Capture) -> None:
    got = judged(without(incident, "x$kqrst"))
    (finding,) = got.findings
    assert (finding.confidence, finding.identity, finding.child, finding.caches) == ("medium", "candidate", None, ())
    assert finding.cache == "dc_rollback_segments"
    assert "Too many undo segments, perhaps on dc_rollback_segments" in got.headline
    assert finding.unknown == (
        "the cache of child 1 is unknown: x$kqrst was not read, and there are no child gets to infer it from",
        "v$rowcache has no usage here",
    )
    told = steps_of(got)
    assert told["cache"].startswith("Cannot tell which cache child 1 guards: x$kqrst was not read")
    assert told["confirmation"].startswith("dc_rollback_segments, the busiest cache, had 310,995,555 gets")
    assert "Medium confidence: true in " in told["cause"]


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


def test_totals_since_a_known_start_have_rates() -> None:
    got = diagnose(since_startup(poll_at("undo-storm", 60)))
    assert got.basis is not None
    assert got.basis.kind == "since_startup"
    assert got.impact is not None
    assert "totals since instance start, 777,660 s" in got.headline


STILL = [{**row, "modifications": 0} if row.get("modifications") else row for row in SICK["v$rowcache"]]
"""Without segments that go online, which would be another cause."""


def test_latch_chain_leads_from_the_wait_over_child_cache_and_holder_to_the_cause() -> None:
    chain = diagnose(delta_of(with_rows("v$rowcache", *STILL))).chain
    assert [link.kind for link in chain] == ["wait", "place", "cache", "holder", "cause"]
    wait, place, cache, holder, cause = chain
    assert (wait.name, wait.value, wait.numerator, wait.denominator) == ("latch: row cache objects", 0.02, 2.0, 100.0)
    assert (place.verb, place.name, place.numerator, place.denominator) == ("nearly all on", "child latch 1", 990, 1000)
    assert (cache.verb, cache.name, cache.value) == ("which guards", "dc_rollback_segments", 0.6)
    assert (holder.name, holder.value) == ("kqrpre: find obj", 0.85)
    assert (cause.value, cause.unit) == (14_600, "entries")
    assert cause.bound is not None and (cause.bound.operator, cause.bound.value) == (">=", 2500)
    assert all(link.certain for link in chain)


def test_bars_are_at_most_four_and_mark_what_the_link_speaks_of() -> None:
    for link in diagnose(delta_of(with_rows("v$rowcache", *STILL))).chain:
        assert len(link.bars) <= 4
        if link.bars:
            assert sum(bar.hot for bar in link.bars) >= 1
            assert next(bar.value for bar in link.bars if bar.hot) == link.value


def test_chain_is_empty_where_nothing_is_in_trouble() -> None:
    calm = [{"event": "latch: row cache objects", "total_waits": 1, "time_waited_micro": 1_000}]
    told = diagnose(delta_of(with_rows("v$system_event", *calm)))
    assert (told.state, told.chain) == ("Fine", ())
    assert told.funnel is not None and (told.funnel.requests, told.funnel.sleeps) == (40_000, 1_000)


def test_demo_databases_chain_ends_at_their_cause_and_all_sql_parses_as_oracle() -> None:
    for name in scenarios():
        told = demo(name, SICK_AT.get(name, 30.0))
        if told.state in ("Fine", "No data"):
            assert told.chain == (), name
            continue
        assert (told.chain[0].kind, told.chain[-1].kind) == ("wait", "cause"), name
        assert told.chain[-1].name == within(told.findings[0].name), name
        for link in told.chain:
            if link.sql is not None:
                sqlglot.parse_one(link.sql, read="oracle")
            if link.unit == "ratio" and link.numerator is not None and link.denominator:
                assert link.value is not None and abs(link.numerator / link.denominator - link.value) < 1e-9, name
                assert link.of, f"{name}: nothing says what {link.name} is a share of"


def test_hang_is_told_by_sessions_and_by_who_holds() -> None:
    wait, cache, blocker, cause = demo("ddl-hang", SICK_AT.get("ddl-hang", 30.0)).chain
    assert (wait.verb, wait.value, wait.unit) == ("Sessions wait for", 38, "sessions")
    assert cache.name == "dc_objects"
    assert (blocker.name, blocker.unit) == ("session 312 on instance 1", "s")
    assert cause.kind == "cause"


def test_storm_that_is_cured_leaves_nothing_unusual_of_what_its_chain_called_unusual() -> None:
    during, cured = demo("undo-storm", 40.0), demo("undo-storm", 180.0)
    assert (during.state, cured.state) == ("Critical", "Fine")
    (cause,) = (finding for finding in during.findings if finding.cause == "undo-segments")
    beyond = {sign.signal for sign in cause.evidence if sign.usual and sign.value > (sign.usual.high or sign.value)}
    assert {"share_of_holders", "entries_used"} <= beyond
    assert "share_of_lookups" not in beyond, "the load goes on after the cure, and so does its share of gets"
    assert next(link.usual for link in during.chain if link.kind == "cache") is None


# The first steps of a report: the latch as a whole, caches by their gets, and whether latch and dictionary gets agree
