"""Scripted databases follow the load model at any time, and counters are the integral of their rates."""

from collections import defaultdict
from collections.abc import Mapping
from datetime import timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from collectors.demo.load import (
    RESLEEPS,
    Cache,
    Child,
    Scenario,
    ScenarioState,
    ScriptedLoad,
    latch_children,
    ramp,
    session,
    share,
)
from collectors.demo.scenarios import scenarios
from collectors.model import ColumnKind, Row, Snapshot, number
from collectors.registry import collectors
from tests.collectors.scripted import BEGAN, poll_at

NAMES = sorted(scenarios())
LATCHED = [name for name in NAMES if not scenarios()[name].mutexes]
"""Those where child latches guard the row cache."""
MUTEXED = [name for name in NAMES if scenarios()[name].mutexes]
TIMES = st.floats(-5_000, 5_000)
"""Their past included, and the days before it."""
MOVING = ("gets", "misses", "sleeps", "spin_gets", "wait_time")


def by_key(one: Snapshot, view: str) -> Mapping[tuple[object, ...], Row]:
    key = collectors()[view].key
    return {tuple(row.get(name) for name in key): row for row in one.rows(view)}


@given(name=st.sampled_from(LATCHED), at=TIMES)
def test_latch_gets_are_three_per_parent_get_and_one_per_subordinate_get(name: str, at: float) -> None:
    one = poll_at(name, at)
    caches = by_key(one, "v$rowcache")
    predicted: dict[object, float] = defaultdict(float)
    for row in one.rows("x$kqrst"):
        gets = number(caches[row["cache#"], row["type"], row["subordinate#"]]["gets"]) or 0
        predicted[row["child#"]] += gets * (3 if row["type"] == "PARENT" else 1)
    assert {row["child#"]: row["gets"] for row in one.rows("v$latch_children")} == predicted


@given(name=st.sampled_from(NAMES), at=TIMES)
def test_misses_each_end_in_a_spin_get_or_begin_with_a_sleep(name: str, at: float) -> None:
    for row in poll_at(name, at).rows("v$latch_children"):
        gets, misses, sleeps, spin_gets = (
            number(row[column]) or 0 for column in ("gets", "misses", "sleeps", "spin_gets")
        )
        assert sleeps + spin_gets >= misses
        assert misses >= sleeps * (1 - RESLEEPS) - 1
        assert misses <= gets + 1


@given(name=st.sampled_from(LATCHED), at=TIMES)
def test_latch_is_the_sum_of_its_children(name: str, at: float) -> None:
    one = poll_at(name, at)
    latch = by_key(one, "v$latch")["row cache objects",]
    for column in MOVING:
        assert latch[column] == sum(number(row[column]) or 0 for row in one.rows("v$latch_children"))


@given(name=st.sampled_from(MUTEXED), at=TIMES)
def test_mutex_scenario_has_no_child_latches_and_a_latch_in_name_only(name: str, at: float) -> None:
    one = poll_at(name, at)
    assert (one.rows("v$latch_children"), one.rows("v$latch_misses")) == ((), ())
    assert number(by_key(one, "v$latch")["row cache objects",]["sleeps"]) == 0
    places = one.rows("v$mutex_sleep")
    event = by_key(one, "v$system_event")["row cache mutex",]
    for column, of in (("total_waits", "sleeps"), ("time_waited_micro", "wait_time")):
        assert event[column] == pytest.approx(sum(number(row[of]) or 0 for row in places), abs=len(places))


@given(name=st.sampled_from(NAMES), at=TIMES)
def test_waiting_sessions_are_met_once_in_a_look(name: str, at: float) -> None:
    waiting = session(ScenarioState(scenarios()[name], at, BEGAN))
    assert len({row["sid"] for row in waiting}) == len(waiting)


@given(name=st.sampled_from(NAMES), at=TIMES, later=st.floats(0, 900))
@example(name="undo-storm", at=57, later=1)
def test_counters_only_grow(name: str, at: float, later: float) -> None:
    first, second = poll_at(name, at), poll_at(name, at + later)
    for view, collector in collectors().items():
        before, after = by_key(first, view), by_key(second, view)
        for column in (column.name for column in collector.columns if column.kind is ColumnKind.COUNTER):
            for key, row in before.items():
                was, now = number(row.get(column)), number(after[key].get(column))
                assert was is None or (now is not None and now >= was), (view, column, key)


@given(name=st.sampled_from(LATCHED), at=TIMES)
def test_sleeps_by_location_and_by_event_equal_those_of_the_children(name: str, at: float) -> None:
    one = poll_at(name, at)
    children = one.rows("v$latch_children")
    sleeps = sum(number(row["sleeps"]) or 0 for row in children)
    places = [row for row in one.rows("v$latch_misses") if row["parent_name"] == "row cache objects"]
    for column in ("sleep_count", "wtr_slp_count"):
        assert sum(number(row[column]) or 0 for row in places) == pytest.approx(sleeps, rel=0.001, abs=len(places) + 20)
    event = by_key(one, "v$system_event")["latch: row cache objects",]
    assert event["total_waits"] == pytest.approx(sleeps, abs=len(children))
    waited = sum(number(row["wait_time"]) or 0 for row in children)
    assert event["time_waited_micro"] == pytest.approx(waited, abs=len(children))


