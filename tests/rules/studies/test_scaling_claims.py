"""Claims: which figures fit them as printed, and which texts are not claims."""

import pytest

from rules.studies.scaling import claim_of
from rules.studies.table import BadStudy


def test_claim_fits_ratios_that_round_to_its_figures() -> None:
    claim = claim_of("8:50.33:0.04")
    assert claim.processes == 8 and claim.release is None
    assert claim.fits(0.503316, 0.000406)
    assert not claim.fits(0.5034, 0.000406)
    assert not claim.fits(0.503316, 0.00046)
    assert not claim.fits(0.503316, None)


@pytest.mark.parametrize("words", ["", "8", "8:50.33", "eight:50:1", "8:50.33:-1", "8:50.33:0.04:1"])
def test_what_is_no_claim_is_refused_with_an_example(words: str) -> None:
    with pytest.raises(
        BadStudy, match=r"is not a claim; write PROCESSES:MISSES:SLEEPS in percent, such as 8:50\.33:0\.04"
    ):
        claim_of(words)
