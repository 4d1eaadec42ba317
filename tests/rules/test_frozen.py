"""Frozen: nobody changes a value, and an unknown member is refused."""

import pytest
from pydantic import ValidationError

from rules.frozen import Frozen


class Point(Frozen):
    """A value."""

    x: int


def test_frozen_refuses_changes() -> None:
    point = Point(x=1)
    with pytest.raises(ValidationError, match="frozen"):
        point.x = 2  # type: ignore[misc]


def test_frozen_refuses_members_it_does_not_know() -> None:
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        Point.model_validate({"x": 1, "y": 2})
