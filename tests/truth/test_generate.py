"""A seed is an instance, always the same, and the plan covers what it promises."""

from collections import Counter

import pytest

from collectors.capture import dump, load
from tests.truth.generate import case
from tests.truth.plan import SEEDS_EACH, seeds, setting_of, settings
from tests.truth.registry import MECHANISMS
from tests.truth.truth import STRENGTHS, graded

SOME = (3, 130, 402, 451, 560, 700, 853, 985, 1034)
"""A few seeds of every kind."""


@pytest.mark.parametrize("seed", SOME)
def test_seed_gives_the_same_instance_again(seed: int) -> None:
    first, again = case(seed), case(seed)
    assert dump(first.capture) == dump(again.capture)
    assert first.truth == again.truth


def test_seeds_of_one_setting_are_different_instances() -> None:
    assert len({dump(case(seed).capture) for seed in range(400, 400 + SEEDS_EACH)}) == SEEDS_EACH


@pytest.mark.parametrize("seed", SOME)
def test_capture_can_be_written_and_read(seed: int) -> None:
    capture = case(seed).capture
    assert load(dump(capture), "generated").snapshots[1].readings.keys() == capture.snapshots[1].readings.keys()


def test_plan_has_every_kind_and_every_strength_in_both_halves() -> None:
    assert len(seeds()) >= 1000
    kinds = Counter((setting_of(seed).kind, seed % 2) for seed in seeds())
    assert {kind for kind, _ in kinds} == {"single", "pair", "look-alike", "healthy", "degraded", "hang"}
    assert all(kinds[kind, 0] == kinds[kind, 1] for kind, _ in kinds)
    single = {(setting.causes[0], setting.strength) for setting in settings() if setting.kind == "single"}
    staged = {name for name, mechanism in MECHANISMS.items() if mechanism.role == "cause"}
    assert single == {(cause, strength) for cause in staged for strength in STRENGTHS}


@pytest.mark.parametrize("seed", range(2, 432, 24))
def test_single_trouble_costs_what_its_strength_says(seed: int) -> None:
    truth = case(seed).truth
    assert truth.strength is not None
    low, high = STRENGTHS[truth.strength]
    (trouble,) = truth.troubles
    assert low * 0.8 <= trouble.share <= high * 1.2
    assert truth.share >= trouble.share * 0.99


@pytest.mark.parametrize("seed", range(672, 848, 11))
def test_healthy_instance_loses_next_to_nothing(seed: int) -> None:
    truth = case(seed).truth
    assert truth.kind == "healthy" and not truth.troubles
    assert graded(truth.share) == "info"
