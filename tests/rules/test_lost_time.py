"""Time lost by surface: known from the events, from what the views keep themselves, or not known."""

from collectors.model import Oddity
from rules.context import SignalContext
from tests.rules.contexts import SICK, context_of, delta_of, with_rows


def test_each_surface_has_its_own_seconds() -> None:
    lost = context_of().lost
    assert (lost.by_surface["latch"], lost.by_surface["lock"]) == (2.0, 0.5)
    assert lost.on(("latch", "lock")) == 2.5
    assert lost.untold(("latch", "lock")) == ()


def test_surface_without_its_event_view_is_told_by_its_own_view_or_not_at_all() -> None:
    lost = context_of(refused=["v$system_event"]).lost
    assert (lost.by_surface["latch"], lost.by_surface["lock"]) == (2.0, None)
    assert lost.untold(("latch", "lock")) == ("lock",)
    assert lost.on(("latch", "lock")) == 2.0


def test_row_that_vanished_was_not_captured() -> None:
    gone = Oddity("v$system_event", ("row cache lock",), "", "vanished", None, None)
    events = with_rows("v$system_event", SICK["v$system_event"][0])
    assert SignalContext(delta_of(events)).lost.by_surface["lock"] == 0.0
    assert SignalContext(delta_of(events, oddities=(gone,))).lost.untold(("lock",)) == ("lock",)


def test_report_has_nothing_untold_as_it_prints_what_had_activity() -> None:
    assert context_of(refused=["v$system_event"], source="report").lost.untold(("lock",)) == ()
