"""REST: every route on a real app, every error a problem, and a document from which a client can be generated."""

import json
from collections.abc import Callable
from datetime import timedelta

import pytest

from rules.cause import catalogue
from rules.model import Diagnosis
from service.state.board import Failure
from service.state.time_window import iso
from service.store.repository import Repository
from service.watch.scheduler import PollScheduler
from service.web.schemas import CachesOut, CauseOut, DatabaseOut, LatchesOut, OverviewOut, Problem
from tests.service.stage import BEGAN, Client, Stage

DB = "/api/v1/databases/undo-storm"


@pytest.fixture(scope="module")
def app(still: Stage) -> Client:
    """The app for tests that only read."""
    still.poll_all(40, 42)
    return still.app()


@pytest.fixture
def own(stage: Stage) -> Client:
    """The same app for a single test that changes something."""
    stage.poll_all(40, 42)
    return stage.app()


def test_databases_are_listed_in_short(app: Client) -> None:
    told = [DatabaseOut.model_validate(one) for one in app.get("/api/v1/databases").json()]
    assert {one.name: one.severity for one in told}["undo-storm"] == "critical"
    assert all(one.up and one.data_age_seconds == 0 for one in told)
    one = app.get(DB).json()
    assert one == next(each.model_dump(mode="json") for each in told if each.name == "undo-storm")
    assert (one["release"], one["mechanism"], one["instance"]) == ("11.2.0.4.0", "latch", "undo_storm")
    assert one["started_at"].endswith("Z")


def test_lists_can_be_had_in_parts_which_together_are_the_whole(app: Client) -> None:
    for path, key in (("/api/v1/databases", "name"), ("/api/v1/causes", "id")):
        answer = app.get(path)
        whole, parts, link = answer.json(), [], f"{path}?limit=4"
        assert "link" not in answer.headers and len(whole) > 4
        while link:
            answer = app.get(link)
            assert 1 <= len(answer.json()) <= 4
            parts += answer.json()
            link = answer.headers.get("link", "").partition(">")[0].removeprefix("<")
        assert [one[key] for one in parts] == [one[key] for one in whole]
        assert app.get(f"{path}?cursor={whole[-1][key]}").json() == []
        refused = app.get(f"{path}?cursor=gone")
        assert refused.status_code == 422 and "start again without `cursor`" in refused.json()["detail"]


def test_diagnosis_is_the_published_one(app: Client, still: Stage) -> None:
    answer = app.get(f"{DB}/diagnosis")
    assert answer.headers["content-type"] == "application/json"
    told = Diagnosis.model_validate(answer.json())
    ordered = {"changes": told.changes, "waits_began": told.waits_began, "changes_missing": told.changes_missing}
    assert told == still["undo-storm"].published.diagnosis.model_copy(update=ordered)  # type: ignore[union-attr]
    text = answer.text
    assert all(word in text for word in ("dc_rollback_segments", "kqrpre: find obj", "undo-segments"))
    assert answer.json()["basis"]["end"].endswith("Z")


def test_diagnosis_at_a_past_time_is_that_of_the_poll_then_with_its_episodes(stage: Stage) -> None:
    for at in (60, 62, 64, 66):
        stage.poll("undo-storm", at=at)
    app = stage.app()
    then = Diagnosis.model_validate(
        app.get(f"{DB}/diagnosis", params={"at": iso(BEGAN + timedelta(seconds=65))}).json()
    )
    assert then.basis is not None and then.basis.end == BEGAN + timedelta(seconds=64)
    assert (then.state, [one.cause for one in then.episodes]) == ("Critical", ["undo-segments"])
    assert [one.earlier for one in then.episodes] == [0]
    assert app.get(f"{DB}/diagnosis", params={"at": "yesterday"}).status_code == 422
    before = Diagnosis.model_validate(app.get(f"{DB}/diagnosis", params={"at": iso(BEGAN - timedelta(days=9))}).json())
    assert (before.basis, before.state, before.episodes) == (None, "No data", ())


