"""Signals of parsing, of logging on, and of what resembles row cache trouble, in round numbers."""

from typing import Any

import pytest

from collectors.model import Row
from rules.context import Known, SignalValue, Unknown
from rules.signals import SIGNALS, Subject
from tests.rules.contexts import SICK, TOTALS, context_of, with_rows
from tests.rules.rich import RICH

USERS = Subject(("dc_users",))


def read(name: str, view: str, *rows: Row, **more: Any) -> SignalValue:
    return SIGNALS[name].read(context_of(with_rows(view, *rows), **more), USERS)


def why(reading: SignalValue) -> str:
    assert isinstance(reading, Unknown)
    return reading.why


def waiters(times: int, **cells: Any) -> list[Row]:
    return [{"sample": 1, "sid": sid, "event": "row cache lock", "p1": 10, **cells} for sid in range(times)]


def test_lock_waiters_without_statement_is_their_share_of_lock_waiters() -> None:
    rows = [*waiters(9, sql_id=None), *waiters(3, sql_id="9babjv8yq8ru3")]
    other: Row = {"sample": 1, "sid": 99, "event": "row cache mutex", "p1": 10, "sql_id": "9babjv8yq8ru3"}
    assert read("lock_waiters_without_statement", "v$session", *rows, other) == Known(0.75, "9 of 12 waiters")


@pytest.mark.parametrize(
    ("rows", "because"),
    [
        (waiters(9, sql_id=None), "too few waiters: 9 seen"),
        (waiters(12), "has no sql_id"),
        ([{"sample": 1, "sid": None}], "too few waiters: 0 seen"),
    ],
)
def test_lock_waiters_without_statement_needs_enough_waiters_and_sql_id(rows: list[Row], because: str) -> None:
    assert because in why(read("lock_waiters_without_statement", "v$session", *rows))


@pytest.mark.parametrize(("full", "update"), [("19.7.0.0.0", 7.0), ("19.21.0.0.0", 21.0), ("18.0.0", 0.0)])
def test_release_update_is_the_second_number_of_version_full(full: str, update: float) -> None:
    assert read("release_update", "v$instance", {"version_full": full}) == Known(update, f"release {full}")


@pytest.mark.parametrize("row", [{}, {"version": "19.0.0.0.0"}, {"version_full": "19"}, {"version_full": "19.x"}])
def test_release_update_is_unknown_without_a_usable_version_full(row: Row) -> None:
    assert "version_full" in why(read("release_update", "v$instance", row))


def read_cluster(*rows: Row, cache: str = "dc_sequences") -> SignalValue:
    return SIGNALS["share_of_cluster_requests"].read(context_of(with_rows("v$rowcache", *rows)), Subject((cache,)))


def test_share_of_cluster_requests_is_a_share_of_all_caches() -> None:
    rows: list[Row] = [
        {"parameter": "dc_sequences", "dlm_requests": 300},
        {"parameter": "dc_objects", "dlm_requests": 80},
        {"parameter": "dc_objects", "dlm_requests": 20},
    ]
    assert read_cluster(*rows) == Known(0.75, "300 of 400")
    assert read_cluster(*rows, cache="dc_objects") == Known(0.25, "100 of 400")
    assert read_cluster(*rows, cache="dc_users") == Known(0.0, "0 of 400"), (
        "x$kqrst was read, so that the caches are all here"
    )


def test_share_of_cluster_requests_is_unknown_without_enough_requests() -> None:
    few = read_cluster({"parameter": "dc_sequences", "dlm_requests": 19})
    assert isinstance(few, Unknown)
    assert "19 cluster lock requests" in few.why
    assert isinstance(read_cluster({"parameter": "dc_sequences", "gets": 19}), Unknown)


def in_cluster(*rows: Row) -> SignalValue:
    return SIGNALS["in_cluster"].read(context_of(with_rows("v$instance", *rows)), Subject())


