"""What stands under a Diagnosis: the source's own notes first, then assumptions, doubts and what was refused."""

from dataclasses import replace

from collectors.model import Changes, Oddity
from rules.context import Scene
from rules.notes import notes
from rules.printed import REMEMBER
from tests.rules.scenes import SICK, delta_of


def test_the_notes_stand_in_their_order() -> None:
    delta = delta_of(refused=["v$osstat"], oddities=(Oddity("v$latch", ("x",), "gets", "fell", 9, 3),))
    readings = {**delta.readings, "v$latch": Changes("v$latch", tuple(SICK["v$latch"]), ("gets were cut off",))}
    told = notes(Scene(replace(delta, readings=readings, notes=("a long window",))))
    assert [told[0], told[1]] == ["a long window", "assumed: gets were cut off"]
    assert told[-2].startswith("v$latch gets of x fell")
    assert told[-1].startswith("v$osstat: ORA-00942; grant select on")


def test_a_report_says_that_it_is_one() -> None:
    assert notes(Scene(replace(delta_of(), source="report")))[0] == REMEMBER
    assert REMEMBER not in notes(Scene(delta_of()))
