"""The words of the floor as values: order of severities, comparisons, and what is refused."""

import pytest
from pydantic import ValidationError

from rules.cause import AnyOf, Condition, Query
from rules.model import Confidence, Diagnosis, Severity, meets, worst


def test_severities_and_confidences_are_ordered() -> None:
    assert [one.rank for one in Severity] == [0, 1, 2, 3]
    assert [str(one) for one in Severity] == ["info", "notice", "warning", "critical"]
    assert [one.rank for one in Confidence] == [0, 1, 2]


def test_at_most_is_the_lower_of_two() -> None:
    assert Severity.CRITICAL.at_most(Severity.INFO) is Severity.INFO
    assert Severity.NOTICE.at_most(Severity.CRITICAL) is Severity.NOTICE


def test_worst_of_none_is_info() -> None:
    assert worst([]) is Severity.INFO
    assert worst([Severity.NOTICE, Severity.CRITICAL, Severity.INFO]) is Severity.CRITICAL


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


@pytest.mark.parametrize("needs", ["> 1", "== 1", ">=1", "about 1", ">= one", ">= 1 %", ">= 1.2.3", ">= e", ">= -"])
def test_condition_and_query_refuse_other_comparisons(needs: str) -> None:
    with pytest.raises(ValidationError):
        Condition(signal="x", needs=needs, because="so")
    with pytest.raises(ValidationError):
        Query(sql="select 1 from dual", reading="so", needs=needs)


def test_condition_is_frozen_and_refuses_unknown_members() -> None:
    one = Condition(signal="x", needs=">= 1", because="so")
    with pytest.raises(ValidationError):
        one.signal = "y"  # type: ignore[misc]
    with pytest.raises(ValidationError):
        Condition.model_validate({"signal": "x", "needs": ">= 1", "because": "so", "colour": "red"})
    with pytest.raises(ValidationError):
        AnyOf(any_of=(one,))


def test_diagnosis_has_the_promised_members() -> None:
    promised = "database release mechanism basis severity headline impact steps findings ruled_out undetermined"
    assert set(promised.split()) <= set(Diagnosis.model_fields)
