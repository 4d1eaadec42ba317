"""The schemas of Kubernetes, for the tests of the Kubernetes base and of the Helm chart."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

SCHEMAS: dict[str, Any] = json.loads(
    (Path(__file__).parent / "kubernetes-schema" / "kubernetes-1.37.json").read_text("utf-8")
)


def refused(resource: dict[str, Any]) -> Iterator[str]:
    """What an API server would refuse, as `kind.path: reason`. Kinds of the Prometheus operator are not known here."""
    version = resource["apiVersion"] if "/" in resource["apiVersion"] else f"core/{resource['apiVersion']}"
    if version.startswith("monitoring.coreos.com/"):
        return
    name = f"io.k8s.api.{version.replace('/', '.')}.{resource['kind']}"
    for error in Draft202012Validator(SCHEMAS | {"$ref": f"#/$defs/{name}"}).iter_errors(resource):
        yield f"{resource['kind']}{error.json_path.removeprefix('$')}: {error.message[:200]}"
