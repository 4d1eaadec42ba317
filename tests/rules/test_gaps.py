"""Views with gaps, rows that a capture left out, and the sections of a report that replace a view."""

import pytest

from collectors.model import Missing
from collectors.reports.sections import READERS
from rules.gaps import SECTIONS, cut_notes, gaps_of, section_of
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


def test_capture_without_its_rows_of_zeros_is_read_and_says_so() -> None:
    busy = [row for row in SICK["v$rowcache"] if row.get("gets")]
    assert len(busy) >= 3
    map_rows = [*SICK["x$kqrst"], *({"child#": 40 + n, "cache#": 40 + n, "type": "PARENT"} for n in range(3))]
    cut = delta_of({**SICK, "x$kqrst": map_rows, "v$rowcache": busy})
    assert "v$rowcache" not in gaps_of(cut)
    assert any(note.startswith("v$rowcache has no row of") and "idle" in note for note in cut_notes(cut))
    zeros = [*busy[:-1], {**busy[-1], "gets": 0, "fastgets": 0, "getmisses": 0}]
    lost = delta_of({**SICK, "x$kqrst": map_rows, "v$rowcache": zeros})
    assert "v$rowcache" in gaps_of(lost), "who keeps rows of zeros lost the others"


def test_child_that_lacks_is_idle_where_the_others_have_all_of_the_latch() -> None:
    sums = {name: sum(row[name] for row in SICK["v$latch_children"]) for name in ("gets", "sleeps")}  # type: ignore[misc]
    map_rows = [*SICK["x$kqrst"], {"child#": 44, "cache#": 44, "type": "PARENT"}]
    whole = {**SICK, "x$kqrst": map_rows, "v$latch": [{"name": "row cache objects", **sums}]}
    assert "v$latch_children" not in gaps_of(delta_of(whole))
    more = {**sums, "sleeps": 2 * sums["sleeps"]}
    assert "v$latch_children" in gaps_of(delta_of({**whole, "v$latch": [{"name": "row cache objects", **more}]}))


def test_each_section_of_a_report_replaces_a_view() -> None:
    assert {"v$instance", *READERS} == set(SECTIONS)
    assert section_of("v$latch_misses, v$rowcache") == "Latch Miss Sources, Dictionary Cache Stats"
    assert section_of("v$session") == "v$session"
