"""The types of the package as values: order of severities, comparisons, and refusals."""

import pytest
from pydantic import ValidationError

from rules.cause import Condition
from rules.model import ChainBar, ChainLink, bars_of
from rules.remedy import Query


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
