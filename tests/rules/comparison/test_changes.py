"""From two readings to a Change: the unit, the verdict, each form of the sentence; costs, surfaces and the hot child."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.model import RESULT_CACHE_LATCH, ROW_CACHE_LATCH, Row
from rules.comparison.changes import (
    DB_TIME,
    EXECUTIONS,
    OF_TIME,
    OF_WORK,
    SECONDS,
    TRANSACTIONS,
    ComparedFigure,
    ComparedSides,
    beyond_noise,
    cache_changes,
    common,
    counted,
    deviations,
    factor_apart,
    fitting,
    known,
    level,
    location_changes,
    places,
    transactions,
    untold,
    work_changes,
    work_per_second,
)
from rules.comparison.compare import (
    child_changes,
    child_sleeps,
    children_of,
    compare,
    cost_changes,
    sick_cache,
    surface_changes,
)
from rules.context import Known, SignalContext, Unknown
from tests.rules.contexts import SICK, TOTALS, context_of, delta_of, with_rows
from tests.rules.printed import printed, scripted
from tests.rules.rich import RICH

PAIR = ComparedSides(context_of(), context_of())
ITEM = ComparedFigure("sleeps", "sleeps on dc_users", of="dc_users")
UNKNOWN = Unknown("v$latch", "v$latch: ORA-00942", "grant it")


def sentence(before: float, after: float) -> str:
    return counted(ITEM, PAIR, (Known(before), Known(after)), OF_WORK).sentence


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (32_840, 800, "Sleeps on dc_users fell 41-fold per execution (8,210 → 200 per 1,000 executions)."),
        (4_000, 8_000, "Sleeps on dc_users rose 2-fold per execution (1,000 → 2,000 per 1,000 executions)."),
        (4_000, 6_000, "Sleeps on dc_users rose by 50 % per execution (1,000 → 1,500 per 1,000 executions)."),
        (4_000, 0, "Sleeps on dc_users fell to none per execution (1,000 → 0 per 1,000 executions)."),
        (0, 4_000, "Sleeps on dc_users rose from none per execution (0 → 1,000 per 1,000 executions)."),
        (4_000, 3_900, "Sleeps on dc_users changed within noise (1,000 → 975 per 1,000 executions)."),
        (4, 0, "Sleeps on dc_users changed within noise (1 → 0 per 1,000 executions)."),
        (40, 40, "Sleeps on dc_users did not change (10 → 10 per 1,000 executions)."),
        (0, 0, "Sleeps on dc_users stayed at zero."),
    ],
)
def test_counted_writes_each_form_of_the_sentence(before: float, after: float, said: str) -> None:
    assert sentence(before, after) == said


def test_due_after_is_the_count_expected_at_the_rate_before() -> None:
    assert counted(ITEM, PAIR, (Known(4_000), Known(10)), (EXECUTIONS,)).due_after == 4_000


def test_counted_judges_the_noise_of_seconds_by_the_size_of_each_wait() -> None:
    many = counted(ITEM, PAIR, (Known(10.0), Known(2.0)), (SECONDS,), size=0.01)
    few = counted(ITEM, PAIR, (Known(10.0), Known(2.0)), (SECONDS,), size=5.0)
    assert (many.verdict, few.verdict) == ("changed", "within noise")


def test_counted_without_work_falls_back_to_a_share_then_to_cannot_tell() -> None:
    bare = context_of(basis=TOTALS, refused=["v$sysstat"])
    pair = ComparedSides(bare, bare)
    part = counted(ITEM, pair, (Known(10), Known(900)), OF_WORK, (Known(1_000), Known(1_000), "all sleeps"))
    assert part.sentence == "Sleeps on dc_users rose 90-fold as a share of all sleeps (1.0 % → 90.0 % of all sleeps)."
    for whole in (None, (Known(0.0), Known(9.0), "all"), (UNKNOWN, Known(9.0), "all")):
        none = counted(ITEM, pair, (Known(10), Known(900)), OF_WORK, whole)
        assert (none.verdict, none.counted_before, none.before) == ("cannot tell", 10, None)


def test_level_changes_only_beyond_a_minimum_factor() -> None:
    item = ComparedFigure("entries", "entries of dc_users")
    assert level(item, PAIR, (Known(14_600), Known(112)), "entries", 1.1).sentence == (
        "Entries of dc_users fell 130-fold (14,600 → 112 entries)."
    )
    assert level(item, PAIR, (Known(100), Known(109)), "entries", 1.1).verdict == "within noise"
    assert level(item, PAIR, (Known(5), Known(10)), "entries", 1.1, apart=20).verdict == "within noise"
    assert level(item, PAIR, (Known(5), UNKNOWN), "entries", 1.1).verdict == "cannot tell"


def test_untold_says_which_side_is_unknown_and_why() -> None:
    got = untold(ITEM, UNKNOWN, Known(3.0))
    assert (got.counted_before, got.counted_after, got.outside_usual) == (None, 3.0, None)
    assert got.sentence == ("Sleeps on dc_users cannot be compared: not known before: v$latch: ORA-00942.")
    assert "; not known after: " in untold(ITEM, UNKNOWN, UNKNOWN).why
    assert known(context_of(), None, "v$latch", "misses_of_old") == context_of().why_unknown("v$latch", "misses_of_old")


def test_side_that_is_too_small_is_said_to_be_so_and_never_called_noise() -> None:
    def db_time(seconds: float) -> SignalContext:
        return SignalContext(delta_of(with_rows("v$sys_time_model", {"stat_name": "DB time", "value": seconds * 1e6})))

    item = ComparedFigure("row_cache_wait_share", "row cache waits")
    for before, after in ((31, 31), (31, 4_000)):
        pair = ComparedSides(db_time(before), db_time(after))
        share = counted(item, pair, (Known(0.0), Known(0.145 * after)), (DB_TIME,), size=after / 20)
        assert (share.verdict, share.before, share.after) == ("cannot tell", 0.0, pytest.approx(0.145)), before
        assert share.why == "31 s of DB time before: too little to compare"
        assert share.model_dump().get("too_little") is True
        assert "noise" not in share.sentence
    like = counted(item, ComparedSides(db_time(31), db_time(31)), (Known(5.0), Known(5.1)), (DB_TIME,))
    assert (like.verdict, like.too_little) == ("within noise", False)


def test_cache_changes_are_busiest_first_without_tiny_ones_a_parent_joined_with_its_subordinates() -> None:
    tiny: Row = {"cache#": 46, "type": "PARENT", "parameter": "outstanding_alerts", "gets": 9, "modifications": 9}
    pair = ComparedSides(context_of(with_rows("v$rowcache", *SICK["v$rowcache"], tiny)), context_of())
    assert list(dict.fromkeys(one.of for one in cache_changes(pair))) == [
        "dc_rollback_segments",
        "dc_tablespaces",
        "dc_users",
    ]
    pair = ComparedSides(context_of(), context_of())
    users = next(one for one in cache_changes(pair) if one.of == "dc_users")
    assert users.counted_before == 1_000


@pytest.mark.parametrize(
    ("before", "after", "title", "counted"),
    [
        ({"gets": 14_426}, {"gets": 953, "fastgets": 13_473}, "look-ups in dc_users", (14_426, 14_426)),
        ({"gets": 900, "fastgets": 100}, {"gets": 953, "fastgets": 13_473}, "look-ups in dc_users", (1_000, 14_426)),
        ({"gets": 14_426}, {"gets": 953}, "look-ups in dc_users", (14_426, None)),
        ({"gets": 900, "modifications": 1}, {"gets": 953}, "gets of dc_users", (900, 953)),
    ],
)
def test_gets_are_compared_where_both_sides_count_them_alike_else_lookups(
    before: Row, after: Row, title: str, counted: tuple[float, float | None]
) -> None:
    old = "12.1.0.2.0" if before == {"gets": 14_426} else "19.0.0.0.0"
    sides = ((before, old), (after, "19.0.0.0.0"))
    users: Row = {"cache#": 10, "type": "PARENT", "parameter": "dc_users"}
    pair = ComparedSides(
        *(context_of(with_rows("v$rowcache", {**users, **row}), release=release) for row, release in sides)
    )
    gets = next(change for change in cache_changes(pair) if change.name == "cache_gets")
    assert (gets.title, gets.counted_before, gets.counted_after) == (title, *counted)


def test_location_changes_of_the_latch_count_an_unlisted_location_as_zero() -> None:
    other = [row for row in SICK["v$latch_misses"] if row["location"] != "kqreqd"]
    pair = ComparedSides(context_of(), context_of(with_rows("v$latch_misses", *other)))
    told = {one.of: one for one in location_changes(pair)}
    assert list(told) == ["kqrpre: find obj", "kqreqd: reget", "kqreqd"]
    assert (told["kqreqd"].counted_before, told["kqreqd"].counted_after) == (40, 0)
    assert told["kqrpre: find obj"].counted_before == 850


def test_places_of_mutexes_are_grouped_by_function_ignoring_their_numbers() -> None:
    rows: list[Row] = [
        {"mutex_type": "Row Cache", "location": "[19] kqrpre", "sleeps": 300},
        {"mutex_type": "Row Cache", "location": "[13] kqreqd", "sleeps": 100},
        {"mutex_type": "Row Cache", "location": "[10] kqreqd", "sleeps": 20},
    ]
    assert places(context_of({"v$mutex_sleep": rows}), "mutex") == {"kqrpre": 300, "kqreqd": 120}
    assert places(context_of({}), "mutex") is None
    assert places(context_of({"v$mutex_sleep": []}), "mutex") == {}
    broken: Row = {"parent_name": ROW_CACHE_LATCH, "location": "kqreqd"}
    assert places(context_of({"v$latch_misses": [broken]}), "latch") is None


def test_location_changes_need_the_view_and_the_same_mechanism_on_both_sides() -> None:
    told = list(location_changes(ComparedSides(context_of(), context_of(refused=["v$latch_misses"]))))
    assert {one.verdict for one in told} == {"cannot tell"}
    assert {one.counted_after for one in told} == {None}
    pair = ComparedSides(context_of(), SignalContext(scripted("users-mutex", 30.0)))
    assert list(location_changes(pair)) == []


def test_work_is_per_second_and_unknown_for_totals() -> None:
    rich = context_of(RICH)
    assert work_per_second(rich) == pytest.approx(
        {"executions": 4_000 / 30, "hard_parses": 20, "logons": 2, "db_time": 100 / 30}
    )
    assert work_per_second(context_of(RICH, basis=TOTALS)) == {}
    told = {one.name: one for one in work_changes(ComparedSides(rich, rich))}
    assert told["executions"].unit == "per second"
    assert told["transactions"].why.startswith("not known before: v$sysstat has no user commits and user rollbacks")


def working(**done: int) -> SignalContext:
    names = {"executions": "execute count", "commits": "user commits", "rollbacks": "user rollbacks"}
    rows: list[Row] = [{"name": names[name], "value": value} for name, value in done.items()]
    return context_of(with_rows("v$sysstat", *rows))


def test_common_measure_prefers_executions_and_uses_seconds_last() -> None:
    measure = common(OF_WORK, working(executions=4_000), working(executions=900, commits=3, rollbacks=1))
    assert measure is not None
    assert (measure.unit, measure.before, measure.after) == (EXECUTIONS, 4_000, 900)


@pytest.mark.parametrize("done", [{}, {"executions": 0}, {"executions": 99}])
def test_common_measure_falls_back_to_seconds_if_a_side_lacks_work(done: dict[str, int]) -> None:
    measure = common(OF_WORK, working(executions=4_000), working(**done))
    assert measure is not None
    assert measure.unit is SECONDS


def test_transactions_are_commits_and_rollbacks_and_need_both() -> None:
    assert transactions(working(commits=300, rollbacks=20)) == 320
    assert transactions(working(commits=300)) is None
    measure = common(OF_WORK, working(commits=300, rollbacks=0), working(commits=900, rollbacks=9))
    assert measure is not None
    assert measure.unit is TRANSACTIONS


def test_common_measure_of_totals_has_no_seconds() -> None:
    totals = SignalContext(delta_of(with_rows("v$sysstat"), basis=TOTALS))
    assert common(OF_WORK, totals, totals) is None
    assert common(OF_TIME, totals, context_of()) is not None, "both sides have DB time"


@pytest.mark.parametrize(
    ("cache", "each"),
    [
        ("dc_rollback_segments", "per transaction"),
        ("dc_profiles", "per logon"),
        ("dc_histogram_data", "per hard parse"),
        ("dc_users", "per execution"),
    ],
)
def test_fitting_measures_a_cache_per_the_work_that_requests_it(cache: str, each: str) -> None:
    assert fitting(cache)[0].each == each
    assert fitting(cache)[-1] is SECONDS


COUNTS = st.integers(0, 10**9)
EXPOSURES = st.floats(1, 1e9)


@pytest.mark.parametrize(
    ("before", "after", "beyond"),
    [
        (5, 0, False),
        (9, 3, False),
        (30, 10, False),
        (12, 0, True),
        (100, 40, True),
        (100, 90, False),
        (10**8, 8 * 10**7 + 1, False),
        (10**8, 79 * 10**6, True),
        (0, 0, False),
    ],
)
def test_beyond_noise_of_counts_over_equal_windows(before: int, after: int, beyond: bool) -> None:
    assert beyond_noise(before, after, 1000, 1000) is beyond


def test_beyond_noise_weighs_unequal_windows() -> None:
    assert not beyond_noise(400, 100, 4000, 1000), "the same rate"
    assert not beyond_noise(40, 0, 4000, 100), "one was due"
    assert beyond_noise(4000, 0, 4000, 100), "a hundred were expected"


@given(COUNTS, COUNTS, EXPOSURES, EXPOSURES)
def test_deviations_are_the_same_with_the_sides_swapped(before: int, after: int, first: float, second: float) -> None:
    there, back = deviations(before, after, first, second), deviations(after, before, second, first)
    assert there == pytest.approx(back, rel=1e-6, abs=1e-6)
    assert deviations(before, before, first, first) == 0.0


def test_factor_apart_requires_a_factor_and_a_minimum_difference() -> None:
    assert factor_apart(100, 126)
    assert not factor_apart(100, 124)
    assert factor_apart(0, 1)
    assert not factor_apart(0, 0)
    assert not factor_apart(5, 10, apart=20)


def test_find_returns_a_change_by_its_name_and_its_of() -> None:
    got = compare(delta_of(), delta_of())
    gets = got.find("cache_gets", "dc_tablespaces")
    assert gets is not None
    assert (gets.name, gets.of, gets.title) == ("cache_gets", "dc_tablespaces", "gets of dc_tablespaces")
    assert got.find("cache_gets") == got.find("cache_gets", "dc_rollback_segments"), "the busiest comes first"
    assert got.find("cache_gets", "dc_nothing") is None


STORM, RELIEVED = SignalContext(scripted("undo-storm", 60.0)), SignalContext(scripted("undo-storm", 158.0, 30.0))
MUTEXES = SignalContext(scripted("users-mutex", 30.0))


def test_cost_changes_are_shares_of_db_time_in_total_and_by_surface() -> None:
    told = {one.name: one for one in cost_changes(ComparedSides(STORM, RELIEVED))}
    assert list(told) == ["row_cache_wait_share", "latch_wait_share", "lock_wait_share"]
    assert told["row_cache_wait_share"].unit == "of DB time"
    assert told["row_cache_wait_share"].before == pytest.approx(0.319, abs=0.001)
    assert told["latch_wait_share"].direction == "fell"


def test_cost_changes_without_db_time_count_waiting_sessions() -> None:
    blind = context_of(refused=["v$sys_time_model"])
    (first, *_) = cost_changes(ComparedSides(blind, blind))
    assert (first.unit, first.before) == ("per second", pytest.approx(2.5 / 30))


def test_cost_changes_below_a_printed_second_are_noise() -> None:
    rows = [
        delta_of(
            with_rows("v$system_event", {"event": "row cache lock", "total_waits": 900, "time_waited_micro": micro})
        )
        for micro in (900_000, 0)
    ]
    live = next(iter(cost_changes(ComparedSides(SignalContext(rows[0]), SignalContext(rows[1])))))
    report = next(
        iter(cost_changes(ComparedSides(SignalContext(rows[0]), SignalContext(printed(scripted("healthy-19c", 30.0))))))
    )
    assert live.verdict == "changed"
    assert report.verdict == "within noise"


def test_surface_changes_cover_only_surfaces_present_on_both_sides() -> None:
    def names(pair: ComparedSides) -> set[str]:
        return {one.name for one in surface_changes(pair)}

    assert names(ComparedSides(STORM, RELIEVED)) >= {"latch_gets", "latch_misses", "latch_sleeps", "lock_waits"}
    assert names(ComparedSides(MUTEXES, MUTEXES)) >= {"mutex_sleeps", "lock_waits"}
    assert not names(ComparedSides(STORM, MUTEXES)) & {"latch_sleeps", "mutex_sleeps"}
    assert list(child_changes(ComparedSides(STORM, MUTEXES))) == []


def test_result_cache_is_compared_when_at_least_one_side_has_it() -> None:
    latch: Row = {"name": RESULT_CACHE_LATCH, "sleeps": 400}
    with_it, without = context_of(with_rows("v$latch", *SICK["v$latch"], latch)), context_of()
    (told,) = (one for one in surface_changes(ComparedSides(with_it, without)) if one.name == "result_cache_sleeps")
    assert (told.verdict, told.counted_before, told.counted_after) == ("cannot tell", 400, None)
    assert not any(one.name == "result_cache_sleeps" for one in surface_changes(ComparedSides(without, without)))


def test_sick_cache_is_that_of_the_side_with_more_sleeps() -> None:
    assert (
        sick_cache(ComparedSides(STORM, RELIEVED))
        == sick_cache(ComparedSides(RELIEVED, STORM))
        == "dc_rollback_segments"
    )
    assert sick_cache(ComparedSides(context_of(refused=["x$kqrst", "v$rowcache"]), context_of({}))) is None


def test_child_changes_follow_the_cache_not_the_child_number() -> None:
    moved: list[Row] = [
        {**row, "child#": {1: 5, 5: 1}.get(int(str(row["child#"])), row["child#"])} for row in SICK["x$kqrst"]
    ]
    calmer: list[Row] = [{**row, "sleeps": int(str(row["sleeps"])) // 2 + 4} for row in SICK["v$latch_children"]]
    other = context_of({**with_rows("x$kqrst", *moved), "v$latch_children": calmer})
    assert children_of(other, "dc_rollback_segments") == (5,)
    assert child_sleeps(other, "dc_rollback_segments") == Known(7.0), "half of seven, and four"
    assert child_sleeps(context_of(), "dc_rollback_segments") == Known(990.0)
    slept, _ = child_changes(ComparedSides(context_of(), other))
    assert (slept.of, slept.counted_before, slept.counted_after) == ("dc_rollback_segments", 990, 7)


def test_child_sleeps_are_unknown_when_no_child_is_tied_to_the_cache() -> None:
    reading = child_sleeps(context_of(), "dc_sequences")
    assert isinstance(reading, Unknown)
    assert reading.why == "which child guards dc_sequences is not known"


def test_hold_anomaly_of_a_child_with_few_sleeps_is_cannot_tell() -> None:
    quiet = context_of(with_rows("v$latch_children", {"latch#": 270, "child#": 1, "gets": 36_000, "sleeps": 9}))
    _, held = child_changes(ComparedSides(context_of(), quiet))
    assert held.verdict == "cannot tell"
    assert held.why == "not known after: too few events: 9 sleeps of all children"


@pytest.mark.parametrize("at", [30.0, 180.0])
@pytest.mark.parametrize("seconds", [(4.0, 100.0), (100.0, 4.0)])
def test_hold_anomaly_at_equal_rates_does_not_change_with_the_window(at: float, seconds: tuple[float, float]) -> None:
    first, second = (
        SignalContext(scripted("undo-storm", at, min(one, 160.0 - at) if at < 100 else one)) for one in seconds
    )
    _, held = child_changes(ComparedSides(first, second))
    assert (held.direction, held.verdict) == ("cannot tell", "cannot tell")
    assert "too few sleeps of other children over windows that differ" in held.why
    assert "sleeps per get of dc_rollback_segments itself are" in held.why


def test_hold_anomaly_lower_bound_over_like_windows_follows_only_the_child() -> None:
    def held(own: int, other: int) -> str:
        rows: list[Row] = [{**row, "sleeps": own if row["child#"] == 1 else other} for row in SICK["v$latch_children"]]
        _, told = child_changes(ComparedSides(context_of(), context_of(with_rows("v$latch_children", *rows))))
        return told.verdict

    assert held(990, 0) == "within noise"
    assert held(110, 1) == "changed"
