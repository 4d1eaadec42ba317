"""The rivals read the same figures from every kind of file, and judge by their rule alone."""

from pathlib import Path

import pytest

from collectors.capture import Capture, dump
from exam.printed import WRITERS, printed
from exam.rivals import (
    CPU,
    OF_CACHE,
    RIVALS,
    TEXTBOOK,
    Figures,
    busiest_cache,
    figures,
    hit_ratio,
    largest_wait,
    of_capture,
)
from exam.words import cause_of
from tests.truth.generate import Draw, case
from tests.truth.plan import settings


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("cause", ["undo-segments", "logon-storm", "object-grants"])
def test_report_gives_the_figures_of_the_capture(kind: str, cause: str, tmp_path: Path) -> None:
    number = 4 * next(place for place, one in enumerate(settings()) if one.causes == (cause,))
    made = case(number, draw=Draw(5, (1800.0,)))
    exact = of_capture(dump(Capture("Q001", (made.begin, made.end))))
    file = tmp_path / ("Q001.html" if kind == "awr-html" else "Q001.txt")
    file.write_text(printed(kind, "Q001", made.begin, made.end), encoding="utf-8")
    read = figures(file)
    assert (read.largest or "")[:20] == (exact.largest or "")[:20] and read.busiest == exact.busiest
    assert read.waits[CPU] == pytest.approx(exact.waits[CPU], rel=0.01)
    assert sum(gets for gets, _ in read.caches.values()) == sum(gets for gets, _ in exact.caches.values())
    for name, (gets, misses) in exact.caches.items():
        if gets:
            assert read.caches[name][1] == pytest.approx(misses, abs=gets * 0.0006 + 1), name


def test_live_database_has_no_figures() -> None:
    for judge in RIVALS.values():
        assert judge(figures(None))["cause"] == "cannot-tell"


BUSY = Figures(
    {"row cache lock": 50.0, "library cache: mutex X": 10.0, CPU: 100.0},
    {"dc_users": (10.0, 0.0), "dc_props": (90.0, 0.0)},
)
QUIET = Figures({"row cache lock": 0.1, "library cache: mutex X": 1.0, CPU: 100.0}, {"dc_users": (100.0, 1.0)})
COLD = Figures({}, {"dc_users": (50.0, 1.0), "dc_objects": (50.0, 2.0)})


def test_largest_wait_names_its_textbook_cause_however_small() -> None:
    assert largest_wait(BUSY)["cause"] == "sequence-nocache" and largest_wait(BUSY)["cache"] == "dc_props"
    assert largest_wait(QUIET)["cause"] == "downstream-of-library-cache"
    assert largest_wait(Figures({"db file sequential read": 3.0}))["cause"] == "elsewhere"


def test_busiest_cache_names_its_usual_cause_if_the_waits_cost_enough() -> None:
    assert busiest_cache(BUSY)["cause"] == "database-properties"
    assert busiest_cache(QUIET)["cause"] == "nothing"


def test_hit_ratio_asks_for_shared_pool_below_98_percent() -> None:
    said = hit_ratio(COLD)
    assert (said["cause"], said["cache"]) == ("shared-pool-too-small", "dc_objects")
    assert said["advice"] == ["Increase the shared pool."]
    assert hit_ratio(QUIET)["cause"] == "nothing"


def test_every_cause_of_a_rival_is_one_that_the_exam_knows() -> None:
    named = {*(cause for cause, _ in TEXTBOOK.values()), *OF_CACHE.values(), hit_ratio(COLD)["cause"]}
    assert {name for name in named if cause_of(name) != name} == set()
