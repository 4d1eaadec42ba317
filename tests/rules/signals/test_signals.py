"""Every signal: one known value from the rich instance. If its view is missing, the signal is Unknown, never zero."""

from inspect import isfunction
from typing import Any

import pytest

from collectors.model import ROW_CACHE_LATCH, ROW_CACHE_LOCK_EVENT, Row
from rules.context import Known, SignalValue, Unknown
from rules.engine import diagnose
from rules.signals import SIGNALS, Subject
from rules.signals.quantities import Operand
from tests.rules.contexts import SICK, TOTALS, context_of, delta_of, with_rows
from tests.rules.rich import RICH

UNDO = Subject(("dc_rollback_segments",), "kqrpre: find obj")
USERS = Subject(("dc_users",), "kqrso")

HANGING = {"waiting_now": 3, "longest_wait_seconds": 40.0, "share_behind_one_session": 0.5}
"""Signals of sessions that still wait. Their waits would change the cost of everything else."""
BLOCKERS = ("blocking_session", "blocking_instance", "final_blocking_session", "final_blocking_instance")
STILL: list[Row] = [
    {"event": ROW_CACHE_LOCK_EVENT, "type": "USER", **dict.fromkeys(BLOCKERS), **row}
    for row in (
        {"sid": 1, "p1": 3, "wait_time_micro": 40_000_000, "final_blocking_session": 9},
        {"sid": 2, "p1": 3, "wait_time_micro": 20_000_000, "blocking_session": 8},
        {"sid": 3, "p1": 3, "wait_time_micro": 2_000, "blocking_session": 7},
        {"sid": 4, "p1": 0, "wait_time_micro": 90_000_000, "blocking_session": 7},
        {"sid": 5, "p1": 3, "wait_time_micro": 95_000_000, "type": "BACKGROUND"},
    )
]

KNOWN = {
    **HANGING,
    "in_cluster": 1,
    "share_behind_cluster_process": 0.75,
    "share_behind_maintenance": 0.25,
    "share_of_sleeps": 0.99,
    "hottest_child_share_of_sleeps": 0.99,
    "share_of_lookups": 0.6,
    "share_of_holders": 0.85,
    "hold_anomaly_index": (990 / 12_000) / 0.002,
    "recurrent_sleep_ratio": 0.2,
    "average_library_cache_lock_wait": 50.0,
    "average_library_cache_wait": 50.0,
    "account_status_share_of_library_cache_lock_waiters": 0.2,
    "instance_share_of_library_cache_lock_waiters": 0.05,
    "last_logon_share_of_library_cache_lock_waiters": 0.6,
    "object_share_of_library_cache_waiters": 3 / 21,
    "one_handle_share_of_library_cache_waiters": 13 / 21,
    "logons_per_processor": 0.125,
    "hard_parsing_sessions_per_processor": 20 / 30 / 16,
    "host_busy_ratio": 0.9,
    "paging_rate": pytest.approx(200 / 30),
    "load_per_cpu": 1.5,
    "average_lock_wait": 50.0,
    "average_finished_lock_wait": 0.05,
    "timed_out_lock_waits": 0.0,
    "own_share_of_busy_time": 0.5,
    "share_behind_one_user": 0.0,
    "cluster_conflict_ratio": 0.1,
    "evenness_of_lookups": 1_000 / 7_000,
    "evenness_of_holders": 0.04,
    "exclusive_share_of_lock_waiters": 0.75,
    "lookups_to_next_cache": 12 / 7,
    "hottest_cache_share_of_mutex_waiters": 0.8,
    "lock_waiters_without_statement": 0.25,
    "parameter_value": 900,
    "release_update": 7,
    "row_cache_memory": 26_000_000,
    "share_of_cluster_requests": 0.8,
    "share_of_lock_waiters": 1.0,
    "share_of_mutex_sleeps": 0.75,
    "share_of_mutex_waiters": 0.8,
    "share_of_result_cache_holders": 0.1,
    "shared_pool_shrinks": 1,
    "slow_neighbours": 1,
    "tuned_retention_ratio": 10.0,
    "undo_segments_per_transaction": 200.0,
    "unexpired_share_of_undo": 0.75,
    "average_latch_wait": 2.0,
    "cache_for_ten_seconds": 1_000,
    "hottest_getmiss_ratio": 0.005,
    "share_of_waits_beyond_parsing": 1.0,
    "waited_for_event": 12.0,
    "sessions_in_event": 0.4,
    "processor_demand": 1.5,
    "shared_pool_shrunk_share": 0.25,
}

OUTSIDE = {"fix_missing": "opatch"}
"""Signals of what no view shows, and what does. They are never known, so that a figure of ours refutes nothing by itself."""