def test_in_cluster_is_read_from_the_instance_and_unknown_where_it_does_not_say() -> None:
    assert in_cluster({"instance_number": 1, "parallel": "YES"}) == Known(1.0, "v$instance.parallel = YES")
    assert in_cluster({"instance_number": 1, "parallel": "NO"}) == Known(0.0, "v$instance.parallel = NO")
    assert isinstance(in_cluster({"instance_number": 1}), Unknown)


def behind(*holders: Row) -> SignalValue:
    """The share behind LCK0 where three sessions hang behind sessions 9 and 8."""
    waits: list[Row] = [
        {"sid": sid, "event": "row cache lock", "p1": 3, "wait_time_micro": 4e7, "final_blocking_session": blocker}
        for sid, blocker in ((1, 9), (2, 9), (3, 8))
    ]
    views = {**with_rows("row_cache_blockers", *holders), "waiting_sessions": waits}
    return SIGNALS["share_behind_cluster_process"].read(context_of(views), Subject())


LCK0: Row = {"sid": 9, "type": "BACKGROUND", "program": "oracle@db1 (LCK0)", "waiters": 2}
LMS0: Row = {**LCK0, "program": "oracle@db1 (LMS0)"}
OTHER: Row = {"sid": 8, "type": "USER", "program": "oracle@db1 (TNS V1-V3)", "waiters": 1}


def test_share_behind_cluster_process_counts_those_who_wait_for_lck0_alone() -> None:
    assert behind(LCK0) == Known(1.0, "session 9 is LCK0")
    assert behind(LCK0, OTHER) == Known(2 / 3, "session 9 is LCK0")
    assert behind(LMS0, OTHER) == Known(0.0, "")


def test_share_behind_cluster_process_is_unknown_while_no_holder_is_known() -> None:
    assert isinstance(behind(), Unknown)
    assert isinstance(behind({"sid": 9, "waiters": 2}), Unknown)


MMON: Row = {"sid": 9, "type": "BACKGROUND", "program": "oracle@db1 (MMON)", "waiters": 2}
IN_A_JOB: Row = {"sid": 9, "type": "USER", "program": "oracle@db1 (J004)", "waiters": 2, "instance": 1}


def behind_maintenance(*holders: Row, job: str | None = None, needs: str = ">= 0.5") -> SignalValue:
    waits = [
        {"sid": 1, "event": "row cache lock", "p1": 10, "type": "USER", "wait_time_micro": 4e7, "blocking_session": 9}
    ]
    jobs = [] if job is None else [{"owner": "SYS", "job_name": job, "session_id": 9, "running_instance": 1}]
    rows = [{"cache#": 10, "instance": 1, **row} for row in holders]
    views = {**with_rows("row_cache_blockers", *rows), "waiting_sessions": waits, "running_jobs": jobs}
    return SIGNALS["share_behind_maintenance"].read(context_of(views), Subject(needs=needs))


def test_share_behind_maintenance_counts_mmon_its_slaves_and_jobs_of_the_windows() -> None:
    slave = {**MMON, "program": "oracle@db1 (M00A)"}
    assert behind_maintenance(MMON) == Known(1.0, "session 9 is MMON")
    assert behind_maintenance({**MMON, "program": "oracle@db1 (M007)"}) == Known(1.0, "session 9 is M007")
    assert behind_maintenance(LCK0, OTHER) == Known(0.0, "")
    assert behind_maintenance(slave) == Known(0.0, ""), "no source names such a slave"
    assert behind_maintenance(IN_A_JOB, OTHER, job="ORA$AT_OS_OPT_SY_8") == Known(
        2 / 3, "session 9 is ORA$AT_OS_OPT_SY_8"
    )
    assert behind_maintenance(IN_A_JOB, job="LOAD_ORDERS") == Known(0.0, "")


