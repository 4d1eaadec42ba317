"""The sentences of a cause: slots, and doubt in words."""

import re

import pytest

from rules.catalogue import catalogue
from rules.model import Confidence
from rules.signals import SIGNALS
from rules.wording import CACHE, HOLDER, filled, hedged, in_slot, slots
from tests.each import each

PLAIN, MEASURED = (
    "Applications log on all the time",
    "Applications log on too often: {logons_per_second} times a second",
)


def test_slots_are_the_names_in_braces() -> None:
    assert slots(MEASURED, None, "{cache} and {cache}") == {"logons_per_second", "cache"}
    assert slots(PLAIN) == frozenset()


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"logons_per_second": "112"}, "Applications log on too often: 112 times a second"),
        ({}, PLAIN),
        ({"commits_per_second": "4"}, PLAIN),
    ],
)
def test_filled_takes_the_plain_form_where_a_slot_is_not_known(values: dict[str, str], words: str) -> None:
    assert filled(MEASURED, PLAIN, values) == words


def test_filled_without_a_measured_form_is_the_plain_one() -> None:
    assert filled(None, PLAIN, {"logons_per_second": "112"}) == PLAIN


@each(
    ("value", "unit", "words"),
    [
        (111.61, "per second", "112"),
        (14_838, "entries", "14,800"),
        (0.319, "ratio", "31.9 %"),
        (0.319, "share of DB time", "31.9 %"),
        (63.24, "ms", "63.2 ms"),
        (18.65, "s", "18 seconds"),
        (0, "per second", "0"),
    ],
)
def test_value_in_a_slot_has_three_digits_and_the_unit_that_the_words_do_not_say(
    value: float, unit: str, words: str
) -> None:
    assert in_slot(value, unit) == words


@each(
    ("confidence", "against", "after", "words"),
    [
        (Confidence.HIGH, False, "Applications", "Applications log on too often: 112 times a second"),
        (Confidence.MEDIUM, False, "Applications", "Applications log on too often: 112 times a second"),
        (Confidence.LOW, False, "Applications", "Applications probably log on too often: 112 times a second"),
        (Confidence.LOW, False, None, "Perhaps applications log on too often: 112 times a second"),
        (Confidence.LOW, False, "App", "Perhaps applications log on too often: 112 times a second"),
        (Confidence.MEDIUM, True, "Applications", "Perhaps applications log on too often: 112 times a second"),
    ],
)
def test_hedged_says_how_sure_a_title_is(confidence: Confidence, against: bool, after: str | None, words: str) -> None:
    assert hedged("Applications log on too often: 112 times a second", after, confidence, against) == words


SENTENCES = {
    "title": 12,
    "measured_title": 12,
    "lede": 25,
    "measured_lede": 25,
    "do_now": 15,
    "measured_do_now": 15,
    "do_not": 18,
    "measured_do_not": 18,
}
"""Text of a cause → its maximum of words; a slot counts as one."""


def test_sentences_of_causes_are_as_short_as_a_page_needs_them() -> None:
    texts = {(one.id, kind): getattr(one, kind) or "" for one in catalogue().values() for kind in SENTENCES}
    assert {place: text for place, text in texts.items() if len(text.split()) > SENTENCES[place[1]]} == {}


def test_titles_are_one_sentence_without_a_full_stop_and_other_texts_end_with_one() -> None:
    for one in catalogue().values():
        for title in filter(None, (one.title, one.measured_title)):
            assert re.fullmatch(r"[A-Z{][^;]*[^.;,:]", title) and ". " not in title, f"{one.id}: {title}"
        for text in filter(
            None, (one.lede, one.measured_lede, one.do_now, one.measured_do_now, one.check_first, one.do_not)
        ):
            assert re.fullmatch(r"[A-Z{].*\.", text) and ";" not in text, f"{one.id}: {text}"


def test_what_not_to_do_stands_in_one_place() -> None:
    """A reader with seconds reads one line for what to do and one for what not to do. So neither hides in the other."""
    hidden = re.compile(r"\b([Dd]o not|[Nn]ever)\b|Leave the row cache alone")
    for one in catalogue().values():
        assert not hidden.search(f"{one.do_now} {one.check_first or ''}"), one.id
        for text in filter(None, (one.do_not, one.measured_do_not)):
            assert text.startswith("Do not "), f"{one.id}: {text}"


def test_title_is_no_name_and_can_be_doubted() -> None:
    for one in catalogue().values():
        assert one.title != one.name, one.id
        assert one.hedge_after is None or one.title.startswith(f"{one.hedge_after} "), one.id
        for title in filter(None, (one.title, one.measured_title)):
            said = hedged(title, one.hedge_after, Confidence.LOW, against=False)
            assert re.search(r"^Perhaps [a-z]|^Perhaps [A-Z]{2}| probably ", said), f"{one.id}: {said}"
            assert "probably" not in title.lower() and "perhaps" not in title.lower(), one.id


def test_slots_of_causes_name_signals_and_read_well_without() -> None:
    for one in catalogue().values():
        assert slots(*one.sentences) <= {*SIGNALS, CACHE, HOLDER}, one.id
        assert all(slots(text) for text in one.sentences), (
            f"{one.id}: a measured form without a slot is a second plain one"
        )
        assert not slots(one.title, one.lede, one.do_now, one.check_first, one.do_not), one.id


def test_example_of_the_design_is_said_so() -> None:
    storm, logons = catalogue()["undo-segments"], catalogue()["logon-storm"]
    assert storm.title == "Too many undo segments make every transaction queue"
    measured = filled(logons.measured_title, logons.title, {"logons_per_second": in_slot(111.61, "per second")})
    said = hedged(measured, logons.hedge_after, Confidence.LOW, against=False)
    assert said == "Applications probably log on too often: 112 times a second"
    assert catalogue()["spin-only"].title == "The latch is busy, and hardly anybody waits for it"
