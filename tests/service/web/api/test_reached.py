"""Every operation of the REST document, asked for things that are there: what it answers is in the document, and never 404."""

from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

from tests.service.conftest import INCIDENT
from tests.service.stage import Client, Stage

ENDLESS = {"GET /api/v1/episodes/stream"}
"""An answer without an end; test_stream.py reads it."""
ELSEWHERE = {"GET /api/v1/fleet": 404}
"""What is not set up on this stage; the 404 says which setting it takes."""


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with pytest.MonkeyPatch.context() as patch:
        stage = Stage(patch, tmp_path_factory.mktemp("reached"))
        stage.poll_all(10.0, 40.0, 70.0)
        yield stage.app()
        stage.close()


def real(app: Client, document: dict[str, Any]) -> dict[str, dict[str, str]]:
    """Operation → its parameters, as the links of the document take them from the answers to others."""
    sent = app.get("/api/v1/reports", "POST", files=[("file", (INCIDENT.name, INCIDENT.read_bytes()))])
    assert sent.status_code == 201, sent.text
    found: dict[str, dict[str, str]] = {}
    for path, methods in document["paths"].items():
        for link in methods.get("get", {}).get("responses", {}).get("200", {}).get("links", {}).values():
            first = app.get(path).json()[0]
            found[link["operationId"]] = {
                name: first[where.removeprefix("$response.body#/0/")] for name, where in link["parameters"].items()
            }
    return found


def request(path: str, operation: dict[str, Any], names: dict[str, dict[str, str]]) -> tuple[str, dict[str, Any]]:
    """Address and arguments of a request made of the operation's own examples, with what is there in place of its names."""
    address = path.format(**names.get(operation["operationId"], {}))
    query = {
        one["name"]: one["example"]
        for one in operation.get("parameters", ())
        if one["in"] == "query" and one.get("required")
    }
    content = operation.get("requestBody", {}).get("content", {})
    more: dict[str, Any] = {"params": query}
    if "application/json" in content:
        more["json"] = content["application/json"]["example"]
    if "multipart/form-data" in content:
        more["files"] = [("file", (INCIDENT.name, INCIDENT.read_bytes()))]
    return address, more


def test_every_operation_is_reached_and_answers_what_the_document_says(app: Client) -> None:
    document, reached = app.get("/api/v1/openapi.json").json(), {}
    names = real(app, document)
    wrong: list[str] = []
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            what = f"{method.upper()} {path}"
            if what in ENDLESS:
                continue
            address, more = request(path, operation, names)
            answer = app.get(address, method.upper(), **more)
            reached[what] = answer.status_code
            told = operation["responses"].get(str(answer.status_code))
            if answer.status_code != ELSEWHERE.get(what, answer.status_code) or told is None:
                wrong.append(f"{what}: {answer.status_code} {answer.text[:200]}")
            elif answer.status_code == 404 and what not in ELSEWHERE:
                wrong.append(f"{what}: not reached, {answer.text[:200]}")
            elif answer.content and answer.headers.get("content-type", "").partition(";")[0] not in told["content"]:
                wrong.append(
                    f"{what}: {answer.status_code} is {answer.headers.get('content-type')}, not what is documented"
                )
            elif schema := told.get("content", {}).get("application/json", {}).get("schema"):
                whole = {**schema, "components": document["components"]}
                wrong += [
                    f"{what}: {error.message[:200]}"
                    for error in jsonschema.Draft202012Validator(whole).iter_errors(answer.json())
                ]
    print(reached)  # noqa: T201  what was reached is there to be read
    assert wrong == []
    assert len(reached) >= 30 and sum(status < 300 for status in reached.values()) >= 22
