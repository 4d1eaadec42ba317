"""What else is in trouble besides the first finding, in a few words."""

from rules.engine import diagnose
from rules.explanation.several import at_once, beside, focused, others
from tests.rules.contexts import SICK, context_of, delta_of, with_rows


def test_second_hot_child_is_told_beside_the_first_with_its_cost() -> None:
    sleeps = {1: 540, 5: 0, 8: 460}
    rows = [{**row, "sleeps": sleeps[row["child#"]]} for row in SICK["v$latch_children"]]
    events = {"event": "latch: row cache objects", "total_waits": 1_000, "time_waited_micro": 50_000_000}
    views = {**with_rows("v$latch_children", *rows), "v$system_event": [events]}
    context = context_of(views)
    findings = diagnose(delta_of(views)).findings
    assert findings[0].cache == "dc_rollback_segments"
    assert beside(context, findings) == "beside it dc_users (latch: row cache objects) costs 23.0 %: cause open"
    (other,) = others(context, findings)
    assert focused(context, other).hot_child == 8


def test_nothing_is_told_beside_a_single_trouble() -> None:
    assert beside(context_of(), diagnose(delta_of()).findings) is None
    assert at_once(context_of()) is None
