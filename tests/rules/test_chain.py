"""The words of the chain: what a link refuses."""

import pytest
from pydantic import ValidationError

from rules.chain import ChainBar, ChainLink


def test_link_has_at_most_four_bars_and_a_kind_that_is_known() -> None:
    bars = tuple(ChainBar(label=str(place), value=0.1, hot=False) for place in range(5))
    link = ChainLink(
        kind="wait", verb="Sessions wait for", name="row cache lock", code=True, value=None, unit="ratio", measured="so"
    )
    assert (link.certain, link.bars, link.usual) == (True, (), None)
    for wrong in ({"bars": bars}, {"kind": "sleep"}):
        with pytest.raises(ValidationError):
            ChainLink.model_validate(link.model_dump() | wrong)
