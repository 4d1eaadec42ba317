"""Completes the OpenAPI document: how to log in, the servers, the groups, and an example of everything."""

from collections.abc import Iterator, Mapping
from typing import Any

from service.web.api.examples import example_of, example_of_parameter
from service.web.api.links import link

JSON = "application/json"
TAGS: Mapping[str, str] = {
    "databases": "The watched databases: whether they answer, and what can be read on each.",
    "diagnosis": "What the last interval shows: findings with their evidence, and the figures behind them.",
    "history": "Figures over time, episodes, change marks, comparisons and what a change would be worth.",
    "actions": "Actions that change state or load a database. Needs the role `operate` and is written to the audit log.",
    "reports": "AWR and Statspack reports and captures, uploaded and kept.",
    "causes": "The knowledge base: what latchscope can find, and what to do about it.",
    "fleet": "Databases of many cells, the worst first.",
    "service": "For Prometheus and for programs that restart the service.",
}
SERVERS = [{"url": "/", "description": "This service."}]
SECURITY = {
    "token": {
        "type": "http",
        "scheme": "bearer",
        "description": "A token of `auth.tokens_file`, with the role `read` or `operate`. Without that file none is needed.",
    },
    "password": {
        "type": "http",
        "scheme": "basic",
        "description": "For browsers: the token as the password, with any name.",
    },
}
OPEN = ("/healthz", "/readyz")
"""Paths that need no token."""


def completed(document: dict[str, Any]) -> dict[str, Any]:
    """The document with servers, ways to log in, groups, links and examples."""
    named = document["components"]["schemas"]
    document["servers"] = SERVERS
    document["components"]["securitySchemes"] = SECURITY
    document["security"] = [{"token": []}, {"password": []}, {}]
    used = set()
    for path, operation in _operations(document):
        operation.setdefault("tags", ["service"])
        used |= set(operation["tags"])
        if path in OPEN:
            operation["security"] = []
        for parameter in operation.get("parameters", ()):
            parameter.setdefault("example", example_of_parameter(parameter, named))
        for content in _contents(operation):
            if "example" not in content and "examples" not in content and content.get("schema"):
                content["example"] = example_of(content["schema"], named)
    link(document)
    names = [*TAGS, *sorted(used - set(TAGS))]
    document["tags"] = [{"name": name, "description": TAGS.get(name, "")} for name in names if name in used]
    return document


def _operations(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, operations in document["paths"].items():
        for operation in operations.values():
            yield path, operation


def _contents(operation: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The JSON that an operation accepts and returns on success."""
    bodies = [
        operation.get("requestBody", {}),
        *(response for status, response in operation["responses"].items() if status.startswith("2")),
    ]
    yield from (body["content"][JSON] for body in bodies if JSON in body.get("content", {}))
