"""From two readings to a Change: the unit, the verdict, each form of the sentence; costs, surfaces and the hot child."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.model import ROW_CACHE_LATCH, Row
from rules.comparison.changes import (
    OF_WORK,
    SECONDS,
    ComparedFigure,
    ComparedSides,
    beyond_noise,
    counted,
    deviations,
    factor_apart,
    fitting,
    places,
)
from rules.context import Known, Unknown
from tests.rules.contexts import TOTALS, context_of

ITEM = ComparedFigure("sleeps", "sleeps on dc_users", of="dc_users")
UNKNOWN = Unknown("v$latch", "v$latch: ORA-00942", "grant it")


def test_counted_without_work_falls_back_to_a_share_then_to_cannot_tell() -> None:
    bare = context_of(basis=TOTALS, refused=["v$sysstat"])
    pair = ComparedSides(bare, bare)
    part = counted(ITEM, pair, (Known(10), Known(900)), OF_WORK, (Known(1_000), Known(1_000), "all sleeps"))
    assert part.sentence == "Sleeps on dc_users rose 90-fold as a share of all sleeps (1.0 % → 90.0 % of all sleeps)."
    for whole in (None, (Known(0.0), Known(9.0), "all"), (UNKNOWN, Known(9.0), "all")):
        none = counted(ITEM, pair, (Known(10), Known(900)), OF_WORK, whole)
        assert (none.verdict, none.counted_before, none.before) == ("cannot tell", 10, None)


def test_places_of_mutexes_are_grouped_by_function_ignoring_their_numbers() -> None:
    rows: list[Row] = [
        {"mutex_type": "Row Cache", "location": "[19] kqrpre", "sleeps": 300},
        {"mutex_type": "Row Cache", "location": "[13] kqreqd", "sleeps": 100},
        {"mutex_type": "Row Cache", "location": "[10] kqreqd", "sleeps": 20},
    ]
    assert places(context_of({"v$mutex_sleep": rows}), "mutex") == {"kqrpre": 300, "kqreqd": 120}
    assert places(context_of({}), "mutex") is None
    assert places(context_of({"v$mutex_sleep": []}), "mutex") == {}
    broken: Row = {"parent_name": ROW_CACHE_LATCH, "location": "kqreqd"}
    assert places(context_of({"v$latch_misses": [broken]}), "latch") is None


@pytest.mark.parametrize(
    ("cache", "each"),
    [
        ("dc_rollback_segments", "per transaction"),
        ("dc_profiles", "per logon"),
        ("dc_histogram_data", "per hard parse"),
        ("dc_users", "per execution"),
    ],
)
def test_fitting_measures_a_cache_per_the_work_that_requests_it(cache: str, each: str) -> None:
    assert fitting(cache)[0].each == each
    assert fitting(cache)[-1] is SECONDS


COUNTS = st.integers(0, 10**9)
EXPOSURES = st.floats(1, 1e9)


@pytest.mark.parametrize(
    ("before", "after", "beyond"),
    [
        (5, 0, False),
        (9, 3, False),
        (30, 10, False),
        (12, 0, True),
        (100, 40, True),
        (100, 90, False),
        (10**8, 8 * 10**7 + 1, False),
        (10**8, 79 * 10**6, True),
        (0, 0, False),
    ],
)
def test_beyond_noise_of_counts_over_equal_windows(before: int, after: int, beyond: bool) -> None:
    assert beyond_noise(before, after, 1000, 1000) is beyond


def test_beyond_noise_weighs_unequal_windows() -> None:
    assert not beyond_noise(400, 100, 4000, 1000), "the same rate"
    assert not beyond_noise(40, 0, 4000, 100), "one was due"
    assert beyond_noise(4000, 0, 4000, 100), "a hundred were expected"


@given(COUNTS, COUNTS, EXPOSURES, EXPOSURES)
def test_deviations_are_the_same_with_the_sides_swapped(before: int, after: int, first: float, second: float) -> None:
    there, back = deviations(before, after, first, second), deviations(after, before, second, first)
    assert there == pytest.approx(back, rel=1e-6, abs=1e-6)
    assert deviations(before, before, first, first) == 0.0


def test_factor_apart_requires_a_factor_and_a_minimum_difference() -> None:
    assert factor_apart(100, 126)
    assert not factor_apart(100, 124)
    assert factor_apart(0, 1)
    assert not factor_apart(0, 0)
    assert not factor_apart(5, 10, apart=20)
