"""Beside the walk: the notes, the funnel, and who waits as totals."""

from dataclasses import replace

import pytest

from collectors.capture import delta_of as capture_delta
from collectors.capture import load
from collectors.model import Changes, Delta, Oddity
from rules.context import SignalContext
from rules.engine import diagnose
from rules.explain.notes import notes
from rules.model import Severity
from tests.paths import PROBES
from tests.rules.contexts import SICK, delta_of, with_rows
from tests.rules.test_demo_verdicts import SICK_AT
from tests.rules.test_demo_verdicts import diagnosed as demo


def test_notes_keep_their_order() -> None:
    delta = delta_of(refused=["v$osstat"], oddities=(Oddity("v$latch", ("x",), "gets", "fell", 9, 3),))
    readings = {**delta.readings, "v$latch": Changes("v$latch", tuple(SICK["v$latch"]), ("gets were cut off",))}
    told = notes(SignalContext(replace(delta, readings=readings, notes=("a long window",))))
    assert [told[0], told[1]] == ["a long window", "assumed: gets were cut off"]
    assert told[-2].startswith("v$latch gets of x fell")
    assert told[-1].startswith("v$osstat: ORA-00942; grant select on")


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
