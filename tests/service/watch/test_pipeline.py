"""The main path: a scripted database goes from rows to the board, on a fake clock."""

import json
import re
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from collectors.demo.database import ScriptedDatabase
from collectors.demo.scenarios import scenarios
from collectors.errors import CredentialError, SessionError, StatementError, ViewRefused
from collectors.model import NotComparable, Snapshot, number
from rules import engine
from rules.contention.prediction import prediction_of
from rules.model import Confidence, Severity, verdict_of
from service.app import create_app
from service.config.settings import AuthSettings, DatabaseSettings, Settings
from service.state.board import Failure, MonitoredDatabase
from service.state.episodes import Episode
from service.watch.pipeline import PollContext, difference, publish, run_poll
from tests.service.stage import BEGAN, Client, Stage
from tests.service.web.test_access import LOOPBACK

STORM = 45.0
ROOT = Path(__file__).resolve().parents[3]
OURS = tuple(f"{ROOT}/{floor}/" for floor in ("collectors", "rules", "service"))


def test_second_poll_gives_an_interval_and_the_first_leaves_all_undetermined(stage: Stage) -> None:
    first, second = stage.poll("undo-storm", at=STORM), stage.poll("undo-storm", at=STORM + 2)
    told = first.diagnosis
    assert (first.delta, told.basis, told.impact) == (None, None, None)
    assert (told.findings, told.ruled_out) == ((), ())
    assert len(told.undetermined) >= 9
    assert {one.way_out for one in told.undetermined} == {"wait for the next poll"}
    basis = second.diagnosis.basis
    assert basis is not None
    assert (basis.kind, basis.seconds) == ("interval", 2.0)
    assert basis.end == BEGAN + timedelta(seconds=STORM + 2)
    assert second.snapshot.taken_at == basis.end
    assert "x$kqrst" in first.snapshot.costs
    assert "x$kqrst" not in second.snapshot.costs
    assert second.snapshot.rows("x$kqrst") == first.snapshot.rows("x$kqrst")
    assert first.map.series_name(1) == second.map.series_name(1) == "dc_rollback_segments"


@pytest.mark.parametrize(("pace", "mean"), [(15.0, 2.0), (60.0, 8.0), (300.0, 8.0), (0.0, 2.0)])
def test_duration_of_a_poll_is_a_mean_of_which_no_slow_scrape_misses_a_part(
    stage: Stage, pace: float, mean: float
) -> None:
    judged, watched = stage.poll("undo-storm", at=STORM), stage["undo-storm"]
    watched.published, watched.pace, watched.interval = replace(judged, poll_seconds=0.0), pace, 15.0
    assert publish(watched, judged, 8.0).poll_seconds == mean


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


def test_scripted_databases_are_found_as_they_are_and_all_polls_are_kept(stage: Stage) -> None:
    stage.poll_all(STORM, STORM + 2)
    told = stage["undo-storm"].published.diagnosis  # type: ignore[union-attr]
    top = told.findings[0]
    assert (top.cause, top.cache, top.child) == ("undo-segments", "dc_rollback_segments", 1)
    assert (top.location, top.confidence, told.severity) == ("kqrpre: find obj", Confidence.HIGH, Severity.CRITICAL)
    assert told.impact is not None
    assert told.impact.share_of_db_time == pytest.approx(0.32, abs=0.03)
    told = stage["busy-but-fine"].published.diagnosis  # type: ignore[union-attr]
    assert told.severity is Severity.INFO
    assert {one.severity for one in told.findings} <= {Severity.INFO}
    assert "spinning" in told.headline
    assert told.undetermined == ()
    told = stage["parse-storm"].published.diagnosis  # type: ignore[union-attr]
    assert told.findings[0].cause == "hard-parse-storm"
    assert told.findings[0].cache is None
    assert "undo-segments" in {one.cause for one in told.ruled_out}
    kept = [(snapshot.database, told.database) for snapshot, told in stage.keeper.polls]
    assert kept == [(one.name, one.name) for one in stage.board] * 2


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
    assert verdict_of(last.diagnosis) == verdict_of(last.verdict) != []
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


def test_restart_is_reported_and_nothing_is_subtracted_across_it(stage: Stage) -> None:
    stage.poll("undo-storm", at=STORM)
    stage.poll("undo-storm", at=STORM + 2)
    stage.began = BEGAN + timedelta(seconds=5)
    published = stage.poll("undo-storm", at=STORM + 4)
    assert published.delta is None
    assert "the instance restarted" in published.diagnosis.headline
    assert published.diagnosis.basis is None
    assert stage.poll("undo-storm", at=STORM + 6).diagnosis.basis is not None


