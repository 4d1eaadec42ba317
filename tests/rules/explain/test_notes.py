"""Beside the walk: the notes, the funnel, and who waits as totals."""

from dataclasses import replace

import pytest

from collectors.capture import delta_of as capture_delta
from collectors.capture import load
from collectors.model import Basis, Changes, Delta, DeltaSource, Oddity, Row
from rules.context import SignalContext
from rules.engine import diagnose
from rules.explain.notes import implausible, notes
from rules.gaps import REMEMBER
from rules.model import Severity
from tests.paths import PROBES
from tests.rules.contexts import INTERVAL, SICK, context_of, delta_of, with_rows
from tests.rules.test_demo_verdicts import SICK_AT
from tests.rules.test_demo_verdicts import diagnosed as demo


@pytest.mark.parametrize(
    ("free", "out", "said"),
    [
        (
            76_849_152,
            16_945_152,
            "73 MiB of swap space left at the end, beside 126 GiB of memory, and 16.2 MiB were paged",
        ),
        (76_849_152, None, "73 MiB of swap space left at the end, beside 126 GiB of memory: it is short of memory"),
        (0, 16_945_152, "0 MiB of swap space left"),
        (0, 0, ""),
        (0, None, ""),
        (None, 16_945_152, ""),
        (2_147_479_552, 16_945_152, ""),
    ],
)
def test_swap_space_that_is_nearly_used_up_is_told(free: int | None, out: int | None, said: str) -> None:
    host: list[Row] = [
        {"stat_name": "PHYSICAL_MEMORY_BYTES", "level_now": 135_023_947_776},
        {"stat_name": "SWAP_FREE_BYTES", "level_now": free},
        {"stat_name": "VM_OUT_BYTES", "total": out},
        {"stat_name": "VM_IN_BYTES", "total": 9e12},
    ]
    told = [note for note in notes(context_of(with_rows("v$osstat", *host))) if "swap" in note]
    assert len(told) == bool(said) and all(said in note for note in told)


def test_notes_keep_their_order() -> None:
    delta = delta_of(refused=["v$osstat"], oddities=(Oddity("v$latch", ("x",), "gets", "fell", 9, 3),))
    readings = {**delta.readings, "v$latch": Changes("v$latch", tuple(SICK["v$latch"]), ("gets were cut off",))}
    told = notes(SignalContext(replace(delta, readings=readings, notes=("a long window",))))
    assert [told[0], told[1]] == ["a long window", "assumed: gets were cut off"]
    assert told[-2].startswith("v$latch gets of x fell")
    assert told[-1].startswith("v$osstat: ORA-00942; grant select on")


def test_notes_of_a_report_say_that_it_is_one() -> None:
    assert notes(SignalContext(replace(delta_of(), source="report")))[0] == REMEMBER
    assert REMEMBER not in notes(SignalContext(delta_of()))


def test_implausible_names_more_misses_than_gets() -> None:
    rows = [
        {"parameter": "dc_users", "gets": 500, "getmisses": 501},
        {"parameter": "dc_objects", "gets": 76_843, "getmisses": 508_432},
    ]
    first, second = implausible(context_of(with_rows("v$rowcache", *rows)))
    assert first.startswith("v$rowcache dc_objects has 508,432 misses on 76,843 gets")
    assert second.startswith("v$rowcache dc_users has 501 misses on 500 gets")


@pytest.mark.parametrize(("gets", "misses"), [(500, 500), (0, 100), (None, 900), (900, None)])
def test_implausible_accepts_as_many_misses_as_gets_or_unknown_counts(gets: int | None, misses: int | None) -> None:
    assert implausible(context_of(with_rows("v$rowcache", {"parameter": "x", "gets": gets, "getmisses": misses}))) == ()


def test_window_of_many_hours_hides_short_storms() -> None:
    def noted(seconds: float, source: DeltaSource = "views") -> list[str]:
        basis = Basis("interval", INTERVAL.begin, INTERVAL.end, seconds)
        told = notes(SignalContext(replace(delta_of(), basis=basis, source=source)))
        return [note for note in told if "hide short storms" in note]

    assert noted(604_800.0) == ["a window of 168.0 hours: averages over it hide short storms"]
    assert noted(3_603.0) == []
    assert noted(604_800.0, "report") == [], "the reader of a report says so itself"


