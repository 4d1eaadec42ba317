"""The published incidents, staged as whole intervals: what the diagnosis says of each beside what its page says was right."""

import pytest

from rules.cause import catalogue
from rules.engine import diagnose
from tests.rules.staged import STAGES, incidents, judged, staged

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
