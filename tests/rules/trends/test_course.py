"""course(): the sentence about where trouble begins is true for every order of good, bad and unjudged intervals."""

from dataclasses import replace

from rules.model import Severity
from rules.trends.course import course
from rules.trends.same_interval import SeriesInput
from tests.rules.contexts import TOTALS, delta_of
from tests.rules.trends.test_series import at, quiet

BAD = "the first of severity critical"


def told(standings: str) -> str:
    """The course of intervals that follow each other: s is sick, w is well, u could not be judged."""
    given: list[SeriesInput] = []
    for place, standing in enumerate(standings):
        name, delta, diagnosis = at(place * 0.5, quiet(), f"n{place}")
        update = {"severity": Severity.CRITICAL if standing == "s" else Severity.INFO}
        given.append(
            (name, delta, diagnosis.model_copy(update=update | ({"state": "No data"} if standing == "u" else {})))
        )
    return course(given, standings.index("s"), BAD)


def test_trouble_that_goes_and_comes_back_is_not_there_from_the_first_on() -> None:
    assert told("swws") == f"the trouble is in n0, the first interval, gone from n1 on, back from n3 on. n0 is {BAD}"
    assert told("wsws") == f"the trouble begins with n1, gone from n2 on, back from n3 on. n1 is {BAD}"
    assert told("swswsw").startswith(
        "the trouble is in n0, the first interval, gone from n1 on, back from n2 on and 3 more turns"
    )
    assert told("ss") == f"the trouble is in n0, the first interval, {BAD}"
    assert told("suus") == told("suu") == told("s") == told("ss"), "an interval that nobody judged shows nothing"


def test_only_a_judged_interval_before_it_shows_where_it_begins() -> None:
    assert told("us") == f"the trouble is in n1, the first interval that could be judged, {BAD}"
    assert told("wus") == f"the trouble begins between n0 and n2, {BAD}"
    name, _, sick = at(0, quiet(), "t")
    sick = sick.model_copy(update={"severity": Severity.CRITICAL})
    assert (
        course([(name, delta_of(basis=TOTALS), sick)], 0, BAD) == f"the trouble is in t, whose time is unknown, {BAD}"
    )
    other = replace(at(1, quiet())[1], dbid="2")
    twins: list[SeriesInput] = [(name, at(0, quiet())[1], sick), ("o", other, sick)]
    assert course(twins, 0, BAD) == f"the earliest that shows the trouble is t, {BAD}"
