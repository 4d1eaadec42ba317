"""A seed is an instance, always the same, and the plan covers what it promises."""

from collections import Counter

import pytest

from collectors.capture import dump
from tests.truth.generate import OURS, Draw, case
from tests.truth.plan import DEGRADED, SEEDS_EACH, seeds, setting_of, settings
from tests.truth.registry import MECHANISMS
from tests.truth.truth import STRENGTHS, graded

pytestmark = pytest.mark.slow


def seeds_of(kind: str) -> list[int]:
    """The seeds of a kind, in order."""
    return [seed for seed in seeds() if setting_of(seed).kind == kind]


KINDS = ("single", "pair", "look-alike", "healthy", "degraded", "hang", "crowd")
SOME = tuple(seeds_of(kind)[place] for kind in KINDS for place in (7, -4))
"""A few seeds of every kind."""


@pytest.mark.parametrize("seed", SOME)
def test_seed_gives_the_same_instance_again(seed: int) -> None:
    first, again = case(seed), case(seed)
    assert dump(first.capture) == dump(again.capture)
    assert first.truth == again.truth


def test_seeds_of_one_setting_are_different_instances() -> None:
    assert len({dump(case(seed).capture) for seed in range(400, 400 + SEEDS_EACH)}) == SEEDS_EACH


def test_plan_has_every_kind_and_every_strength_in_both_halves() -> None:
    assert len(seeds()) >= 1000
    kinds = Counter((setting_of(seed).kind, seed % 2) for seed in seeds())
    assert {kind for kind, _ in kinds} == {*KINDS}
    assert all(kinds[kind, 0] == kinds[kind, 1] for kind, _ in kinds)
    assert kinds["healthy", 1] + kinds["look-alike", 1] >= 600
    assert kinds["degraded", 1] >= 700
    single = {(setting.causes[0], setting.strength) for setting in settings() if setting.kind == "single"}
    staged = {name for name, mechanism in MECHANISMS.items() if mechanism.role == "cause"}
    assert single == {(cause, strength) for cause in staged for strength in STRENGTHS}


def test_every_cause_meets_several_sights_and_every_sight_several_causes() -> None:
    degraded = [setting for setting in settings() if setting.kind == "degraded"]
    sights = {str(setting.sight) for setting in degraded}
    assert len(sights) == len(DEGRADED)
    assert all(len({one.causes for one in degraded if str(one.sight) == sight}) >= 2 for sight in sights)
    staged = {name for name, mechanism in MECHANISMS.items() if mechanism.role == "cause"}
    assert all(len({str(one.sight) for one in degraded if one.causes == (cause,)}) >= 5 for cause in staged)


@pytest.mark.parametrize("seed", seeds_of("healthy")[::37])
def test_healthy_instance_loses_next_to_nothing(seed: int) -> None:
    truth = case(seed).truth
    assert truth.kind == "healthy" and not truth.troubles
    assert graded(truth.share) == "info"


def test_another_edition_gives_another_instance_of_the_same_cause_and_ours_stays() -> None:
    assert case(0).truth == case(0, draw=OURS).truth
    other = case(0, draw=Draw(57, (1800.0,))).truth
    assert other.causes == case(0).truth.causes
    assert other.db_time != case(0).truth.db_time and other.seconds in (1800.0, 3600.0)
