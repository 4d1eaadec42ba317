"""How sure a cause is: its signs, what is missing for high confidence, and what its entry is founded on."""

import pytest

from rules.cause import catalogue
from rules.model import Confidence, Finding
from service.web.pages.sureness import NOT_APART, NOT_NAMED, NOT_RUN, sureness
from tests.rules.test_demo_verdicts import diagnosed


@pytest.fixture(scope="module")
def medium() -> Finding:
    top = diagnosed("nocache-sequence-1", 30.0).findings[0]
    assert top.confidence is Confidence.MEDIUM and top.identity == "sampled" and top.unknown == ()
    return top


def test_medium_confidence_says_what_would_raise_it(medium: Finding) -> None:
    assert sureness(medium).startswith("Medium confidence in the cause: all ")
    assert NOT_RUN in sureness(medium)
    assert NOT_NAMED in sureness(medium.model_copy(update={"identity": "candidate"}))
    plain = tuple(sign.model_copy(update={"role": "required"}) for sign in medium.evidence)
    assert NOT_APART in sureness(medium.model_copy(update={"evidence": plain}))
    query = medium.confirm
    assert query is not None
    refused = query.model_copy(update={"obstacle": "no grant"})
    assert "For high" not in sureness(medium.model_copy(update={"confirm": refused}))


def test_the_page_says_what_the_entry_is_founded_on(medium: Finding) -> None:
    assert medium.status == catalogue()[medium.cause].status == "tested"
    assert sureness(medium).endswith("The entry of this cause is tested (fits published figures).")
    assert "The entry" not in sureness(medium.model_copy(update={"status": None})), "an older release stored it"


def test_high_confidence_misses_nothing() -> None:
    assert "For high" not in sureness(diagnosed("undo-storm", 60.0).findings[0])


def test_the_usual_place_of_mutex_sleeps_is_no_sign() -> None:
    top = diagnosed("users-mutex", 30.0).findings[0]
    assert top.sign("share_of_mutex_sleeps") is not None and len(top.evidence) == 4
    assert "all 3 signs met, and the place of the sleeps fits" in sureness(top)
