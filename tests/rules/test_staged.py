"""The staged incidents: every case stages with each variant, what its page prints is in the interval, and verdicts are fair."""

from collections.abc import Callable, Mapping

import pytest

from collectors.model import Delta, Row
from rules.cause import catalogue
from rules.model import Severity
from tests.rules.case_rows import SECONDS
from tests.rules.staged import LCL, RCL, STAGES, incidents, judged, staged, variants
from tests.truth.test_scores import UNKNOWN, finding, planted

Fact = Callable[[Delta], float]
ROUNDING = 0.02
"""Counts of waits are whole and pages round, so that a ratio of them is near the printed one."""


def cell(delta: Delta, view: str, column: str, **key: object) -> float:
    """A figure of the one row with this key."""
    (row,) = (row for row in delta.rows(view) if all(row.get(name) == value for name, value in key.items()))
    return float(str(row[column]))


def waited(event: str) -> Fact:
    """Seconds waited for an event."""
    return lambda delta: cell(delta, "v$system_event", "time_waited_micro", event=event) / 1e6


def db_time(delta: Delta) -> float:
    """DB time in seconds."""
    return cell(delta, "v$sys_time_model", "value", stat_name="DB time") / 1e6


def percent_of(event: str) -> Fact:
    """Percent of DB time waited for an event."""
    return lambda delta: 100 * waited(event)(delta) / db_time(delta)


def percent_stat(name: str) -> Fact:
    """Percent of DB time of a statistic of the time model."""
    return lambda delta: cell(delta, "v$sys_time_model", "value", stat_name=name) / 1e4 / db_time(delta)


def average_ms(event: str) -> Fact:
    """Milliseconds of a wait for an event."""
    return lambda delta: 1e3 * waited(event)(delta) / cell(delta, "v$system_event", "total_waits", event=event)


def an_hour(event: str) -> Fact:
    """Waits for an event in an hour."""
    return lambda delta: cell(delta, "v$system_event", "total_waits", event=event) * 3600 / SECONDS


def sampled(column: str) -> Fact:
    """What all sampled waiters have in a column."""

    def fact(delta: Delta) -> float:
        (one,) = {row[column] for row in delta.rows("v$session") if row.get("sid") is not None}
        return float(str(one))

    return fact


def only(view: str, column: str) -> Fact:
    """A figure of the only row of a view."""
    return lambda delta: cell(delta, view, column)


def in_cluster(delta: Delta) -> float:
    """1 if the interval is of an instance of a cluster."""
    (instance,) = delta.rows("v$instance")
    return float(instance["parallel"] == "YES")


def named(cache: str) -> Fact:
    """Cache id of a cache, as its view has it."""
    return lambda delta: next(
        float(str(row["cache#"])) for row in delta.rows("v$rowcache") if row["parameter"] == cache
    )


def pool_after(kind: str) -> Fact:
    """Bytes of the shared pool after a resize."""
    return lambda delta: cell(delta, "v$sga_resize_ops", "final_size", oper_type=kind)


LATCH, MUTEX, SQ, TX = (
    "latch: row cache objects",
    "row cache mutex",
    "enq: SQ - contention",
    "enq: TX - row lock contention",
)
PRINTED: Mapping[str, tuple[tuple[Fact, float], ...]] = {
    "N1": ((average_ms(RCL), 2000), (average_ms(LCL), 2300), (sampled("p1"), 10)),
    "N2": ((percent_of(LCL), 91.75), (percent_of(TX), 8.22), (only("library_cache_waiters", "p3"), 8323074)),
    "N3": ((average_ms(RCL), 2470), (percent_of(RCL), 71.8), (sampled("p1"), 13), (sampled("p3"), 5), (in_cluster, 1)),
    "N4": (
        (sampled("p1"), 16),
        (sampled("p3"), 5),
        (only("waiting_sessions", "wait_time_micro"), 2004491),
        (only("library_cache_waiters", "p3"), 0x2A7900010003),
    ),
    "N5": (
        (average_ms(RCL), 7973.47),
        (percent_stat("sequence load elapsed time"), 99),
        (waited(SQ), 545 * SECONDS / 7200),
        (in_cluster, 1),
    ),
    "N6": ((an_hour(MUTEX), 2184882), (percent_of(MUTEX), 51.92)),
    "N7": ((sampled("p1"), 57),),
    "N8": ((lambda delta: float(waited(LCL)(delta) > waited(RCL)(delta)), 1),),
    "P1": (
        (lambda delta: db_time(delta) / SECONDS, 156.39),
        (lambda delta: waited(LCL)(delta) / SECONDS, 155.39),
        (percent_of(LCL), 99.36),
    ),
    "P2": (
        (lambda delta: float(percent_of(RCL)(delta) > 70), 1),
        (sampled("p1"), 3),
        (named("dc_rollback_segments"), 3),
    ),
    "P3": (
        (average_ms(LCL), 2928),
        (average_ms("library cache pin"), 2910),
        (lambda delta: db_time(delta) / SECONDS, 60),
    ),
    "P4": (
        (percent_of(LATCH), 80.3),
        (average_ms(LATCH), 24),
        (percent_of("cursor: pin S wait on X"), 7.1),
        (average_ms("cursor: pin S wait on X"), 571),
        (percent_stat("DB CPU"), 5.1),
    ),
    "P5": ((pool_after("SHRINK"), 2097152000), (pool_after("GROW"), 2197815296)),
    "P6": ((sampled("p1"), 13), (in_cluster, 1)),
    "P7": ((only("waiting_sessions", "final_blocking_session"), 312),),
    "P8": ((sampled("p1"), 8),),
    "P9": ((only("library_cache_waiters", "p3"), 5177346), (only("library_cache_waiters", "sessions"), 2)),
    "P10": ((lambda delta: cell(delta, "v$osstat", "total", stat_name="IDLE_TIME"), 0),),
    "P11": ((percent_of(TX), 39.7), (percent_stat("DB CPU"), 29.8)),
    "P12": ((lambda delta: db_time(delta) / SECONDS, 20),),
    "P13": ((lambda delta: float(waited(LCL)(delta) > waited(RCL)(delta)), 1),),
}
"""What the page of a case prints, and where it is in the interval."""


