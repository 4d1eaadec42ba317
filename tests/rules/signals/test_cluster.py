"""The share of the locks between instances, in round numbers."""

from collectors.model import Row
from rules.context import Known, SignalValue, Unknown
from rules.signals import SIGNALS, Subject
from tests.rules.contexts import context_of, with_rows


def read(*rows: Row, cache: str = "dc_sequences") -> SignalValue:
    return SIGNALS["share_of_cluster_requests"].read(context_of(with_rows("v$rowcache", *rows)), Subject((cache,)))


def test_share_of_cluster_requests_is_a_share_of_all_caches() -> None:
    rows: list[Row] = [
        {"parameter": "dc_sequences", "dlm_requests": 300},
        {"parameter": "dc_objects", "dlm_requests": 80},
        {"parameter": "dc_objects", "dlm_requests": 20},
    ]
    assert read(*rows) == Known(0.75, "300 of 400")
    assert read(*rows, cache="dc_objects") == Known(0.25, "100 of 400")
    assert read(*rows, cache="dc_users") == Known(0.0, "0 of 400"), "x$kqrst was read, so that the caches are all here"


def test_share_of_cluster_requests_is_unknown_without_enough_requests() -> None:
    few = read({"parameter": "dc_sequences", "dlm_requests": 19})
    assert isinstance(few, Unknown)
    assert "19 cluster lock requests" in few.why
    assert isinstance(read({"parameter": "dc_sequences", "gets": 19}), Unknown)


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
