"""Waits that are too long by nature deserve a sentence even if they cost little."""

import pytest

from rules.engine import diagnose
from rules.model import Severity
from tests.rules.contexts import delta_of


@pytest.mark.parametrize(("micro", "told"), [(450_000, True), (90_000, False)])
def test_mutex_waits_of_tens_of_milliseconds_are_noted_though_they_cost_next_to_nothing(micro: int, told: bool) -> None:
    views = {
        "v$event_name": [{"name": "row cache mutex"}],
        "v$system_event": [{"event": "row cache mutex", "total_waits": 15, "time_waited_micro": micro}],
        "v$sys_time_model": [{"stat_name": "DB time", "value": 900_000_000}],
    }
    got = diagnose(delta_of(views, release="19.0.0.0.0"))
    assert got.severity is Severity.INFO
    notes = [note for note in got.notes if "row cache mutex lasts 30 ms on average" in note]
    assert bool(notes) is told
