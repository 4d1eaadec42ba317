"""Actions over REST: confirming queries, holders and samples, each for operators only, bounded and audited."""

import json
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from collectors.demo.database import ScriptedDatabase
from collectors.demo.scenarios import scenarios
from collectors.errors import CredentialError, SessionError, StatementError, ViewRefused
from service.app import create_app
from service.config.settings import AuthSettings, DatabaseSettings, Settings
from service.state.board import Failure, MonitoredDatabase
from tests.service.stage import BEGAN, Client, Stage
from tests.service.web.test_access import LOOPBACK

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
    monkeypatch.setattr("tests.service.watch.test_actions.scenarios", lambda: {"undo-storm": mutexes})
    told = site.post("holders", {})
    assert told.status_code == 409 and "mutexes guard the row cache of this instance" in told.json()["detail"]
    assert list(site.audited()) == [("profile holders", "undo-storm", "refused: not applicable")]
    assert site.closed == 1