def test_session_on_another_instance_is_said_once_and_nothing_is_subtracted(stage: Stage) -> None:
    """After a failover the next session is on the other node, which started in the same second."""
    own = scenarios()["undo-storm"]
    moved, told = replace(own, instance=2), []
    for seconds, scenario in enumerate((own, own, moved, moved)):
        stage.at = STORM + 2 * seconds
        database = ScriptedDatabase(scenario, BEGAN, lambda: stage.at)
        told.append(run_poll(stage["undo-storm"], database, stage.keeper, PollContext(clock=lambda: stage.at)))
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


def test_children_are_named_by_inference_which_stays_when_the_map_is_refused(stage: Stage) -> None:
    stage.watch(DatabaseSettings(name="inferred", dsn="demo:busy-but-fine", interval=2.5))  # no other test polls it
    stage.refused = {"inferred": ("x$kqrst",)}
    stage.poll("inferred", at=20)
    published = stage.poll("inferred", at=30)
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
    stage["inferred"].anew = True  # else the map of the last judgement stays
    idle = stage.poll("inferred", at=30.001)
    assert "unknown" not in {published.map.series_name(child) for child in published.map.children}
    assert idle.map.children == {}, "next to no gets, so there is nothing to infer"
    assert {child: idle.map.series_name(child) for child in published.map.children} == {
        child: published.map.series_name(child) for child in published.map.children
    }


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


# Actions over REST: confirming queries, holders and samples, each for operators only, bounded and audited

DB = "/api/v1/databases/undo-storm"
UNDO = {"cause": "undo-segments"}


