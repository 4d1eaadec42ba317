"""Waiters: from rows of v$session to caches, groups and looks, on mutexes, the lock, latches and the result cache."""

from collections.abc import Sequence
from dataclasses import replace

from collectors.model import RESULT_CACHE_LATCH, ROW_CACHE_LOCK_EVENT, ROW_CACHE_MUTEX_EVENT, Delta, Row
from rules.context import SignalContext
from rules.explanation.steps import MOST_GROUPS, groups
from rules.waiters import RESULT_CACHE, SampledWaiters
from tests.each import each
from tests.rules.contexts import SICK, context_of, delta_of
from tests.rules.rich import LATCH_WAIT

CHILDREN: list[Row] = [{**row, "addr": f"0A{row['child#']}"} for row in SICK["v$latch_children"]]
NUMBERS: list[Row] = [*SICK["v$latchname"], {"latch#": 461, "name": RESULT_CACHE_LATCH}]


def crowd(*rows: Row, **changed: Sequence[Row]) -> SampledWaiters | None:
    views = {**SICK, "v$latch_children": CHILDREN, "v$latchname": NUMBERS, "v$session": list(rows)}
    delta: Delta = delta_of({**views, **{f"v${view}": told for view, told in changed.items()}})
    return SignalContext(delta).crowd


def told(*rows: Row, **changed: Sequence[Row]) -> list[tuple[str, str]]:
    got = crowd(*rows, **changed)
    assert got is not None
    return [(one.event, one.cache) for one in got.waiters]


def test_crowd_is_none_without_looks_and_empty_when_looks_met_nobody() -> None:
    assert crowd() is None
    empty = crowd({"sample": 1, "sid": None}, {"sample": 2, "sid": None})
    assert empty == SampledWaiters(2, ())


def test_mutex_and_lock_waiters_name_the_cache_by_its_id() -> None:
    for event in (ROW_CACHE_MUTEX_EVENT, ROW_CACHE_LOCK_EVENT):
        assert told({"sample": 1, "sid": 7, "event": event, "p1": 3}) == [(event, "dc_rollback_segments")]
        nameless = "cache id 37, not listed in v$rowcache"
        assert told({"sample": 1, "sid": 7, "event": event, "p1": 37}) == [(event, nameless)]
        assert told({"sample": 1, "sid": 7, "event": event, "p1": None}) == [(event, "unknown")]


def test_cache_id_of_a_parent_has_the_parent_name_in_any_row_order() -> None:
    rows: list[Row] = [
        {"cache#": 16, "type": "SUBORDINATE", "subordinate#": 0, "parameter": "dc_histogram_data"},
        {"cache#": 16, "type": "PARENT", "parameter": "dc_histogram_defs"},
    ]
    waiter: Row = {"sample": 1, "sid": 7, "event": ROW_CACHE_MUTEX_EVENT, "p1": 16}
    for order in (rows, rows[::-1]):
        assert told(waiter, rowcache=order) == [(ROW_CACHE_MUTEX_EVENT, "dc_histogram_defs")]


def test_latch_waiter_leads_by_address_and_child_to_the_cache() -> None:
    assert told({"sample": 1, "sid": 7, "event": LATCH_WAIT, "p1raw": "0A8"}) == [(LATCH_WAIT, "dc_users")]
    assert told({"sample": 1, "sid": 7, "event": LATCH_WAIT, "p1raw": "FFF"}) == [(LATCH_WAIT, "unknown")]
    gone = [row for row in SICK["v$rowcache"] if row["cache#"] not in (10, 7)]
    nameless = told({"sample": 1, "sid": 7, "event": LATCH_WAIT, "p1raw": "0A8"}, rowcache=gone)
    assert nameless == [(LATCH_WAIT, "cache id 10, not listed in v$rowcache")]


