"""A traced Delta: every signal reads the same number as on the ordinary one, and its expression is that number."""

import math
from collections import Counter
from collections.abc import Iterator

import pytest

from collectors.delta import between
from collectors.model import Basis, Changes, Delta, number
from rules.cause import Cause, catalogue
from rules.context import Known, SignalContext, gaps_of
from rules.judge import ConditionResult, of_own_cache, outcomes_of
from rules.provenance import Cell, Figure, Step, Term, largest, one_of, read_as, term_of, traced
from tests.rules.case_files import cases_by_name, delta_of_case
from tests.truth.generate import case
from tests.truth.plan import seeds

UNTRACED = {"share_behind_cluster_process", "share_behind_maintenance"}
"""They count over chains of sessions, so a certificate states them without an expression."""
NEVER_KNOWN = {"fix_missing"}


def value_of(term: Term) -> float:
    """The value of an expression, computed here from its cells alone."""
    if isinstance(term, Cell):
        if term.column is None:
            return 1.0
        cell = term.row.cells[term.column]
        if term.part is not None:
            return float(str(cell).split(".")[term.part])
        words = {"TRUE": 1.0, "FORCE": 1.0, "FALSE": 0.0, "MANUAL": 0.0, "YES": 1.0, "NO": 0.0}
        return words[str(cell).upper()] if str(cell).upper() in words else float(str(cell))
    if isinstance(term, float):
        return term
    values = [value_of(each) for each in term.terms]
    if term.operator in ("sum", "largest"):
        return math.fsum(values) if term.operator == "sum" else max(values)
    if term.operator == "difference":
        return values[0] - values[1]
    return values[0] / values[1] * (values[2] if len(values) == 3 else 1.0)


def outcomes(cause: Cause, context: SignalContext) -> list[ConditionResult]:
    read = (outcome for condition in cause.when for outcome in outcomes_of(condition, cause, context))
    return [of_own_cache(outcome, context) for outcome in read]


def compared(delta: Delta) -> Iterator[tuple[str, Known]]:
    """The known readings of every cause on a traced Delta, each compared with the one on the Delta as it is."""
    followed = traced(delta)
    plain, with_rows = (SignalContext(each.without(gaps_of(each))) for each in (delta, followed))
    for cause in catalogue().values():
        for before, after in zip(outcomes(cause, plain), outcomes(cause, with_rows), strict=True):
            assert (before.condition, before.holds) == (after.condition, after.holds), cause.id
            if not isinstance(before.reading, Known) or not isinstance(after.reading, Known):
                assert before.reading == after.reading
                continue
            assert after.reading.value == pytest.approx(before.reading.value, rel=1e-12), before
            assert after.reading.derivation == before.reading.derivation
            yield before.condition.signal, after.reading


def check(delta: Delta) -> Counter[str]:
    """How often each signal has an expression. Each is the value beside it; a value without one is zero."""
    found: Counter[str] = Counter()
    for name, reading in compared(delta):
        term = term_of(reading.value)
        if isinstance(term, float):
            assert reading.value == 0 or name in UNTRACED, f"{name} = {reading.value} has lost its rows"
            continue
        assert value_of(term) == pytest.approx(reading.value, rel=1e-12), name
        found[name] += 1
    return found


SOME_CASES, SOME_SEEDS = list(cases_by_name())[::24], list(seeds())[5::500]


@pytest.mark.parametrize("name", SOME_CASES)
def test_expression_of_every_signal_of_a_case_is_its_value(name: str) -> None:
    check(delta_of_case(name))


@pytest.mark.parametrize("seed", SOME_SEEDS)
def test_expression_of_every_signal_of_a_generated_instance_is_its_value(seed: int) -> None:
    check(generated(seed))