class Site:
    """The stage behind the real app, its actions on the scripted database of the stage."""

    def __init__(self, stage: Stage, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.stage = stage
        self.file = folder / "audit.jsonl"
        self.fault: Exception | None = None
        self.closed = 0
        self.sessions = 0
        self.began = BEGAN
        stage.watch(DatabaseSettings(name="undo-storm", dsn="demo:undo-storm"))
        monkeypatch.setattr("service.app.Board", lambda watched: stage.board)
        monkeypatch.setattr("service.app.Connector", lambda *_: self)
        self.app = self.served(folder)

    def served(self, folder: Path, tokens: Path | None = None) -> Client:
        auth = AuthSettings(audit_file=self.file, tokens_file=tokens)
        store = f"sqlite:///{folder}/store.db"
        return Client(create_app(Settings(store=store, auth=auth, databases=self.stage.databases)))

    def open(self, watched: MonitoredDatabase) -> ScriptedDatabase:
        if isinstance(self.fault, SessionError):
            raise self.fault
        site = self
        self.sessions += 1
        moment = self.stage.at

        def later() -> float:
            """Time goes on during a profile, a little with each look."""
            nonlocal moment
            moment += 0.013
            return moment

        class Session(ScriptedDatabase):
            def query(self, sql, binds):  # type: ignore[no-untyped-def]
                if site.fault:
                    raise site.fault
                return super().query(sql, binds)

            def close(self) -> None:
                site.closed += 1

        return Session(scenarios()["undo-storm"], self.stage.began, later)

    def credential(self, watched: MonitoredDatabase) -> str:
        return "secret"

    def post(self, action: str, body: object = None, app: Client | None = None, **headers: str):  # type: ignore[no-untyped-def]
        return (app or self.app).get(f"{DB}/{action}", "POST", headers=headers or LOOPBACK, json=body)

    def audited(self) -> Iterable[tuple[str, str, str]]:
        lines = self.file.read_text(encoding="utf-8").splitlines() if self.file.exists() else []
        return [(one["action"], one["database"], one["outcome"]) for one in map(json.loads, lines)]


@pytest.fixture
def site(stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    site = Site(stage, tmp_path, monkeypatch)
    stage.poll_all(40, 42)
    return site


def test_confirmation_counts_in_the_next_diagnosis(site: Site) -> None:
    assert site.app.get(f"{DB}/diagnosis").json()["findings"][0]["confirm"]["result"] is None
    told = site.post("confirmations", UNDO)
    assert told.status_code == 200
    assert (told.json()["result"], told.json()["cause"]) == (14838, "undo-segments")
    assert told.json()["confirms"] is True and told.json().get("seen") is None, "11.2 has no containers"
    names = {"tablespace_name": "UNDOTBS1", "status": "OFFLINE", "segments": 14645}
    assert told.json().get("names", [None])[0] == names
    site.stage.poll_all(44)
    finding = site.app.get(f"{DB}/diagnosis").json()["findings"][0]
    assert (finding["confirm"]["result"], finding["confidence"]) == (14838, "high")
    assert list(site.audited()) == [("confirm undo-segments", "undo-storm", "done")]
    assert site.closed == 1


@pytest.mark.parametrize(("action", "body"), [("confirmations", UNDO), ("holders", {"seconds": 1, "looks": 1})])
def test_action_is_refused_while_another_runs(site: Site, action: str, body: object) -> None:
    with site.stage["undo-storm"].action_lock:
        told = site.post(action, body)
    assert told.status_code == 409 and "another action runs on undo-storm" in told.json()["detail"]
    assert [one[2] for one in site.audited()] == ["refused: busy"]
    assert site.post(action, body).status_code == 200, "and after its end the next one runs"


@pytest.mark.parametrize("fault", [StatementError("ORA-00942: no such view"), SessionError("ORA-12541: no listener")])
@pytest.mark.parametrize(("action", "body"), [("confirmations", UNDO), ("holders", {})])
def test_action_failure_is_told_in_the_words_of_the_database(
    site: Site, fault: Exception, action: str, body: object
) -> None:
    site.fault = fault
    told = site.post(action, body)
    assert told.status_code == 502 and told.json()["detail"] == f"undo-storm: {fault}"
    assert [one[2] for one in site.audited()] == [f"failed: {fault}"]
    site.fault = None
    assert site.post(action, body if action == "confirmations" else {"looks": 1}).status_code == 200


@pytest.mark.parametrize(("action", "body"), [("confirmations", UNDO), ("holders", {}), ("samples", None)])
def test_action_is_refused_after_a_refused_login_until_an_operator_resumes(
    site: Site, action: str, body: object
) -> None:
    site.fault = CredentialError("undo-storm: ORA-01017: invalid credential")
    told = site.post("holders", {})
    assert told.status_code == 502 and "; no other login is tried until the password changes" in told.json()["detail"]
    site.stage["undo-storm"].failure = Failure("credential", str(site.fault), 1767225600.0, None)
    site.fault = None
    told = site.post(action, body)
    assert told.status_code == 409 and site.sessions == 0
    assert re.search(r"^undo-storm: the login was refused at 2\S+Z \(undo-storm: ORA-01017", told.json()["detail"])
    assert "correct the password, or try the same once more with POST …/login/resume" in told.json()["detail"]
    assert [one[2] for one in site.audited()][1:] == ["refused: the login was refused before"]
    page = site.app.get("/db/undo-storm/samples", "POST", headers=LOOPBACK)
    assert page.status_code == 409 and "login was refused at" in page.text
    assert site.post("login/resume").json()["resumed"] is True
    assert site.post("holders", {"looks": 1}).status_code == 200 and site.sessions == 1


def test_refused_confirmation_is_an_obstacle_in_the_next_diagnosis(site: Site) -> None:
    site.fault = ViewRefused("ORA-00942: table or view does not exist")
    told = site.post("confirmations", UNDO)
    grant = "needs read or select on dba_rollback_segs; `latchscope grants --confirm` prints the grant"
    assert told.status_code == 502 and told.json()["detail"] == f"undo-storm: {site.fault}; {grant}"
    site.stage.poll_all(44)
    query = site.app.get(f"{DB}/diagnosis").json()["findings"][0]["confirm"]
    assert (query["obstacle"], query["result"]) == (grant, None)
    site.fault = None
    assert site.post("confirmations", UNDO).status_code == 200
    site.stage.poll_all(46)
    query = site.app.get(f"{DB}/diagnosis").json()["findings"][0]["confirm"]
    assert (query["obstacle"], query["result"]) == (None, 14838)


def test_unknown_cause_is_404_names_may_be_left_out_and_samples_are_audited(site: Site) -> None:
    told = site.post("confirmations", {"cause": "nothing"})
    assert told.status_code == 404 and "no cause nothing" in told.json()["detail"]
    assert list(site.audited()) == []
    assert site.post("confirmations", {**UNDO, "names": False}).json()["names"] == []
    assert site.post("samples").json() == {"database": "undo-storm", "asked": True}
    assert list(site.audited())[1:] == [("sample sessions", "undo-storm", "asked")]


def test_profile_of_holders_names_them_and_is_bounded(site: Site) -> None:
    told = site.post("holders", {"seconds": 2, "looks": 700}).json()
    assert told["looks"] == 700 and told["holders"] and told["note"] is None
    for one in told["holders"]:
        assert 0 < one["looks"] <= 700 and one["share_of_looks"] == one["looks"] / 700
        assert one["holds"] >= 1 and one["average_hold_microseconds"] > 0
    assert told["holders"][0]["cache"] == "dc_rollback_segments"
    for wrong in ({"seconds": 4.1}, {"looks": 100_001}, {"seconds": 0}, {"looks": 0}):
        assert site.post("holders", wrong).status_code in (400, 422), wrong
    assert list(site.audited()) == [("profile holders", "undo-storm", "done")]


def test_profile_of_holders_is_refused_where_mutexes_guard(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    mutexes = replace(scenarios()["undo-storm"], events=("row cache lock", "row cache mutex"))
    monkeypatch.setattr("tests.service.watch.test_pipeline.scenarios", lambda: {"undo-storm": mutexes})
    told = site.post("holders", {})
    assert told.status_code == 409 and "mutexes guard the row cache of this instance" in told.json()["detail"]
    assert list(site.audited()) == [("profile holders", "undo-storm", "refused: not applicable")]
    assert site.closed == 1
