"""Every operation of the REST document and every link, with existing names: each answers as the document says."""

from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

from service.config.settings import DatabaseSettings
from tests.paths import INCIDENT
from tests.service.stage import Client, Stage

ENDLESS = "stream_episodes"
"""An answer without an end; test_stream.py reads it."""
ELSEWHERE = {"get_fleet": 404}
"""Parts that this stage does not set up. The 404 names the setting."""
REPORTS = "/api/v1/reports"
BEFORE, AFTER = "2026-03-01T12:00:10Z/2026-03-01T12:00:40Z", "2026-03-01T12:00:40Z/2026-03-01T12:01:10Z"
QUERY = {"get_comparison": {"before": BEFORE, "after": AFTER}}
"""Times at which this stage was polled."""

Operation = dict[str, Any]
Link = tuple[str, str, str]
"""Which response has the value for an address: its status, and its own address."""


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with pytest.MonkeyPatch.context() as patch:
        stage = Stage(patch, tmp_path_factory.mktemp("reached"))
        stage.watch(DatabaseSettings(name="undo-storm", dsn="demo:undo-storm"))
        stage.poll_all(10.0, 40.0, 70.0)
        yield stage.app()
        stage.close()


@pytest.fixture(scope="module")
def document(app: Client) -> dict[str, Any]:
    found: dict[str, Any] = app.get("/api/v1/openapi.json").json()
    return found


def operations(document: dict[str, Any]) -> dict[str, Operation]:
    """By their ids, with method and path in them."""
    return {
        operation["operationId"]: {**operation, "method": method.upper(), "path": path}
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }


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
    known = operations(document)
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
