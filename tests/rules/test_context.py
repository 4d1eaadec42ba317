"""The Scene: mechanism, hot child, the cost of waits, and why something is unknown."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from collectors.model import ROW_CACHE_LATCH, Missing, Oddity, Row
from rules.context import SignalContext, Unknown
from rules.model import Severity
from tests.each import each
from tests.rules.contexts import SICK, TOTALS, context_of, delta_of, with_rows


@each(
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


def test_latch_is_summed_from_its_children_where_v_latch_is_missing() -> None:
    context = context_of(refused=["v$latch"])
    assert (context.latch.sleeps, context.latch.gets, context.latch.misses) == (1_000, 59_600, None)


def test_impact_is_given_in_db_time_and_in_sessions() -> None:
    impact = context_of().impact
    assert impact is not None
    assert impact.share_of_db_time == pytest.approx(0.025)
    assert impact.waiting_sessions == pytest.approx(2.5 / 30)


def test_row_cache_wait_seconds_fall_back_from_events_to_the_latch() -> None:
    assert context_of(refused=["v$system_event"]).row_cache_wait_seconds == 2.0
    assert context_of(refused=["v$system_event", "v$latch"]).row_cache_wait_seconds is None


def waited(seconds: float, db_time: float = 1_000) -> Mapping[str, Sequence[Row]]:
    event = {"event": "latch: row cache objects", "time_waited_micro": seconds * 1e6}
    views = with_rows("v$system_event", event)
    return {**views, "v$sys_time_model": [{"stat_name": "DB time", "value": db_time * 1e6}]}


@each(
    ("share", "severity"),
    [
        (0.0049, Severity.INFO),
        (0.0051, Severity.NOTICE),
        (0.0199, Severity.NOTICE),
        (0.0201, Severity.WARNING),
        (0.0999, Severity.WARNING),
        (0.1001, Severity.CRITICAL),
    ],
)
def test_gate_depends_on_the_share_of_db_time(share: float, severity: Severity) -> None:
    assert context_of(waited(share * 1_000)).gate is severity


@each(
    ("sessions", "severity"),
    [
        (0.0099, Severity.INFO),
        (0.049, None),
        (0.051, Severity.NOTICE),
        (0.49, Severity.NOTICE),
        (0.51, Severity.WARNING),
        (4.9, Severity.WARNING),
        (5.1, Severity.CRITICAL),
    ],
)
def test_gate_without_db_time_depends_on_waiting_sessions(sessions: float, severity: Severity | None) -> None:
    context = context_of(waited(sessions * 30), refused=["v$sys_time_model"])
    assert context.gate is severity


def test_gate_of_an_idle_instance_is_info_whatever_its_share() -> None:
    assert context_of(waited(0.29, db_time=0.3)).gate is Severity.INFO


def test_impact_and_gate_of_totals_are_none() -> None:
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


def test_sum_of_is_unknown_when_one_row_lacks_the_column() -> None:
    context = context_of()
    assert context.sum_of([{"gets": 1}, {"gets": 2}], "gets") == 3
    assert context.sum_of([{"gets": 1}, {}], "gets") is None
    assert context.sum_of([], "gets") is None


def test_waited_seconds_are_zero_without_waits_and_unknown_without_view() -> None:
    assert context_of().waited_seconds(["buffer busy waits"]) == 0.0
    assert context_of(refused=["v$system_event"]).waited_seconds(["row cache lock"]) is None


def test_waited_seconds_count_only_session_waits_where_told_apart() -> None:
    apart: Row = {"event": "row cache lock", "time_waited_micro": 9_000_000, "time_waited_micro_fg": 2_000_000}
    whole: Row = {"event": "row cache mutex", "time_waited_micro": 1_000_000}
    context = context_of({"v$system_event": [apart, whole, {"event": "latch free"}]})
    assert context.waited_seconds(["row cache lock"]) == 2.0
    assert context.waited_seconds(["row cache lock", "row cache mutex"]) == 3.0, (
        "if the event has no foreground figures, all waits count"
    )
    assert context.waited_seconds(["row cache lock", "latch free"]) is None


def test_surface_wait_seconds_of_a_report_exclude_background_waits() -> None:
    row: Row = {"event": "latch: row cache objects", "time_waited_micro": 5_000_000, "time_waited_micro_fg": 0}
    printed = SignalContext(replace(delta_of(with_rows("v$system_event", row)), source="report"))
    assert printed.surface_wait_seconds("latch") == 0.0


def test_context_cells_of_missing_views_are_none() -> None:
    context = context_of({})
    assert (context.cpus, context.host("BUSY_TIME"), context.seconds_of("DB time"), context.work("execute count")) == (
        None,
    ) * 4
    assert isinstance(delta_of({}).read("v$osstat"), Missing)
    assert (context_of().cpus, context_of().level("LOAD"), context_of().work("execute count")) == (16, 24, 4_000)


def test_children_are_in_the_order_of_their_numbers() -> None:
    scrambled = with_rows("v$latch_children", *reversed(SICK["v$latch_children"]))
    assert [row["child#"] for row in context_of(scrambled).children] == [1, 5, 8]


@pytest.mark.parametrize("child", [None, "one", 1.5])
def test_children_exclude_a_row_without_a_child_number(child: str | float | None) -> None:
    rows: list[Row] = [{"latch#": 270, "child#": child, "sleeps": 9_000}, {"latch#": 270, "child#": 5, "sleeps": 200}]
    context = context_of(with_rows("v$latch_children", *rows))
    assert (len(context.children), context.hot_child) == (1, 5)
