"""The unit of work for a count: the first that both sides have enough of."""

import pytest

from collectors.model import Row
from rules.comparison.units import EXECUTIONS, OF_TIME, OF_WORK, SECONDS, TRANSACTIONS, common, fitting, transactions
from rules.context import SignalContext
from tests.each import each
from tests.rules.contexts import TOTALS, context_of, delta_of, with_rows


def working(**done: int) -> SignalContext:
    names = {"executions": "execute count", "commits": "user commits", "rollbacks": "user rollbacks"}
    rows: list[Row] = [{"name": names[name], "value": value} for name, value in done.items()]
    return context_of(with_rows("v$sysstat", *rows))


def test_common_measure_prefers_executions_and_uses_seconds_last() -> None:
    measure = common(OF_WORK, working(executions=4_000), working(executions=900, commits=3, rollbacks=1))
    assert measure is not None
    assert (measure.unit, measure.before, measure.after) == (EXECUTIONS, 4_000, 900)


@pytest.mark.parametrize("done", [{}, {"executions": 0}, {"executions": 99}])
def test_common_measure_falls_back_to_seconds_if_a_side_lacks_work(done: dict[str, int]) -> None:
    measure = common(OF_WORK, working(executions=4_000), working(**done))
    assert measure is not None
    assert measure.unit is SECONDS


def test_transactions_are_commits_and_rollbacks_and_need_both() -> None:
    assert transactions(working(commits=300, rollbacks=20)) == 320
    assert transactions(working(commits=300)) is None
    measure = common(OF_WORK, working(commits=300, rollbacks=0), working(commits=900, rollbacks=9))
    assert measure is not None
    assert measure.unit is TRANSACTIONS


def test_common_measure_of_totals_has_no_seconds() -> None:
    totals = SignalContext(delta_of(with_rows("v$sysstat"), basis=TOTALS))
    assert common(OF_WORK, totals, totals) is None
    assert common(OF_TIME, totals, context_of()) is not None, "both sides have DB time"


@each(
    ("cache", "each"),
    [
        ("dc_rollback_segments", "per transaction"),
        ("dc_profiles", "per logon"),
        ("dc_histogram_data", "per hard parse"),
        ("dc_users", "per execution"),
    ],
)
def test_fitting_measures_a_cache_per_the_work_that_requests_it(cache: str, each: str) -> None:
    assert fitting(cache)[0].each == each
    assert fitting(cache)[-1] is SECONDS
