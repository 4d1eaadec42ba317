"""The types of the package as values: order of severities, comparisons, and refusals."""

import pytest
from pydantic import ValidationError

from rules.cause import AnyOf, Condition
from rules.model import Diagnosis
from rules.query import Query
from tests.each import each


@each("needs", ["> 1", "== 1", ">=1", "about 1", ">= one", ">= 1 %", ">= 1.2.3", ">= e", ">= -"])
def test_condition_and_query_refuse_other_comparisons(needs: str) -> None:
    with pytest.raises(ValidationError):
        Condition(signal="x", needs=needs, because="so")
    with pytest.raises(ValidationError):
        Query(sql="select 1 from dual", reads=("dual",), reading="so", needs=needs)


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
