"""The REST document: every operation answers as it says, a generated client works; and errors, and answers with a tag."""

import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import jsonschema
import pytest

from service.config.settings import DatabaseSettings
from service.web.api.common import TYPES
from tests.oracle_standin.deadline import HANGS
from tests.paths import INCIDENT
from tests.service.stage import Client, Stage

Operation = dict[str, Any]


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A scripted database, polled three times."""
    with pytest.MonkeyPatch.context() as patch:
        stage = Stage(patch, tmp_path_factory.mktemp("document"))
        stage.watch(DatabaseSettings(name="undo-storm", dsn="demo:undo-storm"))
        stage.poll_all(10.0, 40.0, 70.0)
        yield stage.app()
        stage.close()


@pytest.fixture(scope="module")
def document(app: Client) -> dict[str, Any]:
    found: dict[str, Any] = app.get("/api/v1/openapi.json").json()
    return found


def by_id(document: dict[str, Any]) -> dict[str, Operation]:
    """Its operations by their ids, with method and path in them."""
    return {
        operation["operationId"]: {**operation, "method": method.upper(), "path": path}
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }


def test_document_has_a_login_and_groups(document: dict[str, Any]) -> None:
    assert document["servers"] and set(document["components"]["securitySchemes"]) == {"token", "password"}
    described = {tag["name"] for tag in document["tags"] if len(tag["description"]) > 20}
    used = {tag for operation in by_id(document).values() for tag in operation["tags"]}
    assert used == described == {tag["name"] for tag in document["tags"]}
    assert document["paths"]["/healthz"]["get"]["security"] == []


def test_each_type_of_problem_is_a_page_of_the_service(app: Client) -> None:
    kind = app.get("/api/v1/databases/nobody").json()["type"]
    assert kind == "/docs/problems/not-found"
    for address in (kind, "/docs/problems", *(f"/docs/problems/{name}" for name in TYPES)):
        page = app.get(address)
        assert page.status_code == 200 and page.text.startswith("<!doctype html>"), address
        assert all(f'href="/docs/problems/{name}"' in page.text for name in TYPES if address == "/docs/problems")
    unknown = app.get("/docs/problems/<script>")
    assert unknown.status_code == 404 and "problem <script>" not in unknown.text


class _InProcess(httpx.BaseTransport):
    """Passes the requests of the generated client to the app."""

    def __init__(self, app: Client) -> None:
        self._app = app

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        answer = self._app.get(str(request.url), request.method, content=request.read())
        return httpx.Response(
            answer.status_code, headers={"content-type": answer.headers["content-type"]}, content=answer.content
        )


@pytest.mark.slow
def test_generated_client_lists_databases_and_gets_a_diagnosis(
    app: Client, document: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "openapi.json").write_text(json.dumps(document), encoding="utf-8")
    (tmp_path / "config.yml").write_text("post_hooks: []\npackage_name_override: generated_client\n", encoding="utf-8")
    words = ("generate", "--path", "openapi.json", "--config", "config.yml", "--output-path", "made", "--meta", "none")
    command = [sys.executable, "-m", "openapi_python_client", *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=HANGS)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr + done.stdout, done.stdout
    (tmp_path / "made").rename(tmp_path / "generated_client")
    monkeypatch.syspath_prepend(str(tmp_path))
    made = importlib.import_module("generated_client")
    client = made.Client(base_url="http://127.0.0.1:8000", httpx_args={"transport": _InProcess(app)})
    listed = importlib.import_module("generated_client.api.databases.list_databases").sync(client=client)
    assert "undo-storm" in [database.name for database in listed]
    told = importlib.import_module("generated_client.api.diagnosis.get_diagnosis").sync(db="undo-storm", client=client)
    assert told.database == "undo-storm" and told.severity


def test_lack_of_threads_is_answered_and_said_once(
    still: Stage, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(thread: object) -> None:
        raise RuntimeError("can't start new thread")

    client = still.app()
    monkeypatch.setattr("anyio._backends._asyncio.WorkerThread.start", refuse)
    answers = [client.get("/api/v1/databases") for _ in range(3)]
    assert [each.status_code for each in answers] == [503, 503, 503], answers[0].text
    assert answers[0].json()["detail"] == "No thread is left for this request; try again later."
    assert len([each for each in caplog.records if each.levelname == "ERROR"]) == 1 and "Traceback" not in caplog.text


# Diagnoses carry an ETag of their content: a client that has it already gets a few bytes.

DIAGNOSIS = "/api/v1/databases/undo-storm/diagnosis"


@pytest.fixture
def etagged(stage: Stage) -> Client:
    for moment in (40, 42):
        stage.poll("undo-storm", moment)
    return stage.app()


def test_etag_of_an_answer_spares_the_next_until_it_changes(etagged: Client, stage: Stage) -> None:
    first = etagged.get(DIAGNOSIS)
    tag = first.headers["etag"]
    assert tag.startswith('W/"') and first.headers["cache-control"] == "no-cache"
    again = etagged.get(DIAGNOSIS, headers={"if-none-match": tag})
    assert (again.status_code, again.content) == (304, b"")
    assert (again.headers["etag"], again.headers["cache-control"]) == (tag, "no-cache")
    strong = tag.removeprefix("W/")
    for asked, status in (("*", 304), (f'"other", {tag}', 304), (strong, 304), ('"other"', 200), ("nonsense", 200)):
        assert etagged.get(DIAGNOSIS, headers={"if-none-match": asked}).status_code == status, asked
    stage.poll("undo-storm", 44)
    answer = etagged.get(DIAGNOSIS, headers={"if-none-match": tag})
    assert answer.status_code == 200 and answer.headers["etag"] != tag, "the next poll"
    stage.at = 4000  # the last poll is too old by then
    answer = etagged.get(DIAGNOSIS, headers={"if-none-match": answer.headers["etag"]})
    assert (answer.status_code, answer.json()["basis"]) == (200, None)
    assert etagged.get(DIAGNOSIS, headers={"if-none-match": answer.headers["etag"]}).status_code == 304


# Every operation of the document, with existing names: each answers as the document says.

ENDLESS = "stream_episodes"
"""An answer without an end; test_live.py reads it."""
REPORT = "report of this stage"
GIVEN: dict[str, dict[str, Any]] = {
    "get_comparison": {
        "params": {
            "before": "2026-03-01T12:00:10Z/2026-03-01T12:00:40Z",
            "after": "2026-03-01T12:00:40Z/2026-03-01T12:01:10Z",
        }
    },
    "get_history": {"params": {"metric": "latch_sleeps"}},
    "get_incident": {"params": {"id": REPORT}},
    "get_probe": {"params": {"target": "undo-storm"}},
    "create_mark": {"json": {"text": "undo tablespace recreated"}},
    "run_confirming_query": {"json": {"cause": "undo-segments"}},
    "run_holder_profile": {"json": {"seconds": 0.1}},
    "create_reports": {"files": [("file", (INCIDENT.name, INCIDENT.read_bytes()))]},
}


def test_every_operation_answers_as_the_document_says(app: Client, document: dict[str, Any]) -> None:
    report = app.get("/api/v1/reports", "POST", **GIVEN["create_reports"]).json()[0]["id"]
    wrong = []
    for name, operation in sorted(by_id(document).items(), key=lambda each: each[1]["method"] == "DELETE"):
        if name == ENDLESS:
            continue
        id = "undo-segments" if "/causes/" in operation["path"] else report
        given = {**GIVEN.get(name, {})}
        if given.get("params") == {"id": REPORT}:
            given["params"] = {"id": report}
        answer = app.get(operation["path"].format(db="undo-storm", id=id), operation["method"], **given)
        said = operation["responses"].get(str(answer.status_code), {})
        media, content = answer.headers.get("content-type", "").partition(";")[0], said.get("content", {})
        if answer.status_code >= 300 or (answer.content and media not in content):
            wrong.append(f"{name}: {answer.status_code} {media} {answer.text[:200]}")
        if schema := content.get("application/json", {}).get("schema"):
            whole = jsonschema.Draft202012Validator({**schema, "components": document["components"]})
            wrong += [f"{name}: {error.message[:200]}" for error in whole.iter_errors(answer.json())]
    assert wrong == []
