"""What is found, ruled out or left open where a reading is there in part."""

from rules.engine import diagnose
from rules.model import Confidence
from tests.rules.case_files import delta_of_case
from tests.rules.removals import Removal, removals


def test_ratio_that_was_captured_in_part_costs_a_cause_whose_cache_is_known_confidence_alone() -> None:
    """Without the fast way a share of look-ups is not known; who waits names the cache, so the finding stays."""
    name = "sequence-nocache: the same on 19c"
    removal = Removal("column", "v$rowcache", "fastgets")
    (less,) = (delta for one, delta in removals(delta_of_case(name)) if one == removal)
    (got,) = (one for one in diagnose(less).findings if one.cause == "sequence-nocache")
    assert got.confidence is Confidence.LOW
    assert "v$rowcache has no fastgets here" in got.unknown
