"""What stands under a Diagnosis: the source's own notes first, then assumptions, doubts and what was refused."""

from dataclasses import replace

import pytest

from collectors.model import Changes, Oddity
from rules.context import SignalContext
from rules.notes import implausible, notes
from rules.printed import REMEMBER
from tests.rules.contexts import SICK, context_of, delta_of, with_rows


def test_notes_keep_their_order() -> None:
    delta = delta_of(refused=["v$osstat"], oddities=(Oddity("v$latch", ("x",), "gets", "fell", 9, 3),))
    readings = {**delta.readings, "v$latch": Changes("v$latch", tuple(SICK["v$latch"]), ("gets were cut off",))}
    told = notes(SignalContext(replace(delta, readings=readings, notes=("a long window",))))
    assert [told[0], told[1]] == ["a long window", "assumed: gets were cut off"]
    assert told[-2].startswith("v$latch gets of x fell")
    assert told[-1].startswith("v$osstat: ORA-00942; grant select on")


def test_notes_of_a_report_say_that_it_is_one() -> None:
    assert notes(SignalContext(replace(delta_of(), source="report")))[0] == REMEMBER
    assert REMEMBER not in notes(SignalContext(delta_of()))


def test_implausible_names_more_misses_than_gets() -> None:
    rows = [
        {"parameter": "dc_users", "gets": 500, "getmisses": 501},
        {"parameter": "dc_objects", "gets": 76_843, "getmisses": 508_432},
    ]
    first, second = implausible(context_of(with_rows("v$rowcache", *rows)))
    assert first.startswith("v$rowcache dc_objects has 508,432 misses on 76,843 gets")
    assert second.startswith("v$rowcache dc_users has 501 misses on 500 gets")


@pytest.mark.parametrize(("gets", "misses"), [(500, 500), (0, 100), (None, 900), (900, None)])
def test_implausible_accepts_as_many_misses_as_gets_or_unknown_counts(gets: int | None, misses: int | None) -> None:
    assert implausible(context_of(with_rows("v$rowcache", {"parameter": "x", "gets": gets, "getmisses": misses}))) == ()
