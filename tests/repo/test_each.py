"""`each` asks every value and names the first that fails. An argument that is not a value is a fixture."""

import inspect
from pathlib import Path

import pytest

from tests.each import each

SEEN: list[int] = []


@each("number", (1, 2, 3))
def test_each_asks_every_value_beside_fixtures(number: int, tmp_path: Path) -> None:
    assert tmp_path.is_dir()
    SEEN.append(number)
    assert len(SEEN) == number


def test_each_names_the_value_that_fails() -> None:
    def small(number: int, words: str, fixture: object) -> None:
        assert number < 2, words

    over_all = each(("number", "words"), [(1, "one"), (2, "two"), (3, "three")])(small)
    assert list(inspect.signature(over_all).parameters) == ["fixture"]
    with pytest.raises(AssertionError) as failed:
        over_all(fixture=None)
    assert failed.value.__notes__ == ["('number', 'words'): (2, 'two')"]


def test_each_without_a_value_or_an_argument_is_refused() -> None:
    with pytest.raises(AssertionError, match="nothing to ask about"):
        each("number", [])
    with pytest.raises(AssertionError, match="does not take count"):
        each("count", [1])(lambda number: None)
