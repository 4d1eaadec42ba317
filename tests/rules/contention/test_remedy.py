"""What a remedy is worth: on the demo's undo storm, on staged instances of tests/truth, and the score of a prediction."""

from itertools import islice

import numpy as np
import pytest

from collectors.delta import between
from collectors.demo.database import ScriptedDatabase
from collectors.demo.scenarios import scenarios
from collectors.model import Delta
from collectors.poll import poll
from rules.contention.readings import counts_of
from rules.contention.remedy import score
from rules.context import SignalContext
from rules.engine import diagnose
from tests.collectors.scripted import BEGAN
from tests.rules.contention import staged


def demo(name: str, begin: float, end: float) -> Delta:
    """The change of a scripted database between two seconds of its loop."""
    now = [begin]
    database = ScriptedDatabase(scenarios()[name], BEGAN, lambda: now[0])
    earlier = poll(name, database)
    now[0] = end
    delta = between(earlier, poll(name, database, earlier))
    assert isinstance(delta, Delta)
    return delta


def test_prediction_before_the_remedy_brackets_what_came_after_within_a_factor_of_three() -> None:
    before, after = demo("undo-storm", 60, 90), demo("undo-storm", 170, 200)
    told = diagnose(before).prediction
    assert told is not None and (told.cause, told.child, told.refused) == ("undo-segments", 1, None)
    came = counts_of(SignalContext(after), 1)
    missed = told.figures[0]
    assert missed.now == pytest.approx(0.21, rel=1e-3) and came.miss_ratio == pytest.approx(0.006, rel=1e-3)
    assert missed.low <= came.miss_ratio <= missed.high
    assert missed.high / missed.low <= 3


def test_score_says_what_was_predicted_and_what_came() -> None:
    told = diagnose(demo("undo-storm", 60, 90)).prediction
    assert told is not None
    after, still = (counts_of(SignalContext(demo("undo-storm", *span)), 1) for span in ((170, 200), (90, 120)))
    good, bad = score(told, after), score(told, still)
    assert good is not None and bad is not None
    assert good.held and good.statement.startswith("the prediction made before held: 0.6 % of gets missed where ")
    assert not bad.held and bad.statement.startswith("the prediction made before failed: 21.0 % of gets missed")
    missed = good.figures[0]
    assert (missed.inside, missed.before, missed.came) == (True, told.figures[0].now, after.miss_ratio)
    assert (missed.low, missed.high) == (told.figures[0].low, told.figures[0].high)


def test_refusal_is_said_and_has_no_score() -> None:
    told = diagnose(demo("parse-storm", 60, 90)).prediction
    assert told is not None and told.refused and told.figures == ()
    assert told.statement == f"no prediction: {told.refused}"
    assert score(told, counts_of(SignalContext(demo("parse-storm", 60, 90)), 1)) is None


def test_database_in_order_has_no_prediction() -> None:
    assert diagnose(demo("busy-but-fine", 60, 90)).prediction is None


def test_staged_instances_come_out_within_their_intervals() -> None:
    """A sample; `make bench-model` judges all of them."""
    one, six = (staged.judged(islice(staged.staged(), 0, None, 6), intervals) for intervals in (1, 6))
    for judged in (one, six):
        assert len(judged) >= 4
        assert np.mean([held for _, held, _ in judged]) >= 0.8
    assert np.median([width for *_, width in six]) < np.median([width for *_, width in one])
