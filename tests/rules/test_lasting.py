"""What the past adds to a diagnosis: members that nobody may extend."""

from datetime import UTC, datetime

import pytest
from pydantic import ValidationError

from rules.lasting import Easing


def test_easing_takes_no_members_it_does_not_know() -> None:
    members = {"cause": "undo-segments", "name": "Too many undo segments", "cache": None, "until": datetime.now(UTC)}
    assert Easing.model_validate(members).cache is None
    with pytest.raises(ValidationError):
        Easing.model_validate(members | {"since": None})
