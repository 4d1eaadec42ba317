"""Verdicts where a reading is partly there: look-ups without those in the fast way."""

from rules.engine import diagnose
from rules.model import Diagnosis
from tests.rules.case_files import delta_of_case, verdict_of
from tests.rules.removals import Removal, removals

NO_FAST_WAY = Removal("column", "v$rowcache", "fastgets")


def without(removal: Removal, case: str) -> Diagnosis:
    (less,) = (delta for one, delta in removals(delta_of_case(case)) if one == removal)
    return diagnose(less)


def test_cause_whose_cache_the_waiters_name_is_found_without_a_share_of_the_work() -> None:
    got = without(NO_FAST_WAY, "sequence-nocache: the same on 19c")
    (one,) = (one for one in got.findings if one.cause == "sequence-nocache")
    assert "v$rowcache has no fastgets here" in one.unknown


def test_cause_whose_cache_nobody_names_is_open_without_a_share_of_the_work() -> None:
    got = without(NO_FAST_WAY, "histogram-hard-parse: the same, and nobody looked who waits")
    verdict, details = verdict_of(got, "object-grants")
    assert verdict == "undetermined"
    assert (details["by"], details["why"]) == ("v$rowcache", "v$rowcache has no fastgets here")
