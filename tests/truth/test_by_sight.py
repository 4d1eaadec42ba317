"""The table of scores by sight: every reader gets the same instance, and planted answers give planted rows."""

from random import Random

import pytest

from collectors.model import Missing
from rules.model import Severity
from tests.paths import ROOT
from tests.truth import by_sight, rival
from tests.truth.__main__ import main
from tests.truth.by_sight import HEADS, Mark, diagnosed, published_verdict
from tests.truth.generate import Case, Draw, case
from tests.truth.plan import SEEDS_EACH, setting_of, settings
from tests.truth.printed import changes, rows
from tests.truth.published import Incident, incidents, staged
from tests.truth.registry import MECHANISMS
from tests.truth.sights import INTERVALS, KINDS, SOME, drawn, seen
from tests.truth.test_scores import UNKNOWN, finding, planted


def made(cause: str, strength: str | None = "strong") -> Case:
    """An instance with this cause, as somebody sees it who sees everything."""
    wanted = (number for number, one in enumerate(settings()) if (one.causes, one.strength) == ((cause,), strength))
    return case(SEEDS_EACH * next(wanted), full_sight=True, draw=Draw(5, INTERVALS))


def test_draw_has_every_cause_and_follows_from_its_seed() -> None:
    numbers = drawn(7)
    assert numbers == drawn(7) != drawn(8) and drawn(7, 2)[: len(numbers)] == numbers
    kinds = [setting_of(number) for number in numbers]
    assert {name for one in kinds if one.kind in ("single", "look-alike") for name in one.causes} == set(MECHANISMS)
    assert {kind: sum(one.kind == kind for one in kinds) for kind in SOME} == SOME


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


def test_rival_names_the_cache_with_most_sleeps_and_none_where_nobody_waits() -> None:
    one = made("undo-segments")
    assert rival.in_views(one.begin, one.end) == "dc_rollback_segments"
    other = made("sequence-nocache")  # a lock has no sleeps, so the sampled waiters count
    assert rival.in_views(other.begin, other.end) == "dc_sequences"
    report = dict(seen(other, Random("readers")))["awr"].prints
    assert report is not None
    assert rival.in_report(report) == max(report.caches, key=lambda cache: cache.gets).name
    calm = made("busy-but-fine", None)
    assert rival.in_views(calm.begin, calm.end) is None


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


def test_published_incident_is_judged_by_what_its_page_says() -> None:
    page = {"causes": ["undo-segments"], "relatives": ["undo-segment-floor"]}
    for cause, severity, verdict in (
        ("undo-segments", "warning", "right"),
        ("undo-segments", "info", "right"),
        ("undo-segment-floor", "warning", "kin"),
        ("logon-storm", "warning", "wrong"),
        ("logon-storm", "info", "honest"),
    ):
        got = planted(finding(cause, "latch", None, Severity(severity)), severity=Severity(severity))
        assert published_verdict(page, got) == verdict, (cause, severity)
    assert published_verdict({"causes": []}, UNKNOWN) == "right"
    assert published_verdict(page, planted(severity=Severity.INFO, ruled_out=("undo-segments",))) == "silent"


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


def test_command_prints_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--first", "2", "--seed", "9"])
    title, _, heads, _, *told = capsys.readouterr().out.splitlines()
    assert title.startswith("Seed 9: of 2 instances") and heads == f"| {' | '.join(HEADS)} |"
    assert [line.split(" | ")[0].removeprefix("| ") for line in told] == list(KINDS.values())


@pytest.mark.soak
def test_page_shows_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    main([])
    title, _, heads, _, *told = capsys.readouterr().out.splitlines()
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert title in page and "\n".join(told) in page and heads in page
