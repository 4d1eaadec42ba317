"""Healthy series with noise show no onset and no trend.

Staged onsets are found at their place, and growth shows. The test has its own generator: rates vary by a factor from hour to
hour, counts by chance, and some series have a working day.
"""

import math
import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from collectors.model import Basis, Changes, Delta
from rules.engine import diagnose
from rules.model import Diagnosis, Impact
from rules.trends import ReportSeries, series, trend
from tests.rules.contexts import BEGIN, delta_of

HOUR = 3600.0
LENGTHS = (4, 5, 8, 24)
SERIES = 100
"""Series of each length. Every second of those over a whole day has a working day, from midnight on."""
QUIET = delta_of({"v$event_name": [{"name": "latch: row cache objects"}]})
ANSWER = diagnose(QUIET)


def poisson(dice: random.Random, mean: float) -> int:
    """A count by chance; a large one is normally distributed."""
    if mean > 30:
        return max(0, round(dice.gauss(mean, math.sqrt(mean))))
    draw, chance = dice.random, mean / 1000
    return len([0 for _ in range(1000) if draw() < chance])


def interval(place: int, gets: int, sleeps: int) -> tuple[str, Delta, Diagnosis]:
    """One hour with this many dictionary gets and latch sleeps, diagnosed as fine."""
    begin = BEGIN + timedelta(hours=place)
    rows = {
        "v$latch": ({"name": "row cache objects", "gets": 3 * gets, "sleeps": sleeps},),
        "v$rowcache": ({"parameter": "dc_objects", "cache#": 8, "type": "PARENT", "gets": gets},),
    }
    readings = {**QUIET.readings, **{view: Changes(view, each) for view, each in rows.items()}}
    delta = replace(QUIET, readings=readings, basis=Basis("interval", begin, begin + timedelta(hours=1), HOUR))
    share = sleeps * 1e-4 / (4 * HOUR)
    impact = Impact(share_of_db_time=share, waiting_sessions=4 * share)
    return f"h{place:02}", delta, ANSWER.model_copy(update={"impact": impact})


def day(dice: random.Random, length: int, workday: bool) -> list[tuple[int, int]]:
    """Gets and sleeps of the hours of a healthy instance: the busier, the more sleeps for each get."""
    gets, each = math.exp(dice.uniform(9, 17)), math.exp(dice.uniform(-11, -6))
    varies, noise = dice.uniform(0.05, 0.25), dice.uniform(0.1, 0.4)
    hours = []
    for place in range(length):
        load = 1 + 3 * max(0.0, math.sin(math.pi * (place - 6) / 12)) ** 0.5 if workday else 1.0
        load *= dice.lognormvariate(0, varies)
        sleeps = gets * each * load**1.5 * dice.lognormvariate(0, noise)
        hours.append((round(gets * load), poisson(dice, sleeps)))
    return hours


def told(hours: Sequence[tuple[int, int]]) -> ReportSeries:
    return series([interval(place, *each) for place, each in enumerate(hours)])


@pytest.mark.parametrize("number_of_series", [SERIES, pytest.param(2 * SERIES, marks=pytest.mark.soak)])
def test_healthy_series_have_no_onset_and_no_trend(number_of_series: int) -> None:
    dice = random.Random(9)
    onsets: list[str] = []
    trends: list[str] = []
    for length in LENGTHS:
        for number in range(number_of_series):
            workday = length == LENGTHS[-1] and number % 2 == 0
            got = told(day(dice, length, workday))
            onsets += [f"{length} {number}: {got.why_bad}"] if got.first_bad else []
            trends += [
                f"{length} {number}: {one.sentence}" for one in got.trends if one.direction in ("rising", "falling")
            ]
    assert onsets == []
    assert len(trends) <= 2, trends


@pytest.mark.parametrize("factor", [30.0, 100.0])
def test_staged_onsets_are_found_where_they_are(factor: float) -> None:
    dice = random.Random(10)
    wrong = []
    for number in range(60):
        length, at = dice.choice((8, 12, 24)), dice.randrange(4, 7)
        lasts = dice.choice((1, length))
        hours = [
            (gets, max(round(sleeps * factor), 400) if at <= place < at + lasts else sleeps)
            for place, (gets, sleeps) in enumerate(day(dice, length, workday=False))
        ]
        if min(sleeps for _, sleeps in hours[at : at + lasts]) < 10 * max(sleeps for _, sleeps in hours[:at]):
            continue  # noise has hidden it
        got = told(hours)
        if got.first_bad != f"h{at:02}":
            wrong.append((number, at, got.first_bad, hours))
    assert wrong == []


def test_growth_over_a_day_is_a_trend() -> None:
    dice = random.Random(11)
    seen = [
        trend("x", "sleeps", [(place, 40 * 1.15**place * dice.lognormvariate(0, 0.3)) for place in range(24)]).direction
        for _ in range(100)
    ]
    assert seen.count("rising") == 100
