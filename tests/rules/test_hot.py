"""Which caches are hot, each separately, and their part of a surface's time."""

import pytest

from rules.hot import standing_out
from tests.each import each
from tests.rules.contexts import SICK, context_of, with_rows


@each(
    ("sizes", "few"),
    [
        ({"a": 99, "b": 1}, ("a",)),
        ({"a": 54, "b": 46}, ("a", "b")),
        ({"a": 80, "b": 20}, ("a", "b")),
        ({"a": 20, "b": 20, "c": 20, "d": 20, "e": 20}, ()),
        ({"a": 34, "b": 33, "c": 33}, ()),
        ({"a": 88, "b": 12}, ("a",)),
        ({"a": 40, "b": 12, "c": 12, "d": 12, "e": 12, "f": 12}, ("a",)),
        ({}, ()),
    ],
)
def test_standing_out_are_at_most_two_with_a_gap_after_them(sizes: dict[str, float], few: tuple[str, ...]) -> None:
    assert standing_out(sizes) == few


def two() -> dict[str, object]:
    sleeps = {1: 540, 5: 0, 8: 460}
    rows = [{**row, "sleeps": sleeps[row["child#"]]} for row in SICK["v$latch_children"]]
    return dict(with_rows("v$latch_children", *rows))


def test_each_of_two_hot_caches_has_its_own_part_of_the_cost() -> None:
    context = context_of(two())  # type: ignore[arg-type]
    assert context.hot_caches.part_of_surface("latch", ("dc_rollback_segments",)) == pytest.approx(0.54)
    assert context.hot_caches.part_of_surface("latch", ("dc_users",)) == pytest.approx(0.46)
    assert context.hot_caches.beside(("latch",), ("dc_users",)) == ("dc_rollback_segments",)
    assert context.hot_caches.mixed("latch") and not context_of().hot_caches.mixed("latch")


def test_the_only_hot_cache_has_all_of_the_cost() -> None:
    assert context_of().hot_caches.part_of_surface("latch", ("dc_rollback_segments",)) == 1.0
    assert context_of().hot_caches.part_of_surface("latch", ("dc_tablespaces",)) == pytest.approx(0.007)


def test_who_waits_for_a_subordinate_names_its_parent() -> None:
    rows = [
        {"cache#": 8, "type": "PARENT", "subordinate#": None, "parameter": "dc_objects"},
        {"cache#": 8, "type": "SUBORDINATE", "subordinate#": 0, "parameter": "dc_object_grants"},
    ]
    context = context_of(with_rows("v$rowcache", *rows))
    assert context.hot_caches.waited_as(("dc_object_grants",)) == ("dc_object_grants", "dc_objects")
    assert context.hot_caches.waited_as(("dc_objects",)) == ("dc_objects",)
