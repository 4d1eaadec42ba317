"""Signals in round numbers: tests/golden/readings.txt has the reading of each signal in the rich instance, and in what differs
from it. `pytest FILE --renew-golden` writes the file; read the difference before you keep it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from collectors.delta import between
from collectors.model import (
    RESULT_CACHE_LATCH,
    ROW_CACHE_LATCH,
    ROW_CACHE_LOCK_EVENT,
    ROW_CACHE_MUTEX_EVENT,
    Delta,
    Row,
    Rows,
    Snapshot,
)
from rules.context import Known, SignalContext, Unknown
from rules.engine import diagnose
from rules.signals import SIGNALS, Subject
from rules.signals.waiters import share_of_waiters
from tests.rules.contexts import SICK, TOTALS, delta_of
from tests.rules.rich import RICH, waiters
from tests.rules.signals.test_signals import STILL, SUBJECTS, UNDO

Scene = tuple[str, Delta, Sequence[str], Subject]
USERS = Subject(("dc_users",), "kqrso")
BEGAN = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
RELEASE_19 = "19.0.0.0.0"


def scene(name: str, *signals: str, subject: Subject | None = None, base: Any = RICH, **views: Any) -> Scene:
    """What these signals read where views of the rich instance have other rows; `refused` and the like are of the Delta."""
    more = {key: views.pop(key) for key in ("refused", "source", "basis", "release") if key in views}
    instance_views = ("waiting_sessions", "row_cache_blockers", "running_jobs")
    changed = {view if view in instance_views else f"v${view}": rows for view, rows in views.items()}
    return name, delta_of({**base, **changed}, **more), signals, subject or SUBJECTS.get(signals[0], UNDO)


def between_polls(before: Any, after: Any, release: str = RELEASE_19) -> Delta:
    """Two snapshots 30 s apart."""
    instance: Row = {"instance_number": 1, "version": release, "startup_time": "2026-02-20 04:11:00"}
    first, last = (
        {view: Rows(view, tuple(rows)) for view, rows in {"v$instance": [instance], **views}.items()}
        for views in (before, after)
    )
    delta = between(Snapshot("erp1", BEGAN, first), Snapshot("erp1", BEGAN + timedelta(seconds=30), last))
    assert isinstance(delta, Delta), delta
    return delta


def polled(
    name: str, before: Any, after: Any, *signals: str, subject: Subject = UNDO, release: str = RELEASE_19
) -> Scene:
    """What they read from two snapshots."""
    return name, between_polls(before, after, release), signals, subject


def slept_at(*places: tuple[str, int], latch: str = ROW_CACHE_LATCH) -> list[Row]:
    return [{"parent_name": latch, "location": place, "sleep_count": slept} for place, slept in places]


def latches() -> Iterator[Scene]:
    parent_get = ("kqrpre: find obj", "kqreqd: reget", "kqreqd")
    for each in ((400, 310, 290), (1, 1, 1)):
        rows = slept_at(*zip(parent_get, each, strict=True))
        yield scene(f"holders at {each}", "evenness_of_holders", "share_of_holders", latch_misses=rows)
    yield scene("no holders", "share_of_holders", latch_misses=[])
    at_x = Subject(location="x")
    for slept in (99, 100):
        rows = slept_at(("x", slept), latch=RESULT_CACHE_LATCH)
        yield scene(
            f"{slept} sleeps on the result cache", "share_of_result_cache_holders", subject=at_x, latch_misses=rows
        )
    for slept, waited in ((10, 500_000), (10, 499_000), (9, 900_000), (2_000, 100_000_000), (2_000, 99_000_000)):
        rows = [{"name": "shared pool", "sleeps": slept, "wait_time": waited}]
        yield scene(f"a neighbour with {slept} sleeps of {waited} µs", "slow_neighbours", latch=rows)
    ours = [{"name": name, "sleeps": 900, "wait_time": 90_000_000} for name in (ROW_CACHE_LATCH, RESULT_CACHE_LATCH)]
    yield scene("no neighbour", "slow_neighbours", latch=ours)
    two = [{**ours[0], "name": name} for name in ("messages", "shared pool")]
    yield scene("two slow neighbours", "slow_neighbours", latch=[*ours, *two])
    few = [{"child#": 1, "sleeps": 99}]
    of_children = ("share_of_sleeps", "hottest_child_share_of_sleeps", "hold_anomaly_index")
    yield scene("few sleeps of children", *of_children, latch_children=few)
    silent = [{**row, "sleeps": 990 if row["child#"] == 1 else 0} for row in SICK["v$latch_children"]]
    yield scene("a hot child, and silent ones", *of_children, latch_children=silent)
    alone = [row if row["parameter"] == "dc_rollback_segments" else {**row, "gets": 30} for row in SICK["v$rowcache"]]
    yield scene("no other child with gets", "hold_anomaly_index", rowcache=alone)
    no_gets = [{"latch#": 270, "child#": 1, "sleeps": 990}, {"latch#": 270, "child#": 5, "sleeps": 10}]
    yield scene("no map, and no gets of children", *of_children, latch_children=no_gets, refused=["x$kqrst"])
    odd = [{"latch#": 270, "child#": 1, "gets": 77_777, "sleeps": 990}]
    yield scene("no map, and gets that fit no cache", *of_children, latch_children=odd, refused=["x$kqrst"])
    yield scene("no names of caches", "share_of_sleeps", refused=["v$rowcache"])
    yield scene("the cache of a parent and a subordinate", "share_of_lookups", "share_of_sleeps", subject=USERS)
    row: Row = {"name": ROW_CACHE_LATCH, "sleeps": 99, "misses": 99, "spin_gets": 9}
    yield scene("few sleeps of the latch", "recurrent_sleep_ratio", latch=[row])
    mutexes = [{"location": "[13] kqreqd", "sleeps": 60}, {"location": "[10] kqreqd", "sleeps": 40}]
    for function in ("kqreqd", "kqrpre"):
        yield scene(
            "two places of kqreqd", "share_of_mutex_sleeps", subject=Subject(location=function), mutex_sleep=mutexes
        )
    yield scene("nobody slept for a mutex", "share_of_mutex_sleeps", "average_mutex_sleep", mutex_sleep=[])
    before = slept_at(("kqrpre: find obj", 5_000), ("kqrpre: find obj", 70), ("kqreqd", 800))
    after = slept_at(("kqrpre: find obj", 5_500), ("kqrpre: find obj", 170), ("kqreqd", 1_000))
    twice = {"v$latch_misses": before}, {"v$latch_misses": after}
    yield polled("a place that stands twice", *twice, "share_of_holders", release="11.2.0.4.0")


OF_WAITERS = {
    "share_of_mutex_waiters": ROW_CACHE_MUTEX_EVENT,
    "hottest_cache_share_of_mutex_waiters": ROW_CACHE_MUTEX_EVENT,
    "share_of_lock_waiters": ROW_CACHE_LOCK_EVENT,
    "exclusive_share_of_lock_waiters": ROW_CACHE_LOCK_EVENT,
}


def lock_waiters(times: int, **cells: Any) -> list[Row]:
    return [{"sample": 1, "sid": sid, "event": ROW_CACHE_LOCK_EVENT, "p1": 10, **cells} for sid in range(times)]


def sessions() -> Iterator[Scene]:
    nobody = [{"sample": look, "sid": None} for look in range(1, 11)]
    for signal, event in OF_WAITERS.items():
        for met in ({3: 6, 10: 3}, {3: 9, 10: 1}, {3: 8, 10: 1}, {3: 2}):
            yield scene(f"waiters by cache {met}", signal, session=waiters(event, met))
        yield scene("nobody was met", signal, session=nobody)
        yield scene("nobody was sampled", signal, session=[])
    for met in ({3: 4}, {3: 5}, {10: 4}, {3: 3, 10: 1}, {3: 8, 10: 11, 0: 1}):
        for cache in ("dc_rollback_segments", "dc_users", "dc_tablespaces"):
            crowd = waiters(ROW_CACHE_LOCK_EVENT, met)
            yield scene(
                f"lock waiters by cache {met}", "share_of_lock_waiters", subject=Subject((cache,)), session=crowd
            )
    crowd = waiters(ROW_CACHE_LOCK_EVENT, {3: 2, 10: 18}, exclusive=4)
    yield scene("four of twenty exclusive", "share_of_lock_waiters", "exclusive_share_of_lock_waiters", session=crowd)
    yield scene("waiters for mutexes alone", "share_of_lock_waiters", session=waiters(ROW_CACHE_MUTEX_EVENT, {3: 30}))
    yield scene(
        "half of no listed cache", "share_of_mutex_waiters", session=waiters(ROW_CACHE_MUTEX_EVENT, {3: 5, 99: 5})
    )
    apart, lone = "lock_waiters_without_statement", {"sample": 1, "sid": 99, "event": "row cache mutex", "sql_id": "9b"}
    running = [*lock_waiters(9, sql_id=None), *lock_waiters(3, sql_id="9babjv8yq8ru3"), lone]
    yield scene("nine of twelve without a statement", apart, session=running)
    yield scene("nine without a statement", apart, session=lock_waiters(9, sql_id=None))
    yield scene("statements that were not captured", apart, session=lock_waiters(12))
    for surface in ("latch", "lock"):
        hanging = ("waiting_now", "longest_wait_seconds", "share_behind_one_session")
        of = Subject(surfaces=(surface,))  # type: ignore[arg-type]
        yield scene(f"hangs on the {surface}", *hanging, subject=of, waiting_sessions=STILL)
    waits = [
        {"sid": sid, "event": "row cache lock", "p1": 3, "wait_time_micro": 4e7, "final_blocking_session": blocker}
        for sid, blocker in ((1, 9), (2, 9), (3, 8))
    ]
    lck0: Row = {"sid": 9, "type": "BACKGROUND", "program": "oracle@db1 (LCK0)", "waiters": 2}
    other: Row = {"sid": 8, "type": "USER", "program": "oracle@db1 (TNS V1-V3)", "waiters": 1}
    lms0 = {**lck0, "program": "oracle@db1 (LMS0)"}
    for name, holders in (
        ("LCK0", [lck0]),
        ("LCK0 and another", [lck0, other]),
        ("LMS0 and another", [lms0, other]),
        ("nobody known", []),
        ("a session without a program", [{"sid": 9, "waiters": 2}]),
    ):
        blocked = {"waiting_sessions": waits, "row_cache_blockers": holders}
        yield scene(f"behind {name}", "share_behind_cluster_process", base=SICK, subject=Subject(), **blocked)
    wait = {
        "sid": 1,
        "event": "row cache lock",
        "p1": 10,
        "type": "USER",
        "wait_time_micro": 4e7,
        "blocking_session": 9,
    }
    job: Row = {"sid": 9, "type": "USER", "program": "oracle@db1 (J004)", "waiters": 2}
    behind: tuple[tuple[str, list[Row], str | None], ...] = (
        ("MMON", [{**lck0, "program": "oracle@db1 (MMON)"}], None),
        ("its slave M007", [{**lck0, "program": "oracle@db1 (M007)"}], None),
        ("M00A, which no source names", [{**lck0, "program": "oracle@db1 (M00A)"}], None),
        ("LCK0 and another", [lck0, other], None),
        ("a job of the windows, and another", [job, other], "ORA$AT_OS_OPT_SY_8"),
        ("a job of an application", [job], "LOAD_ORDERS"),
        ("a job without a name", [job], None),
        ("one of four in a job without a name", [{**job, "waiters": 1}, {**other, "waiters": 3}], None),
    )
    for name, holders, run in behind:
        rows = [{"cache#": 10, "instance": 1, **row} for row in holders]
        jobs = [{"owner": "SYS", "job_name": run, "session_id": 9, "running_instance": 1}] if run else []
        seen = {"row_cache_blockers": rows, "waiting_sessions": [wait], "running_jobs": jobs}
        of = Subject(needs=">= 0.5")
        yield scene(f"maintenance: behind {name}", "share_behind_maintenance", base=SICK, subject=of, **seen)


def event_row(name: str, waits: int, micro: int, **more: int) -> Row:
    return {"event": name, "total_waits": waits, "time_waited_micro": micro, **more}


def host(**cells: tuple[float | None, float | None]) -> list[Row]:
    return [{"stat_name": name, "level_now": now, "total": total} for name, (now, total) in cells.items()]


def instance() -> Iterator[Scene]:
    lock = event_row(ROW_CACHE_LOCK_EVENT, 510, 50_500_000)
    own = {"total_waits_fg": 500, "time_waited_micro_fg": 500_000}
    for name, row in (
        ("of sessions and of all", {**lock, **own}),
        ("of sessions in part", {**lock, "time_waited_micro_fg": 500_000}),
        ("nine", event_row(ROW_CACHE_LOCK_EVENT, 9, 500_000)),
        ("500", event_row(ROW_CACHE_LOCK_EVENT, 500, 500_000)),
    ):
        yield scene(f"lock waits: {name}", "average_lock_wait", system_event=[row])
    nine = [event_row("library cache lock", 9, 27_000_000)]
    yield scene("nine waits for library cache lock", "average_library_cache_lock_wait", system_event=nine)
    waits = [event_row("row cache lock", 90, 5_000_000)]
    grown = [*waits, event_row("Data file init write", 9, 1_000_000)]
    for source in ("views", "report"):
        for name, rows in (("growth", grown), ("no growth", waits)):
            signal = "file_growth_waits_to_row_cache_waits"
            yield scene(f"{name} of a file, by {source}", signal, base=SICK, system_event=rows, source=source)
    for busy, load in ((900, 24), (800, 24), (300, 24), (300, 8)):
        cells = host(NUM_CPUS=(16, None), LOAD=(load, None), BUSY_TIME=(None, busy), IDLE_TIME=(None, 1_000 - busy))
        yield scene(f"a load of {load} on 16 processors, busy {busy}", "load_per_cpu", osstat=cells)
    gigabyte = float(2**30)
    for came, went in ((30 * gigabyte, 0.0), (30 * gigabyte, 3 * gigabyte), (30 * gigabyte, None)):
        cells = host(VM_IN_BYTES=(None, came), VM_OUT_BYTES=(None, went))
        yield scene(f"paged in {came:g}, out {went}", "paging_rate", osstat=cells)
    per_processor = ("logons_per_processor", "hard_parsing_sessions_per_processor")
    without = [row for row in SICK["v$osstat"] if row["stat_name"] != "NUM_CPUS"]
    yield scene("an unknown number of processors", *per_processor, subject=Subject(), osstat=without)
    yield scene("totals", *per_processor, "paging_rate", "share_of_sleeps", basis=TOTALS)
    for row in (
        {"version_full": "19.7.0.0.0"}, {"version_full": "19.21.0.0.0"}, {"version_full": "18.0.0"}, {},
        {"version": "19.0.0.0.0"}, {"version_full": "19"}, {"version_full": "19.x"},
    ):  # fmt: skip
        yield scene(f"v$instance has {row}", "release_update", instance=[row])
    for parallel in ("YES", "NO", None):
        rows = [{"instance_number": 1, "parallel": parallel}]
        yield scene(f"parallel is {parallel}", "in_cluster", "cluster_conflict_ratio", instance=rows)


def component(name: str, size: int, con_id: int | None = None) -> Row:
    return {"con_id": con_id, "pool": "shared pool", "name": name, "bytes": size}


def setting(value: str, con_id: int | None = None, name: str = "result_cache_mode") -> Row:
    return {"con_id": con_id, "name": name, "value": value}


def undo(begin: str, con_id: int, **figures: int) -> Row:
    return {"con_id": con_id, "begin_time": f"2026-03-02 {begin}:00", **figures}


CONTAINERS: Any = {
    "v$undostat": [
        undo("08:50", 3, tuned_undoretention=900_000, maxconcurrency=900, unexpiredblks=1, expiredblks=0),
        undo("09:00", 1, tuned_undoretention=1_800, maxconcurrency=20, unexpiredblks=100, expiredblks=900),
        undo("09:00", 3, tuned_undoretention=9_000, maxconcurrency=60, unexpiredblks=300, expiredblks=100),
    ],
    "v$parameter": [{"name": "undo_retention", "value": "900"}],
    "v$rowcache": [{"cache#": 3, "type": "PARENT", "parameter": "dc_rollback_segments", "gets": 9, "usage": 1_600}],
}
"""Local undo: a container whose retention runs away beside the root."""


def memory_and_settings() -> Iterator[Scene]:
    parts = [component("KQR PO", 38_000_000, 1), component("KQR PO", 6_100_000, 3), component("KQR ENQ", 5)]
    views = {"v$sgastat": parts}
    yield polled("two containers", views, views, "row_cache_memory")
    shrinks = ("shared_pool_shrinks", "shared_pool_shrunk_share")
    size = {
        "component": "shared pool",
        "start_time": "2026-03-02 08:57:12",
        "initial_size": 2**31,
        "final_size": 2**31 - 2**24,
    }
    moved = {"v$sga_resize_ops": [size, dict(size), dict(size)]}
    yield polled("a granule that left three times", moved, moved, *shrinks, release="11.2.0.4.0")
    grew = [{"component": "shared pool", "initial_size": 1, "final_size": 2}]
    yield scene("a pool that grew", *shrinks, sga_resize_ops=grew)
    yield scene("a pool that never moved", *shrinks, sga_resize_ops=[])
    for value in ("TRUE", "false", "FORCE", "MANUAL", "FORCE_TEMP", "MANUAL_TEMP", "11", "0.5", "UNDOTBS1"):
        rows = [setting(value, name="p")]
        yield scene(f"p is {value}", "parameter_value", subject=Subject(parameter="p"), parameter=rows)
    for name in ("optimizer_adaptive_features", "_rollback_segment_count"):
        yield scene("not among the parameters", "parameter_value", subject=Subject(parameter=name))
    many = [setting("MANUAL", 0), *(setting("FORCE_TEMP", con_id) for con_id in range(3, 10))]
    for rows, needs in (
        ([setting("MANUAL", 0), setting("FORCE", 3)], ">= 1"),
        ([setting("MANUAL", 0), setting("FORCE", 3)], "<= 0"),
        ([setting("FORCE", 0), setting("FORCE", 4)], ">= 1"),
        (many, ">= 1"),
    ):
        of = Subject(parameter="result_cache_mode", needs=needs)
        said = ", ".join(f"{row['value']} in {row['con_id']}" for row in rows)
        yield scene(f"needs {needs}: {said}", "parameter_value", subject=of, parameter=rows)
    of_undo = ("tuned_retention_ratio", "unexpired_share_of_undo", "undo_segments_per_transaction")
    yield polled("undo of two containers", CONTAINERS, CONTAINERS, *of_undo)
    asked = {**CONTAINERS, "v$parameter": [setting("900", 0, "undo_retention"), setting("9000", 3, "undo_retention")]}
    yield polled("a retention of its own", asked, asked, of_undo[0])
    newest_first = list(reversed(RICH["v$undostat"]))
    yield scene("the newest ten minutes first", *of_undo, undostat=newest_first)
    yield scene("no undo", of_undo[1], undostat=[{**newest_first[0], "unexpiredblks": 0, "expiredblks": 0}])
    for signal, view, column in (
        ("tuned_retention_ratio", "v$undostat", "tuned_undoretention"),
        ("unexpired_share_of_undo", "v$undostat", "unexpiredblks"),
        ("shared_pool_shrinks", "v$sga_resize_ops", "initial_size"),
        ("shared_pool_shrunk_share", "v$sga_resize_ops", "initial_size"),
    ):
        rows = [{key: cell for key, cell in row.items() if key != column} for row in RICH[view]]
        yield scene(f"no {column}", signal, **{view.removeprefix("v$"): rows})


def cache(number: int, name: str, gets: int, fastgets: int, **more: int) -> Row:
    return {"cache#": number, "type": "PARENT", "parameter": name, "gets": gets, "fastgets": fastgets, **more}


FAST: Sequence[Row] = (
    cache(10, "dc_users", 953, 13_473, getmisses=20, modifications=0),
    cache(0, "dc_tablespaces", 1_232, 14_466, getmisses=12, modifications=0),
    cache(2, "dc_segments", 4_374, 7_308, getmisses=2_087, modifications=14),
    cache(16, "dc_histogram_defs", 60_851, 0, getmisses=15_000, modifications=0),
)
"""A 19c instance as it was published: F. Hoogland, March 2020; misses and modifications are ours."""
DONE: Sequence[Row] = ({"name": "parse count (total)", "value": 1_000}, {"name": "execute count", "value": 5_000})
COUNTERS = ("gets", "fastgets", "getmisses", "modifications", "value")


def caches() -> Iterator[Scene]:
    asked = (
        "lookups_per_execution",
        "share_of_lookups",
        "getmiss_ratio",
        "modification_ratio",
        "overall_getmiss_ratio",
    )
    from_zero = [[{**row, **{name: 0 for name in COUNTERS if name in row}} for row in rows] for rows in (FAST, DONE)]
    before = dict(zip(("v$rowcache", "v$sysstat"), from_zero, strict=True))
    for lacking, release in (
        ("", RELEASE_19),
        ("fastgets", RELEASE_19),
        ("fastgets", "12.1.0.2.0"),
        ("gets", RELEASE_19),
    ):
        rows = [{column: cell for column, cell in row.items() if column != lacking} for row in FAST]
        after = {"v$rowcache": rows, "v$sysstat": DONE}
        for name in ("dc_users", "dc_segments"):
            title = f"{name} on {release}, without {lacking or 'nothing'}"
            yield polled(title, before, after, *asked, "gets_per_parse", subject=Subject((name,)), release=release)
    both = Subject(("dc_users", "dc_tablespaces"))
    yield polled("two caches", before, {"v$rowcache": FAST, "v$sysstat": DONE}, "evenness_of_lookups", subject=both)
    yield scene(
        "no gets", "evenness_of_lookups", subject=both, rowcache=[{**row, "gets": 0} for row in RICH["v$rowcache"]]
    )
    few = [{"cache#": 3, "type": "PARENT", "parameter": "dc_rollback_segments", "gets": 9_999}]
    yield scene("few look-ups", "share_of_lookups", rowcache=few)
    yield scene("a cache that the instance lacks", "share_of_lookups", "entries_used", subject=Subject(("dc_props",)))
    requests: list[Row] = [
        {"parameter": "dc_sequences", "dlm_requests": 300},
        {"parameter": "dc_objects", "dlm_requests": 80},
        {"parameter": "dc_objects", "dlm_requests": 20},
    ]
    for name in ("dc_sequences", "dc_objects", "dc_users"):
        of = Subject((name,))
        yield scene(
            f"cluster requests of {name}", "share_of_cluster_requests", base=SICK, subject=of, rowcache=requests
        )
    for row in ({"dlm_requests": 19}, {"gets": 19}):
        rows = [{"parameter": "dc_sequences", **row}]
        of = Subject(("dc_sequences",))
        yield scene(f"cluster: {row}", "share_of_cluster_requests", base=SICK, subject=of, rowcache=rows)
    four = [{**row, "dlm_requests": 4} for row in RICH["v$rowcache"]]
    yield scene("four cluster requests", "cluster_conflict_ratio", rowcache=four)


def reading(name: str, delta: Delta, subject: Subject) -> str:
    got = SIGNALS[name].read(SignalContext(delta), subject)
    if isinstance(got, Unknown):
        return f"{name} ? {got.missing}: {got.why}; {got.way_out}{'' if got.absent else ' (too few)'}"
    parts = "" if got.part is None or got.whole is None else f" [{got.part:g} / {got.whole:g}]"
    return f"{name} {got.value:.6g} {SIGNALS[name].unit}: {got.derivation}{parts}{', few' * got.few}".rstrip(": ")


HANGS = (
    "waiting_now", "longest_wait_seconds", "share_behind_one_session", "share_behind_cluster_process", "share_behind_maintenance",
)  # fmt: skip
"""Signals of sessions that still wait. Their waits would change the cost of everything else."""


def test_each_signal_has_its_reading(golden: Callable[[str, str], None]) -> None:
    busy = {"v$sys_time_model": (*RICH["v$sys_time_model"], {"stat_name": "DB CPU", "value": 4_500_000})}
    text = ["== the rich instance, its sessions that hang, and its CPU"]
    for name in SIGNALS:
        hang = {"waiting_sessions": STILL} if name in HANGS else {}
        text.append(reading(name, delta_of({**RICH, **busy, **hang}), SUBJECTS.get(name, UNDO)))
    for kind in (latches, sessions, instance, memory_and_settings, caches):
        text += ["", f"== {kind.__name__.replace('_', ' ')}"]
        text += [f"{told}: {reading(name, delta, of)}" for told, delta, names, of in kind() for name in names]
    golden("readings.txt", "\n".join([*text, ""]))


REPEATED: Mapping[str, tuple[str, Row]] = {
    "logons_per_second": ("v$sysstat", {"name": "logons cumulative", "value": 60}),
    "host_busy_ratio": ("v$osstat", {"stat_name": "BUSY_TIME", "level_now": None, "total": 900}),
    "parse_share_of_db_time": ("v$sys_time_model", {"stat_name": "DB time", "value": 5_000}),
    "lock_share_of_db_time": ("v$system_event", event_row("row cache lock", 9, 5)),
    "share_of_sleeps": ("v$latch_children", {"latch#": 270, "child#": 1, "sleeps": 500}),
    "entries_used": ("v$rowcache", {"cache#": 3, "type": "PARENT", "parameter": "dc_users", "usage": 5}),
}


@pytest.mark.parametrize("name", REPEATED)
def test_repeat_that_nobody_expected_makes_signals_unknown(name: str) -> None:
    view, row = REPEATED[name]
    before: Row = {key: 0 if isinstance(cell, int) and "#" not in key else cell for key, cell in row.items()}
    delta = between_polls({view: [before]}, {view: [row, dict(row)]}, "11.2.0.4.0")
    assert "occurs more than once, which is unexpected" in reading(name, delta, Subject(("dc_users",)))
    told = diagnose(delta)
    assert not [out for out in told.ruled_out if SIGNALS.get(out.signal) and SIGNALS[out.signal].of == view]
    assert sum("occurs more than once" in note for note in told.notes) == 1


def test_bound_far_from_half_needs_more_waiters_below_it_and_few_above() -> None:
    assert isinstance(share_of_waiters(0, 5, "e"), Known), "1 of 32 times by chance"
    for none_of in (5, 17, 28):
        few = share_of_waiters(0, none_of, "e", bound=0.1)
        assert isinstance(few, Unknown) and few.why.endswith("at least 50 are needed")
    for own, met in ((0, 29), (3, 50), (3, 6), (3, 3)):
        assert isinstance(share_of_waiters(own, met, "e", bound=0.1), Known), (own, met)
    assert isinstance(share_of_waiters(1, 5, "e", bound=0.1), Unknown)
