"""The main path: a scripted database goes from rows to the board, on a fake clock."""

import sys
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from collectors.demo.database import ScriptedDatabase
from collectors.demo.scenarios import scenarios
from collectors.model import NotComparable, Snapshot, number
from rules import engine
from rules.contention.prediction import prediction_of
from rules.model import Confidence, Severity
from service.config.settings import DatabaseSettings
from service.state.episodes import Episode
from service.watch.pipeline import difference, run_poll
from tests.service.stage import BEGAN, Stage

STORM = 45.0
ROOT = Path(__file__).resolve().parents[3]
OURS = tuple(f"{ROOT}/{floor}/" for floor in ("collectors", "rules", "service"))


def test_first_poll_has_no_basis_and_everything_is_undetermined(stage: Stage) -> None:
    published = stage.poll("undo-storm", at=STORM)
    told = published.diagnosis
    assert published.delta is None
    assert told.basis is None
    assert told.impact is None
    assert (told.findings, told.ruled_out) == ((), ())
    assert len(told.undetermined) >= 9
    assert {one.way_out for one in told.undetermined} == {"wait for the next poll"}


def test_second_poll_gives_an_interval_by_the_clock_of_the_database(stage: Stage) -> None:
    stage.poll("undo-storm", at=STORM)
    published = stage.poll("undo-storm", at=STORM + 2)
    basis = published.diagnosis.basis
    assert basis is not None
    assert (basis.kind, basis.seconds) == ("interval", 2.0)
    assert basis.end == BEGAN + timedelta(seconds=STORM + 2)
    assert published.snapshot.taken_at == basis.end


def test_quiet_poll_takes_few_calls(stage: Stage) -> None:
    """Its cost in calls of our own functions, which do not depend on the machine."""
    stage.watch(DatabaseSettings(name="quiet", dsn="demo:healthy-19c", interval=2.5))  # no other test polls it
    for moment in range(4):
        stage.poll("quiet", at=3.0 * moment)
    calls = Counter[str]()

    def count(frame: FrameType, event: str, _: object) -> None:
        file = frame.f_code.co_filename
        if event == "call" and file.startswith(OURS) and "/demo/" not in file:
            calls[f"{file}:{frame.f_code.co_name}"] += 1

    sys.setprofile(count)
    try:
        told = [stage.poll("quiet", at=3.0 * moment) for moment in range(4, 8)]
    finally:
        sys.setprofile(None)
    assert all(one.verdict.undetermined == () for one in told), "no cause was weighed"
    assert calls.total() / len(told) < 5000, calls.most_common(20)


def test_undo_storm_is_found_as_the_model_incident(stage: Stage) -> None:
    stage.poll_all(STORM, STORM + 2)
    told = stage["undo-storm"].published.diagnosis  # type: ignore[union-attr]
    top = told.findings[0]
    assert (top.cause, top.cache, top.child) == ("undo-segments", "dc_rollback_segments", 1)
    assert (top.location, top.confidence, told.severity) == ("kqrpre: find obj", Confidence.HIGH, Severity.CRITICAL)
    assert told.impact is not None
    assert told.impact.share_of_db_time == pytest.approx(0.32, abs=0.03)


