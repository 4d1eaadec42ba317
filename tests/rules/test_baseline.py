"""What is ordinary: the same hour of the week, else of the day, else all hours; and a headline with the multiple."""

import pytest

from rules.baseline import Scope, UsualRange, against_usual, figures, ordinary, sleeps_of
from rules.context import SignalContext
from rules.engine import diagnose
from tests.rules.contexts import TOTALS, context_of, delta_of
from tests.rules.printed import printed, scripted
from tests.rules.rich import RICH


@pytest.mark.parametrize(("scope", "enough"), [("hour of the week", 8), ("hour of the day", 8), ("all hours", 24)])
def test_ordinary_needs_enough_samples_of_its_scope(scope: Scope, enough: int) -> None:
    values = [3.0 + place / 100 for place in range(enough)]
    usual = ordinary(values, scope)
    assert usual is not None
    assert (usual.scope, usual.samples) == (scope, enough)
    assert values[0] < usual.low < usual.median < usual.high < values[-1]
    assert usual.median == pytest.approx(values[0] + (enough - 1) / 200)
    assert ordinary(values[1:], scope) is None and ordinary([], scope) is None


def test_ordinary_resists_an_outlier_and_skips_values_that_are_not_numbers() -> None:
    values = [3.0 + place / 100 for place in range(19)]
    usual = ordinary([*values, 9e9, float("nan")], "hour of the day")
    assert usual is not None
    assert (usual.samples, round(usual.median, 1)) == (20, 3.1)


def usual(median: float) -> UsualRange:
    return UsualRange(median=median, low=0.0, high=2 * median, samples=12, scope="hour of the week")


def test_times_usual_needs_a_usual_value_above_zero() -> None:
    assert against_usual(6.0, usual(0.5)) == "12.0 × the usual for this hour of the week"
    assert against_usual(6.0, None) == against_usual(None, usual(1)) == against_usual(6.0, usual(0)) == ""
    of_all = usual(0.5).model_copy(update={"scope": "all hours"})
    assert against_usual(6.0, of_all) == "12.0 × the usual of all hours"
    assert (usual(0.5).holds(1.0), usual(0.5).holds(1.1)) == (True, False)


def test_headline_and_first_link_gain_the_usual_and_nothing_else_changes() -> None:
    delta = delta_of()
    plain = diagnose(delta)
    told = diagnose(delta, usual={"row_cache_wait_share": usual(0.025 / 12)})
    assert told.headline == plain.headline.replace("30 s", "30 s, 12.0 × the usual for this hour of the week", 1)
    assert told.chain[0].usual != plain.chain[0].usual
    assert told.chain[0].model_copy(update={"usual": None}) == plain.chain[0].model_copy(update={"usual": None})
    without_both = {"headline": "", "chain": plain.chain[1:]}
    assert told.chain[1:] == plain.chain[1:]
    assert told.model_copy(update=without_both) == plain.model_copy(update=without_both)
    assert diagnose(delta, usual={}) == plain
    without = delta_of(refused=["v$sys_time_model"])
    assert "8.3 × the usual" in diagnose(without, usual={"row_cache_waiting_sessions": usual(0.01)}).headline


def test_figures_are_the_rates_and_shares_known_from_a_delta() -> None:
    assert figures(delta_of(RICH)) == pytest.approx(
        {
            "row_cache_wait_share": 0.025,
            "row_cache_waiting_sessions": 2.5 / 30,
            "sleeps_per_second": 1_000 / 30,
            "latch_gets_per_second": 40_000 / 30,
            "dictionary_gets_per_second": 20_000 / 30,
            "db_time_per_second": 100 / 30,
            "executions_per_second": 4_000 / 30,
            "hard_parses_per_second": 20.0,
            "logons_per_second": 2.0,
        }
    )


def test_figures_omit_what_is_unknown() -> None:
    assert figures(delta_of(basis=TOTALS)) == {}
    assert "sleeps_per_second" not in figures(delta_of(refused=["v$latch", "v$latch_children"]))
    mutexes = figures(scripted("healthy-19c", 30.0))
    assert "latch_gets_per_second" not in mutexes
    assert mutexes["sleeps_per_second"] >= 0
    assert figures(printed(scripted("undo-storm", 60.0))).keys() == figures(scripted("undo-storm", 60.0)).keys()


def test_sleeps_of_counts_sleeps_of_what_guards_the_row_cache() -> None:
    nineteen = {"release": "19.0.0.0.0"}
    rows = {"v$mutex_sleep": RICH["v$mutex_sleep"], "v$latch": RICH["v$latch"]}
    assert sleeps_of(context_of(rows, **nineteen)) == 400
    assert sleeps_of(context_of({"v$mutex_sleep": []}, **nineteen)) == 0
    assert sleeps_of(context_of({}, **nineteen)) is None
    assert sleeps_of(SignalContext(delta_of())) == 1_000
