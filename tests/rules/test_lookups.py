"""Look-ups of a dictionary cache, with and without the fast way in the count."""

from rules.lookups import LOOKUPS, has_fast_way, with_lookups

ROWS = (
    {"parameter": "dc_users", "gets": 953, "fastgets": 13_473},
    {"parameter": "dc_segments", "gets": 7},
    {"parameter": "dc_props", "fastgets": 5},
)


def test_lookups_are_gets_and_fastgets_where_both_are_known() -> None:
    assert [row.get(LOOKUPS) for row in with_lookups(ROWS, fast_way=True)] == [14_426, None, None]
    assert [row.get(LOOKUPS) for row in with_lookups(ROWS, fast_way=False)] == [14_426, 7, None]
    assert with_lookups(ROWS, fast_way=True)[1:] == ROWS[1:]


def test_fast_way_came_with_the_release_that_has_mutexes() -> None:
    assert [has_fast_way(release, "latch") for release in ("11.2.0.4.0", "12.1.0.2.0", "12.2.0.1.0")] == [
        False,
        False,
        True,
    ]
    assert [has_fast_way(None, mechanism) for mechanism in ("latch", "mutex", None)] == [False, True, True]
