"""Waiters as totals: every waiting session, by statement and by module, once in each."""

from rules.engine import diagnose
from tests.rules.contexts import SICK, delta_of
from tests.rules.test_demo_verdicts import SICK_AT, diagnosed


def test_totals_count_every_waiter_once_by_statement_and_once_by_module() -> None:
    told = diagnosed("undo-storm", SICK_AT["undo-storm"])
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
