"""Held verdicts: what a poll tells whose causes were judged earlier, against the same poll with all causes judged."""

from random import Random

import pytest

from rules.engine import examine
from rules.model import Severity
from service.state.board import Published
from tests.second.feed import snapshots
from tests.second.instances import COUNT, draw
from tests.service.watch.series import KINDS, Series, Watch, differences
from tests.truth.generate import case
from tests.truth.plan import seeds, setting_of

SEED, SERIES, TOGETHER = 70, 1100, 4
DRAWN = Random(SEED).sample(range(SERIES), SERIES // 20)
LATER = {534: {"findings", "stored episodes", "stored changes", "metrics"}}
LATER[664] = LATER[534]
"""Series → what differs for a poll or more, as a second cause beside a lasting one is found up to a minute later. An entry may
leave this list; none may come."""


def series(number: int, noise: float = 0.0) -> Series:
    """Instances of both generators by turns, each with the next kind of change."""
    rng = Random(SEED * 1000 + number)
    if number % 2:
        begin, *_, end = snapshots(draw(rng.randrange(COUNT)))
    else:
        generated = case(rng.choice(seeds()))
        begin, end = generated.begin, generated.end
    return Series(begin, end, KINDS[number // 2 % len(KINDS)], rng, noise)


def held(published: Published | None) -> bool:
    return published is not None and published.examined.judged is not published.verdict


def compared(number: int, noise: float = 0.0) -> tuple[set[str], bool]:
    """What differs in a series, judged seldom and at each poll; and whether the poll before the change was held."""
    one, seldom, each, differ, before = series(number, noise), Watch(False), Watch(True), set[str](), False
    for place in range(one.at + 5):
        before = held(seldom.database.published) if place == one.at else before
        differ |= {*differences(seldom, each, one)}
    return differ, before


@pytest.mark.parametrize(
    "drawn",
    [
        pytest.param(
            numbers[place : place + TOGETHER], marks=[pytest.mark.slow] if numbers is not DRAWN or place >= 20 else []
        )
        for numbers in (DRAWN, range(SERIES))
        for place in range(0, len(numbers), TOGETHER)
    ],
)
def test_change_within_a_held_minute_is_told_as_if_each_poll_judged(drawn: list[int]) -> None:
    """What the store takes, /metrics, episodes, costs and severity, at each poll."""
    told = {number: compared(number)[0] for number in drawn}
    assert {number: differ for number, differ in told.items() if not differ <= LATER.get(number, set())} == {}


def test_most_changes_of_the_draw_meet_a_held_verdict() -> None:
    few = DRAWN[:TOGETHER]
    assert sum(compared(number)[1] for number in few) >= len(few) / 2


FINE = ("healthy", "look-alike")


@pytest.mark.parametrize("every", [100, pytest.param(4, marks=pytest.mark.slow)])
@pytest.mark.parametrize("noise", [0.0, 0.1, 0.3])
def test_gate_is_shut_only_where_a_judgement_finds_nothing(noise: float, every: int) -> None:
    drawn = [seed for seed in seeds() if seed % (every if setting_of(seed).kind in FINE else 5 * every) == 0]
    shut = 0
    for seed in drawn:
        generated, watch = case(seed), Watch(False)
        one = Series(generated.begin, generated.end, "rise", Random(seed), noise)
        one.at = 3
        for _ in range(5):
            one.go_on()
            published = watch.poll(one)
            if published.examined.gated:
                assert published.delta is not None
                judged, shut = examine(published.delta).verdict, shut + 1
                assert judged.severity is published.verdict.severity is Severity.INFO, seed
                told = published.examined.told
                assert judged.impact == told.impact == published.verdict.impact, seed
                assert judged.surfaces == told.surfaces == published.verdict.surfaces, seed
    assert shut >= len(drawn) / 5
