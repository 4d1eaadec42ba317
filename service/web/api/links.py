"""Links of the REST document: where the names and ids in an address come from, for programs that follow links."""

from collections.abc import Mapping
from typing import Any

SOURCES: Mapping[str, tuple[tuple[str, str, str], ...]] = {
    "/api/v1/databases/{db}": (("list_databases", "200", "$response.body#/0/name"),),
    "/api/v1/causes/{id}": (("list_causes", "200", "$response.body#/0/id"),),
    "/api/v1/reports/{id}": tuple(
        (operation, status, "$response.body#/0/id")
        for operation, status in (("list_reports", "200"), ("create_reports", "201"), ("create_reports", "200"))
    ),
}
"""Beginning of an address → operations whose answers hold what it takes: their ids, statuses, and where it stands."""


def link(document: dict[str, Any]) -> None:
    """Put a link into each answer that holds what the address of another operation takes."""
    known = {each["operationId"]: each for methods in document["paths"].values() for each in methods.values()}
    for path, methods in document["paths"].items():
        for beginning, sources in SOURCES.items():
            if not path.startswith(beginning):
                continue
            parameter = beginning.rpartition("{")[2].rstrip("}")
            for target in (each["operationId"] for each in methods.values()):
                for source, status, where in sources:
                    links = known[source]["responses"][status].setdefault("links", {})
                    links[target] = {"operationId": target, "parameters": {parameter: where}}
