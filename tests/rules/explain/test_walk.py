"""The walk: the published incident figure by figure, its variants, and the chain from the wait to the cause."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import sqlglot

from collectors.capture import Capture
from collectors.capture import delta_of as capture_delta
from collectors.delta import since_startup
from collectors.demo.scenarios import scenarios
from collectors.model import (
    ROW_CACHE_LATCH,
    ROW_CACHE_LOCK_EVENT,
    ROW_CACHE_MUTEX_EVENT,
    Delta,
    Missing,
    Row,
)
from rules.context import SignalContext
from rules.engine import diagnose
from rules.explain.report import as_printed, guessed_cache, no_child, quiet
from rules.formatting import within
from rules.model import Diagnosis
from tests.collectors.scripted import delta_from, poll_at
from tests.paths import DATA
from tests.rules.contexts import SICK, delta_of, no_grant, steps_of, with_rows
from tests.rules.rich import RICH, waiters
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


@pytest.mark.parametrize(
    ("view", "step", "words"),
    [
        ("v$latch_children", "hot child", "Cannot tell which child is hot: v$latch_children: ORA-00942"),
        ("v$latch_misses", "miss location", "No miss locations: v$latch_misses: ORA-00942"),
    ],
)
def test_step_of_the_incident_says_which_view_it_lacks(incident: Capture, view: str, step: str, words: str) -> None:
    told = steps_of(judged(without(incident, view, no_grant(view))))
    assert told[step].startswith(words) and ("cache" in told) is (step != "hot child")


def test_interval_diagnosis_states_cost_seconds_and_entries() -> None:
    got = diagnose(delta_from("undo-storm", 60, 90))
    assert re.fullmatch(
        r"Too many undo segments on dc_rollback_segments; row cache waits cost \d+\.\d % of DB time over 30 s",
        got.headline,
    )
    assert "It holds 14,600 entries." in steps_of(got)["confirmation"]


def test_headline_gives_the_cost_in_sessions_or_says_it_is_unknown() -> None:
    sessions = diagnose(delta_of(refused=["v$sys_time_model"]))
    assert "0.08 sessions wait for the row cache on average over 30 s" in sessions.headline
    blind = diagnose(delta_of(refused=["v$system_event", "v$latch"]))
    gap = "the time of latch: row cache objects and row cache lock was not captured"
    assert f"what it costs is unknown: {gap}" in blind.headline.lower()


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


def quiet_with(**seconds: float) -> Diagnosis:
    """A quiet instance with 100 s of DB time, the row cache with a millisecond, and these seconds of CPU and waits."""
    named = {"cpu": "DB CPU", "row": "enq: TX - row lock contention", "io": "db file sequential read"}
    waits = {named[each]: spent for each, spent in seconds.items() if each != "cpu"} | {"row cache lock": 0.001}
    events: list[Row] = [
        {"event": event, "total_waits": 9, "time_waited_micro": spent * 1e6} for event, spent in waits.items()
    ]
    model: list[Row] = [
        {"stat_name": "DB time", "value": 100_000_000},
        {"stat_name": "DB CPU", "value": seconds["cpu"] * 1e6},
    ]
    nothing: dict[str, Any] = {"v$session": [], "v$latch": [], "v$latch_children": []}
    return diagnose(delta_of({**RICH, **nothing, "v$system_event": events, "v$sys_time_model": model}), {})


def test_fine_says_what_db_time_went_to_also_below_half_of_it() -> None:
    rest = quiet_with(cpu=78, row=22)
    assert (rest.state, rest.other_wait and rest.other_wait.event) == ("Fine", "enq: TX - row lock contention")
    assert rest.largest_use is not None and rest.largest_use.is_largest
    assert (rest.largest_use.name, rest.largest_use.next_name) == ("DB CPU", "enq: TX - row lock contention")
    said = steps_of(rest)["where the time went"]
    assert said == "Most of DB time is DB CPU, 78.0 %; enq: TX - row lock contention has 22.0 %."
    io = steps_of(quiet_with(cpu=30, io=45, row=25))["where the time went"]
    assert io == "The largest part of DB time is db file sequential read, 45.0 %; DB CPU has 30.0 %."
    assert steps_of(quiet_with(cpu=78))["where the time went"] == (
        "Most of DB time is DB CPU, 78.0 %; waits that latchscope does not read have up to 22.0 %."
    )


def test_what_is_not_read_may_be_the_largest_and_then_nothing_else_is_called_so() -> None:
    use = quiet_with(cpu=20, row=10)
    assert use.largest_use is not None and not use.largest_use.is_largest
    assert steps_of(use)["where the time went"] == (
        "Up to 70.0 % of DB time is waits that latchscope does not read, or waiting for a processor. "
        "Of what it reads DB CPU has most, 20.0 %; enq: TX - row lock contention has 10.0 %."
    )


def test_what_db_time_went_to_is_no_news_beside_a_problem_or_where_another_wait_has_most() -> None:
    sick = diagnose(delta_of(SICK))
    assert sick.largest_use is None and "where the time went" not in steps_of(sick)
    most = quiet_with(cpu=20, row=60)
    assert most.state == "Elsewhere" and "where the time went" not in steps_of(most)
    assert quiet_with(cpu=20, row=130).largest_use is None, (
        "a wait that began long before has no share of this interval"
    )
    ordinary = quiet_with(cpu=20, io=70)
    assert ordinary.state == "Fine" and ordinary.other_wait is None, "reading blocks is ordinary work"
    assert steps_of(ordinary)["where the time went"].startswith("Most of DB time is db file sequential read, 70.0 %")


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
        "Of 12 waiters met in 1 sample of v$session: 100.0 % for dc_rollback_segments (row cache lock), SQL g7w5, "
        "module ORDERS, program orders@app, blocked by session 312."
    )


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


def test_child_without_a_map_makes_a_link_that_is_not_certain_and_names_the_way_out() -> None:
    odd = [{**row, "gets": 77_777} for row in SICK["v$latch_children"]]
    got = diagnose(delta_of(with_rows("v$latch_children", *odd), refused=["x$kqrst"]))
    blind = "Cannot tell which cache child 1 guards: x$kqrst: ORA-00942, and its gets fit no cache"
    assert steps_of(got)["cache"].startswith(blind)
    (cache,) = (link for link in got.chain if link.kind == "cache")
    assert not cache.certain
    assert cache.unknown is not None and "ORA-00942" in cache.unknown
    assert cache.way_out


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


def context(**views: list[Row]) -> SignalContext:
    rows: dict[str, list[Row]] = {
        "v$latch": [{"name": ROW_CACHE_LATCH, "gets": 20_000, "sleeps": 1_000}],
        "v$rowcache": [
            {"parameter": "dc_users", "gets": 9_000, "usage": 9},
            {"parameter": "dc_segments", "gets": 1_000, "usage": 700},
        ],
        "v$latch_misses": [],
        **{f"v${view}": told for view, told in views.items()},
    }
    return SignalContext(replace(delta_of(rows), source="report"))


def test_no_child_describes_the_latch_as_a_whole() -> None:
    step = no_child(context())
    assert "as a whole, with 1,000 sleeps over 30 s." in step.statement
    assert [(one.name, one.value) for one in step.figures] == [("sleeps", 1_000)]
    assert no_child(context(latch=[])).figures == ()


def test_guessed_cache_lists_the_busiest_cache_first_with_its_share() -> None:
    step = guessed_cache(context())
    assert "of 10,000 dictionary gets dc_users 90.0 %, dc_segments 10.0 %" in step.statement
    assert "too few sleeps by location" in step.statement
    assert [one.value for one in step.figures] == [0.9, 0.1]


@pytest.mark.parametrize(
    ("gets", "words"),
    [
        (20_000, "2.00 gets for each dictionary get, within the 1 to 3"),
        (30_000, "3.00 gets for each dictionary get, within the 1 to 3"),
        (31_400, "3.14 gets for each dictionary get, near enough to the 1 to 3 that are possible"),
        (33_000, "near enough to the 1 to 3"),
        (9_000, "near enough to the 1 to 3"),
        (34_000, "where one to three are possible: some of these counters are wrong"),
        (8_000, "where one to three are possible"),
    ],
)
def test_guessed_cache_uses_latch_gets_only_to_check_the_figures(gets: int, words: str) -> None:
    assert words in guessed_cache(context(latch=[{"name": ROW_CACHE_LATCH, "gets": gets}])).statement


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("kqrpre: find obj", "a long list is walked under the latch, and dc_segments holds the most entries, 700."),
        ("kqrso", "subordinate entries are searched"),
    ],
)
def test_guessed_cache_adds_the_meaning_of_the_shape(place: str, words: str) -> None:
    held: Row = {"parent_name": ROW_CACHE_LATCH, "location": place, "sleep_count": 900}
    assert words in guessed_cache(context(latch_misses=[held])).statement


def test_guessed_cache_cannot_tell_without_gets() -> None:
    assert guessed_cache(context(rowcache=[])).statement.startswith("Cannot tell which cache: v$rowcache has no gets")
    assert "10,000" not in guessed_cache(SignalContext(delta_of(with_rows("v$rowcache")))).statement


def test_as_printed_repeats_the_figures_of_the_report_unchanged() -> None:
    latch = {"name": ROW_CACHE_LATCH, "gets": 9, "misses": 8, "sleeps": 7, "spin_gets": 1, "wait_time": 3_000_000}
    held: Row = {"parent_name": ROW_CACHE_LATCH, "location": "kqrso", "sleep_count": 7, "wtr_slp_count": 5}
    waits: Row = {
        "event": "row cache lock", "total_waits": 90, "time_waited_micro": 9_000_000,
        "total_waits_fg": 80, "time_waited_micro_fg": 1_600_000,
    }  # fmt: skip
    model: list[Row] = [{"stat_name": "DB time", "value": 100_000_000}]
    step = as_printed(context(latch=[latch], latch_misses=[held], system_event=[waits], sys_time_model=model))
    assert step is not None
    for words in (
        "DB time 100.0 s.",
        "Waits: row cache lock 80 waits, 2 s (1.60 % of DB time).",
        "Latch row cache objects 9 gets, 8 misses, 7 sleeps, 1 spin get, 3 s.",
        "Miss sources: kqrso 7 sleeps, 5 waiter sleeps.",
        "Busiest dictionary caches: dc_users 9,000 gets, modifications not known, 9 entries;",
    ):
        assert words in step.statement
    figures = {one.name: (one.value, one.unit) for one in step.figures}
    assert figures["row cache lock: time waited"] == (1.6, "s")
    assert figures["row cache objects: spin gets"] == (1, "spin gets")
    assert "dc_users: modifications" not in figures


def test_as_printed_says_what_is_not_printed_instead_of_zero() -> None:
    views = ["v$system_event", "v$sys_time_model", "v$latch_misses", "v$rowcache", "v$latch"]
    step = as_printed(SignalContext(replace(delta_of(refused=views), source="report")))
    assert step is not None and step.figures == ()
    assert step.statement == (
        "DB time is not printed. Row cache waits are not printed. The latch row cache objects is not printed. "
        "Miss sources are not printed. Dictionary caches are not printed."
    )
    empty = as_printed(context(latch_misses=[], system_event=[]))
    assert empty is not None and "No wait for the row cache is listed. " in empty.statement
    assert "misses not known" in empty.statement, "a share of the gets is no printed figure"


LOCKED: Row = {"event": "row cache lock", "total_waits": 90, "time_waited_micro": 9_000_000}
MUTEX: dict[str, list[Row]] = {
    "event_name": [{"name": "row cache mutex"}],
    "mutex_sleep": [{"mutex_type": "Row Cache", "location": "[19] kqrpre", "sleeps": 101, "wait_time": 142_000}],
}


@pytest.mark.parametrize(
    ("views", "words"),
    [
        (
            {"system_event": [{**LOCKED, "time_waited_micro_fg": 0}]},
            "Waits: row cache lock by background processes alone.",
        ),
        ({"system_event": [LOCKED]}, "90 waits, 9 s, background processes perhaps among them."),
        (MUTEX, "Row Cache mutexes: [19] kqrpre 101 sleeps, 142 ms."),
        (MUTEX, "Latch row cache objects 20,000 gets."),
        (
            {"rowcache": [{"parameter": "dc_users", "gets": 1, "modifications": 2, "usage": 1}]},
            "dc_users 1 get, 2 modifications, 1 entry",
        ),
    ],
)
def test_as_printed_says_whose_waits_and_what_guards(views: dict[str, list[Row]], words: str) -> None:
    step = as_printed(context(**views))
    assert step is not None and words in step.statement
    assert views is not MUTEX or "iss source" not in step.statement


def test_as_printed_is_none_for_views() -> None:
    assert as_printed(SignalContext(delta_of())) is None


def test_quiet_report_gives_no_guessed_cache_and_no_script_advice() -> None:
    event: Row = {"event": "latch: row cache objects", "total_waits": 1, "time_waited_micro": 9}
    calm = context(system_event=[event])
    assert quiet(calm)
    for step in (no_child(calm), guessed_cache(calm)):
        assert "guess" not in step.statement and "script" not in step.statement
    assert guessed_cache(calm).statement.startswith("There is no need to name a cache")
    assert not quiet(SignalContext(replace(calm.delta, source="views")))
