"""The texts for gaps: for a report they lead to another report or to the script, never to waiting."""

from collectors.model import SCRIPT
from collectors.reports.sections import READERS
from rules.printed import REMEMBER, SECTIONS, another, busier, more_of, section_of


def test_way_out_fits_its_source() -> None:
    assert (busier("views"), busier("report")) == ("wait for a busier interval", "take a report of a busier hour")
    assert (another("views"), another("report")) == ("wait for the next interval", "take a report of another hour")
    assert more_of("views", "v$latch", "misses") == "capture misses of v$latch as well"
    assert more_of("report", "v$latch", "misses") == SCRIPT


def test_remember_names_what_reports_lack() -> None:
    assert all(word in REMEMBER for word in ("rounded", "local time", "subordinates", "child latch"))


def test_sections_cover_every_view_that_a_report_prints() -> None:
    assert {"v$instance", *READERS} == set(SECTIONS)
    assert section_of("v$latch_misses, v$rowcache") == "Latch Miss Sources, Dictionary Cache Stats"
    assert section_of("v$session") == "v$session"
