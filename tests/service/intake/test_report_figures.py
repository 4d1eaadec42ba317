"""Figures for charts: the highest first, equal names added up, and no chart without data."""

import pytest

from collectors.model import Basis, Changes, Delta, NotComparable, Row
from service.intake.inputs import diagnose_all
from service.intake.report_figures import MOST, figures
from tests.paths import REPORTS


def delta(**views: list[Row]) -> Delta:
    names = {"rowcache": "v$rowcache", "misses": "v$latch_misses", "mutex": "v$mutex_sleep"}
    readings = {names[name]: Changes(names[name], tuple(rows)) for name, rows in views.items()}
    return Delta("x", None, Basis("totals", None, None, None), readings)


def test_gets_are_summed_by_cache_name_and_sorted_highest_first() -> None:
    rows: list[Row] = [
        {"parameter": "dc_users", "gets": 5},
        {"parameter": "dc_objects", "gets": 7},
        {"parameter": "dc_users", "gets": 4},
        {"parameter": "dc_files", "gets": 0},
        {"parameter": "dc_tables"},
    ]
    (one,) = figures(delta(rowcache=rows))
    assert [(bar.label, bar.value) for bar in one.bars] == [("dc_users", 9), ("dc_objects", 7)]
    assert (one.title, one.unit, one.left_out) == ("Dictionary cache gets", "gets", 0)


def test_bars_are_limited_and_the_rest_is_counted() -> None:
    rows: list[Row] = [{"parameter": str(i), "gets": i} for i in range(1, MOST + 4)]
    (one,) = figures(delta(rowcache=rows))
    assert len(one.bars) == MOST and one.left_out == 3


def test_locations_include_only_those_of_the_row_cache() -> None:
    rows: list[Row] = [
        {"parent_name": "row cache objects", "location": "kqreqd", "sleep_count": 3, "wtr_slp_count": 9},
        {"parent_name": "Result Cache: RC Latch", "location": "qesrc", "sleep_count": 8},
    ]
    (one,) = figures(delta(misses=rows))
    assert [(bar.label, bar.value) for bar in one.bars] == [("kqreqd", 3)]


@pytest.mark.parametrize("change", [NotComparable("x", None, "", ""), delta(), delta(rowcache=[], misses=[], mutex=[])])
def test_figures_are_empty_without_data(change: Delta | NotComparable) -> None:
    assert figures(change) == ()


@pytest.mark.parametrize(
    ("name", "title"),
    [("awr-11.2.0.4.0-undo-storm.html", "Row cache latch"), ("awr-19.0.0.0.0-users-mutex.html", "Row cache mutexes")],
)
def test_report_has_charts_of_gets_and_the_locations_of_its_release(name: str, title: str) -> None:
    (one,) = diagnose_all([str(REPORTS / name)]).diagnosed
    caches, locations = figures(one.change)
    assert caches.title == "Dictionary cache gets" and locations.title.startswith(title)
