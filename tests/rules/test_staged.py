"""The published incidents, staged as whole intervals: what the diagnosis says of each beside what its page says was right."""

import pytest

from rules.cause import catalogue
from rules.engine import diagnose
from tests.rules.staged import STAGES, incidents, judged, staged, variants

RIGHT = {"N1", "N2", "N3", "N5", "P1", "P2", "P6", "P11"}
"""Cases that are answered right; all others honestly. None is answered wrong, and no trouble is missed."""


@pytest.mark.parametrize("name", STAGES)
def test_answer_to_a_staged_incident_is_right_or_honest(name: str) -> None:
    assert judged(name, diagnose(staged(name))) == ("right" if name in RIGHT else "honest")


def test_every_case_is_staged_and_held_against_its_page() -> None:
    assert set(STAGES) == set(incidents()) and set(STAGES) >= RIGHT
    for case in incidents().values():
        assert case["url"] and case["right"] and case["numbers"] and case["wrong"] and case["assumed"]
        assert {*case["causes"], *case["leads"]} <= set(catalogue())


def test_variants_change_every_assumed_figure_the_same_in_each_run_and_a_share_stays_one() -> None:
    for name, case in incidents().items():
        told = list(variants(name))
        assert told == list(variants(name)) and {figure for one in told for figure in one} == set(case["parameters"])
        assert all(0 < value < 1 for one in told for figure, value in one.items() if figure.endswith("_share"))
