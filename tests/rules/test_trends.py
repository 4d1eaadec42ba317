"""series(): intervals in order, where the trouble began, the comparison, and whether it rises."""

from dataclasses import replace
from datetime import timedelta

import pytest

from collectors.model import Basis, Delta, Row
from rules.engine import diagnose
from rules.model import Diagnosis, Severity
from rules.trends.series import ReportSeries, series
from tests.rules.contexts import BEGIN, TOTALS, delta_of, with_rows
from tests.rules.printed import printed, scripted

Given = tuple[str, Delta, Diagnosis]


def at(minute: float, delta: Delta, name: str = "") -> Given:
    """The Delta moved to a minute of the morning."""
    seconds = delta.basis.seconds or 30.0
    begin = BEGIN + timedelta(minutes=minute)
    moved = replace(delta, basis=Basis("interval", begin, begin + timedelta(seconds=seconds), seconds))
    return name or f"at {minute:g}", moved, diagnose(moved)


def quiet(sleeps: int = 30) -> Delta:
    rows: list[Row] = [{"name": "row cache objects", "gets": 40_000, "sleeps": sleeps}]
    event: Row = {"event": "latch: row cache objects", "total_waits": sleeps, "time_waited_micro": 10 * sleeps}
    views = {**with_rows("v$latch", *rows), "v$system_event": [event], "v$latch_children": []}
    return delta_of(views)


def morning() -> list[Given]:
    storm = [scripted("undo-storm", second, 15.0) for second in (1.0, 60.0, 75.0, 90.0)]
    return [at(10 * place, delta) for place, delta in enumerate(storm)]


def test_points_are_in_order_with_their_figures() -> None:
    got = series(list(reversed(morning())))
    assert [one.name for one in got.points] == ["at 0", "at 10", "at 20", "at 30"]
    first, second = got.points[:2]
    assert (first.severity, second.severity) == (Severity.INFO, Severity.CRITICAL)
    assert (second.top_cache, round(second.top_cache_share or 0, 2)) == ("dc_rollback_segments", 0.69)
    assert second.sleeps_per_second == pytest.approx(5_200, rel=0.01)
    assert second.gets_per_second == pytest.approx(38_700, rel=0.01)


def test_first_bad_interval_is_compared_with_the_last_good_one() -> None:
    got = series(morning())
    assert (got.first_bad, got.why_bad.split(":")[0]) == ("at 10", "the first of severity critical")
    assert got.before_after is not None
    assert got.before_after.before.basis.begin == got.points[0].begin
    assert got.before_after.after.basis.begin == got.points[1].begin
    assert got.sentence.startswith(
        "4 intervals, at most 31.9 % of DB time lost; the trouble begins between at 0 and at 10, the first of"
    )
    assert series(morning()[1:]).before_after is None


def test_first_bad_is_a_rate_outlier_even_without_a_severity() -> None:
    calm = [at(10 * place, quiet(30 + place)) for place in range(5)]
    got = series([*calm, at(60, quiet(900))])
    assert (got.first_bad, got.points[-1].severity) == ("at 60", Severity.INFO)
    assert got.why_bad == "30 sleeps per second, where the earlier intervals have 1.07"
    assert series(calm).first_bad is None
    assert series(calm).sentence.startswith("5 intervals without row cache trouble")
    few = series([*calm[:2], at(60, quiet(900))])
    assert few.first_bad is None, "two other intervals do not define what is ordinary"
    assert series([*calm, at(60, quiet(99))]).first_bad is None, "a handful of sleeps is nothing"


def test_trends_need_four_points() -> None:
    rising = [at(60 * place, quiet(3 + 20 * place)) for place in range(5)]
    (sleeps,) = (one for one in series(rising).trends if one.figure == "sleeps_per_second")
    assert (sleeps.direction, sleeps.per_hour) == ("rising", pytest.approx(20 / 30))
    assert "sleeps per second rise by 0.667 per hour" in series(rising).sentence
    assert {one.direction for one in series(rising[:3]).trends} == {"too few"}


def notes(*given: Given) -> str:
    return " | ".join(series(given).notes)