def test_share_behind_maintenance_is_unknown_while_the_name_of_a_job_may_decide() -> None:
    unnamed = behind_maintenance(IN_A_JOB)
    assert isinstance(unnamed, Unknown)
    assert unnamed.missing == "running_jobs"
    few = behind_maintenance({**IN_A_JOB, "waiters": 1}, {**OTHER, "waiters": 3})
    assert few == Known(0.0, ""), "one of four is too few whatever the job is"


def test_files_that_are_read_are_no_paging() -> None:
    def paging(came: float, went: float | None) -> SignalValue:
        rows = [{"stat_name": "VM_IN_BYTES", "total": came}]
        rows += [] if went is None else [{"stat_name": "VM_OUT_BYTES", "total": went}]
        return SIGNALS["paging_rate"].read(context_of({**SICK, "v$osstat": rows}), Subject())

    gigabyte = float(2**30)
    assert paging(30 * gigabyte, 0.0) == Known(0.0, "0 bytes of 32,212,254,720 in and 0 out")
    both = paging(30 * gigabyte, 3 * gigabyte)
    assert isinstance(both, Known) and both.value == 2 * 3 * gigabyte / 30, "memory goes out and comes back"
    assert isinstance(paging(30 * gigabyte, None), Unknown)


def test_space_waits_that_a_report_does_not_print_are_unknown_and_a_view_without_the_row_had_none() -> None:
    name, lock = "file_growth_waits_to_row_cache_waits", {"event": "row cache lock", "time_waited_micro": 5_000_000}
    grown = {"event": "Data file init write", "time_waited_micro": 1_000_000}
    assert "prints none of Data file init write" in why(read(name, "v$system_event", lock, source="report"))
    assert getattr(read(name, "v$system_event", lock), "value", None) == 0
    of_report, of_view = (read(name, "v$system_event", lock, grown, source=source) for source in ("report", "views"))
    assert isinstance(of_report, Known)
    assert isinstance(of_view, Known)
    assert of_report.value > 0


def test_average_library_cache_lock_wait_of_a_few_waits_is_unknown() -> None:
    waits: Row = {"event": "library cache lock", "total_waits": 9, "time_waited_micro": 27_000_000}
    reading = read("average_library_cache_lock_wait", "v$system_event", waits)
    assert why(reading).startswith("too few events: 9 waits for library cache lock")


def load(busy: int, level: int = 24) -> SignalValue:
    host = {"NUM_CPUS": (16, None), "LOAD": (level, None), "BUSY_TIME": (None, busy), "IDLE_TIME": (None, 1_000 - busy)}
    rows = [{"stat_name": name, "level_now": now, "total": total} for name, (now, total) in host.items()]
    return SIGNALS["load_per_cpu"].read(context_of({**SICK, "v$osstat": rows}), Subject())


@pytest.mark.parametrize(("busy", "level", "value"), [(900, 24, 1.5), (800, 24, 1.0), (300, 24, 1.0), (300, 8, 0.5)])
def test_load_per_cpu_counts_no_sleepers_where_processors_are_idle(busy: int, level: int, value: float) -> None:
    reading = load(busy, level)
    assert isinstance(reading, Known) and reading.value == pytest.approx(value)


def test_load_per_cpu_says_what_the_rest_of_the_load_is() -> None:
    reading = load(300)
    assert isinstance(reading, Known)
    assert reading.derivation == (
        "load 24 on 16 processors, which were idle for 70.0 %: the rest waited for something else"
    )


@pytest.mark.parametrize("name", ["logons_per_processor", "hard_parsing_sessions_per_processor"])
def test_rate_per_processor_is_unknown_without_processors_or_seconds(name: str) -> None:
    without = [row for row in SICK["v$osstat"] if row["stat_name"] != "NUM_CPUS"]
    reading = SIGNALS[name].read(context_of({**RICH, "v$osstat": without}), Subject())
    assert isinstance(reading, Unknown) and reading.missing == "v$osstat"
    assert isinstance(SIGNALS[name].read(context_of(RICH, basis=TOTALS), Subject()), Unknown)
