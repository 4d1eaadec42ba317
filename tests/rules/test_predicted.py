"""What a cause may state about the effect of its remedy."""

import pytest

from rules.predicted import RemedyEffect


@pytest.mark.parametrize(
    ("gets", "hold"), [((0.5, 0.2), "ordinary"), ((0.0, 1.0), "ordinary"), ((1.0, 1.0), (0.5, 2.0))]
)
def test_effect_of_a_remedy_is_a_range_of_factors_up_to_one(gets: tuple[float, float], hold: object) -> None:
    with pytest.raises(ValueError, match="at most 1, the least first"):
        RemedyEffect.model_validate({"gets": gets, "hold": hold, "because": "so"})
