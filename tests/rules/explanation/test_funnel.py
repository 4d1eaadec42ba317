"""The funnel: requests, requests that found it taken, and sleeps, for the surface that costs most."""

from rules.engine import diagnose
from tests.rules.contexts import SICK, delta_of, with_rows
from tests.rules.test_demo_verdicts import SICK_AT, diagnosed


def test_funnel_of_the_latch_has_gets_misses_sleeps_and_seconds() -> None:
    funnel = diagnose(delta_of(SICK)).funnel
    assert funnel is not None
    assert (funnel.of, funnel.requests, funnel.misses, funnel.sleeps) == ("row cache objects", 40_000, 4_000, 1_000)
    assert funnel.seconds_waited == 2.0


def test_funnel_is_of_what_the_first_finding_speaks_of_and_unknown_misses_are_null() -> None:
    funnels = {name: diagnosed(name, SICK_AT.get(name, 30.0)).funnel for name in ("users-mutex", "ads-result-cache")}
    mutex, result_cache = funnels["users-mutex"], funnels["ads-result-cache"]
    assert mutex is not None and (mutex.of, mutex.misses) == ("row cache mutex", None)
    assert mutex.sleeps == 40_440
    assert result_cache is not None and (result_cache.of, result_cache.misses) == ("Result Cache: RC Latch", 930_000)


def test_funnel_of_what_was_not_read_is_none() -> None:
    rows = with_rows("v$latch")
    refused = ["v$latch", "v$latch_children", "v$system_event", "v$mutex_sleep"]
    assert diagnose(delta_of(rows, refused=refused)).funnel is None
