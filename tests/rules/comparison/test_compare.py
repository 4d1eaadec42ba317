"""compare(): equal sides give no change, swapped sides give the inverse, and an absent value is never zero."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given

from collectors.model import Basis, Changes, Delta, Missing, Row, number
from rules.baseline import UsualRange
from rules.cause import catalogue
from rules.comparison.changes import ChangeVerification, Comparison, FigureChange, NotVerified
from rules.comparison.compare import compare, verified
from tests.rules.contexts import BEGIN, INTERVAL, TOTALS, with_rows
from tests.rules.contexts import delta_of as sick
from tests.rules.printed import printed, scripted
from tests.rules.test_engine import SEEDS, generated

STORM, RELIEVED = ("undo-storm", 60.0), ("undo-storm", 158.0, 30.0)


def change(got: Comparison, name: str, of: str | None = None) -> FigureChange:
    told = got.find(name, of)
    assert told is not None, name
    return told


@given(SEEDS)
def test_compare_of_a_delta_with_itself_shows_no_change(seed: int) -> None:
    delta = generated(seed)
    got = compare(delta, delta)
    assert {change.direction for change in got.changes} <= {"same", "cannot tell"}
    assert {change.verdict for change in got.changes} <= {"within noise", "cannot tell"}
    assert {change.factor for change in got.changes} <= {1.0, None}
    assert "rose" not in got.sentence
    assert "fell " not in got.sentence


@pytest.mark.slow
@given(SEEDS, SEEDS)
def test_compare_with_sides_swapped_inverts_every_factor(one: int, other: int) -> None:
    first, second = generated(one), generated(other)
    there, back = compare(first, second), compare(second, first)
    turned = {"rose": "fell", "fell": "rose"}
    assert len(there.changes) == len(back.changes)
    by_name = {(one.name, one.of): one for one in back.changes}
    for change in there.changes:
        mirrored = by_name[change.name, change.of]
        assert mirrored.direction == turned.get(change.direction, change.direction)
        assert (mirrored.verdict, mirrored.unit) == (change.verdict, change.unit)
        assert (mirrored.before, mirrored.after) == (change.after, change.before)
        assert (mirrored.factor is None) == (change.factor is None)
        if change.factor is not None and mirrored.factor is not None:
            assert change.factor * mirrored.factor == pytest.approx(1.0)


def test_sentence_describes_the_recreated_undo_tablespace() -> None:
    got = compare(scripted(*STORM), scripted(*RELIEVED), mark="undo tablespace recreated")
    assert got.sentence == (
        "After the mark `undo tablespace recreated`, sleeps on dc_rollback_segments fell 137-fold per execution "
        "(553 → 4.04 per 1,000 executions) and the hold anomaly index from 2,260 to 16.5; some remain."
    )
    assert (got.comparable, got.mark) == (True, "undo tablespace recreated")
    entries = change(got, "cache_entries", "dc_rollback_segments")
    assert (entries.before, entries.after, entries.verdict) == (14_600, 112, "changed")
    gets = change(got, "cache_gets", "dc_rollback_segments")
    assert (gets.unit, gets.verdict) == ("per 1,000 transactions", "within noise")
    assert change(got, "location_sleeps", "kqrpre: find obj").direction == "fell"
    assert "the windows are unequal" not in " ".join(got.notes)


def test_compare_of_reports_covers_the_latch_and_not_the_child() -> None:
    got = compare(printed(scripted(*STORM)), printed(scripted(*RELIEVED)))
    assert got.sentence.startswith("Sleeps of the row cache latch fell ")
    assert got.find("child_sleeps") is None
    assert (got.before.source, got.after.source) == ("report", "report")
    mixed = compare(printed(scripted(*STORM)), scripted(*RELIEVED))
    child = change(mixed, "child_sleeps")
    assert child.verdict == "cannot tell"
    assert child.why == "not known before: a report does not hold v$latch_children"
    assert "printed report" in " ".join(mixed.notes)


def test_compare_treats_a_view_absent_on_one_side_as_unknown_not_zero() -> None:
    got = compare(sick(), sick(refused=["v$latch_misses", "v$rowcache", "v$system_event"]))
    for name in ("location_sleeps", "cache_gets", "lock_waits", "hold_anomaly"):
        told = change(got, name)
        assert (told.after, told.factor, told.verdict, told.direction) == (None, None, "cannot tell", "cannot tell"), (
            name
        )
        assert "not known after:" in told.why
        assert told.sentence.endswith(f"cannot be compared: {told.why}.")
    assert change(got, "latch_sleeps").verdict == "within noise"


def test_compare_treats_a_cache_missing_on_one_side_as_unknown_not_zero() -> None:
    more: list[Row] = [
        *sick().rows("v$rowcache"),
        {"cache#": 9, "type": "PARENT", "parameter": "dc_new", "gets": 5_000, "modifications": 60, "getmisses": 0},
    ]
    other = sick(with_rows("v$rowcache", *more))
    told = change(compare(sick(), other), "cache_gets", "dc_new")
    assert (told.before, told.after, told.verdict) == (None, None, "cannot tell")
    assert told.counted_after == 5_000
    assert "no cache named dc_new" in told.why
    reports = compare(replace(sick(), source="report"), replace(other, source="report"))
    left_out = change(reports, "cache_gets", "dc_new")
    assert (left_out.before, left_out.verdict) == (None, "cannot tell")
    assert left_out.why == "not known before: the report does not list dc_new"


def test_compare_says_that_latches_and_mutexes_are_not_comparable() -> None:
    got = compare(scripted(*STORM), scripted("users-mutex", 30.0), mark="upgrade")
    assert not got.comparable
    assert got.sentence.startswith(
        "After the mark `upgrade`, latches guard the row cache before and mutexes after, so their sleeps cannot be "
        "compared item by item; row cache waits fell"
    )
    for name in ("latch_sleeps", "mutex_sleeps", "child_sleeps", "location_sleeps"):
        assert got.find(name) is None
    assert change(got, "row_cache_wait_share").verdict == "changed"
    assert change(got, "cache_gets").verdict != "cannot tell"
    assert any("the release is 11.2.0.4.0 before and 19.0.0.0.0 after" in note for note in got.notes)


def test_compare_of_totals_of_unknown_age_gives_shares_ratios_and_no_rate() -> None:
    got = compare(sick(basis=TOTALS), sick(basis=TOTALS))
    units = {one.unit for one in got.changes if one.unit}
    assert not any("per second" in unit for unit in units)
    assert change(got, "latch_sleeps").unit == "per 1,000 executions"
    assert change(got, "executions").verdict == "cannot tell"
    assert (got.before.work, got.after.work) == ({}, {})
    bare = compare(sick(basis=TOTALS, refused=["v$sysstat"]), sick(basis=TOTALS, refused=["v$sysstat"]))
    assert change(bare, "cache_gets", "dc_tablespaces").unit == "of all gets"
    assert change(bare, "cache_gets", "dc_tablespaces").before == pytest.approx(0.35)
    assert change(bare, "latch_sleeps").why == "no measure of work is known on both sides"
    assert any("only shares" in note for note in got.notes)


def slept(times: int, **more: Any) -> Delta:
    rows: list[Row] = [{**row, "sleeps": times} for row in sick().rows("v$latch")]
    return sick(with_rows("v$latch", *rows), **more)


@pytest.mark.parametrize(("before", "after", "verdict"), [(3, 9, "within noise"), (1_000, 90, "changed")])
def test_compare_treats_a_handful_of_sleeps_as_noise(before: int, after: int, verdict: str) -> None:
    told = change(compare(slept(before), slept(after)), "latch_sleeps")
    assert told.verdict == verdict
    assert (told.counted_before, told.counted_after) == (before, after)
    assert ("within noise" in told.sentence) == (verdict == "within noise")


def test_compare_within_the_usual_range_reports_no_change() -> None:
    wide = UsualRange(median=20.0, low=1.0, high=60.0, samples=40, scope="hour of the week")
    told = change(compare(slept(1_000), slept(90), usual={"sleeps_per_second": wide}), "latch_sleeps")
    assert (told.verdict, told.outside_usual) == ("within the usual", False)
    assert "within what is usual here" in told.sentence
    narrow = wide.model_copy(update={"low": 10.0})
    told = change(compare(slept(1_000), slept(90), usual={"sleeps_per_second": narrow}), "latch_sleeps")
    assert (told.verdict, told.outside_usual) == ("changed", True)
    assert change(compare(slept(9), slept(9)), "latch_sleeps").outside_usual is None


def test_small_side_leads_the_sentence_only_where_it_decides() -> None:
    got = compare(scripted("healthy-19c", 60.0, 1.0), scripted("users-mutex", 60.0, 25.0))
    assert change(got, "lock_waits").why == "4,200 executions before: too little to compare"
    assert got.sentence.startswith("Sleeps on row cache mutexes rose from none per execution")
    assert len({change.title.replace("`", "") + str(change.of) for change in got.changes}) == len(got.changes)


def later(seconds: float, at: float = 600.0) -> Basis:
    begin = BEGIN + timedelta(seconds=at)
    return Basis("interval", begin, begin + timedelta(seconds=seconds), seconds)


def instance(started: str) -> list[Row]:
    return [{"instance_number": 1, "startup_time": started}]


@pytest.mark.parametrize(
    ("after", "note"),
    [
        ({"basis": later(90.0)}, "the windows are unequal, 30 s and 90 s"),
        ({"basis": later(30.0, 10.0)}, "the two windows overlap"),
        ({"basis": later(30.0, -600.0)}, "after is the earlier of the two"),
        ({"basis": INTERVAL}, "both sides are the same window"),
        ({"basis": replace(INTERVAL, kind="since_startup")}, "after is an average since instance start"),
        ({"database": "other", "basis": later(30.0)}, "two databases are compared: sick and other"),
    ],
)
def test_compare_notes_differing_windows_and_databases(after: dict[str, Any], note: str) -> None:
    assert note in " ".join(compare(sick(), replace(sick(), **after)).notes)


def test_compare_notes_a_restart_and_a_different_load() -> None:
    first = sick(with_rows("v$instance", *instance("monday")))
    second = sick(with_rows("v$instance", *instance("tuesday")), basis=later(30.0))
    assert "the instance restarted between the two sides" in " ".join(compare(first, second).notes)
    for other, note in (
        (replace(second, database="other"), "two databases are compared: sick and other"),
        (sick(with_rows("v$instance", {**instance("tuesday")[0], "instance_number": 2})), "two instances are compared"),
    ):
        notes = " ".join(compare(first, other).notes)
        assert note in notes and "restarted" not in notes
    assert "same window" not in " ".join(compare(first, replace(first, database="other")).notes)
    quiet = sick(with_rows("v$sysstat", {"name": "execute count", "value": 400}), basis=later(30.0))
    assert "executions went from 133 to 13.3 per second" in " ".join(compare(sick(), quiet).notes)
    assert compare(sick(), sick(basis=later(30.0))).notes == ()


def test_compare_does_not_order_times_with_and_without_a_zone() -> None:
    got = compare(sick(), printed(scripted(*STORM)))
    assert not any("overlap" in note or "earlier" in note for note in got.notes)


def test_sentence_says_when_waits_cost_next_to_nothing_on_both_sides() -> None:
    got = compare(scripted("healthy-19c", 20.0), scripted("healthy-19c", 120.0))
    assert got.sentence.endswith("row cache waits cost next to nothing on either side.")


def test_comparison_round_trips_through_json() -> None:
    got = compare(scripted(*STORM), scripted(*RELIEVED))
    assert Comparison.model_validate_json(got.model_dump_json()) == got


SICK, WELL = scripted(*STORM), scripted(*RELIEVED)


def scaled(delta: Delta, view: str, column: str, factor: float, **match: Any) -> Delta:
    """The Delta with a column of some rows multiplied."""
    rows: list[Row] = []
    for row in delta.rows(view):
        meant = all(row.get(name) == value for name, value in match.items())
        rows.append({**row, column: int((number(row.get(column)) or 0) * factor)} if meant else row)
    return replace(delta, readings={**delta.readings, view: Changes(view, tuple(rows))})


def without(delta: Delta, *views: str) -> Delta:
    missing = {view: Missing(view, "refused", f"{view}: ORA-00942", "grant it") for view in views}
    return replace(delta, readings={**delta.readings, **missing})


def verdict_on(before: Delta, after: Delta) -> ChangeVerification | NotVerified:
    return verified(compare(before, after), catalogue()["undo-segments"])


@pytest.mark.parametrize(
    ("before", "after", "name", "because"),
    [
        (SICK, WELL, "child_sleeps", "Sleeps on dc_rollback_segments fell 137-fold per execution"),
        (SICK, WELL, "child_sleeps", "The work went on: transactions at 100 % and executions at 100 % of before"),
        (printed(SICK), printed(WELL), "latch_sleeps", "fell"),
        (SICK, scaled(WELL, "v$sysstat", "value", 0.51), "child_sleeps", "The work went on"),
    ],
)
def test_verified_where_sleeps_fell_and_half_of_the_work_went_on(
    before: Delta, after: Delta, name: str, because: str
) -> None:
    got = verdict_on(before, after)
    assert isinstance(got, ChangeVerification) and got.change.name == name and because in got.because


CHILDREN = ("v$latch_children", "sleeps")
WORK = ("v$sysstat", "v$sys_time_model")


@pytest.mark.parametrize(
    ("before", "after", "reason", "because"),
    [
        (SICK, scaled(WELL, "v$sysstat", "value", 0.49, name="execute count"), "the load went too", "executions fell"),
        (SICK, scaled(WELL, "v$sysstat", "value", 0.49, name="user commits"), "the load went too", "transactions fell"),
        (SICK, scripted("undo-storm", 90.0), "sleeps did not fall", ""),
        (
            scaled(SICK, *CHILDREN, 1e-4),
            WELL,
            "too few events",
            "31 sleeps on dc_rollback_segments before, at least 100",
        ),
        (scaled(SICK, *CHILDREN, 4e-4), scripted("undo-storm", 158.0, 2.0), "too few events", "only 4.1"),
        (SICK, replace(WELL, readings={}), "no data after", ""),
        (SICK, without(WELL, "v$latch_children", "v$latch"), "no data after", ""),
        (
            SICK,
            scripted("users-mutex", 30.0),
            "no data after",
            "latches guard the row cache on one side and mutexes on",
        ),
        (
            without(SICK, *WORK),
            without(WELL, *WORK),
            "the load went too",
            "the amount of work is not known on both sides",
        ),
    ],
)
def test_not_verified_says_why(before: Delta, after: Delta, reason: str, because: str) -> None:
    got = verdict_on(before, after)
    assert isinstance(got, NotVerified) and got.reason == reason and because in got.because


def test_nothing_is_verified_without_a_comparison() -> None:
    got = verified(None, catalogue()["undo-segments"])
    assert isinstance(got, NotVerified) and got.reason == "no data after"


def test_verified_judges_a_lock_by_its_waits_and_a_mutex_by_its_sleeps() -> None:
    sick, well = scripted("nocache-sequence-1", 60.0), scripted("nocache-sequence-1", 1.0, 5.0)
    lock = verified(compare(sick, well), catalogue()["undo-lock-smon"])
    assert isinstance(lock, NotVerified) or lock.change.name == "lock_waits"
    mutex = verified(compare(scripted("users-mutex", 30.0), scripted("users-mutex", 90.0)), catalogue()["logon-storm"])
    assert mutex.cause == "logon-storm"
