"""What samples met, as time: believed where the finished waits cannot be all, or nobody counted them."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from collectors.model import ROW_CACHE_LOCK_EVENT, Delta, Row
from rules.context import SignalContext
from rules.engine import diagnose
from rules.model import Severity
from rules.samples import MetWaiting, Samples, met_waiting
from tests.rules.contexts import TOTALS, delta_of
from tests.rules.rich import RICH


def samples(many: int, sessions: int, waited: float, program: str = "JDBC") -> list[Row]:
    """So many samples, each with the same sessions, whose wait had lasted so many seconds at the last one."""
    rows: list[Row] = []
    for sample in range(1, many + 1):
        rows.append({"sample": sample, "sid": None})
        rows += [
            {
                "sample": sample,
                "sid": sid,
                "event": ROW_CACHE_LOCK_EVENT,
                "p1": 3,
                "program": program,
                "wait_time_micro": 1e6 * max(0.0, waited - many + sample),
            }
            for sid in range(sessions)
        ]
    return rows


def staged(rows: Sequence[Row], *, finished: float | None = 0.0, **more: Any) -> Any:
    """The rich instance with these samples, and so many seconds of finished waits for the lock (None: not captured)."""
    events = [row for row in RICH["v$system_event"] if row["event"] != ROW_CACHE_LOCK_EVENT]
    if finished is not None:
        lock = {"event": ROW_CACHE_LOCK_EVENT, "total_waits": 9, "time_waited_micro": finished * 1e6}
        events = [*events, lock]
    views = {**RICH, "v$session": rows, "v$system_event": events}
    refused = [] if finished is not None else ["v$system_event"]
    return delta_of({name: rows for name, rows in views.items() if name not in refused}, refused=refused, **more)


def met_of(delta: Delta) -> Mapping[str, MetWaiting]:
    return met_waiting(Samples.of(delta.rows("v$session")), delta.basis, (ROW_CACHE_LOCK_EVENT,))


def test_sessions_in_every_sample_are_time_though_no_wait_ended() -> None:
    hanging = staged(samples(25, sessions=20, waited=600))
    met = met_of(hanging)[ROW_CACHE_LOCK_EVENT]
    assert (met.samples, met.average, met.lasting) == (25, 20.0, 500.0), "20 sessions, and 25 s of the 30"
    assert met.doubt == pytest.approx(2 * (20 / 25) ** 0.5)
    got = diagnose(hanging)
    assert got.severity is Severity.CRITICAL
    (lock,) = (surface for surface in got.surfaces if surface.surface == "lock")
    assert lock.waiting_sessions is not None and lock.waiting_sessions > 16
    (note,) = (note for note in got.notes if "25 samples met 20.0 sessions" in note)
    assert "19 times of 20 between 18.2 and 21.8" in note and "the cost is that of the samples" in note


def test_short_waits_in_samples_are_those_that_ended_and_are_believed_once() -> None:
    busy = staged(samples(25, sessions=2, waited=0.01), finished=60.0)
    assert SignalContext(busy).lost.believed == {}
    assert SignalContext(busy).surface_wait_seconds("lock") == 60.0


def test_where_no_view_counts_waits_the_samples_are_all_there_is() -> None:
    context = SignalContext(staged(samples(25, sessions=4, waited=0.01), finished=None))
    assert context.surface_wait_seconds("lock") == pytest.approx(4 * 30.0)
    nobody = SignalContext(staged(samples(25, sessions=0, waited=0.0), finished=None))
    assert nobody.surface_wait_seconds("lock") is None, "absent is not zero"


def test_few_samples_background_processes_and_totals_prove_no_average() -> None:
    assert met_of(staged(samples(9, sessions=20, waited=600))) == {}
    assert met_of(staged(samples(25, 20, 600, program="oracle@db1 (SMON)"))) == {}
    assert met_of(staged(samples(25, 20, 600, program="oracle@db1 (P003)"))) != {}
    assert met_of(staged(samples(25, sessions=20, waited=600), basis=TOTALS)) == {}
