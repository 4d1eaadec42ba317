"""Inputs of one interval: one represents it, unless their releases differ. The note names others that disagree."""

from dataclasses import replace

from rules.model import Severity
from rules.trends.same_interval import distinct
from tests.rules.trends.test_series import at, quiet


def test_inputs_of_two_releases_are_not_of_one_interval() -> None:
    first = at(0, quiet(), "a")
    other = ("b", replace(first[1], release="19.0.0.0.0"), first[2])
    kept, notes = distinct([first, other])
    assert ([entry[0] for entry in kept], notes) == (["a", "b"], []), "was: b is left out"


def test_an_input_that_says_something_else_is_named_with_its_verdict() -> None:
    fine = at(0, quiet(), "a")
    sick = ("b", fine[1], fine[2].model_copy(update={"severity": Severity.CRITICAL}))
    kept, notes = distinct([fine, sick])
    assert [entry[0] for entry in kept] == ["b"]
    assert notes == [
        "b (Critical) and a (Fine) claim the same interval and disagree, and nothing shows which is right; the series "
        "counts b alone, because none has more figures"
    ]
