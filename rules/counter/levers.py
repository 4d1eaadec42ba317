"""Which printed figures a signal comes from: those whose change may flip a condition on it."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

from collectors.model import (
    RESULT_CACHE_LATCH,
    ROW_CACHE_LATCH,
    ROW_CACHE_LOCK_EVENT,
    ROW_CACHE_MUTEX_EVENT,
    Row,
    Value,
    number,
)
from rules.context import SignalContext
from rules.counter.figures import EVENT_TIMES, SESSIONS, PrintedFigure, in_full, value_of
from rules.formatting import function_of
from rules.hangs.blockers import ROW_CACHE_BLOCKERS
from rules.library_cache import LIBRARY_CACHE_LOCK, LIBRARY_CACHE_PIN
from rules.model import Surface
from rules.signals import Subject
from rules.signals.instance import FILE_GROWTH, PARSING_WAITS, SPACE_ENQUEUES
from rules.signals.latch import PARENT_GET
from rules.signals.sessions import dearer_library_cache_wait
from rules.waits import SURFACE_EVENTS, WAITING_SESSIONS, blocker_of

Figures = Iterable[PrintedFigure]
Lever = Callable[[SignalContext, Subject], Figures]


def figures_of(signal: str, context: SignalContext, subject: Subject) -> list[PrintedFigure]:
    """The figures behind a signal that this Delta has, the most direct first. None for what is no figure, as a release."""
    lever = _LEVERS.get(signal)
    found = () if lever is None else lever(context, subject)
    return [figure for figure in dict.fromkeys(found) if value_of(context, figure) is not None]


def cost_figures(context: SignalContext, surfaces: Iterable[Surface]) -> list[PrintedFigure]:
    """The figures behind the cost of the waits on some surfaces: their times, the waits that have not ended, DB time."""
    events = [SURFACE_EVENTS[surface] for surface in surfaces if surface in SURFACE_EVENTS]
    open_waits = [_cell(WAITING_SESSIONS, SESSIONS, event=event) for event in events]
    found = (*_times_lost(context, surfaces), *open_waits, *_db_time())
    return [figure for figure in dict.fromkeys(found) if value_of(context, figure) is not None]


# The cells of one view.


def _cell(view: str, column: str, **row: Value) -> PrintedFigure:
    return PrintedFigure(view, tuple((name.replace("number", "#"), value) for name, value in row.items()), column)


def _statistic(name: str) -> PrintedFigure:
    return _cell("v$sysstat", "value", name=name)


def _time(name: str) -> PrintedFigure:
    return _cell("v$sys_time_model", "value", stat_name=name)


def _db_time() -> Figures:
    return (_time("DB time"),)


def _event_time(context: SignalContext, event: str) -> PrintedFigure:
    """The time of foreground sessions where the view tells them apart, else of all."""
    apart = _cell("v$system_event", EVENT_TIMES[0], event=event)
    return apart if value_of(context, apart) is not None else _cell("v$system_event", EVENT_TIMES[1], event=event)


def _largest_event(context: SignalContext, events: Iterable[str]) -> Figures:
    figures = [_event_time(context, event) for event in events]
    return sorted(figures, key=lambda figure: (-(value_of(context, figure) or 0.0), str(figure)))[:1]


def _latch(column: str, name: str = ROW_CACHE_LATCH) -> PrintedFigure:
    return _cell("v$latch", column, name=name)


def _surface_time(context: SignalContext, surface: Surface) -> Iterator[PrintedFigure]:
    """The time lost on a surface: of its event, else of the latch or mutex itself."""
    if surface == "result-cache":
        yield _latch("wait_time", RESULT_CACHE_LATCH)
        return
    figure = _event_time(context, SURFACE_EVENTS[surface])
    if value_of(context, figure):
        yield figure
    elif surface == "latch":
        yield _latch("wait_time")
    elif surface == "mutex":
        yield from _mutex(context, "wait_time")


def _times_lost(context: SignalContext, surfaces: Iterable[Surface]) -> Iterator[PrintedFigure]:
    for surface in surfaces:
        yield from _surface_time(context, surface)


def _largest(rows: Iterable[Row], column: str, own: Callable[[Row], bool]) -> Iterator[Row]:
    """The row of the largest own figure, then that of the largest other one."""
    known = [(cell, row) for row in rows if (cell := number(row.get(column))) is not None]
    for mine in (True, False):
        most = max((cell for cell, row in known if own(row) is mine), default=None)
        equal = [row for cell, row in known if cell == most and own(row) is mine]
        yield from sorted(equal, key=in_full)[:1] if len(equal) > 1 else equal


def _caches(
    context: SignalContext, column: str, caches: Iterable[str], *, others: bool = False
) -> Iterator[PrintedFigure]:
    names = set(caches)
    for row in _largest(context.delta.rows("v$rowcache"), column, lambda row: row.get("parameter") in names):
        if others or row.get("parameter") in names:
            named = tuple((key, row[key]) for key in ("parameter", "cache#", "type", "subordinate#") if key in row)
            yield PrintedFigure("v$rowcache", named, column)


def _lookups(context: SignalContext, caches: Iterable[str], *, others: bool = False) -> Iterator[PrintedFigure]:
    for column in ("gets", "fastgets"):
        found = _caches(context, column, caches, others=others)
        yield from (figure for figure in found if column == "gets" or value_of(context, figure))


def _children(context: SignalContext, own: Callable[[Row], bool]) -> Iterator[PrintedFigure]:
    for row in _largest(context.children, "sleeps", own):
        yield PrintedFigure("v$latch_children", (("child#", row["child#"]),), "sleeps")


def _misses(context: SignalContext, latch: str, locations: Iterable[str | None]) -> Iterator[PrintedFigure]:
    """The sleeps at each of some locations, and at the largest other one."""
    rows = [row for row in context.delta.rows("v$latch_misses") if row.get("parent_name") == latch]
    wanted = set(locations)
    for row in (
        *(row for row in rows if row.get("location") in wanted),
        *_largest(rows, "sleep_count", lambda row: row.get("location") in wanted),
    ):
        yield PrintedFigure(
            "v$latch_misses", (("parent_name", latch), ("location", row.get("location"))), "sleep_count"
        )


def _mutex(context: SignalContext, column: str, location: str | None = None) -> Iterator[PrintedFigure]:
    own = lambda row: location is None or function_of(str(row.get("location"))) == location  # noqa: E731
    for row in _largest(context.delta.rows("v$mutex_sleep"), column, own):
        named = tuple((key, row[key]) for key in ("location", "mutex_type") if key in row)
        yield PrintedFigure("v$mutex_sleep", named, column)


def _waiters(context: SignalContext, event: str, column: str, own: Callable[[Value], bool]) -> Iterator[PrintedFigure]:
    """The sampled waiters of an event with the most frequent own value of a column, then with the most frequent other one."""
    counted = context.samples.by_cell(event, column)
    for mine in (True, False):
        values = sorted(
            (value for value in counted if own(value) is mine), key=lambda value: (-counted[value], str(value))
        )
        yield from (_cell("v$session", SESSIONS, **{"event": event, column: value}) for value in values[:1])


def _waiters_of_caches(context: SignalContext, surface: Surface, subject: Subject) -> Iterator[PrintedFigure]:
    names = set(context.hot_caches.waited_as(subject.caches))
    ids = {number(row.get("cache#")) for row in context.delta.rows("v$rowcache") if row.get("parameter") in names}
    return _waiters(context, SURFACE_EVENTS[surface], "p1", lambda value: number(value) in ids)


def _hanging(context: SignalContext, subject: Subject) -> Iterator[PrintedFigure]:
    """The waits that have not ended: how many sessions, the longest of them, and those behind the same session."""
    events = [event for surface, event in SURFACE_EVENTS.items() if surface in (subject.surfaces or SURFACE_EVENTS)]
    rows = [row for row in context.delta.rows(WAITING_SESSIONS) if row.get("event") in events]
    yield from (_cell(WAITING_SESSIONS, SESSIONS, event=event) for event in events)
    for row in _largest(rows, "wait_time_micro", lambda _: True):
        named = tuple((key, row[key]) for key in ("sid", "serial#") if key in row)
        yield PrintedFigure(WAITING_SESSIONS, named, "wait_time_micro")
    blockers = Counter(blocker_of(row) for row in rows if blocker_of(row) is not None)
    for blocker in sorted(blockers, key=lambda name: (-blockers[name], str(name)))[:2]:
        row = next(row for row in rows if blocker_of(row) == blocker)
        kind = "final_blocking" if row.get("final_blocking_session") is not None else "blocking"
        keys = ("event", f"{kind}_session", f"{kind}_instance")
        yield PrintedFigure(WAITING_SESSIONS, tuple((key, row.get(key)) for key in keys), SESSIONS)


def _behind_process(context: SignalContext, subject: Subject) -> Iterator[PrintedFigure]:
    for row in context.delta.rows(ROW_CACHE_BLOCKERS):
        yield PrintedFigure(
            ROW_CACHE_BLOCKERS, tuple((key, row.get(key)) for key in ("cache#", "key", "sid")), "waiters"
        )


def _host(*names: str) -> Figures:
    return [_cell("v$osstat", "level_now" if name == "LOAD" else "total", stat_name=name) for name in names]


def _undo(context: SignalContext, *columns: str) -> Iterator[PrintedFigure]:
    rows = sorted(
        context.delta.rows("v$undostat"),
        key=lambda row: (str(row.get("begin_time")), str(row.get("con_id"))),
        reverse=True,
    )
    for row in rows[:1]:
        named = tuple((key, row.get(key)) for key in ("con_id", "begin_time") if key in row)
        yield from (PrintedFigure("v$undostat", named, column) for column in columns)


def _parameter(context: SignalContext, name: str | None) -> Iterator[PrintedFigure]:
    for row in context.delta.rows("v$parameter"):
        if row.get("name") == name:
            named = tuple((key, row[key]) for key in ("name", "con_id") if key in row)
            yield PrintedFigure("v$parameter", named, "value")


def _memory(context: SignalContext) -> Iterator[PrintedFigure]:
    rows = [row for row in context.delta.rows("v$sgastat") if str(row.get("name")).startswith("KQR")]
    for row in _largest(rows, "bytes", lambda _: True):
        yield PrintedFigure(
            "v$sgastat", tuple((key, row.get(key)) for key in ("name", "pool", "con_id") if key in row), "bytes"
        )


def _resizes(context: SignalContext) -> Iterator[PrintedFigure]:
    rows = [row for row in context.delta.rows("v$sga_resize_ops") if row.get("component") == "shared pool"]
    rows.sort(key=lambda row: (number(row.get("final_size")) or 0.0, str(row.get("start_time"))))
    for row in rows[:1]:
        keys = ("component", "start_time", "oper_type", "initial_size")
        yield PrintedFigure("v$sga_resize_ops", tuple((key, row.get(key)) for key in keys), "final_size")


def _neighbours(context: SignalContext) -> Iterator[PrintedFigure]:
    for row in context.delta.rows("v$latch"):
        if row.get("name") not in (ROW_CACHE_LATCH, RESULT_CACHE_LATCH):
            yield _latch("wait_time", str(row.get("name")))


# Signal → its figures.


def _of_sysstat(*names: str) -> Lever:
    return lambda context, subject: map(_statistic, names)


def _of_time(name: str) -> Lever:
    """A time for each second lost in the waits of the cause."""
    return lambda context, subject: (_time(name), *_times_lost(context, subject.surfaces))


def _of_db_time(name: str) -> Lever:
    return lambda context, subject: (_time(name), *_db_time())


def _of_event(*events: str) -> Lever:
    """The waits of some events, as a share of DB time."""
    return lambda context, subject: (*_largest_event(context, events), *_db_time())


def _to_row_cache(*events: str) -> Lever:
    """The waits of some events for each second of row cache waits."""
    return lambda context, subject: (*_largest_event(context, events), *_times_lost(context, SURFACE_EVENTS))


def _average(event: str) -> Lever:
    """An average over the waits of foreground sessions where the view has them apart."""

    def lever(context: SignalContext, subject: Subject) -> Figures:
        own = _cell("v$system_event", "total_waits_fg", event=event)
        told = own.value(context.delta) is not None
        return (_event_time(context, event), own if told else _cell("v$system_event", "total_waits", event=event))

    return lever


def _of_latch(*columns: str, name: str = ROW_CACHE_LATCH) -> Lever:
    return lambda context, subject: [_latch(column, name) for column in columns]


def _of_rowcache(*columns: str, others: bool = False) -> Lever:
    def lever(context: SignalContext, subject: Subject) -> Iterator[PrintedFigure]:
        for column in columns:
            yield from _caches(context, column, subject.caches, others=others)

    return lever


def _per_lookup(column: str) -> Lever:
    return lambda context, subject: (
        *_caches(context, column, subject.caches),
        *_lookups(context, subject.caches),
    )


def _lookups_per(statistic: str) -> Lever:
    return lambda context, subject: (*_lookups(context, subject.caches), _statistic(statistic))


_LEVERS: Mapping[str, Lever] = {
    "average_finished_lock_wait": _average(ROW_CACHE_LOCK_EVENT),
    "average_latch_wait": _average(SURFACE_EVENTS["latch"]),
    "average_library_cache_lock_wait": _average(LIBRARY_CACHE_LOCK),
    "average_library_cache_wait": lambda context, subject: _average(dearer_library_cache_wait(context))(
        context, subject
    ),
    "average_lock_wait": _average(ROW_CACHE_LOCK_EVENT),
    "average_mutex_sleep": lambda context, subject: (*_mutex(context, "wait_time"), *_mutex(context, "sleeps")),
    "average_result_cache_sleep": _of_latch("wait_time", "sleeps", name=RESULT_CACHE_LATCH),
    "average_sleep": _of_latch("wait_time", "sleeps"),
    "cluster_conflict_ratio": _of_rowcache("dlm_conflicts", "dlm_requests"),
    "connection_share_of_db_time": _of_db_time("connection management call elapsed time"),
    "connection_time_to_waits": _of_time("connection management call elapsed time"),
    "cursor_mutex_waits_to_row_cache_waits": _to_row_cache("cursor: mutex X"),
    "entries_used": _of_rowcache("usage"),
    "evenness_of_holders": lambda context, subject: _misses(context, ROW_CACHE_LATCH, PARENT_GET),
    "evenness_of_lookups": lambda context, subject: (
        figure for cache in subject.caches for figure in _lookups(context, (cache,))
    ),
    "exclusive_share_of_lock_waiters": lambda context, subject: _waiters(
        context, ROW_CACHE_LOCK_EVENT, "p3", lambda value: value == 5
    ),
    "failed_parse_time_to_waits": _of_time("failed parse elapsed time"),
    "failed_share_of_parses": _of_sysstat("parse count (failures)", "parse count (total)"),
    "file_growth_waits_to_row_cache_waits": _to_row_cache(*FILE_GROWTH),
    "getmiss_ratio": _per_lookup("getmisses"),
    "gets_per_parse": lambda context, subject: (
        *_caches(context, "gets", subject.caches),
        _statistic("parse count (total)"),
    ),
    "hard_parse_share_of_db_time": _of_db_time("hard parse elapsed time"),
    "hard_parse_time_to_waits": _of_time("hard parse elapsed time"),
    "hard_parsing_sessions_per_processor": lambda context, subject: (_time("hard parse elapsed time"),),
    "hard_share_of_parses": _of_sysstat("parse count (hard)", "parse count (total)"),
    "hold_anomaly_index": lambda context, subject: (
        *_children(context, lambda row: row.get("child#") in context.map.guarding(subject.caches)),
        *_caches(context, "gets", subject.caches),
    ),
    "host_busy_ratio": lambda context, subject: _host("BUSY_TIME"),
    "hottest_child_share_of_sleeps": lambda context, subject: _children(
        context, lambda row: row.get("child#") == context.hot_child
    ),
    "itl_waits_to_row_cache_waits": _to_row_cache("enq: TX - allocate ITL entry"),
    "library_cache_lock_share_of_db_time": _of_event(LIBRARY_CACHE_LOCK),
    "library_cache_pin_share_of_db_time": _of_event(LIBRARY_CACHE_PIN),
    "lock_share_of_db_time": _of_event(ROW_CACHE_LOCK_EVENT),
    "lock_waiters_without_statement": lambda context, subject: _waiters(
        context, ROW_CACHE_LOCK_EVENT, "sql_id", lambda value: value is None
    ),
    "logons_per_processor": _of_sysstat("logons cumulative"),
    "longest_wait_seconds": _hanging,
    "lookups_per_commit": _lookups_per("user commits"),
    "lookups_per_execution": _lookups_per("execute count"),
    "lookups_to_next_cache": lambda context, subject: _lookups(context, subject.caches),
    "miss_ratio": _of_latch("misses", "gets"),
    "modification_ratio": _per_lookup("modifications"),
    "modifications_per_second": _of_rowcache("modifications"),
    "mutex_share_of_db_time": _of_event(ROW_CACHE_MUTEX_EVENT),
    "overall_getmiss_ratio": lambda context, subject: (
        *_caches(context, "getmisses", (), others=True),
        *_lookups(context, (), others=True),
    ),
    "paging_rate": lambda context, subject: _host("VM_IN_BYTES", "VM_OUT_BYTES"),
    "parameter_value": lambda context, subject: _parameter(context, subject.parameter),
    "parse_share_of_db_time": _of_db_time("parse time elapsed"),
    "parse_time_to_waits": _of_time("parse time elapsed"),
    "parses_per_execution": _of_sysstat("parse count (total)", "execute count"),
    "parsing_waits_to_row_cache_waits": _to_row_cache(*PARSING_WAITS),
    "processor_demand": lambda context, subject: _host("LOAD", "OS_CPU_WAIT_TIME", "BUSY_TIME"),
    "recurrent_sleep_ratio": _of_latch("sleeps", "misses", "spin_gets"),
    "resource_manager_share_of_db_time": _of_event("resmgr:cpu quantum"),
    "resource_manager_waits_to_row_cache_waits": _to_row_cache("resmgr:cpu quantum"),
    "result_cache_miss_ratio": _of_latch("misses", "gets", name=RESULT_CACHE_LATCH),
    "result_cache_share_of_db_time": lambda context, subject: (_latch("wait_time", RESULT_CACHE_LATCH), *_db_time()),
    "result_cache_sleeps": _of_latch("sleeps", name=RESULT_CACHE_LATCH),
    "result_cache_sleeps_per_miss": _of_latch("sleeps", "misses", name=RESULT_CACHE_LATCH),
    "row_cache_memory": lambda context, subject: _memory(context),
    "row_cache_mutex_sleeps": lambda context, subject: _mutex(context, "sleeps"),
    "row_cache_share_of_db_time": lambda context, subject: (*_times_lost(context, SURFACE_EVENTS), *_db_time()),
    "row_cache_sleeps": lambda context, subject: (
        _latch("sleeps"),
        *_children(context, lambda row: row.get("child#") == context.hot_child),
    ),
    "sequence_load_share_of_db_time": _of_db_time("sequence load elapsed time"),
    "sequence_load_time_to_waits": _of_time("sequence load elapsed time"),
    "share_behind_cluster_process": _behind_process,
    "share_behind_maintenance": _behind_process,
    "share_behind_one_session": _hanging,
    "share_of_cluster_requests": _of_rowcache("dlm_requests", others=True),
    "share_of_holders": lambda context, subject: _misses(context, ROW_CACHE_LATCH, [subject.location]),
    "share_of_lock_waiters": lambda context, subject: _waiters_of_caches(context, "lock", subject),
    "share_of_lookups": lambda context, subject: _lookups(context, subject.caches, others=True),
    "share_of_modifications": _of_rowcache("modifications", others=True),
    "share_of_mutex_sleeps": lambda context, subject: _mutex(context, "sleeps", subject.location),
    "share_of_mutex_waiters": lambda context, subject: _waiters_of_caches(context, "mutex", subject),
    "share_of_result_cache_holders": lambda context, subject: _misses(context, RESULT_CACHE_LATCH, [subject.location]),
    "share_of_sleeps": lambda context, subject: _children(
        context, lambda row: row.get("child#") in context.map.guarding(subject.caches)
    ),
    "shared_pool_shrinks": lambda context, subject: _resizes(context),
    "shared_pool_shrunk_share": lambda context, subject: _resizes(context),
    "sleeps_per_miss": _of_latch("sleeps", "misses"),
    "slow_neighbours": lambda context, subject: _neighbours(context),
    "space_enqueue_waits_to_row_cache_waits": _to_row_cache(*SPACE_ENQUEUES),
    "tuned_retention_ratio": lambda context, subject: (
        *_undo(context, "tuned_undoretention"),
        *_parameter(context, "undo_retention"),
    ),
    "undo_enqueue_waits_to_row_cache_waits": _to_row_cache("enq: US - contention"),
    "undo_segments_per_transaction": lambda context, subject: (
        *_caches(context, "usage", ("dc_rollback_segments",)),
        *_undo(context, "maxconcurrency"),
    ),
    "unexpired_share_of_undo": lambda context, subject: _undo(context, "unexpiredblks", "expiredblks"),
    "waiting_now": _hanging,
}
"""Signals without an entry come from what is no figure: the release, whether it is a cluster."""
