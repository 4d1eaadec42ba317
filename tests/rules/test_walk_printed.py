"""The first steps of a report: the latch as a whole, caches by their gets, and whether latch and dictionary gets agree."""

from dataclasses import replace

import pytest

from collectors.model import ROW_CACHE_LATCH, Row
from rules.scene import Scene
from rules.walk_printed import guessed_cache, no_child
from tests.rules.scenes import delta_of, with_rows


def scene(**views: list[Row]) -> Scene:
    rows: dict[str, list[Row]] = {
        "v$latch": [{"name": ROW_CACHE_LATCH, "gets": 20_000, "sleeps": 1_000}],
        "v$rowcache": [
            {"parameter": "dc_users", "gets": 9_000, "usage": 9},
            {"parameter": "dc_segments", "gets": 1_000, "usage": 700},
        ],
        "v$latch_misses": [],
        **{f"v${view}": told for view, told in views.items()},
    }
    return Scene(replace(delta_of(rows), source="report"))


def test_the_latch_is_told_as_a_whole() -> None:
    step = no_child(scene())
    assert "as a whole, with 1,000 sleeps over an interval of 30.0 s." in step.statement
    assert [(one.name, one.value) for one in step.figures] == [("sleeps", 1_000)]
    assert no_child(scene(latch=[])).figures == ()


def test_the_busiest_cache_comes_first_with_its_share() -> None:
    step = guessed_cache(scene())
    assert "of 10,000 dictionary gets dc_users 90.0 %, dc_segments 10.0 %" in step.statement
    assert "too few sleeps by location" in step.statement
    assert [one.value for one in step.figures] == [0.9, 0.1]


@pytest.mark.parametrize(
    ("gets", "words"),
    [
        (20_000, "2.00 gets for each dictionary get, as it must be"),
        (33_000, "as it must be"),
        (9_000, "as it must be"),
        (34_000, "where one to three are possible: some of these counters are wrong"),
        (8_000, "where one to three are possible"),
    ],
)
def test_latch_gets_check_the_figures_and_name_no_cache(gets: int, words: str) -> None:
    assert words in guessed_cache(scene(latch=[{"name": ROW_CACHE_LATCH, "gets": gets}])).statement


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("kqrpre: find obj", "a long list is walked under the latch, and dc_segments holds the most entries, 700."),
        ("kqrso", "subordinate entries are searched"),
    ],
)
def test_the_shape_adds_what_it_means(place: str, words: str) -> None:
    held: Row = {"parent_name": ROW_CACHE_LATCH, "location": place, "sleep_count": 900}
    assert words in guessed_cache(scene(latch_misses=[held])).statement


def test_without_gets_the_cache_cannot_be_told() -> None:
    assert guessed_cache(scene(rowcache=[])).statement.startswith("Cannot tell which cache: v$rowcache has no gets")
    assert "10,000" not in guessed_cache(Scene(delta_of(with_rows("v$rowcache")))).statement
