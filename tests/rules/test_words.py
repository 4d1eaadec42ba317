"""Slots of sentences: names, numbers with their plural, and the word alone that fits a number."""

import pytest

from rules.words import say, slots


@pytest.mark.parametrize(
    ("sentence", "values", "said"),
    [
        ("{who} holds it.", {"who": "session 7"}, "session 7 holds it."),
        ("{n} blocks", {"n": 180_000}, "180,000 blocks"),
        ("{n session} {n: waits|wait}", {"n": 1}, "1 session waits"),
        ("{n session} {n: waits|wait}", {"n": 1204}, "1,204 sessions wait"),
        ("{n entry|entries}", {"n": 0}, "0 entries"),
        ("{n entry|entries}", {"n": 1}, "1 entry"),
        ("a name with {braces}", {"braces": "{who}"}, "a name with {who}"),
    ],
)
def test_slots_are_filled_once_with_number_and_plural(sentence: str, values: dict[str, str | int], said: str) -> None:
    assert say(sentence, values) == said


def test_slot_without_a_value_is_an_error_and_slots_are_named() -> None:
    assert slots("{a} {b session} {c: is|are}", None) == {"a", "b", "c"}
    with pytest.raises(KeyError):
        say("{a}", {})