@pytest.mark.soak
def test_every_signal_of_the_catalogue_has_an_expression_somewhere() -> None:
    found: Counter[str] = Counter()
    for name in cases_by_name():
        found += check(delta_of_case(name))
    for seed in list(seeds())[::20]:
        found += check(generated(seed))
    asked = {
        member.signal
        for cause in catalogue().values()
        for when in cause.when
        for member in getattr(when, "any_of", (when,))
    }
    assert asked - set(found) == UNTRACED | NEVER_KNOWN


def generated(seed: int) -> Delta:
    instance = case(seed)
    delta = between(instance.begin, instance.end)
    assert isinstance(delta, Delta)
    return delta


# The arithmetic.


def small() -> Delta:
    rows = ({"stat_name": "DB time", "value": 4_000_000}, {"stat_name": "parse time elapsed", "value": 1_000_000})
    event = {"event": "row cache lock", "time_waited_micro": 7, "time_waited_micro_fg": 0, "total_waits": 3}
    return Delta(
        "erp1",
        "19.0.0.0.0",
        Basis("interval", None, None, 30.0),
        {
            "v$sys_time_model": Changes("v$sys_time_model", rows),
            "v$system_event": Changes("v$system_event", (event,)),
            "v$parameter": Changes("v$parameter", ({"name": "result_cache_mode", "value": "FORCE"},)),
        },
    )


def cells(delta: Delta, *names: str) -> list[float]:
    return [delta.cell("v$sys_time_model", "stat_name", name, "value") or 0.0 for name in names]


def test_number_keeps_the_cell_that_it_is_from() -> None:
    (db_time,) = cells(traced(small()), "DB time")
    term = term_of(db_time)
    assert isinstance(term, Cell) and (term.row.view, term.column) == ("v$sys_time_model", "value")
    assert term.row.names == ("stat_name",)
    assert type(db_time) is Figure and type(number(db_time)) is Figure
    assert type(cells(small(), "DB time")[0]) is float


def test_every_operation_is_remembered_with_its_terms() -> None:
    whole, part = cells(traced(small()), "DB time", "parse time elapsed")
    made = {
        "sum": whole + part,
        "difference": whole - part,
        "ratio": part / whole,
        "share": 8.0 * (part / whole),
        "largest": largest([part, whole]),
    }
    values = {"sum": 5e6, "difference": 3e6, "ratio": 0.25, "share": 2.0, "largest": 4e6}
    for operator, figure in made.items():
        term = term_of(figure)
        assert isinstance(term, Step) and term.operator == operator
        assert float(figure) == values[operator] == value_of(term)


def test_zero_and_all_of_an_amount_add_no_step() -> None:
    whole, part = cells(traced(small()), "DB time", "parse time elapsed")
    assert term_of(whole + 0.0) == term_of(whole - 0) == term_of(sum([whole])) == term_of(whole * 1.0) == term_of(whole)
    assert term_of(largest([whole])) == term_of(largest([whole, whole])) == term_of(whole)
    assert largest([]) == 0.0 and largest([2.0, 3.0]) == 3.0
    flat = term_of(sum([whole, part, whole / 2]))
    assert isinstance(flat, Step) and len(flat.terms) == 3


def test_product_that_is_no_share_is_a_ratio_with_the_same_value() -> None:
    whole, part = cells(traced(small()), "DB time", "parse time elapsed")
    for product in (3 * part, 0.5 * part, whole * part, (part / 1e6) * 5.0, 1 * part):
        term = term_of(product)
        assert isinstance(term, Step) and term.operator == "ratio"
        assert value_of(term) == pytest.approx(float(product), rel=1e-15)


def test_rows_are_counted_and_settings_in_words_are_read_with_their_rows() -> None:
    delta = traced(small())
    rows = delta.rows("v$parameter")
    met = sum(map(one_of, rows))
    assert met == 1 and isinstance(term_of(met), Cell)
    said = read_as(rows[0]["value"], 1.0)
    term = term_of(said)
    assert isinstance(term, Cell) and term.row.cells["value"] == "FORCE" and value_of(term) == said == 1.0
    assert one_of(small().rows("v$parameter")[0]) == 1 and type(read_as("FORCE", 1.0)) is float
