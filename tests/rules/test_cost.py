"""What is in trouble and what it costs; a poll where nothing waits finds what the whole diagnosis finds."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from collectors.capture import delta_of, load
from collectors.delta import between
from collectors.model import (
    RESULT_CACHE_LATCH,
    Basis,
    Changes,
    ConfirmationResult,
    Delta,
    Missing,
    Row,
    Value,
    number,
)
from collectors.ondemand.sampling import VIEW as SAMPLED
from collectors.ondemand.sampling import not_sampled
from rules.baseline import UsualRange
from rules.cache_map import cache_map
from rules.cause import catalogue
from rules.context import SignalContext
from rules.cost import unseen_waiters
from rules.engine import Examination, diagnose, examine, held
from rules.model import Confidence, Diagnosis, Severity
from rules.waiting_sessions import WAITING_SESSIONS as WAITING
from tests.collectors.scripted import poll_at
from tests.paths import PROBES
from tests.rules.case_files import all_cases, delta_of_case
from tests.rules.contexts import SICK, context_of, with_rows
from tests.rules.contexts import delta_of as staged_delta
from tests.rules.rich import RICH

BEGAN = datetime(2026, 3, 2, 9, tzinfo=UTC)
SAME = (
    "database", "release", "mechanism", "basis", "severity", "headline", "impact", "surfaces", "troubles",
    "findings", "who", "waiting", "blockers",
)  # fmt: skip
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


def after_itself(delta: Delta, usual: Mapping[str, UsualRange] = {}, **judged: object) -> Examination:
    """The interval examined after the same one a quarter of a minute ago, with these members of the earlier verdict."""
    began = BEGAN if delta.basis.begin is None else delta.basis.begin
    basis = replace(delta.basis, begin=began, end=began + timedelta(seconds=delta.basis.seconds or 0.0))
    delta = replace(delta, basis=basis, steady=True)
    before, at = examine(delta, usual=usual), (basis.end or began) - timedelta(seconds=15)
    earlier = before.verdict.model_copy(update={"judged_at": before.verdict.judged_at and at, **judged})
    standing = held(delta, usual, cache_map(delta), Examination(earlier, before._judgement))
    return standing or examine(delta, usual=usual)


def agrees(delta: Delta) -> bool:
    """Whether the interval is quiet, and no cause is judged again. Asserts that nothing else differs from the whole."""
    examined = after_itself(delta, USUAL)
    if not is_quiet(examined):
        return False
    short, whole = examined.verdict, examined.diagnosis
    assert [getattr(short, name) for name in SAME] == [getattr(whole, name) for name in SAME]
    assert short.severity is Severity.INFO and short.undetermined == ()
    assert set(examined.open_causes()) == {one.cause for one in whole.undetermined}, "for a reader who wants to know"
    return True


def is_quiet(examined: Examination) -> bool:
    """Whether the causes were judged at an earlier poll."""
    return examined.judged is not examined.verdict


def hushed_delta() -> Delta:
    delta = between(poll_at("healthy-19c", 40.0), poll_at("healthy-19c", 42.0))
    assert isinstance(delta, Delta)
    return delta


@pytest.mark.parametrize("every", [12, pytest.param(1, marks=pytest.mark.slow)])
def test_where_waits_cost_nothing_a_poll_finds_what_the_whole_diagnosis_finds(every: int) -> None:
    costless = ("spin-only", "benign-internal")
    cases = [told for place, told in enumerate(all_cases()) if place % every == 0 or told.cause in costless]
    quiet = [told for told in cases if agrees(hushed(delta_of_case(str(told))))]
    assert len(quiet) >= 0.8 * len(cases) and {told.cause for told in quiet} >= set(costless)


def test_whatever_may_change_a_verdict_takes_the_whole() -> None:
    delta = hushed_delta()
    assert is_quiet(after_itself(delta)) and not is_quiet(examine(delta))
    for changed in (
        replace(delta, source="report"),
        replace(delta, basis=replace(delta.basis, kind="since_startup")),
        replace(delta, readings={view: one for view, one in delta.readings.items() if view != "v$system_event"}),
        replace(delta, confirmations={"undo-segments": ConfirmationResult(9.0)}),
        replace(delta, readings={**delta.readings, SAMPLED: Changes(SAMPLED, ({"sample": 1, "sid": None},))}),
    ):
        assert not is_quiet(after_itself(changed))
    events = delta.readings["v$system_event"]
    assert isinstance(events, Changes)
    slow = [{**row, **{name: 10**9 for name in WAITED if number(row.get(name)) is not None}} for row in events.rows]
    waited = replace(delta, readings={**delta.readings, "v$system_event": replace(events, rows=tuple(slow))})
    assert not is_quiet(after_itself(waited, severity=Severity.INFO, findings=()))
    idle = {"name": RESULT_CACHE_LATCH, "gets": 9, "misses": 0, "sleeps": 0, "wait_time": 0}
    for seconds, quiet in (((0.4, 0.0), True), ((0.4, 0.4), False)):  # of 100 s of DB time; together they count
        named = zip(("latch: row cache objects", "row cache lock"), seconds, strict=True)
        both = [{"event": event, "total_waits": 90, "time_waited_micro": spent * 1e6} for event, spent in named]
        views = {**with_rows("v$system_event", *both), "v$latch": [*SICK["v$latch"], idle]}
        assert is_quiet(after_itself(staged_delta(views))) is quiet


def diagnosed(name: str) -> Diagnosis:
    (path,) = PROBES.glob(f"{name}_*.json")
    delta = delta_of(load(path.read_text(encoding="utf-8"), path.name))
    assert isinstance(delta, Delta)
    return diagnose(delta)


def told(got: Diagnosis) -> list[tuple[str, str | None, tuple[str, ...]]]:
    return [(one.surface, one.cache, one.causes) for one in got.troubles]


def test_two_hot_children_are_two_troubles_each_with_its_share() -> None:
    got = diagnosed("P01")
    assert [one.cause for one in got.findings] == ["undo-segments", "logon-storm"]
    assert told(got) == [("latch", "dc_rollback_segments", ("undo-segments",)), ("latch", "dc_users", ("logon-storm",))]
    assert [one.share_of_db_time for one in got.troubles] == pytest.approx([0.281, 0.239], abs=0.001)
    assert got.severity is Severity.CRITICAL
    assert (
        "beside it dc_users (latch: row cache objects) costs 23.9 %: sessions logging on all the time" in got.headline
    )
    assert [step.statement[:8] for step in got.steps if step.step == "hot child"] == ["Child 1 ", "Child 8 "]


def test_two_surfaces_are_two_troubles() -> None:
    got = diagnosed("P32")
    assert sorted(one.cause for one in got.findings) == ["logon-storm", "sequence-nocache"]
    found = [("lock", "dc_sequences", ("sequence-nocache",)), ("mutex", "dc_users", ("logon-storm",))]
    assert sorted(told(got)) == found
    assert got.severity is Severity.CRITICAL
    assert "dc_users" in got.headline and "dc_sequences (row cache lock) costs 30.0 %" in got.headline


@pytest.mark.parametrize(("probe", "found"), [("P29", ["starved-host", "undo-segments"]), ("P30", ["undo-segments"])])
def test_what_exonerates_comes_first_and_is_silent_of_caches_it_never_touches(probe: str, found: list[str]) -> None:
    """P30 has a parse storm beside undo segments, which no parse reads: its advice and theirs must not stand on one screen."""
    assert [one.cause for one in diagnosed(probe).findings] == found


def test_a_result_cache_finding_has_the_cost_of_its_own_surface_everywhere() -> None:
    busy = {"name": RESULT_CACHE_LATCH, "gets": 50_000, "misses": 5_000, "sleeps": 2_000, "wait_time": 29_700_000}
    idle = {"event": "latch: row cache objects", "total_waits": 9, "time_waited_micro": 2_000}
    views = {**with_rows("v$latch", busy), "v$system_event": [idle], "v$latch_children": []}
    got = diagnose(staged_delta(views))
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
    assert diagnose(staged_delta(quiet), {}).severity is Severity.INFO
    got = diagnose(staged_delta({**quiet, "v$session": crowd}), {})
    assert got.severity is Severity.WARNING
    assert "40 sessions were met in one sample" in got.headline


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
    return diagnose(staged_delta(views), {"metadata-queries": catalogue()["metadata-queries"]})


def test_other_executions_do_not_rule_a_named_cache_out() -> None:
    assert [one.confidence for one in metadata(2_000).findings] == [Confidence.HIGH]
    diluted = metadata(40_000)
    assert diluted.ruled_out == ()
    (open_one,) = diluted.undetermined
    assert open_one.missing == "v$session" and "lookups_per_execution is 0.3" in open_one.why


def test_special_cause_stands_above_the_general_one() -> None:
    floor = {"name": "_rollback_segment_count", "con_id": 0, "value": "14000"}
    causes = {name: catalogue()[name] for name in ("undo-segments", "undo-segment-floor")}
    got = diagnose(staged_delta({**SICK, "v$parameter": [floor]}), causes)
    assert [one.cause for one in got.findings] == ["undo-segment-floor", "undo-segments"]


def test_hypothesis_that_a_ratio_speaks_against_is_never_of_high_confidence_where_nothing_else_explains_its_cache() -> (
    None
):
    rows = [{**row, "gets": 300_000} if row["parameter"] == "dc_tablespaces" else row for row in SICK["v$rowcache"]]
    got = diagnose(staged_delta(with_rows("v$rowcache", *rows)), {"undo-segments": catalogue()["undo-segments"]})
    assert [one.confidence for one in got.findings] == [Confidence.MEDIUM]
    assert any("share_of_lookups is" in why for why in got.findings[0].unknown)


def test_a_ruled_out_cause_states_its_figure_and_not_the_reason_of_the_bound() -> None:
    told = {verdict.cause: verdict for verdict in diagnose(staged_delta()).ruled_out if verdict.bound is not None}
    assert len(told) > 10
    for cause, verdict in told.items():
        beyond = "below" if verdict.bound and verdict.bound.operator == ">=" else "above"
        assert verdict.because.startswith(f"the figure for {verdict.name} is "), (cause, verdict.because)
        assert f", {beyond} the " in verdict.because, (cause, verdict.because)


def times(db_time: float, cpu: float = 0.0) -> dict[str, list[dict[str, object]]]:
    names = {"DB time": db_time, "DB CPU": cpu}
    rows = [{"stat_name": name, "value": value * 1e6} for name, value in names.items()]
    return dict(with_rows("v$sys_time_model", *rows))  # type: ignore[arg-type]


@pytest.mark.parametrize(("db_time", "cpu", "waiting"), [(4_500, 0, 150.0), (4_500, 4_000, None), (900, 0, None)])
def test_unseen_waiters_are_more_than_two_for_each_processor(db_time: float, cpu: float, waiting: float | None) -> None:
    assert unseen_waiters(context_of(times(db_time, cpu))) == waiting  # type: ignore[arg-type]


def test_unseen_waiters_are_none_where_somebody_looked_or_a_report_was_read() -> None:
    looked = {**times(4_500), "waiting_sessions": []}
    assert unseen_waiters(context_of(looked)) is None  # type: ignore[arg-type]
    printed = replace(staged_delta(times(4_500)), source="report")  # type: ignore[arg-type]
    assert unseen_waiters(SignalContext(printed)) is None


HOT_ROW: Row = {"cache#": 13, "type": "PARENT", "subordinate#": None, "parameter": "dc_sequences"}
MET: Row = {"event": "row cache lock", "p1": 13, "wait_time_micro": 500_000, "type": "USER"}


@pytest.mark.parametrize(
    "seen",
    [
        {},
        {"v$session": [{**MET, "sample": 1, "sid": sid} for sid in range(3)]},
        {"waiting_sessions": [{**MET, "sid": sid, "serial#": 1, "met": 3} for sid in range(3)]},
    ],
    ids=["nothing", "sampled", "waiting now"],
)
def test_totals_without_the_time_of_a_wait_are_no_proof_of_health(seen: Mapping[str, Sequence[Row]]) -> None:
    load = {"v$rowcache": [{**HOT_ROW, "gets": 220_000_000, "getmisses": 42_500_000}]}
    totals = Basis("totals", None, None, None)
    got = diagnose(staged_delta({**load, **seen}, basis=totals, release="19.0.0.0.0"))
    assert got.headline.startswith("Cannot tell: the time of ") and got.state != "Fine", got.headline


def test_one_short_waiter_does_not_show_what_the_finished_waits_cost() -> None:
    """It turned an unknown cost into 0.003 s and the storm into "nothing to do"."""
    storm = {view: rows for view, rows in RICH.items() if view not in ("v$system_event", "v$latch", "v$latch_children")}
    one = {"sid": 1, "event": "row cache lock", "p1": 3, "wait_time_micro": 3_000, "type": "USER", "met": 1}
    alone, met = diagnose(staged_delta(storm)), diagnose(staged_delta({**storm, "waiting_sessions": [one]}))
    assert alone.impact is None or alone.impact.share_of_db_time is None
    assert met.impact == alone.impact and met.severity is alone.severity, met.headline
    assert "Nothing to do" not in met.headline
    assert met.surfaces == alone.surfaces, "what row cache lock costs is unknown, so it rules nothing out"
    hangs = diagnose(staged_delta({**storm, "waiting_sessions": [{**one, "wait_time_micro": 29_000_000}]}))
    assert hangs.impact is not None and hangs.impact.waiting_sessions is not None, "that it hangs is a cost by itself"


def test_harmless_cause_does_not_carry_the_cost_of_other_waits() -> None:
    for name in ("benign-internal", "spin-only"):
        cause = catalogue()[name].model_copy(update={"when": ()})
        got = diagnose(staged_delta(RICH), {name: cause})
        (found,) = got.findings
        assert (found.severity, found.impact) == (Severity.INFO, None)
        assert got.impact is not None and (got.impact.share_of_db_time or 0.0) > 0.02


STORM = "undo-segments: thousands of undo segments under a parallel load"


def test_what_is_missing_lowers_and_leaves_open_only_what_nothing_tells_apart() -> None:
    whole = delta_of_case(STORM)
    assert "undo-segments" in {one.cause for one in diagnose(whole).findings}
    without_a_sign = diagnose(refusing(whole, "v$latch_misses"))
    assert "undo-segments" in {one.cause for one in without_a_sign.findings}, "the entries tell it from the others"
    without_any = diagnose(refusing(whole, "v$latch_misses", "v$rowcache"))
    assert "undo-segments" in {one.cause for one in without_any.undetermined}, "nothing is left that tells it apart"


def refusing(delta: Delta, *views: str) -> Delta:
    return delta.without({view: Missing(view, "refused", f"{view}: ORA-00942", "grant it") for view in views})