SUBJECTS = {
    **{name: Subject(("dc_rollback_segments",), surfaces=("latch",)) for name in SIGNALS if "_time_to_" in name},
    "evenness_of_lookups": Subject(("dc_users", "dc_tablespaces")),
    "parameter_value": Subject(parameter="undo_retention"),
    **dict.fromkeys(("waited_for_event", "sessions_in_event"), Subject(parameter="resmgr:cpu quantum")),
    **dict.fromkeys(("hottest_getmiss_ratio", "share_of_waits_beyond_parsing"), Subject(surfaces=("latch",))),
    "share_of_mutex_sleeps": Subject(location="kqrpre"),
    "share_of_result_cache_holders": Subject(location="Result Cache: Serialization12"),
}
"""Signals whose value here points to something other than undo segments."""

STAND_INS = {"v$latch": ("v$latch_children",), "v$system_event": ("v$latch", "v$latch_children", "v$mutex_sleep")}
"""Views that another can replace, so both must be gone."""


def read(name: str, subject: Subject = UNDO, **context: Any) -> SignalValue:
    return SIGNALS[name].read(context_of(**context), subject)


def why(reading: SignalValue) -> str:
    assert isinstance(reading, Unknown)
    return reading.why


COMPUTED = [
    name
    for name, one in SIGNALS.items()
    if isfunction(one.read) or (isinstance(one.read, Operand) and not one.read.quantity.view)
]


def test_known_values_cover_every_function() -> None:
    assert {*KNOWN, *OUTSIDE} == set(COMPUTED)


@pytest.mark.parametrize("name", sorted(set(SIGNALS) - set(COMPUTED)))
def test_signal_of_quantities_is_known_of_the_rich_instance(name: str) -> None:
    reading = read(name, SUBJECTS.get(name, UNDO), views=RICH)
    assert isinstance(reading, Known) and reading.value > 0
    assert reading.part is None or reading.value == pytest.approx(reading.part / (reading.whole or 0))


@pytest.mark.parametrize(("name", "shown_by"), OUTSIDE.items())
def test_signal_of_what_no_view_shows_is_never_known_and_says_what_shows_it(name: str, shown_by: str) -> None:
    reading = read(name, views=RICH)
    assert isinstance(reading, Unknown) and reading.missing == shown_by and shown_by in reading.way_out


@pytest.mark.parametrize(("name", "value"), KNOWN.items())
def test_signal_has_its_known_value(name: str, value: float) -> None:
    behind = ("share_behind_cluster_process", "share_behind_maintenance")
    views = {**RICH, "waiting_sessions": STILL} if name in (*HANGING, *behind) else RICH
    if name == "own_share_of_busy_time":
        views = {**views, "v$sys_time_model": (*RICH["v$sys_time_model"], {"stat_name": "DB CPU", "value": 4_500_000})}
    reading = read(name, SUBJECTS.get(name, UNDO), views=views)
    assert isinstance(reading, Known), reading
    assert reading.value == pytest.approx(value)


@pytest.mark.parametrize(
    ("name", "view"),
    [(one.name, view) for one in SIGNALS.values() if one.name not in OUTSIDE for view in one.of.split(", ")],
)
def test_signal_is_unknown_without_its_view(name: str, view: str) -> None:
    reading = read(name, SUBJECTS.get(name, UNDO), views=RICH, refused=(view, *STAND_INS.get(view, ())))
    assert isinstance(reading, Unknown), reading
    assert reading.missing == view
    assert f"{view}: ORA-00942" in reading.why
    assert reading.way_out.startswith("grant select on sys.v_$")


@pytest.mark.parametrize("name", HANGING)
def test_signal_of_those_who_hang_speaks_of_the_surfaces_of_its_cause(name: str) -> None:
    views = {**RICH, "waiting_sessions": STILL}
    reading = read(name, Subject(surfaces=("latch",)), views=views)
    assert not isinstance(reading, Known) or reading.value == 0
    everywhere = read(name, Subject(surfaces=("lock",)), views=views)
    assert isinstance(everywhere, Known) and everywhere.value == pytest.approx(
        {"waiting_now": 4, "longest_wait_seconds": 90.0, "share_behind_one_session": 1 / 3}[name]
    )


def test_signal_describes_itself_and_is_unknown_for_a_source_that_never_held_its_view() -> None:
    for name, one in SIGNALS.items():
        assert one.name == name and one.about.endswith(".") and len(one.about) > 20, name
        assert one.unit and all(view in RICH or name in OUTSIDE for view in one.of.split(", ")), name
        reading = read(name, views={})
        assert isinstance(reading, Unknown) and reading.way_out, name