def test_overview_draws_the_fleet_in_one_call_with_the_last_mark(own: Client) -> None:
    own.get(f"{DB}/marks", "POST", json={"text": "undo tablespace recreated"})
    told = OverviewOut.model_validate(own.get("/api/v1/overview").json())
    assert sum(told.states.values()) == len(told.databases)
    row = next(one for one in told.databases if one.name == "undo-storm")
    assert row.last_mark is not None and row.last_mark.text == "undo tablespace recreated"
    assert row.cause_name == "Too many undo segments" and row.do_now
    assert len(row.last_hour) == 60


def test_before_the_second_poll_all_is_undetermined_and_a_refused_view_is_missing_with_its_grant(stage: Stage) -> None:
    stage.refused = {"undo-storm": ("v$latch_children", "v$rowcache")}
    app = stage.app()
    for moment in (None, 40):
        if moment:
            stage.poll("undo-storm", at=moment)
        answer = app.get(f"{DB}/diagnosis")
        told = answer.json()
        assert answer.status_code == 200 and told["basis"] is None
        known = {cause.id for cause in catalogue().values() if not cause.handbook}
        assert {one["cause"] for one in told["undetermined"]} == known
        assert "next poll" in app.get(f"{DB}/latches").json()["missing"]
    stage.poll("undo-storm", at=42)
    for path, view in (("latches", "sys.v_$latch_children"), ("caches", "sys.v_$rowcache")):
        assert f"grant select on {view} to" in app.get(f"{DB}/{path}").json()["missing"]


def test_latches_are_sorted_by_most_sleeps_and_caches_by_most_gets(app: Client) -> None:
    told = LatchesOut.model_validate(app.get(f"{DB}/latches").json())
    top = told.children[0]
    assert (top.child, top.cache, top.identity) == (1, "dc_rollback_segments", "read")
    assert top.share_of_sleeps == pytest.approx(1, abs=0.001)
    assert top.gets_per_second is not None
    assert top.gets_per_second * 2 == top.gets
    sleeps = [one.sleeps or 0 for one in told.children]
    assert sleeps == sorted(sleeps, reverse=True)
    assert told.missing is None
    caches = CachesOut.model_validate(app.get(f"{DB}/caches").json())
    most = caches.caches[0]
    assert (most.cache, most.cache_id, most.child, most.entries_used) == ("dc_rollback_segments", 3, 1, 14600)
    shared = [one for one in caches.caches if one.child == 8]
    assert {one.type for one in shared} == {"PARENT", "SUBORDINATE"}
    assert sum(one.share_of_gets or 0 for one in caches.caches) == pytest.approx(1)


def test_database_that_does_not_answer_says_so_everywhere(own: Client, stage: Stage) -> None:
    why = "ORA-12541: no listener at erp:1521"
    stage["undo-storm"].failure = Failure("network", why, since=stage.began.timestamp(), next_attempt=None)
    short = own.get(DB).json()
    assert (short["up"], short["severity"], short["failure"]["why"]) == (False, None, why)
    for path in ("latches", "caches"):
        assert why in own.get(f"{DB}/{path}").json()["missing"], "not: wait for the next poll"
    assert why in own.get(f"{DB}/diagnosis").json()["headline"]
    assert own.get("/readyz").status_code == 200, "a database that is down does not make us unready"


def test_causes_are_listed_and_told_in_full_with_the_databases_that_have_them_now(app: Client) -> None:
    told = [CauseOut.model_validate(one) for one in app.get("/api/v1/causes").json()]
    assert [one.id for one in told] == list(catalogue())
    whole = app.get("/api/v1/causes/undo-segments").json()
    assert whole["confirm"]["sql"]["12.1"] == "select count(*) from cdb_rollback_segs"
    assert {"when", "remedy", "risk", "expected_effect", "false_positives", "references"} <= set(whole)
    found = {one["id"]: one["databases"] for one in app.get("/api/v1/causes").json()}
    assert "undo-storm" in found["undo-segments"] and found["upgrade-parse-volume"] == []
    (here,) = app.get("/api/v1/causes/undo-segments").json()["found_at"]
    assert (here["name"], here["state"]) == ("undo-storm", "Critical")