def test_reasons_are_made_when_somebody_asks_and_then_once(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    stage.watch(DatabaseSettings(name="storm", dsn="demo:undo-storm", interval=2.5))  # no other test polls it
    predictions = list[object]()

    def counted(*given: Any) -> object:
        predictions.append(made := prediction_of(*given))
        return made

    monkeypatch.setattr(engine, "prediction_of", counted)
    polls = [stage.poll("storm", at=STORM + 3 * moment) for moment in range(6)]
    assert predictions == [], "nobody asked"
    last = polls[-1]
    assert (last.verdict.prediction, last.verdict.steps) == (None, ())
    assert last.diagnosis.findings == last.verdict.findings != ()
    assert last.diagnosis.prediction is not None and last.diagnosis.prediction is last.diagnosis.prediction
    assert len(predictions) == 1


def test_quiet_poll_says_what_it_cannot_tell_to_an_episode_that_lasts(stage: Stage) -> None:
    stage.refused = {"healthy-19c": ("v$sysstat",)}
    first = stage.poll("healthy-19c", at=40)
    stage.poll("healthy-19c", at=42)
    quiet = stage.poll("healthy-19c", at=44)
    assert quiet.verdict.undetermined == (), "nobody reads it"
    at = first.snapshot.taken_at
    assert quiet.delta is not None and at is not None
    cause = engine.diagnose(quiet.delta).undetermined[0].cause
    lasting = Episode(
        "healthy-19c", cause, None, "It lasts", at, at, None, Severity.WARNING, Severity.WARNING, at, 0.1, ""
    )
    stage["healthy-19c"].episodes.restore([lasting])
    for moment in (46, 48, 50, 52):
        quiet = stage.poll("healthy-19c", at=moment)
    assert quiet.verdict.severity is Severity.INFO
    assert [(episode.cause, episode.end) for episode in stage["healthy-19c"].episodes.all] == [(cause, None)]


def test_undo_storm_starts_healthy_and_eases_after_undo_is_recreated(stage: Stage) -> None:
    severities = {}
    for name, moment in {"healthy": 10.0, "storm": 60.0, "relieved": 170.0, "again": 205.0}.items():
        stage.poll("undo-storm", at=moment)
        severities[name] = stage.poll("undo-storm", at=moment + 2).diagnosis.severity
    assert severities["healthy"] is Severity.INFO
    assert severities["storm"] is Severity.CRITICAL
    assert severities["relieved"].rank < Severity.WARNING.rank
    assert severities["again"] is Severity.INFO


def test_busy_but_fine_has_nothing_above_info_and_says_why(stage: Stage) -> None:
    stage.poll_all(20, 22)
    told = stage["busy-but-fine"].published.diagnosis  # type: ignore[union-attr]
    assert told.severity is Severity.INFO
    assert {one.severity for one in told.findings} <= {Severity.INFO}
    assert "spinning" in told.headline
    assert told.undetermined == ()


def test_parse_storm_names_parsing_and_not_the_row_cache(stage: Stage) -> None:
    stage.poll_all(20, 22)
    told = stage["parse-storm"].published.diagnosis  # type: ignore[union-attr]
    assert told.findings[0].cause == "hard-parse-storm"
    assert told.findings[0].cache is None
    assert "undo-segments" in {one.cause for one in told.ruled_out}


def test_restart_is_reported_and_nothing_is_subtracted_across_it(stage: Stage) -> None:
    stage.poll("undo-storm", at=STORM)
    stage.poll("undo-storm", at=STORM + 2)
    stage.began = BEGAN + timedelta(seconds=5)
    published = stage.poll("undo-storm", at=STORM + 4)
    assert published.delta is None
    assert "the instance restarted" in published.diagnosis.headline
    assert published.diagnosis.basis is None
    assert stage.poll("undo-storm", at=STORM + 6).diagnosis.basis is not None


def test_restart_has_no_interval(stage: Stage) -> None:
    told = [stage.poll("undo-storm", at=STORM), stage.poll("undo-storm", at=STORM + 2)]
    stage.began = BEGAN + timedelta(seconds=5)
    told += [stage.poll("undo-storm", at=STORM + 4), stage.poll("undo-storm", at=STORM + 6)]
    assert [one.delta is not None for one in told] == [False, True, False, True]


def test_session_on_another_instance_is_said_once_and_nothing_is_subtracted(stage: Stage) -> None:
    """After a failover the next session is on the other node, which started in the same second."""
    own = scenarios()["undo-storm"]
    moved, told = replace(own, instance=2), []
    for seconds, scenario in enumerate((own, own, moved, moved)):
        stage.at = STORM + 2 * seconds
        database = ScriptedDatabase(scenario, BEGAN, lambda: stage.at)
        told.append(run_poll(stage["undo-storm"], database, stage.keeper, lambda: stage.at))
    assert [published.delta is not None for published in told] == [False, True, False, True]
    assert "is on instance 2 now" in told[2].diagnosis.headline
    assert all(
        "give each instance its own connection" in open_one.way_out for open_one in told[2].diagnosis.undetermined
    )


def test_refused_view_costs_only_that_view(stage: Stage) -> None:
    stage.refused = {"undo-storm": ("v$rowcache",)}
    stage.poll("undo-storm", at=STORM)
    published = stage.poll("undo-storm", at=STORM + 2)
    told = published.diagnosis
    assert published.snapshot.rows("v$latch_children")
    assert told.basis is not None
    assert told.findings == ()
    grant = "grant select on sys.v_$rowcache to <user>"
    assert any(grant in one.way_out for one in told.undetermined)
    assert any(grant in note for note in told.notes)
    assert "cannot tell which cache" in told.headline


def test_children_are_named_by_inference_when_the_map_is_refused(stage: Stage) -> None:
    stage.refused = {"busy-but-fine": ("x$kqrst",)}
    stage.poll("busy-but-fine", at=20)
    published = stage.poll("busy-but-fine", at=30)
    assert published.delta is not None
    busy = {
        int(number(row["child#"]) or 0)
        for row in published.delta.rows("v$latch_children")
        if (number(row["gets"]) or 0) >= 1000
    }
    parents = [one for one in scenarios()["busy-but-fine"].caches if one.type == "PARENT"]
    assert len(busy) > 5
    assert {child: published.map.name(child) for child in busy} == {
        one.child: one.name for one in parents if one.child in busy
    }
    assert {guarded.identity.name for guarded in published.map.children.values()} == {"INFERRED"}


def test_series_names_stay_when_an_idle_interval_infers_nothing(stage: Stage) -> None:
    stage.refused = {"busy-but-fine": ("x$kqrst",)}
    stage.poll("busy-but-fine", at=20)
    busy = stage.poll("busy-but-fine", at=30)
    idle = stage.poll("busy-but-fine", at=30.001)
    assert "unknown" not in {busy.map.series_name(child) for child in busy.map.children}
    assert idle.map.children == {}, "next to no gets, so there is nothing to infer"
    assert {child: idle.map.series_name(child) for child in busy.map.children} == {
        child: busy.map.series_name(child) for child in busy.map.children
    }


def test_first_poll_already_names_its_children(stage: Stage) -> None:
    first = stage.poll("undo-storm", at=STORM)
    second = stage.poll("undo-storm", at=STORM + 2)
    assert first.map.series_name(1) == second.map.series_name(1) == "dc_rollback_segments"


def test_polls_are_all_kept_with_their_diagnosis(stage: Stage) -> None:
    stage.poll_all(1, 3)
    kept = [(snapshot.database, told.database) for snapshot, told in stage.keeper.polls]
    assert kept == [(one.name, one.name) for one in stage.board] * 2


def test_views_that_change_only_at_startup_are_read_once(stage: Stage) -> None:
    first = stage.poll("undo-storm", at=1)
    second = stage.poll("undo-storm", at=3)
    assert "x$kqrst" in first.snapshot.costs
    assert "x$kqrst" not in second.snapshot.costs
    assert second.snapshot.rows("x$kqrst") == first.snapshot.rows("x$kqrst")


def test_difference_says_why_it_cannot_be_computed() -> None:
    told = difference(None, Snapshot("one", None, {}), {})
    assert isinstance(told, NotComparable)
    assert (told.why, told.way_out) == ("the first poll has nothing to compare with", "wait for the next poll")


def test_hang_is_critical_within_thirty_seconds_and_its_episode_ends_with_it(stage: Stage) -> None:
    (hang,) = scenarios()["ddl-hang"].hangs
    stage.watch(DatabaseSettings(name="ddl-hang", dsn="demo:ddl-hang"))
    severities = {at: stage.poll("ddl-hang", at=at).diagnosis.severity for at in range(50, int(hang.end) + 10, 2)}
    critical = [at for at, severity in severities.items() if severity is Severity.CRITICAL]
    assert hang.begin < critical[0] <= hang.begin + 30
    assert hang.end - 2 <= critical[-1] <= hang.end + 2
    assert {at for at, severity in severities.items() if severity is Severity.INFO} >= {50, 52, 54, 56, 58, 60}
    (episode,) = stage["ddl-hang"].episodes.all
    assert (episode.cause, episode.cache) == ("row-cache-lock-hang", "dc_objects")
    begin, end = ((moment - BEGAN).total_seconds() for moment in (episode.begin, episode.end or episode.begin))
    assert begin <= hang.begin + 30 and hang.end - 2 <= end <= hang.end + 2
    assert "38 sessions wait for dc_objects, 13 of them for 10 seconds or longer and up to" in episode.headline
