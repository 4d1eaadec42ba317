"""What only resembles a sick row cache: victims have their name, and impossible counters raise no alarm."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from collectors.delta import between
from collectors.model import Delta, Row, Rows, Snapshot
from rules.engine import diagnose
from rules.model import Diagnosis, Severity
from tests.collectors.scripted import poll_at


def sick(at: float) -> Snapshot:
    return poll_at("undo-storm", at)


def changed(snapshot: Snapshot, view: str, change: Callable[[Row], Row]) -> Snapshot:
    rows = tuple(change(row) for row in snapshot.rows(view))
    return replace(snapshot, readings={**snapshot.readings, view: Rows(view, rows)})


def judged(earlier: Snapshot, later: Snapshot) -> Diagnosis:
    delta = between(earlier, later)
    assert isinstance(delta, Delta)
    return diagnose(delta)


@pytest.mark.parametrize(
    ("before", "after", "what"),
    [(4_294_900_000, 12_000, "wrapped at 32 bits"), (90_000, 12_000, "fell"), (-4_018_470_645, 9_000, "is negative")],
)
def test_sleeps_that_wrap_fall_or_are_negative_are_left_out_and_noted(before: int, after: int, what: str) -> None:
    def with_sleeps(snapshot: Snapshot, sleeps: int) -> Snapshot:
        return changed(
            snapshot, "v$latch_children", lambda row: {**row, "sleeps": sleeps} if row["child#"] == 1 else row
        )

    assert [one.cause for one in judged(sick(60), sick(90)).findings] == ["undo-segments"]
    got = judged(with_sleeps(sick(60), before), with_sleeps(sick(90), after))
    assert any(what in note for note in got.notes)
    assert all(one.identity in (None, "candidate") and one.confidence != "high" for one in got.findings)


def test_impact_ignores_a_corrupt_wait_time_of_the_event() -> None:
    def corrupt(snapshot: Snapshot, waited: int) -> Snapshot:
        def change(row: Row) -> Row:
            both = {"time_waited_micro": waited, "time_waited_micro_fg": waited}
            return {**row, **both} if row["event"] == "latch: row cache objects" else row

        return changed(snapshot, "v$system_event", change)

    got = judged(corrupt(sick(60), -5), corrupt(sick(90), 2**62))
    assert any("a corrupt counter is not used" in note for note in got.notes)
    assert got.impact is None or got.impact.share_of_db_time is None or got.impact.share_of_db_time < 1


def test_healthy_instance_whose_counters_wrap_has_no_finding() -> None:
    def wrapped(snapshot: Snapshot, base: int) -> Snapshot:
        return changed(snapshot, "v$latch", lambda row: {**row, "gets": base, "misses": base, "sleeps": base})

    healthy = (poll_at("healthy-19c", 30), poll_at("healthy-19c", 60))
    got = judged(wrapped(healthy[0], 4_294_967_000), wrapped(healthy[1], 40))
    assert [one for one in got.findings if one.severity is not Severity.INFO] == []
    assert got.severity is Severity.INFO
