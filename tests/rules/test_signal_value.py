"""What a signal gives: a share of two known numbers, or the first of them that is not known."""

from rules.signal_value import Known, Unknown, share

LACKING = Unknown("v$latch", "refused", "grant it")


def test_share_of_known_numbers_says_what_it_comes_from() -> None:
    assert share(Known(1_000), Known(4_000)) == Known(0.25, "1,000 of 4,000")


def test_share_with_an_unknown_part_or_whole_is_unknown() -> None:
    assert share(LACKING, Known(1)) is LACKING
    assert share(Known(1), LACKING) is LACKING
