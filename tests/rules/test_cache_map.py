"""Child latch to caches: read, inferred, unknown; and the self-check of a map."""

from collections.abc import Mapping, Sequence

import pytest

from collectors.capture import Capture
from collectors.capture import delta_of as capture_delta
from collectors.demo.scenarios import scenarios
from collectors.model import Delta, Row, number
from rules.cache_map import CacheMap, cache_map, predicted_latch_gets
from rules.model import Identity
from tests.collectors.scripted import delta_from
from tests.rules.contexts import SICK, delta_of, with_rows


def mapped(views: Mapping[str, Sequence[Row]] = SICK, refused: Sequence[str] = ()) -> CacheMap:
    return cache_map(delta_of(views, refused=refused))


def test_cache_map_read_from_x_kqrst_groups_parents_and_subordinates() -> None:
    users = mapped().children[8]
    assert users.identity is Identity.READ
    assert [(one.cache_id, one.type, one.subordinate) for one in users.caches] == [
        (10, "PARENT", None),
        (7, "SUBORDINATE", 0),
    ]
    assert users.name == "dc_users"
    assert users.predicted_gets == 3 * 800 + 200
    assert mapped().disagreements == ()


def test_cache_map_of_the_recorded_incident_is_the_whole_published_map(incident: Capture) -> None:
    delta = capture_delta(incident)
    assert isinstance(delta, Delta)
    found = cache_map(delta)
    assert sorted(found.children) == list(range(1, 51))
    assert found.name(1) == "dc_rollback_segments"
    assert [(one.cache_id, one.type) for one in found.children[8].caches] == [(10, "PARENT"), *[(7, "SUBORDINATE")] * 3]
    assert found.name(18) == "realm cache"


def test_children_have_the_joined_names_of_their_parents_and_an_unlisted_one_is_unknown() -> None:
    shared = with_rows("x$kqrst", *({**row, "child#": 5} for row in SICK["x$kqrst"]))
    assert mapped(shared).name(5) == "dc_rollback_segments+dc_tablespaces+dc_users"
    assert mapped().guarding(["dc_users", "dc_tablespaces"]) == (5, 8)
    assert mapped().guarding(["dc_props"]) == ()
    assert mapped().name(99) == "unknown"
    found = mapped(refused=["v$rowcache"])
    assert [one.cache_id for one in found.children[1].caches] == [3]
    assert found.name(1) == "unknown"
    assert found.children[1].predicted_gets is None


def test_cache_map_is_inferred_where_the_gets_fit_one_group() -> None:
    found = mapped(refused=["x$kqrst"])
    assert {child: found.name(child) for child in found.children} == {
        1: "dc_rollback_segments",
        5: "dc_tablespaces",
        8: "dc_users",
    }
    assert {guarded.identity for guarded in found.children.values()} == {Identity.INFERRED}
    # 11.2: dc_users is cache 10, its subordinates are rows of cache 7, which has no parent
    caches = mapped(refused=["x$kqrst"]).children[8].caches
    assert [(one.cache_id, one.type) for one in caches] == [(10, "PARENT"), (7, "SUBORDINATE")]


@pytest.mark.parametrize(("off", "inferred"), [(0.981, [1, 5, 8]), (1.019, [1, 5, 8]), (0.97, []), (1.03, [])])
def test_cache_map_is_inferred_within_two_percent(off: float, inferred: list[int]) -> None:
    rows = [{**row, "gets": (number(row["gets"]) or 0) * off} for row in SICK["v$latch_children"]]
    assert sorted(mapped(with_rows("v$latch_children", *rows), refused=["x$kqrst"]).children) == inferred


def test_cache_map_leaves_ties_and_idle_children_unknown_and_infers_nothing_without_gets() -> None:
    twins = [row if row["parameter"] != "dc_tablespaces" else {**row, "gets": 12_000} for row in SICK["v$rowcache"]]
    assert sorted(mapped(with_rows("v$rowcache", *twins), refused=["x$kqrst"]).children) == [8]
    children = [*SICK["v$latch_children"], {"latch#": 270, "child#": 9, "gets": 36_100, "sleeps": 0}]
    assert sorted(mapped(with_rows("v$latch_children", *children), refused=["x$kqrst"]).children) == [5, 8]
    few = with_rows("v$latch_children", {"latch#": 270, "child#": 1, "gets": 999, "sleeps": 990})
    rows = [{**row, "gets": 333} if row["parameter"] == "dc_rollback_segments" else row for row in SICK["v$rowcache"]]
    assert mapped({**few, "v$rowcache": rows}, refused=["x$kqrst"]).children == {}
    rows = [{key: value for key, value in row.items() if key != "gets"} for row in SICK["v$latch_children"]]
    assert mapped(with_rows("v$latch_children", *rows), refused=["x$kqrst"]).children == {}


@pytest.mark.parametrize("scenario", [name for name, one in scenarios().items() if not one.mutexes])
def test_cache_map_inferred_on_a_scripted_database_is_the_true_one(scenario: str) -> None:
    true_map = {cache.child: cache.name for cache in scenarios()[scenario].caches if cache.type == "PARENT"}
    delta = delta_from(scenario, 60, 90, refused=("x$kqrst",))
    busy = {row["child#"] for row in delta.rows("v$latch_children") if (number(row["gets"]) or 0) >= 1_000}
    found = cache_map(delta).children
    assert set(found) == busy
    assert len(busy) >= 6
    assert {child: guarded.name for child, guarded in found.items()} == {child: true_map[child] for child in found}


def gets_of_child_1(gets: int) -> Mapping[str, Sequence[Row]]:
    return with_rows("v$latch_children", {"latch#": 270, "child#": 1, "gets": gets, "sleeps": 1})


@pytest.mark.parametrize(
    ("gets", "doubted"), [(36_000, False), (31_000, False), (42_000, False), (30_000, True), (43_000, True)]
)
def test_disagreements_report_a_prediction_off_by_more_than_15_percent(gets: int, doubted: bool) -> None:
    disagreements = mapped(gets_of_child_1(gets)).disagreements
    assert bool(disagreements) is doubted
    if doubted:
        (one,) = disagreements
        assert str(one).startswith(f"child 1 had {gets:,} latch gets where dc_rollback_segments predict 36,000")


def test_disagreements_skip_a_quiet_child() -> None:
    idle = [{**row, "gets": 0} if row["parameter"] == "dc_rollback_segments" else row for row in SICK["v$rowcache"]]
    assert mapped({**gets_of_child_1(999), "v$rowcache": idle}).disagreements == ()
    (one,) = mapped({**gets_of_child_1(1_000), "v$rowcache": idle}).disagreements
    assert "(+inf%)" in str(one)


def test_predicted_latch_gets_of_unknown_gets_are_unknown() -> None:
    assert predicted_latch_gets([]) is None
    assert predicted_latch_gets([{"type": "PARENT", "gets": 5}, {"type": "PARENT"}]) is None
    assert predicted_latch_gets([{"type": "PARENT", "gets": 5}, {"type": "SUBORDINATE", "gets": 7}]) == 22
