"""Rows that contradict themselves are named, ordinary ones are not."""

import pytest

from rules.plausibility import implausible
from tests.rules.scenes import delta_of, with_rows


def test_more_misses_than_gets_cannot_be() -> None:
    rows = [
        {"parameter": "dc_users", "gets": 500, "getmisses": 501},
        {"parameter": "dc_objects", "gets": 76_843, "getmisses": 508_432},
    ]
    first, second = implausible(delta_of(with_rows("v$rowcache", *rows)))
    assert first.startswith("v$rowcache dc_objects has 508,432 misses on 76,843 gets")
    assert second.startswith("v$rowcache dc_users has 501 misses on 500 gets")


@pytest.mark.parametrize(("gets", "misses"), [(500, 500), (0, 100), (None, 900), (900, None)])
def test_as_many_misses_as_gets_or_a_few_more_can_be(gets: int | None, misses: int | None) -> None:
    assert implausible(delta_of(with_rows("v$rowcache", {"parameter": "x", "gets": gets, "getmisses": misses}))) == ()