@pytest.mark.parametrize("name", PRINTED)
def test_interval_has_what_the_page_prints(name: str) -> None:
    delta = staged(name)
    for fact, printed in PRINTED[name]:
        assert fact(delta) == pytest.approx(printed, rel=ROUNDING)


def test_every_case_is_staged_and_held_against_its_page() -> None:
    assert set(STAGES) == set(PRINTED) == set(incidents())
    for case in incidents().values():
        assert case["url"] and case["right"] and case["numbers"] and case["wrong"] and case["assumed"]
        assert {*case["causes"], *case["leads"]} <= set(catalogue())


@pytest.mark.parametrize("name", STAGES)
def test_every_assumed_figure_changes_the_interval_and_no_variant_breaks_it(name: str) -> None:
    assumed, usual = incidents()[name]["parameters"], _figures(staged(name))
    moved = set()
    for changed in variants(name):
        figures = _figures(staged(name, changed))
        assert all(not isinstance(value, float | int) or value >= 0 for row in figures for value in row)
        if len(changed) == 1 and figures != usual:
            moved |= set(changed)
    assert moved == set(assumed)


def _figures(delta: Delta) -> list[tuple[object, ...]]:
    views = ("v$system_event", "v$sys_time_model", "v$rowcache", "v$mutex_sleep", "v$latch_children", "v$sysstat")
    more = ("v$sgastat", "v$osstat", "v$session", "waiting_sessions", "library_cache_waiters")
    rows: list[Row] = [row for view in (*views, *more) for row in delta.rows(view)]
    return [tuple(row.values()) for row in rows]


def test_variants_are_the_same_in_each_run_and_shares_stay_shares() -> None:
    assert list(variants("N6")) == list(variants("N6"))
    shares = [
        value for name in STAGES for one in variants(name) for key, value in one.items() if key.endswith("_share")
    ]
    assert shares and all(0 < value < 1 for value in shares)
    assert sum(1 for name in STAGES if name.startswith("N") for _ in variants(name)) >= 200


def test_a_verdict_says_how_the_answer_compares_with_the_page() -> None:
    critical, info = Severity.CRITICAL, Severity.INFO
    clones = finding("row-cache-clones", "mutex", None, critical)
    storm = finding("logon-storm", "mutex", "dc_users", critical)
    assert judged("N6", planted(clones, severity=critical)) == "right"
    assert judged("N6", planted(clones, storm, severity=critical)) == "wrong"
    assert judged("N6", UNKNOWN) == "honest"
    assert judged("N6", planted(severity=critical, ruled_out=("row-cache-clones",))) == "wrong"
    every = tuple(one.cause for one in UNKNOWN.undetermined)
    assert judged("N7", planted(severity=critical, ruled_out=every)) == "missed"
    assert judged("P11", planted(severity=info, ruled_out=every)) == "right"
    assert judged("P11", planted(storm, severity=critical, ruled_out=every)) == "wrong"
    assert judged("P3", planted(severity=info, ruled_out=every)) == "missed"
    quiet = finding("failed-logon-delay", "lock", None, info)
    assert judged("N2", planted(quiet, severity=info, ruled_out=every)) == "wrong"
    assert judged("P1", planted(quiet, severity=info, ruled_out=every)) == "honest"
    sure, other = (finding(name, "lock", None, info, "high") for name in ("failed-logon-delay", "last-login-update"))
    assert judged("P1", planted(sure, severity=info, ruled_out=every)) == "right"
    assert judged("P1", planted(sure, other, severity=info, ruled_out=every)) == "honest"
