"""The short form of a poll agrees with the whole diagnosis, over every case, scenario and generated instance."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given

from collectors.delta import between
from collectors.demo.scenarios import scenarios
from collectors.model import Changes, Delta, Row, Snapshot, Value, number
from collectors.ondemand.sampling import VIEW as SAMPLED
from collectors.ondemand.sampling import not_sampled
from rules.baseline import UsualRange
from rules.cache_map import CacheMap
from rules.engine import Examination
from rules.hangs import VIEW as WAITING
from rules.model import Diagnosis, Severity
from service.config.settings import DatabaseSettings
from service.metrics.exposition import render
from tests.collectors.scripted import poll_at
from tests.each import each
from tests.rules.case_files import all_cases, delta_of_case
from tests.rules.random_loads import Instance, instances
from tests.rules.random_loads import delta_of as delta_of_instance
from tests.truth.generate import case as generated

NOTHING_READ = Snapshot("erp1", None, {})
SAME = (
    "database",
    "release",
    "mechanism",
    "basis",
    "severity",
    "headline",
    "impact",
    "surfaces",
    "troubles",
    "findings",
    "who",
    "waiting",
    "blockers",
)
USUAL = {"row_cache_wait_share": UsualRange(median=0.0001, low=0.00005, high=0.0002, samples=40, scope="all hours")}
WAITED = ("time_waited_micro", "time_waited_micro_fg", "wait_time")
WAITS = ("v$system_event", "v$latch", "v$latch_children", "v$mutex_sleep")


def hushed(delta: Delta) -> Delta:
    """The same events, each a ten-thousandth as long, without waiting sessions: the sleeps stay, and cost nothing."""

    def short(name: str, cell: Value) -> Value:
        return cell // 10_000 if name in WAITED and isinstance(cell, int) else cell

    def row(one: Row) -> Row:
        return {name: short(name, cell) for name, cell in one.items()}

    readings = {
        view: replace(reading, rows=tuple(map(row, reading.rows)))
        if isinstance(reading, Changes) and view in WAITS
        else replace(reading, rows=())
        if isinstance(reading, Changes) and view == WAITING
        else reading
        for view, reading in delta.readings.items()
    }
    return replace(delta, readings={**readings, SAMPLED: not_sampled()}, at_begin={}, confirmations={})


def agreed(delta: Delta, usual: Mapping[str, UsualRange] = USUAL) -> Diagnosis | None:
    """The whole of a quiet interval; None for any other. Asserts that the short form agrees."""
    examined = Examination(delta, usual=usual)
    if examined._quiet is None:
        return None
    short = examined.short()
    assert is_quiet(examined), "no cause is judged"
    whole = examined.whole()
    for name in SAME:
        assert getattr(short, name) == getattr(whole, name), name
    assert verdicts_as_metrics(short) == verdicts_as_metrics(whole)
    assert Diagnosis.model_validate(short.model_dump()) == short, "a valid Diagnosis, though a short one"
    assert short.severity is Severity.INFO and whole.troubles == () and whole.candidates == ()
    assert examined.short(undetermined=True).undetermined == whole.undetermined, "for a reader who wants to know"
    return whole


def agrees(delta: Delta, usual: Mapping[str, UsualRange] = USUAL) -> bool:
    """Whether the interval is quiet; see agreed."""
    return agreed(delta, usual) is not None


def is_quiet(examined: Examination) -> bool:
    """Whether the short form skipped some causes."""
    examined.short()
    return "_verdicts" not in vars(examined)


def verdicts_as_metrics(diagnosis: Diagnosis) -> Mapping[str, bytes]:
    """All that /metrics says of a diagnosis."""
    return render(DatabaseSettings(name="erp1", dsn="x"), NOTHING_READ, CacheMap(), diagnosis)


def hushed_delta() -> Delta:
    delta = between(poll_at("healthy-19c", 40.0), poll_at("healthy-19c", 42.0))
    assert isinstance(delta, Delta)
    return delta


found: Counter[str] = Counter()
COST_NOTHING = ("spin-only", "benign-internal")
"""Causes that are found although nothing waits. All of their cases are asked; of the others the short form a third."""


@pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.soak)])
def test_short_form_of_a_case_is_true_as_it_is_and_where_its_waits_cost_nothing(every: int) -> None:
    for told in (told for place, told in enumerate(all_cases()) if place % every == 0 or told.cause in COST_NOTHING):
        delta = delta_of_case(str(told))
        agrees(delta)
        if quiet := agreed(hushed(delta)):
            found.update(finding.cause for finding in quiet.findings)


def test_short_form_of_cases_has_findings() -> None:
    """Some costless causes are findings all the same, and the short form must find them too."""
    if not found:
        test_short_form_of_a_case_is_true_as_it_is_and_where_its_waits_cost_nothing(3)
    assert set(COST_NOTHING) <= found.keys(), sorted(found)


def moments(name: str) -> Iterator[Delta]:
    """Changes from poll to poll through the loop of a scenario."""
    step = max(scenarios()[name].length / 12, 2.0)
    polls = [poll_at(name, at * step) for at in range(13)]
    for earlier, later in pairwise(polls):
        delta = between(earlier, later)
        if isinstance(delta, Delta):
            yield delta


@each("name", scenarios())
def test_short_form_of_a_scenario_is_true_throughout(name: str) -> None:
    deltas = list(moments(name))
    short = [agrees(delta) for delta in deltas]
    quiet = [agrees(hushed(delta)) for delta in deltas]
    assert any(quiet), "nothing waits, so nothing needs weighing"
    if name in ("healthy-19c", "busy-but-fine"):
        assert all(short), "no poll of a healthy database takes the whole"
    if name == "undo-storm":
        assert any(short) and not all(short), "in trouble it does"


@given(one=instances())
def test_short_form_of_any_load_is_true(one: Instance) -> None:
    delta = delta_of_instance(one)
    agrees(delta, {}), agrees(hushed(delta), {})


@pytest.mark.parametrize("seeds", [range(20), pytest.param(range(20, 120), marks=pytest.mark.soak)], ids=("20", "soak"))
def test_short_form_of_generated_instances_is_true(seeds: range) -> None:
    for seed in seeds:
        made = generated(seed)
        delta = between(made.begin, made.end)
        assert isinstance(delta, Delta)
        agrees(delta), agrees(hushed(delta))


def test_whatever_may_change_a_verdict_takes_the_whole() -> None:
    delta = hushed_delta()
    assert is_quiet(Examination(delta))
    for changed in (
        replace(delta, source="report"),
        replace(delta, basis=replace(delta.basis, kind="since_startup")),
        replace(delta, readings={view: one for view, one in delta.readings.items() if view != "v$system_event"}),
    ):
        assert not is_quiet(Examination(changed))
    events = delta.readings["v$system_event"]
    assert isinstance(events, Changes)
    slow = [{**row, **{name: 10**9 for name in WAITED if number(row.get(name)) is not None}} for row in events.rows]
    waited = replace(delta, readings={**delta.readings, "v$system_event": replace(events, rows=tuple(slow))})
    assert not is_quiet(Examination(waited))
