"""The place and the holder of a chain: their share of the sleeps, an unknown child, and what a place does not prove."""

from rules.chain import ChainLink
from rules.context import SignalContext
from rules.engine import diagnose
from rules.explanation.chain.places import place_link, summed
from tests.rules.contexts import SICK, delta_of, with_rows
from tests.rules.test_demo_verdicts import diagnosed


def _link(kind: str, chain: tuple[ChainLink, ...]) -> ChainLink:
    return next(link for link in chain if link.kind == kind)


def test_verb_says_how_many_of_the_sleeps_are_there() -> None:
    verbs = []
    for slept in ((990, 5, 5), (600, 200, 200), (400, 300, 300)):
        rows = [{**row, "sleeps": n} for row, n in zip(SICK["v$latch_children"], slept, strict=True)]
        link = place_link(SignalContext(delta_of(with_rows("v$latch_children", *rows))), "latch")
        assert link is not None
        verbs.append(link.verb)
    assert verbs == ["nearly all on", "mostly on", "most often on"]


def test_child_that_was_not_read_is_not_certain_and_none_is_told_where_none_slept() -> None:
    place = place_link(SignalContext(delta_of(SICK, refused=["v$latch_children"])), "latch")
    assert place is not None and (place.certain, place.value) == (False, None)
    assert place.unknown is not None and "v$latch_children" in place.unknown
    assert place.way_out
    calm = [{**row, "sleeps": 0} for row in SICK["v$latch_children"]]
    assert place_link(SignalContext(delta_of(with_rows("v$latch_children", *calm))), "latch") is None


def test_sleeps_are_summed_by_place_the_most_first() -> None:
    assert list(summed([("a", 1.0), ("b", 5.0), ("a", 3.0)]).items()) == [("b", 5.0), ("a", 4.0)]


def test_place_where_every_lookup_passes_has_a_caveat_and_a_holder_of_the_whole_latch_too() -> None:
    assert _link("place", diagnosed("users-mutex").chain).caveat is not None
    caveat = _link("holder", diagnose(delta_of(SICK)).chain).caveat
    assert caveat is not None and "does not separate children" in caveat