@each(
    ("columns", "blocker"),
    [
        ({}, ""),
        ({"blocking_session": 77}, "77"),
        ({"blocking_session": 77, "blocking_instance": 1}, "77@1"),
        (
            {
                "blocking_session": 77,
                "blocking_instance": 1,
                "final_blocking_session": 312,
                "final_blocking_instance": 2,
            },
            "312@2",
        ),
    ],
)
def test_blocker_of_a_waiter_is_the_end_of_the_chain_with_its_instance(columns: Row, blocker: str) -> None:
    got = crowd({"sample": 1, "sid": 7, "event": ROW_CACHE_LOCK_EVENT, "p1": 3, **columns})
    assert got is not None and [waiter.blocker for waiter in got.waiters] == [blocker]


def test_latch_free_counts_only_for_the_result_cache() -> None:
    waiters: list[Row] = [{"sample": 1, "sid": sid, "event": "latch free", "p2": p2} for sid, p2 in ((7, 461), (8, 99))]
    assert told(*waiters) == [("latch free", RESULT_CACHE)]
    assert told(*waiters, latchname=list(SICK["v$latchname"])) == []


def test_waiters_exclude_other_events() -> None:
    assert told({"sample": 1, "sid": 7, "event": "db file sequential read", "p1": 3}) == []


def test_exclusive_is_mode_five_on_the_lock_and_never_on_a_mutex() -> None:
    def exclusive(event: str, mode: int) -> bool:
        got = crowd({"sample": 1, "sid": 7, "event": event, "p1": 3, "p3": mode})
        assert got is not None
        return got.waiters[0].exclusive

    assert exclusive(ROW_CACHE_LOCK_EVENT, 5)
    assert not exclusive(ROW_CACHE_LOCK_EVENT, 3)
    assert not exclusive(ROW_CACHE_MUTEX_EVENT, 5)


def waiting(look: int, sid: int, sql_id: str | None, cache: int = 3) -> Row:
    event = ROW_CACHE_LOCK_EVENT
    return {"sample": look, "sid": sid, "event": event, "p1": cache, "sql_id": sql_id, "module": "M", "con_id": 3}


ROWS = [waiting(1, 1, "a"), waiting(2, 1, "a"), waiting(2, 2, "b"), waiting(4, 1, "a", 0), {"sample": 3, "sid": None}]


def test_groups_are_counted_over_all_looks_largest_first() -> None:
    got = groups(context_of({**SICK, "v$session": ROWS}))
    assert [(one.sql_id, one.cache, one.sessions, one.share) for one in got] == [
        ("a", "dc_rollback_segments", 0.5, 0.5),
        ("b", "dc_rollback_segments", 0.25, 0.25),
        ("a", "dc_tablespaces", 0.25, 0.25),
    ]
    assert (got[0].module, got[0].container, got[0].program, got[0].blocker) == ("M", "3", None, None)


def test_groups_and_crowd_ignore_the_order_of_the_rows() -> None:
    context = context_of({**SICK, "v$session": ROWS})
    turned = context_of({**SICK, "v$session": ROWS[::-1]})
    assert groups(turned) == groups(context)
    assert turned.crowd is not None
    assert context.crowd is not None
    assert turned.crowd.caches().most_common() == context.crowd.caches().most_common()


def test_groups_cut_a_long_tail_of_statements() -> None:
    rows = [waiting(1, sid, f"sql{sid}") for sid in range(MOST_GROUPS + 5)]
    assert len(groups(context_of({**SICK, "v$session": rows}))) == MOST_GROUPS


def test_groups_are_empty_without_samples() -> None:
    assert groups(context_of()) == ()
    assert groups(context_of({**SICK, "v$session": [{"sample": 1, "sid": None}]})) == ()


def test_crowd_is_a_value() -> None:
    got = crowd(*ROWS)
    assert got is not None
    assert replace(got) == got
    assert [one.sql_id for one in got.of(ROW_CACHE_LOCK_EVENT)] == ["a", "a", "b", "a"]
    assert got.of(ROW_CACHE_MUTEX_EVENT) == ()
