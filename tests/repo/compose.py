"""docker-compose.yml, as its tests read it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / "dashboards" / "compose"
Json = dict[str, Any]
COMPOSE: Json = yaml.safe_load((ROOT / "docker-compose.yml").read_text("utf-8"))
SERVICES: dict[str, Json] = COMPOSE["services"]
SECRETS = "/run/generated"
"""The source of each service's secrets."""


def sources(text: str) -> Path:
    """The target of a path in the file."""
    return (ROOT / text).resolve()


def mounts() -> Iterator[tuple[str, str, str]]:
    """Service, source and target of every mount."""
    for name, service in SERVICES.items():
        for mount in service.get("volumes", []):
            source, target, *_ = mount.split(":")
            yield name, source, target
