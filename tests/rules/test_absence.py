"""A value that was not captured never counts as zero: less knowledge of a case never gives a stronger conclusion. The whole
runs under the soak marker, in shards; every run takes a seeded sample of each kind.
"""

import random
import sys
from collections import Counter
from collections.abc import Iterable
from itertools import islice

import pytest

from collectors.model import Delta, Row
from rules.engine import diagnose
from rules.gaps import gaps_of
from rules.model import Impact, Severity
from tests.rules.case_files import Told, all_cases, delta_of_case, diagnosis_of_case
from tests.rules.concluded import Concluded, concluded, watched
from tests.rules.contexts import SICK, delta_of
from tests.rules.removals import Removal, concluding, removals, violations

SHARDS = 32
SAMPLED_CASES = 12
OF_EACH_CASE = 24
SEED = 13
CASES = [told for told in all_cases() if concluding(told)]


def judged(told: Told, chosen: Iterable[tuple[Removal, Delta]], counted: Counter[str]) -> list[str]:
    """The verdicts on a case with each thing removed.

    Removing what nothing reads changes nothing, and a view with a gap gives the same verdict whichever cell is gone; those
    verdicts are known beforehand.
    """
    base, asked = watched(delta_of_case(str(told)))
    assert base == Concluded.of(diagnosis_of_case(str(told))), f"{told}: not the verdicts of its Diagnosis"
    wrong: list[str] = []
    with_gap: dict[str, Concluded] = {}
    for removal, delta in chosen:
        counted[removal.kind] += 1
        if removal.unasked(asked):
            counted["unasked"] += 1
            continue
        gaps = gaps_of(delta)
        if set(gaps) == {removal.view}:
            counted["view with a gap"] += 1
            if str(gaps) not in with_gap:
                with_gap[str(gaps)] = concluded(delta)
            got = with_gap[str(gaps)]
        else:
            got = concluded(delta)
        for violation in violations(base, got, removal):
            wrong.append(f"{told}, without {removal.kind} {removal.what} of {removal.view}: {violation}")
    return wrong


def test_a_sample_of_removals_concludes_nothing_from_less() -> None:
    dice, counted, wrong = random.Random(SEED), Counter[str](), list[str]()
    for told in dice.sample(CASES, SAMPLED_CASES):
        every = list(removals(delta_of_case(str(told))))
        by_kind = [[pair for pair in every if pair[0].kind == kind] for kind in ("view", "column", "row", "cell")]
        chosen = [pair for kind in by_kind for pair in dice.sample(kind, min(OF_EACH_CASE // 4, len(kind)))]
        wrong += judged(told, chosen, counted)
    sys.stdout.write(f"\nremovals: {dict(counted)}\n")
    assert sum(counted.values()) >= SAMPLED_CASES * OF_EACH_CASE * 3 // 4
    assert wrong == []


@pytest.mark.soak
@pytest.mark.parametrize("shard", range(SHARDS))
def test_no_removal_concludes_anything_from_less(shard: int) -> None:
    counted, wrong = Counter[str](), list[str]()
    for told in islice(CASES, shard, None, SHARDS):
        wrong += judged(told, removals(delta_of_case(str(told))), counted)
    sys.stdout.write(f"\nremovals of shard {shard}: {dict(counted)}, {len(wrong)} violations\n")
    assert counted["cell"] > counted["row"] > 0
    assert wrong == []


KNOWN_ONCE = """
view v$system_event - | histogram-hard-parse: the same without v$latch_children, where the sleeps may be those of any cache
column v$rowcache fastgets | histogram-hard-parse: the same, and nobody looked who waits
cell v$rowcache fastgets of 7 | histogram-hard-parse: the same, and nobody looked who waits
column x$kqrst type | logon-cursor-mutex: the row cache is hardly waited for
cell x$kqrst type of 3 | logon-cursor-mutex: the row cache is hardly waited for
column v$session sql_id | failed-logons: they wait while running statements
cell v$session sql_id of 83 | failed-logons: they wait while running statements
column v$session p1 | dc-users-mutex-bug: a logon storm
column row_cache_blockers program | cluster-lock-process: in a cluster 30 sessions hang behind LCK0
row v$sys_time_model 1 | spin-only: every twentieth miss ends in a short sleep
cell waiting_sessions event of 0 | row-cache-lock-hang: one session waits for its neighbour
cell waiting_sessions wait_time_micro of 0 | row-cache-lock-hang: one session waits for its neighbour
column waiting_sessions final_blocking_session | row-cache-lock-hang: each waits for another session
column waiting_sessions type | row-cache-lock-hang: background processes wait, and no session does
cell v$latch wait_time of 2 | starved-host: row cache lock is waited for, and every latch on this host is slow
row v$osstat 3 | starved-host: long sleeps and a high load on a host whose processors are idle, as where processes wait for I/O
row v$osstat 3 | starved-host: eight processes for each processor, counted as time they waited for one
cell v$osstat total of 7 | starved-host: eight processes for each processor, counted as time they waited for one
cell v$parameter value of 7 | undo-segment-floor: a floor of 999999, and every segment number in use
cell v$parameter value of 7 | dynamic-sampling: the same on 19c, where a single container samples
column v$session p3 | constraint-creation: 240 sessions hang for ten minutes, and no wait ends
"""
"""Removals that once led to a wrong conclusion, and their case. A sample seldom contains them."""


@pytest.mark.parametrize("line", KNOWN_ONCE.strip().splitlines())
def test_what_was_concluded_from_less_once_is_not_again(line: str) -> None:
    removed, name = line.split(" | ")
    every = removals(delta_of_case(name))
    ((one, less),) = ((one, less) for one, less in every if f"{one.kind} {one.view} {one.what or '-'}" == removed)
    assert violations(diagnosis_of_case(name), diagnose(less), one) == []


LOCKED: Row = {"event": "row cache lock", "total_waits": 900, "time_waited_micro": 90_000_000}
"""Nearly as many seconds as the sick instance has DB time."""


def events(*rows: Row) -> Delta:
    """The sick instance with these events, and without wait time in v$latch as a fallback."""
    latch = [{name: cell for name, cell in SICK["v$latch"][0].items() if name != "wait_time"}]
    return delta_of({**SICK, "v$latch": latch, "v$latch_misses": [], "v$system_event": rows})


def test_cost_of_a_cell_that_was_not_captured_is_unknown() -> None:
    lock = {name: cell for name, cell in LOCKED.items() if name != "time_waited_micro"}
    got = diagnose(events(lock, {"event": "latch: row cache objects", "total_waits": 9, "time_waited_micro": 100}), {})
    assert got.headline.startswith("Cannot tell: the time of row cache lock was not captured")
    assert got.impact == Impact(share_of_db_time=None, waiting_sessions=None)
    assert got.severity is Severity.NOTICE
    assert "lock" not in {surface.surface for surface in got.surfaces}


def test_what_was_captured_of_the_cost_is_told_as_the_least_it_is() -> None:
    got = diagnose(events(LOCKED))
    assert "cost at least 90.0 % of DB time" in got.headline
    assert "the time of latch: row cache objects was not captured" in got.headline
    assert got.impact is not None and got.impact.share_of_db_time == pytest.approx(0.9)
    assert got.severity is Severity.CRITICAL