@pytest.mark.parametrize("probe", ["P09_19c_latch_rows", "P09b_122_latch_event", "P12_7days"])
def test_probes_say_once_what_is_odd_about_them(probe: str) -> None:
    delta = capture_delta(load((PROBES / f"{probe}.json").read_bytes(), probe))
    assert isinstance(delta, Delta)
    told = diagnose(delta)
    said = " ".join((*told.notes, *(step.statement for step in told.steps)))
    odd = {
        "P09_19c_latch_rows": "sleeps on the latch row cache objects are ignored",
        "P09b_122_latch_event": "takes 46.7 % of DB time, which should not be: from 12.2 on mutexes guard the row cache",
        "P12_7days": "a window of 168.0 hours: averages over it hide short storms",
    }
    assert said.count(odd[probe]) == 1
    assert said.count("from 12.2 on mutexes guard the row cache") == ("P09" in probe)
    if probe == "P09b_122_latch_event":
        assert told.impact is not None and told.impact.share_of_db_time == pytest.approx(0.467, abs=0.001)
        assert told.severity is not Severity.INFO and "Nothing to do" not in told.headline


def test_totals_count_every_waiter_once_by_statement_and_once_by_module() -> None:
    told = demo("undo-storm", SICK_AT["undo-storm"])
    totals = told.who_totals
    assert totals is not None
    assert totals.looks == 15
    for parts in (totals.by_sql_id, totals.by_module):
        assert sum(part.waiters for part in parts) == totals.waiters
        assert abs(sum(part.share for part in parts) - 1) < 1e-9
    assert totals.by_sql_id[0].name == "g7w5kz3h1rq2m"
    assert abs(sum(part.sessions for part in totals.by_module) - totals.waiters / totals.looks) < 1e-9


def test_totals_are_null_where_nobody_was_sampled() -> None:
    assert diagnose(delta_of(SICK)).who_totals is None


def test_funnel_of_the_latch_has_gets_misses_sleeps_and_seconds() -> None:
    funnel = diagnose(delta_of(SICK)).funnel
    assert funnel is not None
    assert (funnel.of, funnel.requests, funnel.misses, funnel.sleeps) == ("row cache objects", 40_000, 4_000, 1_000)
    assert funnel.seconds_waited == 2.0


def test_funnel_is_of_what_the_first_finding_speaks_of_and_unknown_misses_are_null() -> None:
    funnels = {name: demo(name, SICK_AT.get(name, 30.0)).funnel for name in ("users-mutex", "ads-result-cache")}
    mutex, result_cache = funnels["users-mutex"], funnels["ads-result-cache"]
    assert mutex is not None and (mutex.of, mutex.misses) == ("row cache mutex", None)
    assert mutex.sleeps == 40_440
    assert result_cache is not None and (result_cache.of, result_cache.misses) == ("Result Cache: RC Latch", 930_000)


def test_funnel_of_what_was_not_read_is_none() -> None:
    rows = with_rows("v$latch")
    refused = ["v$latch", "v$latch_children", "v$system_event", "v$mutex_sleep"]
    assert diagnose(delta_of(rows, refused=refused)).funnel is None


@pytest.mark.parametrize(
    ("db_time", "locked", "seconds", "said"),
    [
        (20.0, 0.2, 30.0, True),  # with 2 s for the latch 8.8 % to 14.7 %: the bound of 10 % is between
        (20.0, 4.0, 30.0, False),  # critical either way
        (200.0, 18.2, 30.0, False),  # many sessions at work
        (90.0, 7.2, 90.0, False),  # long enough
    ],
)
def test_db_time_that_oracle_counts_late_is_told_where_the_severity_hangs_on_it(
    db_time: float, locked: float, seconds: float, said: bool
) -> None:
    rows = {
        "v$sys_time_model": [{"stat_name": "DB time", "value": db_time * 1e6}],
        "v$system_event": [
            {"event": "row cache lock", "total_waits": 100, "total_waits_fg": 100}
            | {"time_waited_micro": locked * 1e6, "time_waited_micro_fg": locked * 1e6}
        ],
    }
    delta = delta_of({**SICK, **rows}, basis=replace(INTERVAL, seconds=seconds))
    late = [note for note in notes(SignalContext(delta)) if "may be off by 5 s" in note]
    assert len(late) == said
    assert not said or "8.8 % to 14.7 %" in late[0]


def test_optional_views_that_are_not_granted_are_in_no_note() -> None:
    views = ("dba_registry_sqlpatch", "v$containers", "v$con_system_event")
    assert notes(SignalContext(delta_of(SICK, refused=views))) == notes(SignalContext(delta_of(SICK)))
