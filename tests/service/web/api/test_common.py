"""The REST document: every operation has an example that fits its own schema, and a generated client works."""

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
from service.web.api.common import TYPES, example_of, example_of_parameter
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


def test_document_has_examples_that_its_schemas_accept_a_login_and_groups(document: dict[str, Any]) -> None:
    for where, operation in by_id(document).items():
        for parameter in operation.get("parameters", ()):
            assert "example" in parameter, (where, parameter["name"])
        bodies = [operation.get("requestBody", {})]
        bodies += [answer for status, answer in operation["responses"].items() if status.startswith("2")]
        for content in (
            body["content"]["application/json"] for body in bodies if "application/json" in body.get("content", {})
        ):
            if content.get("schema"):
                jsonschema.validate(content["example"], {**content["schema"], "components": document["components"]})
    assert document["servers"] and set(document["components"]["securitySchemes"]) == {"token", "password"}
    described = {tag["name"] for tag in document["tags"] if len(tag["description"]) > 20}
    for where, operation in by_id(document).items():
        assert set(operation["tags"]) <= described, where
    assert document["paths"]["/healthz"]["get"]["security"] == []


def test_each_type_of_problem_is_a_page_of_the_service(app: Client) -> None:
    kind = app.get("/api/v1/databases/nobody").json()["type"]
    assert kind == "/docs/problems/not-found"
    for address in (kind, "/docs/problems", *(f"/docs/problems/{name}" for name in TYPES)):
        page = app.get(address)
        assert page.status_code == 200 and page.text.startswith("<!doctype html>"), address
    assert app.get("/docs/problems/none").status_code == 404


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


def test_example_is_a_value_of_its_schema_its_default_or_a_word_to_try() -> None:
    named = {
        "Node": {
            "type": "object",
            "properties": {"below": {"anyOf": [{"$ref": "#/components/schemas/Node"}, {"type": "null"}]}},
        }
    }
    for schema in (
        {"type": "string", "enum": ["a", "b"]},
        {"type": "integer", "minimum": 5},
        {"type": "number", "exclusiveMinimum": 0},
        {"type": "array", "items": {"type": "boolean"}, "minItems": 2},
        {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]},
        {"anyOf": [{"type": "null"}, {"type": "string", "format": "date-time"}]},
        {"$ref": "#/components/schemas/Node"},
        {"const": "latch"},
    ):
        jsonschema.validate(example_of(schema, named), {**schema, "components": {"schemas": named}})
    assert example_of_parameter({"name": "db", "in": "path", "schema": {"type": "string"}}, {}) == "undo-storm"
    assert (
        example_of_parameter({"name": "limit", "in": "query", "schema": {"type": "integer", "default": 200}}, {}) == 200
    )
    assert example_of_parameter({"name": "metric", "in": "query", "schema": {"type": "array"}}, {}) == ["latch_sleeps"]


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


# Every operation of the document and every link, with existing names: each answers as the document says.


ENDLESS = "stream_episodes"
"""An answer without an end; test_stream.py reads it."""
ELSEWHERE = {"get_fleet": 404}
"""Parts that this stage does not set up. The 404 names the setting."""
REPORTS = "/api/v1/reports"
BEFORE, AFTER = "2026-03-01T12:00:10Z/2026-03-01T12:00:40Z", "2026-03-01T12:00:40Z/2026-03-01T12:01:10Z"
QUERY = {"get_comparison": {"before": BEFORE, "after": AFTER}}
"""Times at which this stage was polled."""

Link = tuple[str, str, str]
"""Which response has the value for an address: its status, and its own address."""


def links(known: dict[str, Operation]) -> dict[Link, dict[str, str]]:
    """Every link with the places of its parameters."""
    return {
        (source, status, link["operationId"]): link["parameters"]
        for source, operation in known.items()
        for status, response in operation["responses"].items()
        for link in response.get("links", {}).values()
    }


def asked(app: Client, operation: Operation, names: dict[str, str]) -> Any:
    """The answer to a request built from the operation's own examples and from existing names."""
    required = {
        one["name"]: one["example"]
        for one in operation.get("parameters", ())
        if one["in"] == "query" and one.get("required")
    }
    more: dict[str, Any] = {"params": {**required, **QUERY.get(operation["operationId"], {})}}
    content = operation.get("requestBody", {}).get("content", {})
    if "application/json" in content:
        more["json"] = content["application/json"]["example"]
    if "multipart/form-data" in content:
        more["files"] = [("file", (INCIDENT.name, INCIDENT.read_bytes()))]
    return app.get(operation["path"].format(**names), operation["method"], **more)


def names_of(app: Client, known: dict[str, Operation], link: Link, where: dict[str, str]) -> dict[str, str]:
    """The values for an address, from the response of the link. A report exists already, unless the link needs a new one."""
    source, status, _ = link
    for report in app.get(REPORTS).json() if status == "201" else ():
        app.get(f"{REPORTS}/{report['id']}", "DELETE")
    if status == "200":
        asked(app, known["create_reports"], {})
    answer = asked(app, known[source], {})
    assert answer.status_code == int(status), (link, answer.text)
    return {name: answer.json()[0][place.removeprefix("$response.body#/0/")] for name, place in where.items()}


def wrong_in(answer: Any, operation: Operation, document: dict[str, Any]) -> list[str]:
    """Where an answer differs from the document."""
    name, status = operation["operationId"], answer.status_code
    told, media = operation["responses"].get(str(status)), answer.headers.get("content-type", "").partition(";")[0]
    if told is None or status != ELSEWHERE.get(name, status) or (status >= 300 and name not in ELSEWHERE):
        return [f"{name}: {status} {answer.text[:200]}"]
    if answer.content and media not in told["content"]:
        return [f"{name}: {status} is {media}, not what is documented"]
    schema = told.get("content", {}).get("application/json", {}).get("schema")
    if not schema:
        return []
    whole = jsonschema.Draft202012Validator({**schema, "components": document["components"]})
    return [f"{name}: {error.message[:200]}" for error in whole.iter_errors(answer.json())]


def test_every_operation_is_reached_and_every_link_is_walked(app: Client, document: dict[str, Any]) -> None:
    known = by_id(document)
    written = links(known)
    walked, wrong = dict[Link, int](), list[str]()
    for operation in known.values():
        if "{" not in operation["path"] and operation["operationId"] != ENDLESS:
            wrong += wrong_in(asked(app, operation, {}), operation, document)
    for link, where in written.items():
        answer = asked(app, known[link[2]], names_of(app, known, link, where))
        walked[link] = answer.status_code
        wrong += wrong_in(answer, known[link[2]], document)
    assert wrong == []
    named = {name for name, operation in known.items() if "{" in operation["path"]}
    assert {target for _, _, target in walked} == named, "a link leads to every address that takes a name or an id"
    sources = {(source, status) for source, status, _ in walked}
    reports = {("list_reports", "200"), ("create_reports", "201"), ("create_reports", "200")}
    assert sources == {("list_databases", "200"), ("list_causes", "200"), *reports}
    assert all(status < 300 for status in walked.values()) and len(walked) == 18 + 1 + 3 * 2, walked
