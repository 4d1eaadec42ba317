"""Published incidents as whole intervals of an instance (cases-3.json, cases-4.json).

What a page prints is fixed. What it leaves out is a parameter with an assumed value, so that a variant can have another one.
Everything else is the ordinary 30 seconds of tests/rules/case_rows.py, which the page's figures are scaled to.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from random import Random
from typing import Any, Literal

from collectors.model import Changes, Delta, Missing, Reading, Row
from collectors.views.session import MOST_WAITS
from rules.model import Confidence, Diagnosis, Severity
from tests.paths import DATA
from tests.rules.case_files import Case, Expected, Told, delta_of
from tests.rules.case_rows import SECONDS, ordinary
from tests.rules.case_waiters import LOOKS, StillWaiting, Waiters

Numbers = Mapping[str, Any]
Assumed = Mapping[str, float]
Parts = dict[str, Any]
Verdict = Literal["right", "honest", "wrong", "missed"]
VERDICTS: Mapping[Verdict, str] = {
    "right": "the right cause is found above info and nothing untrue is; where the trouble is elsewhere, so that the row cache "
    "costs nothing, it is found and not with low confidence, or there is none and nothing is found above info",
    "honest": "nothing untrue is named, and the right cause or a lead to it is shown: open, in the handbook, without a cost",
    "wrong": "an untrue cause is named, or the right one is ruled out and nothing that leads to it is shown",
    "missed": "nothing is named, and nothing leads to the right cause",
}

FACTORS = (1 / 3, 3.0)
COMBINATIONS = 20
MOST_SHARE = 0.98
MOST_MET = 3000
"""Waiting sessions in all looks together, so that the largest case stays small enough to diagnose hundreds of times."""
SESSIONS = "library_cache_sessions"
LCL, RCL, PIN = "library cache lock", "row cache lock", "cursor: pin S wait on X"
SQ, TX = "enq: SQ - contention", "enq: TX - row lock contention"


@cache
def incidents() -> Mapping[str, Mapping[str, Any]]:
    """Case id → case."""
    files = (DATA / name for name in ("cases-3.json", "cases-4.json"))
    return {case["id"]: case for file in files for case in json.loads(file.read_text(encoding="utf-8"))}


def staged(name: str, changed: Assumed | None = None) -> Delta:
    """The interval of a case, with the assumed figures or changed ones."""
    case = incidents()[name]
    parts = STAGES[name](case["numbers"], {**case["parameters"], **(changed or {})})
    library: Sequence[Row] | None = parts.pop("library")
    told = Case(
        case=name,
        release=case["release_staged"],
        version=case.get("version"),
        version_full=case.get("version_full"),
        expect=Expected(verdict="found"),
        **parts,
    )
    delta = delta_of(Told("published", told))
    readings = {**delta.readings, "library_cache_waiters": Changes("library_cache_waiters", tuple(library or ()))}
    readings[SESSIONS] = _at_the_poll(library, delta)
    return replace(delta, database=name, readings=readings)


def _at_the_poll(library: Sequence[Row] | None, delta: Delta) -> Reading:
    """The sessions of `library` one by one, without a handle, which no page prints.

    Where sessions wait for library cache lock and the page does not say for what, nobody looked.
    """
    if library is None:
        waits = any(row.get("event") == LCL and row.get("time_waited_micro") for row in delta.rows("v$system_event"))
        return (
            Missing(SESSIONS, "unread", "the page does not say it", "ask its author")
            if waits
            else Changes(SESSIONS, ())
        )
    met = [{**row, "type": "USER"} for row in library for _ in range(row["sessions"])]
    return Changes(
        SESSIONS, tuple({**row, "sid": sid, "met": len(met)} for sid, row in enumerate(met[:MOST_WAITS], 100))
    )


def variants(name: str) -> Iterator[Assumed]:
    """Each assumed figure a third and three times as large, one at a time; then combinations by a seed of the name."""
    assumed: Assumed = incidents()[name]["parameters"]
    for figure in assumed:
        for factor in FACTORS:
            yield {figure: _times(figure, assumed[figure], factor)}
    dice = Random(name)
    for _ in range(COMBINATIONS):
        yield {figure: _times(figure, value, dice.choice((*FACTORS, 1))) for figure, value in assumed.items()}


def _times(figure: str, value: float, factor: float) -> float:
    """A share is changed in its odds, because three times 60 % is none."""
    return factor * value / (1 - value + factor * value) if figure.endswith("_share") else value * factor


def judged(name: str, got: Diagnosis) -> Verdict:
    """How the answer to a case compares with what its page says was right."""
    case = incidents()[name]
    right, true, elsewhere = set(case["causes"]), {*case["causes"], *case["leads"]}, case.get("elsewhere", False)
    named = {one.cause for one in got.findings if one.severity is not Severity.INFO}
    shown = {one.cause for one in got.findings} | {one.cause for one in got.undetermined}
    shown |= {one.cause for one in got.candidates}
    if named - true:
        return "wrong"
    sure = {one.cause for one in got.findings if one.confidence is not Confidence.LOW}
    if named & right or (elsewhere and (not true or (sure & right and sure <= true))):
        return "right"
    if named or shown & true or (not true and got.severity is not Severity.INFO):
        return "honest"
    # Beside nothing true, a finding without a cost is what the headline names. That nothing is wrong with the row cache is
    # true of trouble elsewhere.
    ruled_out = right & {one.cause for one in got.ruled_out}
    return "wrong" if got.findings or (ruled_out and not elsewhere) else "missed"


# The parts of an interval.


def event(name: str, seconds: float, wait_ms: float) -> Row:
    """An event by the seconds waited for it in the interval, and by the length of a wait."""
    return {
        "event": name,
        "total_waits": max(1, round(seconds * 1e3 / wait_ms)),
        "time_waited_micro": round(seconds * 1e6),
    }


def times(db_time: float, **parts: float) -> list[Row]:
    """DB time in seconds, and shares of it."""
    names = {
        "connection": "connection management call elapsed time",
        "sequence": "sequence load elapsed time",
        "hard_parse": "hard parse elapsed time",
    }
    rows: list[Row] = [{"stat_name": "DB time", "value": round(db_time * 1e6)}]
    return rows + [{"stat_name": names[name], "value": round(share * db_time * 1e6)} for name, share in parts.items()]


def fitting(*shares: float) -> Sequence[float]:
    """Shares of DB time that are together no more than all of it."""
    return [share * min(1.0, MOST_SHARE / sum(shares)) for share in shares]


def met(cache: str, waiting: float, event: str = RCL, **told: Any) -> Waiters:
    """So many sessions on average that wait for a cache, as ten looks meet them."""
    return Waiters(event=event, cache=cache, times=min(max(1, round(waiting * LOOKS)), MOST_MET), **told)  # type: ignore[arg-type]


def library(p3: int, sessions: float, wait_ms: float, blocker: int | None = None) -> list[Row]:
    """Sessions that wait for library cache lock at the poll, by type of object and mode."""
    row: Row = {"event": LCL, "p3": p3, "blocking_instance": 1 if blocker else None, "blocking_session": blocker}
    final: Row = {"final_blocking_instance": row["blocking_instance"], "final_blocking_session": blocker}
    return [{**row, **final, "sessions": max(1, round(sessions)), "wait_time_micro": round(wait_ms * 1e3)}]


CLUSTER: Row = {"instance_number": 1, "parallel": "YES"}


def conflicts(p: Assumed, gets: float) -> Row:
    """Requests of a cluster instance for sequences, and those that another instance was in the way of."""
    moved: Row = {"gets": round(gets), "modifications": round(gets), "dlm_requests": round(p["requests"])}
    return {"parameter": "dc_sequences", **moved, "dlm_conflicts": round(p["requests"] * p["conflict_share"])}


def changed(p: Assumed) -> Row:
    """Changes of entries of dc_objects by DDL."""
    return {"parameter": "dc_objects", "modifications": round(p["object_changes"])}


def interval(
    time: Sequence[Row],
    *events: Row,
    waiters: Sequence[Waiters] = (),
    library: list[Row] | None = None,
    **views: list[Row],
) -> Parts:
    """The parts of a case: DB time, the events that were waited for, who waits, and rows of other views."""
    told = {"v$system_event": events, "v$sys_time_model": time, **{f"v${view}": rows for view, rows in views.items()}}
    return {"rows": told, "waiters": waiters, "library": library}


def _failed_logons_12_2(_: Numbers, p: Assumed) -> Parts:
    row_cache, library_cache = p["row_cache_waits"] * 2.0, p["library_waits"] * 2.3  # the listing has 2 to 3 s
    return interval(
        times(max(p["db_time_s"], (row_cache + library_cache) / MOST_SHARE), connection=p["connection_share"]),
        event(RCL, row_cache, 2000),
        event(LCL, library_cache, 2300),
        waiters=[met("dc_users", row_cache / SECONDS, program="sqlplus")],
        library=library(5177347, library_cache / SECONDS, 2300),
    )


def _last_logon(numbers: Numbers, p: Assumed) -> Parts:
    lock, rows = (float(numbers[name].split()[0]) / 100 * p["db_time_s"] for name in (LCL, TX))
    wait_ms = lock * 1e3 / p["waits"]
    return interval(
        times(p["db_time_s"], connection=p["connection_share"]),
        event(LCL, lock, wait_ms),
        event(TX, rows, 100),
        sysstat=[{"name": "logons cumulative", "value": round(p["logons"])}],
        library=library(numbers["P3"], lock / SECONDS, wait_ms),
    )


def _sequence_10g(numbers: Numbers, p: Assumed) -> Parts:
    lock, part = numbers[RCL], SECONDS / 3600 / p["hours"]
    seconds = lock["seconds"] * part
    return interval(
        times(seconds / lock["pct"] * 100, sequence=p["sequence_share"]),
        event(RCL, seconds, lock["avg_ms"]),
        instance=[CLUSTER],
        rowcache=[conflicts(p, lock["waits"] * part)],
        waiters=[met("dc_sequences", seconds / SECONDS, mode="exclusive")],
    )


def _deadlock(numbers: Numbers, p: Assumed) -> Parts:
    waited, cache = numbers["time_in_wait_s"], "dc_histogram_defs"
    hangs = StillWaiting(event=RCL, cache=cache, sessions=1, seconds=waited, blocker=300, background=True)
    return interval(
        times(p["db_time_s"]),
        {**event(RCL, p["ended_waits"] * 3, 3000), "total_waits_fg": 0, "time_waited_micro_fg": 0},
        waiters=[met(cache, 0.1, mode="exclusive", module="MMON_SLAVE", program="M007", blocker=300)],
        library=library(0x2A7900010003, p["library_waiters"], waited * 1e3, blocker=200),
    ) | {"still_waiting": [hangs]}


def _sequence_12_2(numbers: Numbers, p: Assumed) -> Parts:
    wait_ms, enqueue, waits = numbers["row cache lock avg_ms"], 545 * SECONDS / 7200, round(p["waits"])
    seconds = p["waits"] * wait_ms / 1e3
    return interval(
        times(seconds + enqueue + p["other_s"], sequence=0.99),
        event(RCL, seconds, wait_ms),
        event(SQ, enqueue, p["enqueue_wait_ms"]),
        instance=[CLUSTER],
        rowcache=[{"parameter": "dc_sequences", "gets": waits, "modifications": waits}],
        waiters=[met("dc_sequences", seconds / SECONDS, mode="exclusive")],
    )


def _clones(numbers: Numbers, p: Assumed) -> Parts:
    mutex, whole = numbers["row cache mutex"], 48_000  # hundredths of a second of 16 processors
    waits, seconds = mutex["waits_per_hour"] * SECONDS / 3600, mutex["pct_db_time"] / 100 * p["db_time_s"]
    slept = {"sleeps": round(waits * p["sleeps_per_wait"]), "wait_time": round(seconds * 1e6)}
    return interval(
        times(p["db_time_s"]),
        event("row cache mutex", seconds, seconds * 1e3 / waits),
        mutex_sleep=[{"location": "[19] kqrpre", **slept}],
        sgastat=[{"pool": "shared pool", "name": "KQR PO", "bytes": round(p["kqr_mib"] * 2**20)}],
        osstat=[
            {"stat_name": "BUSY_TIME", "total": round(whole * p["busy_share"])},
            {"stat_name": "IDLE_TIME", "total": round(whole * (1 - p["busy_share"]))},
        ],
        waiters=[met("dc_users", seconds / SECONDS, "row cache mutex", p2=19)],
    )


def _realtime_statistics(_: Numbers, p: Assumed) -> Parts:
    seconds = p["waits"] * p["wait_ms"] / 1e3
    return interval(
        times(seconds + p["other_s"]),
        event(RCL, seconds, p["wait_ms"]),
        rowcache=[{"parameter": "dc_realtime_tabst", "gets": round(p["waits"] * 1.2)}],
        waiters=[met("dc_realtime_tabst", seconds / SECONDS, mode="exclusive")],
    )


def _ddl(_: Numbers, p: Assumed) -> Parts:
    """A DDL of the library cache under load, after which the row cache is asked anew."""
    lock, row_cache = (share * p["db_time_s"] for share in fitting(p["lock_share"], p["row_cache_share"]))
    return interval(
        times(p["db_time_s"]),
        event(LCL, lock, p["lock_wait_ms"]),
        event(RCL, row_cache, p["row_cache_wait_ms"]),
        sysstat=[{"name": "parse count (hard)", "value": round(180 * p.get("hard_parse_factor", 1))}],
        rowcache=[changed(p)],
        waiters=[met("dc_objects", row_cache / SECONDS)],
    )


def _wrong_password(numbers: Numbers, p: Assumed) -> Parts:
    waiting = numbers[LCL]["average_active_sessions"]
    return interval(
        times(numbers["average_active_sessions"] * SECONDS, connection=p["connection_share"]),
        event(LCL, waiting * SECONDS, p["wait_ms"]),
        library=library(5177347, waiting, p["wait_ms"]),
    )


def _undo_lock(numbers: Numbers, p: Assumed) -> Parts:
    seconds = (numbers[RCL]["pct_above"] + 1) / 100 * p["db_time_s"]
    waiters = [met("dc_rollback_segments", p["waiters"])]
    return interval(times(p["db_time_s"]), event(RCL, seconds, p["wait_ms"]), waiters=waiters)


def _new_column(numbers: Numbers, p: Assumed) -> Parts:
    db_time = numbers["active_sessions_above"] * SECONDS
    shares = zip((LCL, "library cache pin"), fitting(p["lock_share"], p["pin_share"]), strict=True)
    events = (event(name, share * db_time, numbers[name]["avg_ms"]) for name, share in shares)
    return interval(times(db_time), *events, rowcache=[changed(p)])


def _latch_80_percent(numbers: Numbers, p: Assumed) -> Parts:
    scale, usual = SECONDS / 3600 / numbers["hours"], ordinary("11.2")
    waited = {name: one for name, one in numbers.items() if isinstance(one, dict) and "waits" in one}
    latch = waited["latch: row cache objects"]
    gets = {row["child#"]: int(str(row["gets"])) for row in usual.rows("v$latch_children")}
    each = latch["waits"] * scale / sum(gets.values())
    cpu: Row = {"stat_name": "DB CPU", "value": round(numbers["DB CPU"]["seconds"] * scale * 1e6)}
    return interval(
        [*times(latch["seconds"] * scale / latch["pct"] * 100), cpu],
        *(event(name, one["seconds"] * scale, one["seconds"] * 1e3 / one["waits"]) for name, one in waited.items()),
        rowcache=[_scaled(row, "gets", p["lookups_factor"]) for row in usual.rows("v$rowcache")],
        latch_children=[{"child#": child, "sleeps": round(got * each)} for child, got in gets.items() if got],
    )


def _scaled(row: Row, column: str, factor: float) -> Row:
    """A row of v$rowcache with its keys and one figure so many times as large."""
    key = {name: row[name] for name in ("cache#", "type", "subordinate#", "parameter")}
    return {**key, column: round(int(str(row[column])) * factor)}


def _shrunk_pool(numbers: Numbers, p: Assumed) -> Parts:
    shares = zip((PIN, LCL, RCL), fitting(p["pin_share"], p["lock_share"], p["row_cache_share"]), strict=True)
    seconds = {name: share * p["db_time_s"] for name, share in shares}
    sizes = numbers["shared_pool_grown_to"], numbers["shared_pool_shrunk_to"]
    resized = [("SHRINK", *sizes, "2026-03-02 08:57:57"), ("GROW", *reversed(sizes), "2026-03-02 09:00:00")]
    columns = ("oper_type", "initial_size", "final_size", "start_time")
    return interval(
        times(p["db_time_s"]),
        *(event(name, spent, 50 if name == PIN else 100) for name, spent in seconds.items()),
        sga_resize_ops=[{"component": "shared pool", **dict(zip(columns, one, strict=True))} for one in resized],
        rowcache=[
            _scaled(row, "getmisses", p["misses_factor"])
            for row in ordinary("11.2").rows("v$rowcache")
            if row["getmisses"]
        ],
        waiters=[met("dc_objects", seconds[RCL] / SECONDS)],
    )


def _ordered_sequence(_: Numbers, p: Assumed) -> Parts:
    return interval(
        times(p["db_time_s"], sequence=p["sequence_share"]),
        event(RCL, p["row_cache_share"] * p["db_time_s"], p["wait_ms"]),
        instance=[CLUSTER],
        rowcache=[conflicts(p, p["requests"] / 20)],
        waiters=[met("dc_sequences", p["waiters"], mode="exclusive")],
    )


def _behind_session_312(p: Assumed, sessions: int, **more: Any) -> Parts:
    """So many sessions that hang for dc_objects behind one session."""
    hang = StillWaiting(event=RCL, cache="dc_objects", sessions=sessions, seconds=p["waited_s"], blocker=312)
    told = interval(times(p["db_time_s"]), waiters=[met("dc_objects", sessions, blocker=312)], **more)
    return told | {"still_waiting": [hang]}


def _enabled_key(_: Numbers, p: Assumed) -> Parts:
    return _behind_session_312(p, 1, rowcache=[changed(p)])


def _refresh(_: Numbers, p: Assumed) -> Parts:
    locked = library(0x10002, p["library_waiters"], p["waited_s"] * 1e3, blocker=500)
    return _behind_session_312(p, max(1, round(p["waiters"])), library=locked)


def _wrong_password_11g(numbers: Numbers, p: Assumed) -> Parts:
    waiting = numbers["waiters_with_p3"]
    return interval(
        times(max(p["db_time_s"], waiting * SECONDS / MOST_SHARE), connection=p["connection_share"]),
        event(LCL, waiting * SECONDS, p["wait_ms"]),
        library=library(numbers["P3"], waiting, p["wait_ms"], blocker=numbers["blocking_session"]),
    )


def _cursor_mutex(_: Numbers, p: Assumed) -> Parts:
    cursor, row_cache = (share * p["db_time_s"] for share in fitting(p["cursor_share"], p["row_cache_share"]))
    mutex = event("row cache mutex", row_cache, p["row_cache_wait_ms"])
    slept: Row = {"sleeps": mutex["total_waits"], "wait_time": mutex["time_waited_micro"]}
    return interval(
        times(p["db_time_s"], connection=p["connection_share"]),
        event("cursor: mutex X", cursor, p["cursor_wait_ms"]),
        mutex,
        mutex_sleep=[{"location": "[19] kqrpre", **slept}],
        sysstat=[{"name": "logons cumulative", "value": round(p["logons"])}],
        osstat=[{"stat_name": "BUSY_TIME", "total": 48_000}, {"stat_name": "IDLE_TIME", "total": 0}],
        waiters=[met("dc_users", row_cache / SECONDS, "row cache mutex", p2=19)],
    )


def _row_locks(numbers: Numbers, p: Assumed) -> Parts:
    seconds = numbers[TX]["seconds"] * SECONDS / 3600 / p["hours"]
    db_time = seconds / numbers[TX]["pct"] * 100
    cpu: Row = {"stat_name": "DB CPU", "value": round(db_time * numbers["DB CPU"]["pct"] * 1e4)}
    return interval([*times(db_time), cpu], event(TX, seconds, numbers[TX]["avg_ms"]))


def _small_sequence_cache(numbers: Numbers, p: Assumed) -> Parts:
    db_time = numbers["sessions"] * SECONDS
    refills = round(numbers["sessions"] * numbers["nextval_per_session"] / 20)
    return interval(
        times(db_time, sequence=p["sequence_load_share"]),
        event(SQ, p["enqueue_share"] * db_time, p["wait_ms"]),
        rowcache=[{"parameter": "dc_sequences", "gets": refills, "modifications": refills}],
    )


STAGES: Mapping[str, Callable[[Numbers, Assumed], Parts]] = {
    "N1": _failed_logons_12_2,
    "N2": _last_logon,
    "N3": _sequence_10g,
    "N4": _deadlock,
    "N5": _sequence_12_2,
    "N6": _clones,
    "N7": _realtime_statistics,
    "N8": _ddl,
    "P1": _wrong_password,
    "P2": _undo_lock,
    "P3": _new_column,
    "P4": _latch_80_percent,
    "P5": _shrunk_pool,
    "P6": _ordered_sequence,
    "P7": _enabled_key,
    "P8": _refresh,
    "P9": _wrong_password_11g,
    "P10": _cursor_mutex,
    "P11": _row_locks,
    "P12": _small_sequence_cache,
    "P13": _ddl,
}
