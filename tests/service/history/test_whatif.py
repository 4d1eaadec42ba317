"""What a change is worth on a stored database: the intervals behind a model, and the answer."""

import pytest

from rules.contention.holds import LatchCounts, NotPredictable
from rules.engine import diagnose
from service.history.whatif import LEAST_MISSES, WhatIfIn, answer, grouped, of_change, of_store, variation
from service.store.repository import Repository
from tests.rules.contention.test_prediction import demo
from tests.service.marked import DB, at, polled
from tests.service.stage import Stage

ROW = LatchCounts(8, 10, gets=1e5, misses=2e4, sleeps=10)


def test_model_rests_on_the_last_intervals_of_the_child_that_is_named(store: Repository, stage: Stage) -> None:
    polled(store, stage, 60, 100)
    found = of_store(store, DB, "dc_rollback_segments", at(100))
    assert (found.child, found.cache, found.processors) == (1, "dc_rollback_segments", 16)
    assert len(found.rows) >= 3 and all(row.misses >= LEAST_MISSES for row in found.rows)
    assert 36 <= sum(row.seconds for row in found.rows) <= 40
    told = answer(found, WhatIfIn(gets=0.5))
    assert told.confidence == "medium" and told.intervals == len(found.rows)
    assert told.miss_ratio is not None and told.miss_ratio.now == pytest.approx(0.21, rel=0.01)
    assert told.miss_ratio.high < 0.21
    assert told.sleeps_per_second is None and any("processors" in note for note in told.notes)


def test_while_a_trouble_lasts_the_calm_before_it_is_no_part_of_the_model(store: Repository, stage: Stage) -> None:
    polled(store, stage, 0, 100)
    (trouble,) = store.episodes.open(DB)
    found = of_store(store, DB, None, at(100))
    assert found.since == trouble.begin > at(0)
    assert min(row.miss_ratio for row in found.rows) > 0.05, "was: 0.0003, calm intervals among them"
    less, least = (answer(found, WhatIfIn(hold=hold)) for hold in (0.5, 0.2))
    page = demo_prediction()
    assert less.miss_ratio and least.miss_ratio and less.miss_ratio.value and least.miss_ratio.value
    assert less.miss_ratio.value > least.miss_ratio.value > page, "a far larger cut of the hold leaves fewer misses"
    assert least.miss_ratio.value * 0.035 / 0.2 == pytest.approx(page, rel=0.3), "few misses grow with the hold"
    assert any("since the problem began" in note for note in least.notes)
    with pytest.raises(NotPredictable, match="measured on the other children"):
        answer(found, WhatIfIn(hold=0.035))


def demo_prediction() -> float:
    """The misses that the page of the storm predicts."""
    told = diagnose(demo("undo-storm", 60, 90)).prediction
    assert told is not None and told.figures[0].value is not None
    return told.figures[0].value


def test_database_of_which_nothing_is_kept_is_refused(store: Repository) -> None:
    with pytest.raises(NotPredictable, match="wait until it is polled"):
        of_store(store, DB, None, at(100))


def test_intervals_with_few_misses_are_taken_together_with_their_variation() -> None:
    few = [LatchCounts(8, 10, gets=gets, misses=90) for gets in (1000.0, 3000.0, 1000.0, 3000.0)]
    groups = grouped([ROW, *few])
    assert [len(group) for group in groups] == [1, 4]
    assert variation(groups) == pytest.approx((0 + 0.25) / 2)
    assert grouped([ROW, few[0]]) == [[ROW, few[0]]]


def test_batch_needs_the_hold_that_was_measured_with_it() -> None:
    found = of_change("x", demo("undo-storm", 60, 90), None)
    with pytest.raises(NotPredictable, match="measure two sizes of batch"):
        answer(found, WhatIfIn(batch=4))
    told = answer(found, WhatIfIn(batch=4, hold=1.2))
    assert told.work.value is not None and told.work.value > 1


def test_posted_latch_gains_nothing_from_a_finer_timer() -> None:
    told = answer(of_change("x", demo("undo-storm", 60, 90), None), WhatIfIn(timer_ms=1))
    assert (told.work.value, told.work.low, told.work.high) == (1.0, 1.0, 1.0)
    assert told.statement.startswith("no change: a standard exclusive latch is posted")
