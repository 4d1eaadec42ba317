"""The types of a comparison as JSON: frozen, and found by name."""

import pytest
from pydantic import ValidationError

from rules.comparison.compare import compare
from rules.comparison.model import NotVerified
from tests.rules.contexts import delta_of


def test_find_returns_a_change_by_its_name_and_its_of() -> None:
    got = compare(delta_of(), delta_of())
    gets = got.find("cache_gets", "dc_tablespaces")
    assert gets is not None
    assert (gets.name, gets.of, gets.title) == ("cache_gets", "dc_tablespaces", "gets of dc_tablespaces")
    assert got.find("cache_gets") == got.find("cache_gets", "dc_rollback_segments"), "the busiest comes first"
    assert got.find("cache_gets", "dc_nothing") is None


def test_not_verified_is_frozen() -> None:
    got = NotVerified(cause="undo-segments", reason="no data after", because="nothing was read")
    with pytest.raises(ValidationError):
        got.because = "all is well"  # type: ignore[misc]
    assert got.model_dump()["verdict"] == "not verified"