def test_notes_name_duplicates_overlaps_gaps_restarts_and_release_changes() -> None:
    first = at(0, quiet(), "a")
    twice = series([first, at(0, quiet(), "b")])
    assert [one.name for one in twice.points] == ["a"]
    assert twice.notes == ("a is used for its interval; left out, as they are of the same interval: b",)
    assert "b begins before a ends: the two overlap" in notes(first, at(0.25, quiet(), "b"))
    started = [replace(quiet(), readings={**quiet().readings, **_instance(day)}) for day in ("monday", "tuesday")]
    assert "the instance restarted between a and b" in notes(at(0, started[0], "a"), at(9, started[1], "b"))
    assert "the release changed" in notes(first, at(9, replace(quiet(), release="12.1.0.2.0"), "b"))
    assert "the release changed from 11.2.0.4.0 to 12.1.0.2.0" in notes(
        first, at(9, replace(quiet(), release="12.1.0.2.0"), "b")
    )
    assert notes(first, at(0.5, quiet(), "b")) == ""
    assert notes(first, at(180.5, quiet(), "b")) == "nothing is known of 3 h 0 min between a and b"


def test_sentence_without_a_gap_begins_at_the_first_bad_or_first_interval() -> None:
    given = morning()
    follow = [at(0.25 * place, one[1], f"n{place}") for place, one in enumerate(given)]
    assert "; the trouble begins with n1, the first of severity critical" in series(follow).sentence
    assert "; the trouble is in n1, the first interval, the first of " in series(follow[1:]).sentence


def test_intervals_of_two_databases_of_one_name_are_noted_not_dropped() -> None:
    twins = [(str(id), replace(at(0, quiet())[1], dbid=str(id)), at(0, quiet())[2]) for id in (1, 2)]
    got = series(twins)
    assert len(got.points) == 2
    assert "the series has intervals of several databases: DB Id 1, 2" in got.notes


def test_series_keeps_the_richer_of_two_inputs_of_one_interval() -> None:
    less, more = at(0, quiet(), "a"), at(0, delta_of(), "b")
    poor = replace(
        less[1], readings={**less[1].readings, "v$rowcache": delta_of(refused=["v$rowcache"]).read("v$rowcache")}
    )
    got = series([(less[0], poor, less[2]), at(9, quiet(), "c"), more])
    assert [one.name for one in got.points] == ["b", "c"]
    assert any(note.startswith("b") and "a (" in note for note in got.notes)
    severe = less[2].model_copy(update={"severity": Severity.CRITICAL})
    assert [one.name for one in series([less, ("z", less[1], severe)]).points] == ["z"], (
        "alike in views, so by severity"
    )


def _instance(started: str, number: int = 1) -> dict[str, object]:
    return dict(delta_of({"v$instance": [{"instance_number": number, "startup_time": started}]}).readings)


def test_series_does_not_merge_two_instances_of_a_cluster() -> None:
    both = [replace(quiet(), readings={**quiet().readings, **_instance("monday", one)}) for one in (1, 2)]
    got = series([at(0, both[0], "a"), at(0, both[1], "b")])
    assert len(got.points) == 2
    assert "intervals of several instances: sick instance 1, sick instance 2" in " ".join(got.notes)


def test_series_places_reports_without_a_zone_and_totals_without_a_begin() -> None:
    report = printed(scripted("undo-storm", 60.0))
    totals = delta_of(basis=TOTALS)
    got = series([("t", totals, diagnose(totals)), at(0, quiet(), "a"), ("r", report, diagnose(report))])
    assert [one.name for one in got.points] == ["a", "r", "t"]
    assert "local time" in " ".join(got.notes)
    assert "t has no start" in " ".join(got.notes)
    assert (got.points[-1].sleeps_per_second, got.points[-1].share_of_db_time) == (None, None)


def test_series_accepts_one_interval_and_refuses_none() -> None:
    got = series([at(0, quiet())])
    assert (len(got.points), got.first_bad, got.before_after) == (1, None, None)
    assert ReportSeries.model_validate_json(got.model_dump_json()) == got
    with pytest.raises(ValueError, match="at least one interval"):
        series([])
