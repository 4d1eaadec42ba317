"""The table of scores by sight: every reader gets the same instance, and planted answers give planted rows."""

from random import Random

import pytest

from collectors.model import Missing
from rules.model import Severity
from tests.paths import ROOT
from tests.truth import by_sight
from tests.truth.__main__ import main
from tests.truth.by_sight import Mark, diagnosed
from tests.truth.generate import Case, Draw, case
from tests.truth.plan import SEEDS_EACH, settings
from tests.truth.printed import changes, rows
from tests.truth.published import Incident, incidents, staged
from tests.truth.sights import INTERVALS, KINDS, seen

pytestmark = pytest.mark.slow


def made(cause: str, strength: str | None = "strong") -> Case:
    """An instance with this cause, as somebody sees it who sees everything."""
    wanted = (number for number, one in enumerate(settings()) if (one.causes, one.strength) == ((cause,), strength))
    return case(SEEDS_EACH * next(wanted), full_sight=True, draw=Draw(5, INTERVALS))


def test_every_reader_sees_the_same_instance() -> None:
    one = made("undo-segments")
    sights = dict(seen(one, Random("readers")))
    assert list(sights) == list(KINDS)
    gets = sum(moved["gets"] for _, moved in changes(one.begin, one.end, "v$rowcache"))
    waits = {row["event"]: moved["time_waited_micro"] for row, moved in changes(one.begin, one.end, "v$system_event")}
    for kind, sight in sights.items():
        if sight.prints:
            assert sum(cache.gets for cache in sight.prints.caches) == gets
            printed = (*sight.prints.foreground, *sight.prints.background)
            assert sum(wait.seconds for wait in printed) * 1e6 == pytest.approx(sum(waits.values()))
        hidden = {view for view, reading in sight.end.readings.items() if isinstance(reading, Missing)}
        before = {view for view, reading in one.end.readings.items() if isinstance(reading, Missing)}
        assert (hidden - before == {"v$session"}) == (kind == "views"), kind
    assert sights["less"].begin.readings != one.begin.readings or sights["less"].end.readings != one.end.readings
    assert "undo-segments" in [finding.cause for finding in diagnosed(sights["samples"]).findings]
    for kind in ("awr", "statspack"):
        shown = diagnosed(sights[kind])
        assert shown.impact is not None and shown.severity is Severity.CRITICAL


@pytest.mark.parametrize("incident", incidents(), ids=lambda one: one["id"])
def test_published_figures_are_those_of_the_page(incident: Incident) -> None:
    assert incident["source"].startswith(("http://", "https://", "My Oracle Support note ")) and incident["assumed"]
    begin, end = staged(incident, 7)
    events = {row["event"]: moved for row, moved in changes(begin, end, "v$system_event")}
    for event, (count, seconds) in incident.get("waits", {}).items():
        assert events[event]["total_waits"] == count
        assert events[event]["time_waited_micro"] == pytest.approx(seconds * 1e6)
    times = {row["stat_name"]: moved["value"] for row, moved in changes(begin, end, "v$sys_time_model")}
    assert times["DB time"] == pytest.approx(incident.get("db_time", times["DB time"] / 1e6) * 1e6)
    for cache, lookups in incident.get("lookups", {}).items():
        found = changes(begin, end, "v$rowcache")
        row, moved = next((r, by) for r, by in found if r["parameter"] == cache and r["subordinate#"] is None)
        for column, value in lookups.items():
            assert (row if column in ("count", "usage") else moved)[column] == value, (cache, column)
    met = [row for row in rows(end, "v$session") if row["sid"] is not None]
    assert len(met) == 10 * incident.get("sessions", {}).get("sessions", 0)


def test_rows_count_what_was_asked() -> None:
    found = [
        Mark("views", "right", cache=True, rival_cache=False),
        Mark("views", "wrong", cache=True, rival_cache=True),
        Mark("views", None, false=False, rival_false=True),
        Mark("views", "right", published=True),
    ]
    told = {name: cells for name, *cells in by_sight.rows(found)}
    assert told[KINDS["views"]] == ["50 %", *["0 %"] * 3, "50 %", "100 %", "50 %", "0 %", "100 %", "1 of 1"]
    assert set(told[KINDS["awr"]]) == {"–"}
    assert "of 3 instances 2 have a cause to find, 2 a cache to name, 1 no problem" in by_sight.title(found)


@pytest.mark.soak
def test_page_shows_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    main([])
    title, _, heads, _, *told = capsys.readouterr().out.splitlines()
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert title in page and "\n".join(told) in page and heads in page
