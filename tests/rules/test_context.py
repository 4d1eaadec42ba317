"""The Scene: mechanism, hot child, the cost of waits, and why something is unknown."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from datetime import timedelta
from typing import Any

import pytest

from collectors.model import ROW_CACHE_LATCH, SCRIPT, Changes, Delta, Missing, Oddity, Row
from collectors.reports.sections import READERS
from rules.contention.holds import NotPredictable, active_sessions
from rules.context import LOOKUPS, SignalContext, Unknown, has_fast_way, with_lookups
from rules.engine import diagnose
from rules.gaps import SECTIONS, cut_notes, gaps_of, section_of
from rules.latch import (
    LatchStatistics,
    collision_correction,
    latch_statistics,
    misplaced_latch_wait,
    misplaced_notes,
    misplaced_sleeps,
    ratio,
)
from rules.model import Known, Severity
from rules.signals import SIGNALS, Subject
from rules.signals.instance import age_of, aged
from rules.signals.quantities import share
from tests.rules.contexts import BEGIN, SICK, TOTALS, context_of, delta_of, with_rows


@pytest.mark.parametrize(
    ("events", "release", "mechanism"),
    [
        (["latch: row cache objects"], "11.2.0.4.0", "latch"),
        (["latch: row cache objects", "row cache mutex"], "12.1.0.2.0", "mutex"),
        ([], "12.1.0.2.0", "latch"),
        ([], "12.2.0.1.0", "mutex"),
        ([], "19.0.0.0.0", "mutex"),
        ([], None, None),
    ],
)
def test_mechanism_follows_the_events_then_the_release(
    events: list[str], release: str | None, mechanism: str | None
) -> None:
    rows = [{"name": event} for event in events]
    assert context_of(with_rows("v$event_name", *rows), release=release).mechanism == mechanism


def test_hot_child_has_the_most_sleeps_and_the_lowest_number_on_a_tie() -> None:
    assert context_of().hot_child == 1
    tie = [{"child#": 8, "sleeps": 500}, {"child#": 5, "sleeps": 500}, {"child#": 9, "sleeps": 1}]
    assert context_of(with_rows("v$latch_children", *tie)).hot_child == 5
    assert context_of(with_rows("v$latch_children", {"child#": 5, "sleeps": 0})).hot_child is None
    assert context_of(refused=["v$latch_children"]).hot_child is None
    context = context_of(refused=["v$latch"])
    assert (context.latch.sleeps, context.latch.gets, context.latch.misses) == (1_000, 59_600, None)
    scrambled = with_rows("v$latch_children", *reversed(SICK["v$latch_children"]))
    assert [row["child#"] for row in context_of(scrambled).children] == [1, 5, 8]


def test_impact_and_row_cache_wait_seconds_come_from_events_and_then_from_the_latch() -> None:
    impact = context_of().impact
    assert impact is not None
    assert impact.share_of_db_time == pytest.approx(0.025)
    assert impact.waiting_sessions == pytest.approx(2.5 / 30)
    assert context_of(refused=["v$system_event"]).row_cache_wait_seconds == 2.0
    assert context_of(refused=["v$system_event", "v$latch"]).row_cache_wait_seconds is None


def waited(seconds: float, db_time: float = 1_000) -> Mapping[str, Sequence[Row]]:
    event = {"event": "latch: row cache objects", "time_waited_micro": seconds * 1e6}
    views = with_rows("v$system_event", event)
    return {**views, "v$sys_time_model": [{"stat_name": "DB time", "value": db_time * 1e6}]}


def test_gate_is_by_the_share_of_db_time_and_without_it_by_waiting_sessions() -> None:
    """The bounds are those of `severity_of`."""
    assert [context_of(waited(seconds)).gate for seconds in (19.9, 20.1)] == [Severity.NOTICE, Severity.WARNING]
    blind = [context_of(waited(one * 30), refused=["v$sys_time_model"]).gate for one in (0.0099, 0.049, 0.051, 5.1)]
    assert blind == [Severity.INFO, None, Severity.NOTICE, Severity.CRITICAL]
    assert context_of(waited(0.29, db_time=0.3)).gate is Severity.INFO
    context = context_of(basis=TOTALS)
    assert context.impact is None
    assert context.gate is None
    assert context_of(refused=["v$system_event", "v$latch"]).gate is None


def test_why_unknown_names_the_view_the_counter_or_the_column() -> None:
    refused = context_of(refused=["v$latch"]).why_unknown("v$latch", "sleeps")
    cure = "grant select on sys.v_$latch to <user>"
    assert refused == Unknown("v$latch", "v$latch: ORA-00942", cure, absent=True)
    fell = Oddity("v$latch", (ROW_CACHE_LATCH,), "sleeps", "fell", 9, 3)
    odd = context_of(oddities=(fell,)).why_unknown("v$latch", "sleeps")
    assert "fell (9 → 3)" in odd.why
    assert odd.way_out == "wait for the next interval"
    assert context_of(oddities=(fell,)).why_unknown("v$latch", "gets").why == "v$latch has no gets here"
    assert context_of().why_unknown("v$latch").why == "v$latch has no such row here"


def test_cells_of_missing_views_are_none_and_sums_that_lack_one() -> None:
    context = context_of()
    assert context.sum_of([{"gets": 1}, {"gets": 2}], "gets") == 3
    assert context.sum_of([{"gets": 1}, {}], "gets") is None
    assert context.sum_of([], "gets") is None
    context = context_of({})
    assert (context.cpus, context.host("BUSY_TIME"), context.seconds_of("DB time"), context.work("execute count")) == (
        None,
    ) * 4
    assert isinstance(delta_of({}).read("v$osstat"), Missing)
    assert (context_of().cpus, context_of().level("LOAD"), context_of().work("execute count")) == (16, 24, 4_000)


def test_waited_seconds_are_those_of_sessions_zero_without_waits_and_unknown_without_view() -> None:
    assert context_of().waited_seconds(["buffer busy waits"]) == 0.0
    assert context_of(refused=["v$system_event"]).waited_seconds(["row cache lock"]) is None
    apart: Row = {"event": "row cache lock", "time_waited_micro": 9_000_000, "time_waited_micro_fg": 2_000_000}
    whole: Row = {"event": "row cache mutex", "time_waited_micro": 1_000_000}
    context = context_of({"v$system_event": [apart, whole, {"event": "latch free"}]})
    assert context.waited_seconds(["row cache lock"]) == 2.0
    assert context.waited_seconds(["row cache lock", "row cache mutex"]) == 3.0, (
        "if the event has no foreground figures, all waits count"
    )
    assert context.waited_seconds(["row cache lock", "latch free"]) is None
    row: Row = {"event": "latch: row cache objects", "time_waited_micro": 5_000_000, "time_waited_micro_fg": 0}
    printed = SignalContext(replace(delta_of(with_rows("v$system_event", row)), source="report"))
    assert printed.surface_wait_seconds("latch") == 0.0


@pytest.mark.parametrize("child", [None, "one", 1.5])
def test_children_exclude_a_row_without_a_child_number(child: str | float | None) -> None:
    rows: list[Row] = [{"latch#": 270, "child#": child, "sleeps": 9_000}, {"latch#": 270, "child#": 5, "sleeps": 200}]
    context = context_of(with_rows("v$latch_children", *rows))
    assert (len(context.children), context.hot_child) == (1, 5)


# name: seconds, gets, misses, sleeps, wait µs → rho, kappa, W (s/s), average wait (µs), published hold (µs); gets follow.
WORKED = {
    "result cache, T2, 8 processes": (57.29, 69_820, 0.304, 1.65e-5, 5.2e-5, 149, 4.4),
    "result cache, T2, 12 processes": (59.30, 101_180, 0.503, 4.06e-4, 1.0e-3, 48.9, 5.0),
    "result cache, i7, 6 processes": (6.23, 481_541, 0.173, 2.1e-5, 2.9e-5, 16, 0.36),
    "result cache, i7, 12 processes": (10.21, 587_661, 0.622, 4.9e-5, 1.2e-2, 674, 1.06),
    "11.2.0.4 RAC report": (2_220, 20_462, 0.0029, 0.0036, 0.0005, 2_000, None),
    "12.1.0.2 report": (3_614, 92_226, 0.0039, 0.0012, 0.0036, 9_000, None),
    "12.1.0.2 collapse": (3_689, 19_673, 0.0052, 0.067, 1.45, 210_000, None),
}

LACKING = Unknown("v$latch", "refused", "grant it")


@pytest.mark.parametrize("name", WORKED)
def test_latch_statistics_match_the_worked_numbers(name: str) -> None:
    seconds, rate, rho, kappa, wait, average, hold = WORKED[name]
    gets = rate * seconds
    row = {"gets": gets, "misses": gets * rho, "sleeps": gets * rho * kappa, "wait_time": gets * rho * kappa * average}
    got = latch_statistics(row, seconds)
    assert got.gets_per_second == pytest.approx(rate)
    assert got.miss_ratio == pytest.approx(rho)
    assert got.sleep_ratio == pytest.approx(kappa)
    assert got.sleeping_sessions == pytest.approx(wait, rel=0.15)  # the source gives one or two digits
    assert got.wait_seconds_per_sleep == pytest.approx(average / 1e6)
    assert got.hold_seconds == pytest.approx(rho / rate)
    assert hold is None or got.hold_seconds == pytest.approx(hold / 1e6, rel=0.02)


def test_latch_statistics_match_the_parse_heavy_public_report() -> None:
    """awr-12.1.0.2: 333,340,108 gets, 1,283,882 misses, 1,488 sleeps, 1,282,460 spin gets in 3,614 s."""
    row = {"gets": 333_340_108, "misses": 1_283_882, "sleeps": 1_488, "spin_gets": 1_282_460}
    got = latch_statistics(row, 3_614)
    assert got.recurrent_sleep_ratio == pytest.approx(0.044, abs=0.001)
    assert got.spin_ratio == pytest.approx(0.9989, abs=0.0001)
    assert got.spin_inefficiency == pytest.approx(0.00116, abs=0.00001)


def test_collision_correction_excludes_the_requester_itself() -> None:
    assert collision_correction(8) == pytest.approx(8 / 7)
    assert [collision_correction(cpus) for cpus in (1, 0, None)] == [1.0, 1.0, 1.0]
    got = latch_statistics({"gets": 100, "misses": 35}, 10, cpus=8)
    assert got.utilisation == pytest.approx(0.4)
    assert got.hold_seconds == pytest.approx(0.04)


def test_latch_statistics_give_waits_per_get_and_per_sleep_of_totals_ratios_and_no_rate_and_clamp_nothing() -> None:
    got = latch_statistics({"gets": 1_000, "misses": 100, "sleeps": 50, "wait_time": 2_000_000}, 4)
    assert (got.wait_seconds_per_get, got.wait_seconds_per_sleep, got.sleeping_sessions) == (0.002, 0.04, 0.5)
    row = {"gets": 1_000, "misses": 100, "sleeps": 50, "spin_gets": 60, "wait_time": 10}
    got = latch_statistics(row, None)
    assert (got.miss_ratio, got.sleep_ratio, got.spin_ratio) == (0.1, 0.5, 0.6)
    assert (got.gets_per_second, got.hold_seconds, got.sleeping_sessions) == (None, None, None)
    got = latch_statistics({"gets": 10, "misses": 10, "sleeps": 30, "spin_gets": 12}, 1)
    assert got.sleep_ratio == 3
    assert got.spin_ratio == 1.2
    assert got.recurrent_sleep_ratio == pytest.approx(3.2 / 3)


@pytest.mark.parametrize("row", [{}, {"gets": 0, "misses": 0, "sleeps": 0, "spin_gets": 0, "wait_time": 0}])
def test_latch_statistics_without_events_are_none(row: dict[str, int]) -> None:
    got = latch_statistics(row, 0)
    derived = {field.name for field in fields(LatchStatistics)} - {"gets", "misses", "sleeps"}
    assert {name: getattr(got, name) for name in derived} == dict.fromkeys(derived)


def test_ratio_and_share_are_known_only_with_both_parts() -> None:
    assert (ratio(1, 4), ratio(None, 4), ratio(1, None), ratio(1, 0), ratio(0, 4)) == (0.25, None, None, None, 0)
    assert share(Known(1_000), Known(4_000)) == Known(0.25, "1,000 of 4,000")
    assert share(LACKING, Known(1)) is LACKING
    assert share(Known(1), LACKING) is LACKING


def views(con_id: int | None, **more: Any) -> Mapping[str, Sequence[Row]]:
    """A 19c instance whose sessions wait 60 s for row cache mutexes in 30 s, of 90 s of DB time."""
    place = [] if con_id is None else [{"db_unique_name": "erp", "con_id": con_id, "con_name": "SALES"}]
    waited = more.get("waited", 60e6)
    return {
        "sys_context": place,
        "v$event_name": [{"name": "row cache mutex"}, {"name": "row cache lock"}],
        "v$sys_time_model": [
            {"stat_name": "DB time", "value": 90e6},
            {"stat_name": "parse time elapsed", "value": 9e6},
        ],
        "v$system_event": [
            {
                "event": "row cache mutex",
                "total_waits": 6e4,
                "time_waited_micro": waited,
                "time_waited_micro_fg": waited,
            },
        ],
        "v$mutex_sleep": [
            {"mutex_type": "Row Cache", "location": "[19] kqrpre", "sleeps": 9e5, "wait_time": more.get("slept", 6e7)}
        ],
        "v$latch": [{"name": "Result Cache: RC Latch", "wait_time": 3e4, "gets": 9, "misses": 9, "sleeps": 900}],
        "v$latchname": [{"latch#": 461, "name": "Result Cache: RC Latch"}],
    }


@pytest.mark.parametrize("con_id", [None, 0, 1])
def test_root_and_databases_without_containers_have_shares(con_id: int | None) -> None:
    got = diagnose(delta_of(views(con_id), release="19.0.0.0.0"))
    assert got.impact is not None and got.impact.share_of_db_time == pytest.approx(60 / 90)
    assert not any("inside the PDB" in note for note in got.notes)


def test_pdb_has_waiting_sessions_and_no_share_and_few_cost_nothing() -> None:
    got = diagnose(delta_of(views(3), release="19.0.0.0.0"))
    assert got.impact is not None
    assert (got.impact.share_of_db_time, got.impact.waiting_sessions) == (None, pytest.approx(2.0))
    assert got.severity is Severity.WARNING, "two waiting sessions, where two thirds of DB time would be critical"
    assert all(one.share_of_db_time is None for one in (*got.surfaces, *got.troubles)) and got.surfaces
    (note,) = (note for note in got.notes if "inside the PDB SALES" in note)
    assert "those of the whole CDB" in note and "no share of DB time" in note
    assert "% of DB time" not in got.headline
    got = diagnose(delta_of(views(3, waited=9e5, slept=9e5), release="19.0.0.0.0"))
    assert got.severity is Severity.INFO, got.headline


@pytest.mark.parametrize("name", ["row_cache_share_of_db_time", "result_cache_share_of_db_time"])
def test_share_that_mixes_two_bases_is_unknown_in_a_pdb(name: str) -> None:
    inside = SIGNALS[name].read(context_of(views(3), release="19.0.0.0.0"), Subject())
    assert isinstance(inside, Unknown) and "whole CDB" in inside.why and "CDB$ROOT" in inside.way_out
    assert isinstance(SIGNALS[name].read(context_of(views(1), release="19.0.0.0.0"), Subject()), Known)


def test_share_of_one_base_stays_and_no_contention_of_the_whole_is_predicted_in_a_pdb() -> None:
    context = context_of(views(3), release="19.0.0.0.0")
    assert isinstance(SIGNALS["parse_share_of_db_time"].read(context, Subject()), Known)
    with pytest.raises(NotPredictable, match="inside a PDB"):
        active_sessions(context_of(views(3), release="19.0.0.0.0"))


def test_sleeps_of_other_containers_are_not_passed_over() -> None:
    others = diagnose(delta_of(views(3, waited=2e5, slept=1.5e9), release="19.0.0.0.0"))
    assert any("the problem may be in another container" in note for note in others.notes)
    own = diagnose(delta_of(views(3), release="19.0.0.0.0"))
    assert not any("another container" in note for note in own.notes)


def nineteen(waited: int | None = None, sleeps: int = 0, db_time: int | None = 10_000_000) -> Delta:
    events: list[Row] = [] if waited is None else [{"event": "latch: row cache objects", "time_waited_micro": waited}]
    time: list[Row] = [] if db_time is None else [{"stat_name": "DB time", "value": db_time}]
    children: list[Row] = [{"child#": 1, "sleeps": sleeps}, {"child#": 2, "sleeps": None}]
    return delta_of({"v$system_event": events, "v$sys_time_model": time, "v$latch_children": children})


@pytest.mark.parametrize(
    ("waited", "db_time", "doubted"),
    [
        (4_700_000, 10_000_000, True),
        (400_000, 100_000_000, False),
        (None, 10_000_000, False),
        (4_700_000, None, True),
        (900_000, None, False),
    ],
)
def test_wait_is_doubted_where_it_costs_something(waited: int | None, db_time: int | None, doubted: bool) -> None:
    delta = nineteen(waited, db_time=db_time)
    seconds = SignalContext(delta).finished_seconds("latch: row cache objects")
    assert (misplaced_latch_wait(delta, "mutex", seconds) is not None) is doubted
    assert misplaced_latch_wait(delta, "latch", seconds) is None
    assert misplaced_latch_wait(delta, None, seconds) is None


def test_sleeps_are_ignored_aloud_and_once() -> None:
    (ignored,) = misplaced_notes(nineteen(sleeps=7_000), "mutex", 0.0)
    assert ignored.startswith("7,000 sleeps on the latch row cache objects are ignored")
    (doubted,) = misplaced_notes(nineteen(4_700_000, sleeps=7_000), "mutex", 4.7)
    assert doubted.startswith("latch: row cache objects takes 47.0 % of DB time, which should not be")
    (timeless,) = misplaced_notes(nineteen(4_700_000, db_time=None), "mutex", 4.7)
    assert timeless.startswith("latch: row cache objects keeps 0.16 sessions waiting, which should not be")
    assert misplaced_notes(nineteen(), "mutex", None) == ()
    assert misplaced_notes(nineteen(4_700_000, sleeps=7_000), "latch", 4.7) == ()
    assert misplaced_sleeps(nineteen(sleeps=7_000), "latch") == 0


@pytest.mark.parametrize(
    ("view", "column"),
    [("v$system_event", "event"), ("v$latch_children", "child#"), ("v$rowcache", "parameter"), ("x$kqrst", "cache#")],
)
def test_row_without_its_name_makes_its_view_missing(view: str, column: str) -> None:
    first, *others = SICK[view]
    rows = [{name: cell for name, cell in first.items() if name != column}, *others]
    read = gaps_of(delta_of({**SICK, view: rows})).get(view)
    assert isinstance(read, Missing)
    assert read.why == f"{view} has a row without its {column}"
    assert read.way_out == f"capture {column} of {view} as well"


@pytest.mark.parametrize(
    ("view", "says"), [("v$latch_children", "no row of child 1"), ("v$rowcache", "no row of cache# 3 (parent)")]
)
def test_row_that_the_map_names_is_not_missed_silently(view: str, says: str) -> None:
    delta = delta_of({**SICK, view: SICK[view][1:]})
    read = gaps_of(delta).get(view)
    assert isinstance(read, Missing) and says in read.why
    assert delta.without(gaps_of(delta)).read(view) == read
    assert not gaps_of(delta_of({**SICK, view: SICK[view][1:]}, basis=TOTALS)), "totals show only a few"


def test_whole_delta_stays_as_it_is() -> None:
    delta = delta_of(SICK)
    assert not gaps_of(delta) and delta.without({}) is delta


def test_figure_of_an_earlier_poll_says_its_age() -> None:
    rows = ({"pool": "shared pool", "name": "KQR PO", "bytes": 2**20},)
    delta = delta_of({"v$sgastat": rows})
    assert (age_of(delta, "v$sgastat"), age_of(delta, "v$undostat")) == (0.0, 0.0)
    old = Changes("v$sgastat", rows, read_at=BEGIN - timedelta(seconds=15))
    later = delta_of({}, readings={"v$sgastat": old})
    assert age_of(later, "v$sgastat") == 45.0 and aged(later, "v$sgastat", "") == "read 45.0 s before the end"
    figure = SIGNALS["row_cache_memory"].read(SignalContext(later), Subject())
    assert figure == Known(2.0**20, "1 MiB, read 45.0 s before the end")
    old = Changes("v$sga_resize_ops", (), read_at=BEGIN)
    later = delta_of({}, readings={"v$sga_resize_ops": old})
    figure = SIGNALS["shared_pool_shrinks"].read(SignalContext(later), Subject())
    assert isinstance(figure, Known) and figure.derivation == "read 30.0 s before the end"


def test_way_out_and_sections_fit_their_source() -> None:
    views, report = context_of(), context_of(source="report")
    assert (views.busier, report.busier) == ("wait for a busier interval", "take a report of a busier hour")
    assert (views.another, report.another) == ("wait for the next interval", "take a report of another hour")
    assert views.why_unknown("v$latch", "immediate").way_out == "capture immediate of v$latch as well"
    assert report.why_unknown("v$latch", "immediate").way_out == SCRIPT
    assert {"v$instance", *READERS} == set(SECTIONS)
    assert section_of("v$latch_misses, v$rowcache") == "Latch Miss Sources, Dictionary Cache Stats"
    assert section_of("v$session") == "v$session"


ROWS = (
    {"parameter": "dc_users", "gets": 953, "fastgets": 13_473},
    {"parameter": "dc_segments", "gets": 7},
    {"parameter": "dc_props", "fastgets": 5},
)


def test_lookups_are_gets_and_fastgets_where_the_release_has_both() -> None:
    assert [row.get(LOOKUPS) for row in with_lookups(ROWS, fast_way=True)] == [14_426, None, None]
    assert [row.get(LOOKUPS) for row in with_lookups(ROWS, fast_way=False)] == [14_426, 7, None]
    assert with_lookups(ROWS, fast_way=True)[1:] == ROWS[1:]
    assert [has_fast_way(release, "latch") for release in ("11.2.0.4.0", "12.1.0.2.0", "12.2.0.1.0")] == [
        False,
        False,
        True,
    ]
    assert [has_fast_way(None, mechanism) for mechanism in ("latch", "mutex", None)] == [False, True, True]


def test_capture_without_its_rows_of_zeros_is_read_and_says_so() -> None:
    busy = [row for row in SICK["v$rowcache"] if row.get("gets")]
    assert len(busy) >= 3
    map_rows = [*SICK["x$kqrst"], *({"child#": 40 + n, "cache#": 40 + n, "type": "PARENT"} for n in range(3))]
    cut = delta_of({**SICK, "x$kqrst": map_rows, "v$rowcache": busy})
    assert "v$rowcache" not in gaps_of(cut)
    assert any(note.startswith("v$rowcache has no row of") and "idle" in note for note in cut_notes(cut))
    zeros = [*busy[:-1], {**busy[-1], "gets": 0, "fastgets": 0, "getmisses": 0}]
    lost = delta_of({**SICK, "x$kqrst": map_rows, "v$rowcache": zeros})
    assert "v$rowcache" in gaps_of(lost), "who keeps rows of zeros lost the others"


def test_child_that_lacks_is_idle_where_the_others_have_all_of_the_latch() -> None:
    sums = {name: sum(row[name] for row in SICK["v$latch_children"]) for name in ("gets", "sleeps")}  # type: ignore[misc]
    map_rows = [*SICK["x$kqrst"], {"child#": 44, "cache#": 44, "type": "PARENT"}]
    whole = {**SICK, "x$kqrst": map_rows, "v$latch": [{"name": "row cache objects", **sums}]}
    assert "v$latch_children" not in gaps_of(delta_of(whole))
    more = {**sums, "sleeps": 2 * sums["sleeps"]}
    assert "v$latch_children" in gaps_of(delta_of({**whole, "v$latch": [{"name": "row cache objects", **more}]}))