@pytest.mark.parametrize(
    ("method", "path", "status", "detail"),
    [
        ("GET", "/api/v1/databases/nobody", 404, "no database named nobody; watched are:"),
        ("GET", "/api/v1/databases/nobody/diagnosis", 404, "no database named nobody"),
        ("GET", "/api/v1/databases/nobody/latches", 404, "no database named nobody"),
        ("GET", "/api/v1/databases/nobody/caches", 404, "no database named nobody"),
        ("GET", "/api/v1/causes/nothing", 404, "no cause nothing; the causes are:"),
        ("GET", "/api/v1/nowhere", 404, "Not Found"),
        ("DELETE", "/api/v1/databases", 405, "Method Not Allowed"),
        ("GET", "/static/none.css", 404, "Not Found"),
    ],
)
def test_errors_are_problems(app: Client, method: str, path: str, status: int, detail: str) -> None:
    answer = app.get(path, method)
    told = Problem.model_validate(answer.json())
    assert (answer.status_code, told.status, told.instance) == (status, status, path)
    assert answer.headers["content-type"] == "application/problem+json"
    assert detail in told.detail
    assert (status == 405) == ("allow" in answer.headers)


def test_bug_and_an_invalid_parameter_are_problems(own: Client, caplog: pytest.LogCaptureFixture) -> None:
    @own.app.get("/planted")
    def planted(number: int) -> None:
        raise RuntimeError("a secret of the inside")

    for number, status in (("many", 422), ("1", 500)):
        answer = own.get(f"/planted?number={number}")
        assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
        assert ("query.number: Input should be a valid integer" in answer.json()["detail"]) == (status == 422)
    assert "secret" not in answer.text
    assert "a secret of the inside" in caplog.text, "the log has it"


def test_healthz_touches_neither_store_nor_board(app: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("touched")

    monkeypatch.setattr(Repository, "reachable", refuse)
    monkeypatch.setattr("service.state.board.Board.__iter__", refuse)
    answer = app.get("/healthz")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


def test_readyz_fails_when_the_store_is_gone_and_not_when_polls_wait(
    own: Client, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert own.get("/readyz").json() == {"status": "ok"}
    monkeypatch.setattr(PollScheduler, "queue_seconds", 9.0)
    answer = own.get("/readyz")
    assert answer.status_code == 200 and answer.json()["status"].startswith("ok, but polls wait up to 9 s")
    (stage.folder / "store.db").unlink()
    answer = own.get("/readyz")
    assert answer.status_code == 503 and "store" in answer.json()["status"]


def test_openapi_document_is_frozen(app: Client, golden: Callable[[str, str], None]) -> None:
    document = app.get("/api/v1/openapi.json").json()
    document["info"]["version"] = "of the golden file"
    golden("openapi.json", json.dumps(document, indent=1, sort_keys=True) + "\n")


def test_method_that_is_not_allowed_is_told_all_that_are_and_an_empty_cursor_is_not_understood(app: Client) -> None:
    for path, each in app.get("/api/v1/openapi.json").json()["paths"].items():
        place = path.replace("{db}", "undo-storm").replace("{id}", "x")
        answer = app.get(place, "PATCH")
        assert answer.status_code == 405
        assert answer.headers["allow"] == ", ".join(sorted(method.upper() for method in each)), path
    for path in ("marks", "episodes", "history?metric=latch_sleeps"):
        sign = "&" if "?" in path else "?"
        assert app.get(f"{DB}/{path}{sign}cursor=").status_code == 422, path
