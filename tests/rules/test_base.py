"""Bounds as causes write them, ranks, frozen values, and answers that are worked out once."""

from datetime import UTC, datetime

import pytest
from pydantic import ValidationError

from rules.base import Bound, Confidence, Easing, Frozen, Severity, bound_of, meets, remembered, worst
from rules.cause import Condition
from rules.model import ChainBar, ChainLink, bars_of
from rules.remedy import Query


@pytest.mark.parametrize(
    ("needs", "value", "holds"),
    [
        (">= 0.5", 0.5, True),
        (">= 0.5", 0.49, False),
        (">= -1", 0, True),
        ("<= 1e-3", 0.001, True),
        ("<= 1e-3", 0.002, False),
        ("<= -2", -2.0, True),
        ("<= 1e3", 1_001.0, False),
    ],
)
def test_meets_includes_the_bound(needs: str, value: float, holds: bool) -> None:
    assert meets(value, needs) is holds


def test_bound_is_operator_and_number_and_none_of_what_is_no_comparison() -> None:
    assert bound_of(">= 0.3") == Bound(operator=">=", value=0.3)
    assert bound_of("<= 1e-3") == Bound(operator="<=", value=0.001)
    assert bound_of("12.2 to the newest") is None
    assert bound_of("not >= 0.3") is None


def test_severities_and_confidences_are_ordered_and_the_worst_and_the_lower_follow() -> None:
    assert [one.rank for one in Severity] == [0, 1, 2, 3]
    assert [str(one) for one in Severity] == ["info", "notice", "warning", "critical"]
    assert [one.rank for one in Confidence] == [0, 1, 2]
    assert Severity.CRITICAL.at_most(Severity.INFO) is Severity.INFO
    assert Severity.NOTICE.at_most(Severity.CRITICAL) is Severity.NOTICE
    assert worst([]) is Severity.INFO
    assert worst([Severity.NOTICE, Severity.CRITICAL, Severity.INFO]) is Severity.CRITICAL


class Point(Frozen):
    """A value."""

    x: int


def test_frozen_refuses_changes_and_members_it_does_not_know() -> None:
    point = Point(x=1)
    with pytest.raises(ValidationError, match="frozen"):
        point.x = 2  # type: ignore[misc]
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        Point.model_validate({"x": 1, "y": 2})
    members = {"cause": "undo-segments", "name": "Too many undo segments", "cache": None, "until": datetime.now(UTC)}
    assert Easing.model_validate(members).cache is None
    with pytest.raises(ValidationError):
        Easing.model_validate(members | {"since": None})


class Counting:
    """Counts how often it computes something."""

    def __init__(self, least: int) -> None:
        self.least, self.worked = least, 0

    @remembered
    def over(self, number: int) -> int | None:
        """The number where it is large enough."""
        self.worked += 1
        return number if number >= self.least else None


def test_answer_is_worked_out_once_per_object_and_arguments() -> None:
    low, high = Counting(1), Counting(5)
    assert [low.over(3), low.over(3), low.over(0), low.over(0)] == [3, 3, None, None]
    assert (low.worked, high.worked) == (2, 0)
    assert (high.over(3), high.worked) == (None, 1)
    assert Counting.over.__doc__ == "The number where it is large enough."


# The types of the package as values: order of severities, comparisons, and refusals


@pytest.mark.parametrize("needs", ["> 1", "== 1", ">=1", "about 1", ">= one", ">= 1 %", ">= 1.2.3", ">= e", ">= -"])
def test_condition_and_query_refuse_other_comparisons(needs: str) -> None:
    with pytest.raises(ValidationError):
        Condition(signal="x", needs=needs, because="so")
    with pytest.raises(ValidationError):
        Query(sql="select 1 from dual", reads=("dual",), reading="so", needs=needs)


def test_link_has_at_most_four_bars_and_a_kind_that_is_known() -> None:
    bars = tuple(ChainBar(label=str(place), value=0.1, hot=False) for place in range(5))
    link = ChainLink(
        kind="wait", verb="Sessions wait for", name="row cache lock", code=True, value=None, unit="ratio", measured="so"
    )
    assert (link.certain, link.bars, link.usual) == (True, (), None)
    for wrong in ({"bars": bars}, {"kind": "sleep"}):
        with pytest.raises(ValidationError):
            ChainLink.model_validate(link.model_dump() | wrong)


def test_bars_show_the_hot_one_even_where_others_are_larger_and_none_that_is_empty() -> None:
    values = {"a": 40.0, "b": 30.0, "c": 20.0, "d": 9.0, "e": 1.0, "f": 0.0}
    bars = bars_of(values, 100.0, ["e"])
    assert [(bar.label, bar.value, bar.hot) for bar in bars] == [
        ("a", 0.4, False),
        ("b", 0.3, False),
        ("c", 0.2, False),
        ("e", 0.01, True),
    ]
    assert bars_of({"a": 1.0, "f": 0.0}, 1.0, ["a"]) == bars_of({"a": 1.0}, 1.0, ["a"])
    assert bars_of(values, 0.0, ["a"]) == ()
