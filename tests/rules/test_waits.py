"""Sessions that hang: what they cost while no wait ends. Nothing counts twice when their waits end."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.delta import between, since_startup
from collectors.model import (
    RESULT_CACHE_LATCH,
    ROW_CACHE_LOCK_EVENT,
    ROW_CACHE_MUTEX_EVENT,
    Delta,
    Missing,
    Oddity,
    Reading,
    Row,
    Rows,
    Snapshot,
    number,
)
from rules.context import SignalContext
from rules.cost import surface_impacts, troubles
from rules.engine import diagnose
from rules.explain.notes import MOST_GROUPS, groups
from rules.model import Diagnosis, Impact, Severity
from rules.samples import RESULT_CACHE, SampledWaiters
from rules.waits import severity_of, standing_out
from tests.rules.contexts import SICK, context_of, delta_of, with_rows
from tests.rules.rich import LATCH_WAIT

BEGIN = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
SECONDS = 15
LOCK = "row cache lock"
LISTED = 200


def snapshot(
    at: int, *, db_time: float, waits: int = 0, waited: float = 0.0, look: Sequence[Row] | Missing = ()
) -> Snapshot:
    """A poll `at` seconds after the first, with these counters and the look at waiting sessions."""
    tables: dict[str, list[Row]] = {
        "v$instance": [
            {"instance_number": 1, "version": "11.2.0.4.0", "startup_time": "x", "uptime_seconds": 9e5 + at}
        ],
        "v$event_name": [{"name": "latch: row cache objects"}, {"name": LOCK}],
        "v$rowcache": [
            {"cache#": 8, "type": "PARENT", "subordinate#": None, "parameter": "dc_objects", "gets": 9 * at}
        ],
        "v$system_event": [{"event": LOCK, "total_waits": 90 + waits, "time_waited_micro": 1e6 * (9 + waited)}],
        "v$sys_time_model": [
            {"stat_name": "DB time", "value": 1e6 * db_time},
            {"stat_name": "DB CPU", "value": 1e6 * at},
        ],
        "v$osstat": [{"stat_name": "NUM_CPUS", "level_now": 16, "total": None}],
    }
    readings: dict[str, Reading] = {view: Rows(view, tuple(rows)) for view, rows in tables.items()}
    readings["waiting_sessions"] = look if isinstance(look, Missing) else Rows("waiting_sessions", tuple(look))
    return Snapshot("erp", BEGIN + timedelta(seconds=at), readings)


def waiters(sessions: int, seconds: float, met: int | None = None, **more: str | int) -> list[Row]:
    """Rows of the look: sessions that have waited this long for the lock on dc_objects."""
    names = ("blocking_session", "blocking_instance", "final_blocking_session", "final_blocking_instance")
    row: Row = {"serial#": 7, "event": LOCK, "p1": 8, "type": "USER", "wait_time_micro": seconds * 1e6}
    row = {**row, **dict.fromkeys(names), **more}
    return [{"sid": 100 + number, **row, "met": sessions if met is None else met} for number in range(sessions)]


def delta(earlier: Snapshot, later: Snapshot) -> Delta:
    change = between(earlier, later)
    assert isinstance(change, Delta)
    return change


def judged(earlier: Snapshot, later: Snapshot) -> Diagnosis:
    return diagnose(delta(earlier, later))


UNREAD = Missing("waiting_sessions", "unread", "not read", "read it")
REFUSED = Missing("waiting_sessions", "refused", "ORA-00942", "grant select on sys.v_$session to <user>;")


def without(rows: Sequence[Row], column: str, place: int | None = None) -> list[Row]:
    """The rows, one of them or all without a column."""
    return [
        {name: cell for name, cell in row.items() if name != column or place not in (None, at)}
        for at, row in enumerate(rows)
    ]


def hangs() -> Iterator[tuple[str, Diagnosis]]:
    """What sessions that hang cost, and what is said of them."""

    def after(look: Sequence[Row] | Missing = (), before: Sequence[Row] | Missing = (), **counted: float) -> Diagnosis:
        later = snapshot(SECONDS, look=look, **{"db_time": 650, **counted})  # type: ignore[arg-type]
        return judged(snapshot(0, db_time=0, look=before), later)

    # A published case: 240 sessions blocked, 626.88 s each, 4,500 s of DB time in the interval, no wait ended.
    yield (
        "240 sessions, of which 200 are listed",
        after(waiters(LISTED, 626.88, 240, final_blocking_session=312), db_time=4_500),
    )
    yield "38 sessions", after(waiters(38, 671))
    # 2,360 waits of 626.88 s end. What earlier intervals counted is subtracted.
    ended = {"db_time": 30_000, "waits": 2_360, "waited": 2_360 * 626.88}
    yield "it ended", after(before=waiters(LISTED, 620, met=2_360), **ended)
    others = waiters(3, 100 + SECONDS)[1:]
    yield "one ended, and others go on", after(others, waiters(3, 100), db_time=60, waits=1, waited=105)
    yield (
        "an old wait and a new one of a session",
        after(waiters(1, 4), waiters(1, 100), db_time=60, waits=1, waited=110),
    )
    yield "nobody looked before", after(before=UNREAD, db_time=60, waits=1, waited=4)
    yield "a short wait", after(waiters(1, 0.003), db_time=80)
    yield "background processes alone", after(waiters(2, 71, type="BACKGROUND"), db_time=9)
    beside = [*waiters(2, 71, type="BACKGROUND"), *({**row, "sid": 300} for row in waiters(1, 71))]
    yield "background processes beside a session", after(beside, db_time=9)
    yield "latch free, of another latch", after(waiters(40, 900, event="latch free", p2=9), db_time=80)
    yield "nobody looked, and many wait for something", after(REFUSED, db_time=4_500)
    yield "nobody looked, and few wait", after(REFUSED, db_time=60)
    yield "a single poll", diagnose(since_startup(snapshot(SECONDS, db_time=9e6, look=waiters(38, 671))))
    yield "more than all of DB time", after(waiters(38, 671), db_time=2)
    hidden = Missing("v$system_event", "refused", "ORA-00942", "grant it")
    later = snapshot(SECONDS, db_time=650, look=waiters(38, 671))
    blind = replace(later, readings={**later.readings, "v$system_event": hidden})
    yield "the counters are hidden", judged(snapshot(0, db_time=0), blind)
    names = Rows("v$event_name", ({"name": "row cache mutex"}, {"name": LOCK}))
    mutex = snapshot(0, db_time=0), snapshot(SECONDS, db_time=200, look=waiters(12, 90, event="row cache mutex"))
    yield "on a mutex", judged(*(replace(one, readings={**one.readings, "v$event_name": names}) for one in mutex))
    behind = waiters(38, 671, final_blocking_session=312, final_blocking_instance=2)
    process = {**waiters(1, 30, type="BACKGROUND")[0], "sid": 9}
    yield "behind one session, and a background process", after([*behind, process])
    yield "other waits ended meanwhile", after(waiters(38, 671), waits=7, waited=0.1)
    yield "a cache that v$rowcache does not list", after(waiters(30, 60, p1=37), db_time=450)
    crowd = waiters(38, 671, final_blocking_session=312, final_blocking_instance=1)
    for column in ("event", "wait_time_micro", "type", "final_blocking_session", "blocking_instance"):
        yield f"{column} of one was not captured", after(without(crowd, column, 7))
    apart = [waiters(1, 90, sid=sid, final_blocking_session=sid + 9, final_blocking_instance=1)[0] for sid in (1, 2, 3)]
    yield "three behind three", after(apart)
    for column in ("final_blocking_session", "type"):
        yield f"three behind three, {column} was not captured", after(without(apart, column))
    for column in ("event", "wait_time_micro"):
        yield f"one session, {column} was not captured", after(without(waiters(1, 40), column))


def lines(got: Diagnosis) -> Iterator[str]:
    yield f"{got.state}: {got.headline}"
    cost = got.impact
    if cost is not None and cost.waiting_sessions is not None:
        share = "" if cost.share_of_db_time is None else f", {cost.share_of_db_time:.4g} of DB time"
        yield f"lost: {cost.waiting_sessions * SECONDS:.6g} s{share}"
    yield from (f"found: {one.cause} on {one.cache}" for one in got.findings)
    yield from (
        f"waiting: {one.sessions} for {one.event} on {one.cache}, {one.hanging} hang, {one.longest_seconds:g} s"
        for one in got.waiting
    )
    yield from (f"{step.step}: {step.statement}" for step in got.steps if step.step == "waiting now")
    yield from (f"open: {one.cause}: {one.missing}; {one.way_out}" for one in got.undetermined if "hang" in one.cause)
    yield from (f"note: {note}" for note in got.notes if "background" in note)


def test_what_is_said_of_each_hang(golden: Callable[[str, str], None]) -> None:
    golden("waits.txt", "\n".join(line for name, got in hangs() for line in (f"== {name}", *lines(got), "")))


CHILDREN: list[Row] = [{**row, "addr": f"0A{row['child#']}"} for row in SICK["v$latch_children"]]
NUMBERS: list[Row] = [*SICK["v$latchname"], {"latch#": 461, "name": RESULT_CACHE_LATCH}]


def crowd(*rows: Row, **changed: Sequence[Row]) -> SampledWaiters | None:
    views = {**SICK, "v$latch_children": CHILDREN, "v$latchname": NUMBERS, "v$session": list(rows)}
    delta: Delta = delta_of({**views, **{f"v${view}": told for view, told in changed.items()}})
    return SignalContext(delta).crowd


def told(*rows: Row, **changed: Sequence[Row]) -> list[tuple[str, str]]:
    got = crowd(*rows, **changed)
    assert got is not None
    return [(one.event, one.cache) for one in got.alike]


def test_crowd_is_none_without_looks_empty_when_they_met_nobody_and_a_value() -> None:
    assert crowd() is None
    empty = crowd({"sample": 1, "sid": None}, {"sample": 2, "sid": None})
    assert empty == SampledWaiters(2, {})
    got = crowd(*ROWS)
    assert got is not None
    assert replace(got) == got
    assert sorted((one.sql_id, times) for one, times in got.alike.items()) == [("a", 1), ("a", 2), ("b", 1)]
    assert (got.met(), got.met(ROW_CACHE_LOCK_EVENT), got.met(ROW_CACHE_MUTEX_EVENT)) == (4, 4, 0)


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


@pytest.mark.parametrize(
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
    assert got is not None and [waiter.blocker for waiter in got.alike] == [blocker]


def test_latch_free_counts_only_for_the_result_cache() -> None:
    waiters: list[Row] = [{"sample": 1, "sid": sid, "event": "latch free", "p2": p2} for sid, p2 in ((7, 461), (8, 99))]
    assert told(*waiters) == [("latch free", RESULT_CACHE)]
    assert told(*waiters, latchname=list(SICK["v$latchname"])) == []
    assert told({"sample": 1, "sid": 7, "event": "db file sequential read", "p1": 3}) == [], "another event"


def test_exclusive_is_mode_five_on_the_lock_and_never_on_a_mutex() -> None:
    def exclusive(event: str, mode: int) -> bool:
        got = crowd({"sample": 1, "sid": 7, "event": event, "p1": 3, "p3": mode})
        assert got is not None
        return next(iter(got.alike)).exclusive

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


def test_groups_cut_a_long_tail_of_statements_and_are_empty_without_samples() -> None:
    rows = [waiting(1, sid, f"sql{sid}") for sid in range(MOST_GROUPS + 5)]
    assert len(groups(context_of({**SICK, "v$session": rows}))) == MOST_GROUPS
    assert groups(context_of()) == ()
    assert groups(context_of({**SICK, "v$session": [{"sample": 1, "sid": None}]})) == ()


def test_waiters_are_alike_though_their_samples_differ_and_caches_with_equally_many_are_in_order_of_names() -> None:
    same: Row = {"event": ROW_CACHE_LOCK_EVENT, "p1": 3, "sql_id": "a"}
    got = crowd({**same, "sample": 1, "sid": 7, "wait_time_micro": 5}, {**same, "sample": 2, "sid": 8, "p2": 3})
    assert got is not None
    assert list(got.alike.values()) == [2]
    events = (ROW_CACHE_MUTEX_EVENT, ROW_CACHE_LOCK_EVENT)
    rows: list[Row] = [
        {"sample": 1, "sid": sid, "event": events[sid % 2], "p1": p1} for sid, p1 in enumerate((3, 0, 10))
    ]
    got = crowd(*rows)
    assert got is not None
    assert list(got.caches()) == ["dc_rollback_segments", "dc_tablespaces", "dc_users"]


@pytest.mark.parametrize(
    ("sizes", "few"),
    [
        ({"a": 99, "b": 1}, ("a",)),
        ({"a": 54, "b": 46}, ("a", "b")),
        ({"a": 80, "b": 20}, ("a", "b")),
        ({"a": 20, "b": 20, "c": 20, "d": 20, "e": 20}, ()),
        ({"a": 34, "b": 33, "c": 33}, ()),
        ({"a": 88, "b": 12}, ("a",)),
        ({"a": 40, "b": 12, "c": 12, "d": 12, "e": 12, "f": 12}, ("a",)),
        ({}, ()),
    ],
)
def test_standing_out_are_at_most_two_with_a_gap_after_them(sizes: dict[str, float], few: tuple[str, ...]) -> None:
    assert standing_out(sizes) == few


def two() -> dict[str, object]:
    sleeps = {1: 540, 5: 0, 8: 460}
    rows = [{**row, "sleeps": sleeps[row["child#"]]} for row in SICK["v$latch_children"]]
    return dict(with_rows("v$latch_children", *rows))


def test_each_hot_cache_has_its_part_of_the_cost() -> None:
    context = context_of(two())  # type: ignore[arg-type]
    assert context.hot_caches.part_of_surface("latch", ("dc_rollback_segments",)) == pytest.approx(0.54)
    assert context.hot_caches.part_of_surface("latch", ("dc_users",)) == pytest.approx(0.46)
    assert context.hot_caches.beside(("latch",), ("dc_users",)) == ("dc_rollback_segments",)
    assert context.hot_caches.mixed("latch") and not context_of().hot_caches.mixed("latch")
    assert context_of().hot_caches.part_of_surface("latch", ("dc_rollback_segments",)) == pytest.approx(0.99)
    assert context_of().hot_caches.part_of_surface("latch", ("dc_tablespaces",)) == pytest.approx(0.007)


def test_who_waits_for_a_subordinate_names_its_parent() -> None:
    rows = [
        {"cache#": 8, "type": "PARENT", "subordinate#": None, "parameter": "dc_objects"},
        {"cache#": 8, "type": "SUBORDINATE", "subordinate#": 0, "parameter": "dc_object_grants"},
    ]
    context = context_of(with_rows("v$rowcache", *rows))
    assert context.hot_caches.waited_as(("dc_object_grants",)) == ("dc_object_grants", "dc_objects")
    assert context.hot_caches.waited_as(("dc_objects",)) == ("dc_objects",)


def test_each_surface_has_its_own_seconds_told_by_its_event_view_or_its_own_or_not_at_all() -> None:
    lost = context_of().lost
    assert (lost.by_surface["latch"], lost.by_surface["lock"]) == (2.0, 0.5)
    assert lost.on(("latch", "lock")) == 2.5
    assert lost.untold(("latch", "lock")) == ()
    lost = context_of(refused=["v$system_event"]).lost
    assert (lost.by_surface["latch"], lost.by_surface["lock"]) == (2.0, None)
    assert lost.untold(("latch", "lock")) == ("lock",)
    assert lost.on(("latch", "lock")) == 2.0
    assert context_of(refused=["v$system_event"], source="report").lost.untold(("lock",)) == ("lock",)


def test_row_that_vanished_was_not_captured() -> None:
    gone = Oddity("v$system_event", ("row cache lock",), "", "vanished", None, None)
    events = with_rows("v$system_event", SICK["v$system_event"][0])
    assert SignalContext(delta_of(events)).lost.by_surface["lock"] == 0.0
    assert SignalContext(delta_of(events, oddities=(gone,))).lost.untold(("lock",)) == ("lock",)


@pytest.mark.parametrize(
    ("share", "sessions", "expected"),
    [
        (0.10, 4.0, Severity.CRITICAL),
        (0.099, 4.0, Severity.WARNING),
        (0.02, None, Severity.WARNING),
        (0.005, None, Severity.NOTICE),
        (0.004, 9.0, Severity.INFO),
        (0.5, 0.009, Severity.INFO),
        (None, 5.0, Severity.CRITICAL),
        (None, 0.5, Severity.WARNING),
        (None, 0.05, Severity.NOTICE),
        (None, 0.04, Severity.INFO),
        (None, None, None),
    ],
)
def test_the_share_decides_then_the_sessions(
    share: float | None, sessions: float | None, expected: Severity | None
) -> None:
    assert severity_of(Impact(share_of_db_time=share, waiting_sessions=sessions)) is expected
    assert severity_of(None) is None


@pytest.mark.parametrize(
    ("row", "seconds"),
    [
        ({"event": LOCK, "time_waited_micro": 9_000_000, "time_waited_micro_fg": 2_000_000}, 2.0),
        ({"event": LOCK, "time_waited_micro": 9_000_000}, 9.0),
        ({"event": LOCK}, None),
        ({"event": "latch free", "time_waited_micro": 5}, 0.0),
    ],
)
def test_finished_seconds_are_those_of_foreground_sessions(row: Row, seconds: float | None) -> None:
    assert context_of({"v$system_event": [row]}).finished_seconds(LOCK) == seconds
    assert context_of(refused=["v$system_event"]).finished_seconds(LOCK) is None


def test_waits_that_are_counted_without_their_time_are_no_proof_of_health() -> None:
    event = {"event": "row cache mutex", "total_waits": 2_000_000, "time_waited_micro": 0, "time_waited_micro_fg": 0}
    views = {
        "v$rowcache": SICK["v$rowcache"],
        "v$system_event": [event],
        "v$mutex_sleep": [{"mutex_type": "Row Cache", "location": "[19] kqrpre", "sleeps": 1_700_000, "wait_time": 0}],
        "v$sys_time_model": [{"stat_name": "DB time", "value": 0}],
    }
    diagnosis = diagnose(delta_of(views, release="19.0.0.0.0"))
    assert diagnosis.headline.startswith("Cannot tell: no timing"), diagnosis.headline
    assert diagnosis.severity is Severity.NOTICE
    printed = diagnose(delta_of(views, release="19.0.0.0.0", source="report"))
    assert printed.headline.startswith("Cannot tell: no timing"), printed.headline
    rounded = {**views, "v$sys_time_model": [{"stat_name": "DB time", "value": 9_000_000}]}
    assert "no timing" not in diagnose(delta_of(rounded, release="19.0.0.0.0", source="report")).headline
    timed = {**views, "v$system_event": [{**event, "time_waited_micro": 1, "time_waited_micro_fg": 1}]}
    assert "no timing" not in diagnose(delta_of(timed, release="19.0.0.0.0")).headline


# Parts by cache: they add up to the cost, whatever the figures, and an innocent cache changes none.

COUNTS = st.dictionaries(st.sampled_from([3, 10, 0, 13, 99]), st.integers(0, 40), max_size=5)
"""Cache ids → sampled waiters; 99 is listed nowhere."""


def met_in(event: str, met: Mapping[int, int]) -> list[Row]:
    each = [cache for cache, times in met.items() for _ in range(times)]
    return [{"sample": 1 + place % 10, "sid": place, "event": event, "p1": cache} for place, cache in enumerate(each)]


def parts_of(children: Mapping[int, int], locks: Mapping[int, int], **more: Sequence[Row]) -> SignalContext:
    rows = [{**row, "sleeps": children.get(int(number(row["child#"]) or 0), 0)} for row in SICK["v$latch_children"]]
    events = [{"event": event, "total_waits": 900, "time_waited_micro": 9e6} for event in (LATCH_WAIT, LOCK)]
    views = {**SICK, "v$latch_children": rows, "v$system_event": events, "v$session": met_in(LOCK, locks), **more}
    return context_of(views)


@settings(max_examples=60, deadline=None)
@given(children=st.dictionaries(st.sampled_from([1, 5, 8]), st.integers(0, 9_000)), locks=COUNTS)
def test_parts_add_up_to_the_cost(children: Mapping[int, int], locks: Mapping[int, int]) -> None:
    context = parts_of(children, locks)
    for surface in context.surfaces:
        assert sum(part.share for part in context.hot_caches.parts(surface)) == pytest.approx(1)
    told, costs = troubles(context, ()), {one.surface: one.share_of_db_time for one in surface_impacts(context)}
    for surface in ("latch", "lock"):
        together = sum(one.share_of_db_time or 0.0 for one in told if one.surface == surface)
        assert 0.9 * costs[surface] <= together <= costs[surface] * 1.000001, "what is left out is no tenth of the cost"
    assert all((one.cache is None) == (not one.caches) == (one.attributed_by is None) for one in told)


@settings(max_examples=30, deadline=None)
@given(sleeps=st.integers(500, 90_000), few=st.integers(0, 5), gets=st.integers(0, 10**9))
def test_parts_stay_where_a_busy_innocent_cache_comes(sleeps: int, few: int, gets: int) -> None:
    rows = [{**row, "gets": gets} if row["parameter"] == "dc_users" else row for row in SICK["v$rowcache"]]
    busy = troubles(parts_of({1: sleeps, 8: few}, {3: 9}, **{"v$rowcache": rows}), ())
    assert [one.cache for one in busy] == ["dc_rollback_segments"] * 2
    for one, alone in zip(busy, troubles(parts_of({1: sleeps}, {3: 9}), ()), strict=True):
        assert one.share_of_db_time == pytest.approx(alone.share_of_db_time, rel=0.01)


@pytest.mark.parametrize(
    ("locks", "look", "told"),
    [
        ({3: 12}, [], ("dc_rollback_segments", "sampled waiters")),
        ({3: 3}, [], ("dc_rollback_segments", "sampled waiters")),
        ({3: 2, 10: 1}, [], (None, None)),
        ({}, [{**row, "p1": 3} for row in waiters(9, 12.0)], ("dc_rollback_segments", "sampled waiters")),
        ({}, [], ("dc_rollback_segments", "changes")),
    ],
)
def test_waits_are_attributed_by_the_most_trusted_figures(
    locks: Mapping[int, int], look: Sequence[Row], told: tuple[str | None, str | None]
) -> None:
    context = parts_of({1: 900}, locks, waiting_sessions=look)
    (lock,) = [one for one in troubles(context, ()) if one.surface == "lock"]
    assert (lock.cache, lock.attributed_by) == told
