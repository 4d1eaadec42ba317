"""Numbers as people read them."""

from collections.abc import Callable

import pytest

from collectors.model import Basis
from rules.base import Bound, bound_of
from rules.formatting import (
    compared,
    count,
    exact,
    number,
    one_of,
    over,
    part_of,
    percent,
    predicted_share,
    say,
    sentence,
    slots,
    times,
    whole_percent,
    within,
)
from rules.model import RuledOut


def test_whole_numbers_have_no_fraction_and_thousands_apart() -> None:
    assert (count(24_241_645), count(0), part_of(24_241_645, 24_242_220)) == (
        "24,241,645",
        "0",
        "24,241,645 of 24,242,220",
    )
    assert (exact(5.0), exact(5.5)) == (5, 5.5)
    assert isinstance(exact(5.0), int)


@pytest.mark.parametrize(
    ("form", "value", "words"),
    [
        (percent, 0.78547, "78.5 %"),
        (percent, 24_241_645 / 24_242_220, "99.998 %"),
        (percent, 0.0003, "0.030 %"),
        (percent, 0.000003, "< 0.001 %"),
        (percent, 0.9999999, "> 99.999 %"),
        (percent, 0.0, "0 %"),
        (percent, 1.0, "100.0 %"),
        (percent, 0.994, "99.4 %"),
        (times, 11_364.66, "about 11,400 ×"),
        (times, 100.0, "about 100 ×"),
        (times, 999.6, "about 1,000 ×"),
        (times, 99.94, "99.9 ×"),
        (times, 3.4, "3.4 ×"),
        (number, 14_838.0, "14,838"),
        (number, 11_364.66, "11,364.7"),
        (number, 0.785469, "0.7855"),
        (number, 0.0000069, "6.9e-06"),
        (number, 0, "0"),
        (whole_percent, 0.999995, "100 %"),
        (whole_percent, 0.514, "51 %"),
        (whole_percent, 12.0, "1,200 %"),
    ],
)
def test_number_has_enough_digits_to_differ_from_all_or_nothing(
    form: Callable[[float], str], value: float, words: str
) -> None:
    assert form(value) == words


def test_over_names_the_time_covered() -> None:
    assert over(Basis("interval", None, None, 30.0)) == "over 30 s"
    assert over(Basis("totals", None, None, None)) == "in totals since an unknown instance start"


def test_sentence_and_title_keep_names_and_abbreviations() -> None:
    assert sentence("row cache waits cost of DB time") == "Row cache waits cost of DB time"
    assert sentence("") == ""
    assert sentence("dc_objects is hot") == "dc_objects is hot", "a name stays as Oracle writes it"
    assert within("Too many undo segments") == "too many undo segments"
    assert within("A floor set high") == "a floor set high"
    assert within("DDL during the day") == "DDL during the day"


@pytest.mark.parametrize(
    ("value", "unit", "needs", "told", "bound"),
    [
        (0.3, "ratio", ">= 0.5", "30.0 %", ">= 50.0 %"),
        (1.485, "ratio", ">= 2", "1.485", ">= 2"),
        (0.5, "ratio", ">= 2", "0.5", ">= 2"),
        (3.5, "ratio", "<= 0.5", "3.5", "<= 0.5"),
        (0.0000569, "share of DB time", ">= 0.005", "0.006 % of DB time", ">= 0.5 % of DB time"),
        (1488.0, "sleeps", ">= 100", "1,488 sleeps", ">= 100 sleeps"),
        (1.0, "entries", ">= 2500", "1 entry", ">= 2,500 entries"),
        (1.0, "gets per commit", "<= 10", "1 get per commit", "<= 10 gets per commit"),
        (0.0, "value", ">= 1", "0", ">= 1"),
    ],
)
def test_value_and_its_bound_have_one_form(value: float, unit: str, needs: str, told: str, bound: str) -> None:
    assert compared(out(value, unit, bound_of(needs))) == (told, bound)


def out(value: float | None, unit: str, bound: Bound | None, explained_by: str | None = None) -> RuledOut:
    """A cause ruled out whose `needs` is a sentence, which nobody should read as a bound."""
    needs, because = "not what it takes", "another cause explains these waits"
    return RuledOut(
        cause="a",
        signal="s",
        value=value,
        unit=unit,
        needs=needs,
        bound=bound,
        because=because,
        explained_by=explained_by,
    )


def test_what_is_needed_comes_from_the_bound_and_never_from_the_sentence() -> None:
    assert compared(out(0.3, "ratio", None)) == ("30.0 %", "not what it takes")
    assert compared(out(None, "", None)) == ("", "not what it takes")
    explained = compared(out(1.0, "ms", None, explained_by="b"))
    assert explained == ("1 ms", "no other cause, but another cause explains these waits")


def test_percent_with_digits_never_shows_a_nonzero_share_as_zero() -> None:
    assert (percent(0.0, 2), percent(0.00001, 2), percent(0.1532, 2)) == ("0 %", "< 0.01 %", "15.32 %")


@pytest.mark.parametrize(
    ("unit", "single"),
    [
        ("entries", "entry"),
        ("gets", "get"),
        ("misses", "miss"),
        ("waiter sleeps", "waiter sleep"),
        ("latches", "latch"),
        ("gets per commit", "get per commit"),
        ("sessions on average", "session on average"),
        ("runnable per processor", "runnable per processor"),
        ("ms", "ms"),
        ("s", "s"),
        ("", ""),
    ],
)
def test_one_of_is_singular(unit: str, single: str) -> None:
    assert one_of(1, unit) == single
    assert one_of(2, unit) == unit


def test_prediction_whose_upper_end_is_worse_than_now_says_so() -> None:
    assert predicted_share(0.139, 0.024, 0.003, 0.224) == "13.9 % → 2.4 % (0.3 % to 22.4 %, so it may get worse)"
    assert predicted_share(0.21, 0.007, 0.005, 0.011) == "21.0 % → 0.7 % (0.5 % to 1.1 %)"


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
