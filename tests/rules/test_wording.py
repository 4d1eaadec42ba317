"""The sentences of a cause: slots, and doubt in words."""

import pytest

from rules.model import Confidence
from rules.wording import filled, hedged, in_slot, slots

PLAIN, MEASURED = "Applications log on all the time", "Applications log on {logons_per_second} times a second"


def test_slots_are_the_names_in_braces() -> None:
    assert slots(MEASURED, None, "{cache} and {cache}") == {"logons_per_second", "cache"}
    assert slots(PLAIN) == frozenset()


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"logons_per_second": "112"}, "Applications log on 112 times a second"),
        ({}, PLAIN),
        ({"commits_per_second": "4"}, PLAIN),
    ],
)
def test_filled_takes_the_plain_form_where_a_slot_is_not_known(values: dict[str, str], words: str) -> None:
    assert filled(MEASURED, PLAIN, values) == words


def test_filled_without_a_measured_form_is_the_plain_one() -> None:
    assert filled(None, PLAIN, {"logons_per_second": "112"}) == PLAIN


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [
        (111.61, "per second", "112"),
        (14_838, "entries", "14,800"),
        (0.319, "ratio", "31.9 %"),
        (0.319, "share of DB time", "31.9 %"),
        (63.24, "ms", "63.2 ms"),
        (0, "per second", "0"),
    ],
)
def test_value_in_a_slot_has_three_digits_and_the_unit_that_the_words_do_not_say(
    value: float, unit: str, words: str
) -> None:
    assert in_slot(value, unit) == words


@pytest.mark.parametrize(
    ("confidence", "against", "after", "words"),
    [
        (Confidence.HIGH, False, "Applications", "Applications log on 112 times a second"),
        (Confidence.MEDIUM, False, "Applications", "Applications log on 112 times a second"),
        (Confidence.LOW, False, "Applications", "Applications probably log on 112 times a second"),
        (Confidence.LOW, False, None, "Perhaps applications log on 112 times a second"),
        (Confidence.LOW, False, "App", "Perhaps applications log on 112 times a second"),
        (Confidence.MEDIUM, True, "Applications", "Perhaps applications log on 112 times a second"),
    ],
)
def test_hedged_says_how_sure_a_title_is(confidence: Confidence, against: bool, after: str | None, words: str) -> None:
    assert hedged("Applications log on 112 times a second", after, confidence, against) == words
