"""The Scene: mechanism, hot child, the cost of waits, and why something is unknown."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from collectors.model import ROW_CACHE_LATCH, SCRIPT, Changes, Missing, Oddity, Row
from rules.contention.holds import NotPredictable, active_sessions
from rules.context import LOOKUPS, SignalContext, Unknown, has_fast_way, with_lookups
from rules.engine import diagnose
from rules.model import Known, Severity
from rules.signals import SIGNALS, Subject
from rules.signals.instance import age_of, aged
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


def test_way_out_fits_its_source() -> None:
    views, report = context_of(), context_of(source="report")
    assert (views.busier, report.busier) == ("wait for a busier interval", "take a report of a busier hour")
    assert (views.another, report.another) == ("wait for the next interval", "take a report of another hour")
    assert views.why_unknown("v$latch", "immediate").way_out == "capture immediate of v$latch as well"
    assert report.why_unknown("v$latch", "immediate").way_out == SCRIPT


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