@given(name=st.sampled_from(NAMES), first=st.floats(0, 900), second=st.floats(0, 900))
def test_polls_agree_whoever_takes_them_and_however_many_came_before(name: str, first: float, second: float) -> None:
    assert poll_at(name, first).readings == poll_at(name, first).readings
    assert poll_at(name, second, previous=poll_at(name, first)).readings == poll_at(name, second).readings


@pytest.mark.parametrize("name", NAMES)
def test_clock_and_uptime_advance_together(name: str) -> None:
    one = poll_at(name, 40)
    assert one.taken_at == BEGAN + timedelta(seconds=40)
    assert one.uptime_seconds == scenarios()[name].uptime_seconds + 40
    assert one.startup_time == (BEGAN - timedelta(seconds=scenarios()[name].uptime_seconds)).strftime(
        "%Y-%m-%d %H:%M:%S"
    )


CACHES = (
    Cache(8, 10, "dc_users", extra_gets=2),
    Cache(8, 7, "dc_users", "SUBORDINATE", 0),
    Cache(8, 7, "dc_users", "SUBORDINATE", 1),
)
CALM = ScriptedLoad(gets={"dc_users": 70}, children={8: Child(sleeps=1)})
BUSY = ScriptedLoad(gets={"dc_users": 700}, children={8: Child(miss_ratio=0.5, sleeps=10, sleep_us=100)})
TOY = Scenario("toy", "11.2.0.4.0", "", CACHES, CALM, ((10, CALM), (20, BUSY)), uptime_seconds=100)


def moment(at: float) -> ScenarioState:
    return ScenarioState(TOY, at, BEGAN)


def test_counter_is_the_integral_of_its_rate() -> None:
    parent = CACHES[0]
    assert [moment(at).gets(parent) for at in (0, 5, 10, 20, 30, 40)] == [
        100 * 42,
        105 * 42,
        110 * 42,
        110 * 42 + 10 * 402,
        110 * 42 + 20 * 402,
        120 * 42 + 20 * 402,
    ]
    child = next(row for row in latch_children(moment(30)) if row["child#"] == 8)
    assert child["sleeps"] == 110 + 200
    assert child["wait_time"] == 110 * 900 + 200 * 100


def test_counters_do_not_run_backwards_before_the_script_begins() -> None:
    assert [moment(at).gets(CACHES[0]) for at in (-100, -5, 0)] == [0, 95 * 42, 100 * 42]


def test_load_is_the_one_in_force_at_the_moment() -> None:
    assert [moment(at).load for at in (0, 9.9, 10, 29.9, 30, 45)] == [CALM, CALM, BUSY, BUSY, CALM, BUSY]


def test_rows_of_one_name_share_its_gets() -> None:
    assert [share(cache, TOY) for cache in CACHES] == [pytest.approx(4 / 7), pytest.approx(2 / 7), pytest.approx(1 / 7)]


def test_ramp_leads_from_one_load_to_the_other() -> None:
    steps = ramp(CALM, BUSY, 10, steps=2)
    assert [seconds for seconds, _ in steps] == [5, 5]
    assert [load.gets["dc_users"] for _, load in steps] == [70 + 630 * 0.25, 70 + 630 * 0.75]
    assert steps[0][1].children[8].sleeps == 1 + 9 * 0.25


@pytest.mark.parametrize("name", NAMES)
def test_scenario_says_what_it_is_for_and_is_consistent(name: str) -> None:
    scenario = scenarios()[name]
    assert scenario.about
    assert all(seconds > 0 for seconds, _ in scenario.loop)
    guarded = {cache.name for cache in scenario.caches}
    for _, load in scenario.loop:
        for places in (load.holders, load.waiters):
            assert sum(places.values()) == pytest.approx(0 if scenario.mutexes else 1)
        assert bool(load.mutexes) is scenario.mutexes
        assert sum(load.result_cache_places.values()) == pytest.approx(1 if load.result_cache_places else 0)
        assert {one.cache for one in load.waiting if one.cache} <= guarded
        assert set(load.children) <= {cache.child for cache in scenario.caches}
        assert set(load.usage) <= guarded


def test_busy_but_fine_scenario_misses_half_of_its_gets() -> None:
    first, second = (by_key(poll_at("busy-but-fine", at), "v$latch")["row cache objects",] for at in (10, 40))
    misses, gets = ((number(second[column]) or 0) - (number(first[column]) or 0) for column in ("misses", "gets"))
    assert misses / gets == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("name", [name for name in NAMES if scenarios()[name].past])
def test_past_ends_where_the_loop_begins_and_its_rates_count(name: str) -> None:
    script = scenarios()[name]
    assert script.past_length <= script.uptime_seconds
    at = -script.past_length
    for seconds, load in script.past:
        earlier, later = ScenarioState(script, at, BEGAN), ScenarioState(script, at + seconds, BEGAN)
        for cache in script.caches:
            rate = load.gets.get(cache.name, 0.0) * share(cache, script) + cache.extra_gets
            assert later.gets(cache) - earlier.gets(cache) == pytest.approx(seconds * rate, abs=2)
        assert ScenarioState(script, at + seconds / 2, BEGAN).load is load
        at += seconds
    assert at == 0
    assert ScenarioState(script, 0.0, BEGAN).load is script.loop[0][1]


def test_before_its_past_a_script_has_its_ordinary_load() -> None:
    for script in scenarios().values():
        assert ScenarioState(script, -script.past_length - 1, BEGAN).load is script.ordinary