@pytest.mark.parametrize(
    ("name", "view", "rows"),
    [
        ("share_of_sleeps", "v$latch_children", [{"child#": 1, "sleeps": 99}]),
        ("hottest_child_share_of_sleeps", "v$latch_children", [{"child#": 1, "sleeps": 99}]),
        ("hold_anomaly_index", "v$latch_children", [{"child#": 1, "sleeps": 99}]),
        ("share_of_holders", "v$latch_misses", [{"parent_name": ROW_CACHE_LATCH, "location": "x", "sleep_count": 99}]),
        ("share_of_holders", "v$latch_misses", []),
        ("recurrent_sleep_ratio", "v$latch", [{"name": ROW_CACHE_LATCH, "sleeps": 99, "misses": 99, "spin_gets": 9}]),
        (
            "share_of_lookups",
            "v$rowcache",
            [{"cache#": 3, "type": "PARENT", "parameter": "dc_rollback_segments", "gets": 9_999}],
        ),
    ],
)
def test_signal_is_unknown_with_too_few_events(name: str, view: str, rows: list[dict[str, object]]) -> None:
    assert "too few events" in why(read(name, views=with_rows(view, *rows)))


@pytest.mark.parametrize(
    ("name", "view", "column"),
    [
        ("tuned_retention_ratio", "v$undostat", "tuned_undoretention"),
        ("unexpired_share_of_undo", "v$undostat", "unexpiredblks"),
        ("shared_pool_shrinks", "v$sga_resize_ops", "initial_size"),
        ("shared_pool_shrunk_share", "v$sga_resize_ops", "initial_size"),
    ],
)
def test_signal_is_unknown_where_its_column_was_not_captured(name: str, view: str, column: str) -> None:
    rows = [{key: cell for key, cell in row.items() if key != column} for row in RICH[view]]
    assert why(read(name, views={**RICH, view: rows})) == f"{view} has no {column} here"


def test_signals_of_a_cache_the_instance_lacks_are_zero_and_say_so() -> None:
    assert getattr(read("share_of_lookups", Subject(("dc_props",))), "value", None) == 0
    assert read("entries_used", Subject(("dc_props",))) == Known(0.0, "no cache named dc_props here")


def test_shares_sum_parents_and_subordinates_of_one_name() -> None:
    reading = read("share_of_lookups", USERS)
    assert isinstance(reading, Known)
    assert reading.value == pytest.approx(1_000 / 20_000)
    sleeps = read("share_of_sleeps", USERS)
    assert isinstance(sleeps, Known)
    assert sleeps.value == pytest.approx(0.003)


def test_share_of_sleeps_without_a_map_is_unknown_and_names_the_child() -> None:
    no_gets = [{"latch#": 270, "child#": 1, "sleeps": 990}, {"latch#": 270, "child#": 5, "sleeps": 10}]
    assert "child 1" in why(read("share_of_sleeps", views=with_rows("v$latch_children", *no_gets), refused=["x$kqrst"]))
    assert "no child gets to infer it from" in why(
        read("hold_anomaly_index", views=with_rows("v$latch_children", *no_gets), refused=["x$kqrst"])
    )
    odd = [{"latch#": 270, "child#": 1, "gets": 77_777, "sleeps": 990}]
    unfit = why(read("share_of_sleeps", views=with_rows("v$latch_children", *odd), refused=["x$kqrst"]))
    assert "fit no cache, or several" in unfit


def test_share_of_sleeps_needs_the_names_of_the_caches() -> None:
    reading = read("share_of_sleeps", refused=["v$rowcache"])
    assert isinstance(reading, Unknown) and reading.missing == "v$rowcache"


def test_hold_anomaly_counts_a_child_without_sleeps_as_one() -> None:
    quiet = [{**row, "sleeps": 990 if row["child#"] == 1 else 0} for row in SICK["v$latch_children"]]
    reading = read("hold_anomaly_index", views=with_rows("v$latch_children", *quiet))
    assert isinstance(reading, Known)
    assert reading.value == pytest.approx((990 / 12_000) / ((1 / 7_000 + 1 / 1_000) / 2))


def test_hold_anomaly_needs_another_child_with_one_percent_of_the_gets() -> None:
    alone = [row if row["parameter"] == "dc_rollback_segments" else {**row, "gets": 30} for row in SICK["v$rowcache"]]
    assert "no other child has 1 %" in why(read("hold_anomaly_index", views=with_rows("v$rowcache", *alone)))


def test_signals_of_totals_give_shares_but_no_rate() -> None:
    assert isinstance(read("paging_rate", basis=TOTALS), Unknown)
    assert isinstance(read("share_of_sleeps", basis=TOTALS), Known)


def test_signals_each_have_a_plain_name_of_their_own() -> None:
    names = [signal.called for signal in SIGNALS.values()]
    assert len(set(names)) == len(names)
    assert [name for name in names if "_" in name or not name or name[0].isupper()] == []


def test_evidence_counts_as_numbers_what_its_derivation_says_in_words() -> None:
    evidence = {one.signal: one for one in diagnose(delta_of(SICK)).findings[0].evidence}
    sleeps = evidence["share_of_sleeps"]
    assert (sleeps.numerator, sleeps.denominator, sleeps.derivation) == (990, 1_000, "990 of 1,000")
    assert sleeps.bound is not None and f"{sleeps.bound.operator} {sleeps.bound.value:g}" == sleeps.needs
    assert sleeps.name == "sleeps on the cache"
