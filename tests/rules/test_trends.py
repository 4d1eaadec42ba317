"""series(): intervals in order, where the trouble began, the comparison, and whether it rises."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.model import Basis, Delta, Row
from rules.engine import diagnose
from rules.formatting import rough
from rules.model import Diagnosis, Severity
from rules.trends import ReportSeries, SeriesInput, course, distinct, series, stands_out, trend
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
        "4 intervals, at most 31.9 % of DB time lost; the problem begins between at 0 and at 10, the first of"
    )
    assert series(morning()[1:]).before_after is None


def test_first_bad_is_a_rate_outlier_even_without_a_severity() -> None:
    calm = [at(10 * place, quiet(30 + place)) for place in range(5)]
    got = series([*calm, at(60, quiet(900))])
    assert (got.first_bad, got.points[-1].severity) == ("at 60", Severity.INFO)
    assert got.why_bad == "30 sleeps per second, where the earlier intervals have 1.07"
    assert got.sentence.startswith("6 intervals without a row cache problem")
    assert "; an unusual rate of sleeps begins between at 40 and at 60, 30 sleeps per second" in got.sentence
    assert "the problem" not in got.sentence
    assert series(calm).first_bad is None
    assert series(calm).sentence.startswith("5 intervals without a row cache problem")
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
    assert "; the problem begins with n1, the first of severity critical" in series(follow).sentence
    assert "; the problem is in n1, the first interval, the first of " in series(follow[1:]).sentence


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


BAD = "the first of severity critical"


def told(standings: str) -> str:
    """The course of intervals that follow each other: s is sick, w is well, u could not be judged."""
    given: list[SeriesInput] = []
    for place, standing in enumerate(standings):
        name, delta, diagnosis = at(place * 0.5, quiet(), f"n{place}")
        update = {"severity": Severity.CRITICAL if standing == "s" else Severity.INFO}
        given.append(
            (name, delta, diagnosis.model_copy(update=update | ({"state": "No data"} if standing == "u" else {})))
        )
    return course(given, standings.index("s"), BAD)


def test_trouble_that_goes_and_comes_back_is_not_there_from_the_first_on() -> None:
    assert told("swws") == f"the problem is in n0, the first interval, gone from n1 on, back from n3 on. n0 is {BAD}"
    assert told("wsws") == f"the problem begins with n1, gone from n2 on, back from n3 on. n1 is {BAD}"
    assert told("swswsw").startswith(
        "the problem is in n0, the first interval, gone from n1 on, back from n2 on and 3 more turns"
    )
    assert told("ss") == f"the problem is in n0, the first interval, {BAD}"
    assert told("suus") == told("suu") == told("s") == told("ss"), "an interval that nobody judged shows nothing"


def test_only_a_judged_interval_before_it_shows_where_it_begins() -> None:
    assert told("us") == f"the problem is in n1, the first interval that could be judged, {BAD}"
    assert told("wus") == f"the problem begins between n0 and n2, {BAD}"
    name, _, sick = at(0, quiet(), "t")
    sick = sick.model_copy(update={"severity": Severity.CRITICAL})
    assert (
        course([(name, delta_of(basis=TOTALS), sick)], 0, BAD) == f"the problem is in t, whose time is unknown, {BAD}"
    )
    other = replace(at(1, quiet())[1], dbid="2")
    twins: list[SeriesInput] = [(name, at(0, quiet())[1], sick), ("o", other, sick)]
    assert course(twins, 0, BAD) == f"the earliest that shows the problem is t, {BAD}"


def direction(*values: float) -> str:
    return trend("x", "sleeps", list(enumerate(values))).direction


def test_trend_is_rising_falling_steady_or_too_few() -> None:
    assert direction(1, 2, 4) == "too few"
    assert direction() == "too few"
    assert direction(1, 4, 9, 20) == "rising"
    assert direction(90, 27, 8, 3) == "falling"
    assert direction(5, 1, 6, 2, 5, 1) == "steady"
    assert direction(0, 0, 0, 0, 0) == "steady"


def test_trend_is_neither_made_nor_hidden_by_one_outlier() -> None:
    assert direction(1, 1, 1, 1, 1, 900) == "steady"
    assert direction(1, 2, 4, 9000, 16, 32, 64, 128) == "rising"


def test_trend_of_few_points_that_healthy_hours_give_anyway_is_steady() -> None:
    assert direction(1, 2, 3, 4) == "steady", "one healthy series in twelve of four points rises throughout"
    assert direction(9, 7, 4, 3) == "steady"
    assert direction(*range(1, 25)) == "rising", "over a whole day, chance does not give the same"


def test_trend_of_an_unnoticeable_slope_is_steady() -> None:
    assert direction(1000, 1001, 1002, 1003, 1004) == "steady"


def test_slope_is_per_hour_and_robust() -> None:
    told = trend("x", "sleeps", [(0, 1), (2, 4), (4, 16), (6, 5_000_000), (8, 256), (10, 1024), (12, 4096)])
    assert told.per_hour is not None and 50 < told.per_hour < 1_000, "one outlier does not set it"
    assert told.sentence == f"sleeps rise by {rough(told.per_hour)} per hour over 7 points."
    straight = trend("x", "sleeps", [(0, 10), (2, 30), (4, 50), (6, 70)])
    assert straight.per_hour == 10


@given(st.lists(st.floats(0, 1e6), min_size=4, max_size=12))
def test_trend_read_backwards_turns_a_rise_into_a_fall(values: list[float]) -> None:
    other = {"rising": "falling", "falling": "rising"}
    there, back = direction(*values), direction(*reversed(values))
    assert back == other.get(there, there)


def test_inputs_of_two_releases_are_not_of_one_interval() -> None:
    first = at(0, quiet(), "a")
    other = ("b", replace(first[1], release="19.0.0.0.0"), first[2])
    kept, notes = distinct([first, other])
    assert ([entry[0] for entry in kept], notes) == (["a", "b"], []), "was: b is left out"


def test_an_input_that_says_something_else_is_named_with_its_verdict() -> None:
    fine = at(0, quiet(), "a")
    sick = ("b", fine[1], fine[2].model_copy(update={"severity": Severity.CRITICAL}))
    kept, notes = distinct([fine, sick])
    assert [entry[0] for entry in kept] == ["b"]
    assert notes == [
        "b (Critical) and a (Fine) claim the same interval and disagree, and nothing shows which is right; the series "
        "counts b alone, because none has more figures"
    ]


@pytest.mark.parametrize(
    ("rate", "others", "out"),
    [
        (100.0, (1.0, 1.1, 0.9), True),
        (4.0, (1.0, 1.1, 0.9), False),
        (4.0, (1.0, 1.1, 0.9) * 8, True),
        (2.9, (1.0,) * 200, False),
        (30.0, (1.0, 9.0, 0.2, 14.0), False),
        (0.1, (1.0, 1.1, 0.9), False),
    ],
)
def test_rate_stands_out_by_what_the_others_vary(rate: float, others: tuple[float, ...], out: bool) -> None:
    assert stands_out(rate, others, 3600.0) is out


def test_next_to_no_events_are_all_alike() -> None:
    assert not stands_out(9.0 / 3600, (0.0, 0.0, 0.0, 0.0), 3600.0), "nine sleeps in an hour after none"
    assert stands_out(900.0 / 3600, (0.0, 0.0, 0.0, 0.0), 3600.0)
