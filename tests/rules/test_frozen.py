"""Values that leave this floor: nobody changes them, and a member they do not know is refused."""

import pytest
from pydantic import ValidationError

from rules.frozen import Frozen


class Point(Frozen):
    """A value."""

    x: int


def test_frozen_value_cannot_be_changed_or_given_more() -> None:
    point = Point(x=1)
    with pytest.raises(ValidationError):
        point.x = 2
    with pytest.raises(ValidationError):
        Point.model_validate({"x": 1, "y": 2})
