"""The words for gaps: of a report they lead to another report or to the script, never to waiting."""

from rules.printed import REMEMBER, SCRIPT, another, busier, more_of


def test_a_way_out_fits_its_source() -> None:
    assert (busier("views"), busier("report")) == ("wait for a busier interval", "take a report of a busier hour")
    assert (another("views"), another("report")) == ("wait for the next interval", "take a report of another hour")
    assert more_of("views", "v$latch", "misses") == "capture misses of v$latch as well"
    assert more_of("report", "v$latch", "misses") == SCRIPT


def test_what_to_remember_names_what_reports_lack() -> None:
    assert all(word in REMEMBER for word in ("rounded", "local time", "subordinates", "child latch"))
