"""A cause as a value: comparisons, releases, and which fields fit together."""

import pytest
from pydantic import ValidationError

from rules.bounds import meets
from rules.catalogue import catalogue, conditions
from rules.cause import Condition, Releases
from tests.each import each


@each("needs", ["> 1", "== 1", ">=1", ">= about 1", ">= 0x10"])
def test_condition_refuses_other_comparisons(needs: str) -> None:
    with pytest.raises(ValidationError, match="should match pattern"):
        Condition(signal="s", needs=needs, because="b")


@each(
    ("since", "until", "release", "included"),
    [
        (None, None, "9.2.0.1.0", True),
        ("12.1", "12.1", "12.1.0.2.0", True),
        ("12.1", "12.1", "12.2.0.1.0", False),
        ("12.1", "12.1", "11.2.0.4.0", False),
        ("12.2", None, "19.0.0.0.0", True),
        ("12.2", None, "12.1.0.2.0", False),
        (None, "11.2.0.3", "11.2.0.3.0", True),
        (None, "11.2.0.3", "11.2.0.4.0", False),
        (None, "19.7", "19.7.0.0.0", True),
        (None, "19.7", "19.8.0.0.0", False),
        (None, "9.2", "11.2.0.4.0", False),
    ],
)
def test_releases_include_both_ends_at_their_written_precision(
    since: str | None, until: str | None, release: str, included: bool
) -> None:
    assert Releases(since=since, until=until).include(release) is included


@pytest.mark.parametrize("told", ["11", "11.2", "11.2.0"])
def test_releases_include_a_partial_release_that_may_match(told: str) -> None:
    assert Releases(since="11.2.0.1", until="11.2.0.3").include(told)
    assert Releases(since="11.2.0.4").include(told)
    assert not Releases(since="12.1").include(told)
    assert not Releases(until="10.2").include(told)


def test_usual_values_never_meet_the_condition_they_stand_beside() -> None:
    usual = [
        (cause.id, one, end) for cause in catalogue().values() for one in conditions(cause) for end in one.usual or ()
    ]
    assert len(usual) >= 20
    wrong = [(name, one.signal) for name, one, end in usual if end is not None and meets(end, one.needs)]
    assert wrong == []
