"""Figures that contradict each other or the clock: they are said first, and what merely looks odd is not."""

from datetime import timedelta

import pytest

from collectors.model import Basis, Delta, Oddity, Row
from rules.contradictions import contradictions, db_time_is_sound
from rules.engine import diagnose
from tests.rules.contexts import BEGIN, SICK, delta_of, with_rows

FELL = Oddity("v$sys_time_model", ("DB time",), "value", "fell", 100_600_000_000, 100_000_000_000)


def waits(seconds: float, times: int = 10_000, **more: float) -> Delta:
    """The sick instance, with 100 s of DB time in 30 s, and this many seconds of latch waits."""
    event: Row = {"event": "latch: row cache objects", "total_waits": times, "time_waited_micro": seconds * 1e6, **more}
    lock: Row = {"event": "row cache lock", "total_waits": 0, "time_waited_micro": 0}
    return delta_of(with_rows("v$system_event", event, lock))


def test_db_time_that_fell_is_said_first_and_gives_no_share() -> None:
    rows = [row for row in SICK["v$sys_time_model"] if row["stat_name"] != "DB time"]
    got = diagnose(delta_of(with_rows("v$sys_time_model", *rows), oddities=(FELL,)))
    first = "The figures contradict each other: DB time fell from 100,600.0 s to 100,000.0 s, and it can only grow; "
    assert got.headline.startswith(first)
    assert "of DB time" not in got.headline


def test_more_waits_than_db_time_can_hold_are_said_first_and_give_no_share() -> None:
    got = diagnose(waits(2_800))
    assert got.headline.startswith(
        "The figures contradict each other: sessions waited 2,800 s for the row cache in 100 s"
    )
    assert "% of DB time" not in got.model_dump_json()
    assert got.impact is not None and got.impact.share_of_db_time is None


@pytest.mark.parametrize(
    ("delta", "why"),
    [
        (waits(450), "background processes wait too, and DB time lags"),
        (waits(2_800, times=4), "a wait of minutes that ends counts whole, most of it from before"),
        (delta_of(), "all is well"),
    ],
)
def test_what_can_be_is_no_contradiction(delta: Delta, why: str) -> None:
    assert contradictions(delta) == (), why
    assert db_time_is_sound(delta)


def test_waits_of_sessions_alone_have_less_room() -> None:
    assert contradictions(waits(450, time_waited_micro_fg=450e6, total_waits_fg=10_000))


@pytest.mark.parametrize(
    ("minutes", "wrong"), [(60, False), (61, False), (120, False), (0, False), (7 * 24 * 60, True), (30, True)]
)
def test_begin_and_end_are_held_against_the_elapsed_hour(minutes: int, wrong: bool) -> None:
    basis = Basis("interval", BEGIN, BEGIN + timedelta(minutes=minutes), 3_600.0)
    told = contradictions(delta_of(basis=basis, source="report"))
    assert bool(told) == wrong, "an hour more or less means that somebody changed the clock"
    if minutes > 120:
        assert told == ("begin and end are 10,080.0 min apart, and elapsed are 60.0 min",)
