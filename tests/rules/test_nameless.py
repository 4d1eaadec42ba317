"""Views with gaps count as not read: rows without their name, children and caches that the map names and no row shows."""

import pytest

from collectors.model import Missing
from rules.nameless import gaps_of
from tests.rules.contexts import SICK, TOTALS, delta_of


@pytest.mark.parametrize(
    ("view", "column"),
    [("v$system_event", "event"), ("v$latch_children", "child#"), ("v$rowcache", "parameter"), ("x$kqrst", "cache#")],
)
def test_row_without_its_name_makes_its_view_missing(view: str, column: str) -> None:
    first, *others = SICK[view]
    rows = [{name: cell for name, cell in first.items() if name != column}, *others]
    read = gaps_of(delta_of({**SICK, view: rows})).get(view)
    assert isinstance(read, Missing)
    assert read.why == f"{view} has a row without its {column}"
    assert read.way_out == f"capture {column} of {view} as well"


@pytest.mark.parametrize(
    ("view", "says"), [("v$latch_children", "no row of child 1"), ("v$rowcache", "no row of cache# 3 (parent)")]
)
def test_row_that_the_map_names_is_not_missed_silently(view: str, says: str) -> None:
    delta = delta_of({**SICK, view: SICK[view][1:]})
    read = gaps_of(delta).get(view)
    assert isinstance(read, Missing) and says in read.why
    assert delta.without(gaps_of(delta)).read(view) == read
    assert not gaps_of(delta_of({**SICK, view: SICK[view][1:]}, basis=TOTALS)), "totals show only a few"


def test_whole_delta_stays_as_it_is() -> None:
    delta = delta_of(SICK)
    assert not gaps_of(delta) and delta.without({}) is delta
