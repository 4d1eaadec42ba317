"""The dashboards as JSON, and the questions that every test about them asks."""

import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from rules.base import LOADER
from service.metrics.families import FAMILIES
from tests.repo.known_metrics import of_the_process

ROOT = Path(__file__).resolve().parents[3]
HOME = ROOT / "dashboards" / "grafana"
RECORDING = [ROOT / "dashboards" / "prometheus" / name for name in ("recording.yml", "fleet.yml")]
Json = dict[str, Any]
Rule = Callable[[Json], Iterator[str]]

DASHBOARDS: dict[str, Json] = {
    path.stem: json.loads(path.read_text("utf-8")) for path in HOME.glob("dashboards/*.json")
}
SELECTOR = re.compile(
    r"(?P<call>[a-z_]+\()?(?P<name>[a-zA-Z_:][\w:]*)\{(?P<matchers>[^{}]*)\}(?:\[(?P<range>[^\]]*)\])?"
)
# The values that a person or Grafana puts in place of a variable.
TARGET_LABELS = ("cluster", "env", "region")
VALUES = {"$rac": ".*", "$job": ".+", "$instance": ".+", "$__rate_interval": "1m", "$__range": "1m"}
VALUES |= {f"${name}": ".*" for name in TARGET_LABELS}
OF_PROMETHEUS = {"scrape_duration_seconds", "scrape_samples_scraped", "up", "ALERTS"}
"""What Prometheus itself writes about every target and alert."""


def panels(dashboard: Json) -> list[Json]:
    """Every panel with data, folded ones included. Rows are headings."""
    every = [each for one in dashboard["panels"] for each in (one, *one.get("panels", []))]
    return [one for one in every if one["type"] != "row"]


def visible(dashboard: Json) -> list[Json]:
    """The panels that show without a click."""
    return [one for one in dashboard["panels"] if one["type"] != "row"]


def targets(dashboard: Json) -> Iterator[tuple[str, Json]]:
    """The place of a query and its text, for panels and annotations."""
    for panel in panels(dashboard):
        for target in panel.get("targets", []):
            yield f"{panel['title']} {target['refId']}", target
    for one in dashboard["annotations"]["list"]:
        yield f"annotation {one['name']}", one["target"]


def selectors(dashboard: Json) -> Iterator[tuple[str, re.Match[str]]]:
    """Every selector of every query, with its place."""
    for place, target in targets(dashboard):
        for match in SELECTOR.finditer(target["expr"]):
            yield place, match


def variables(dashboard: Json, kind: str = "query") -> dict[str, Json]:
    """The variables of one type by name."""
    return {one["name"]: one for one in dashboard["templating"]["list"] if one["type"] == kind}


def filled(text: str, db: str = ".+") -> str:
    """A query with every variable replaced."""
    for name, value in {**VALUES, "$db": db}.items():
        text = text.replace(name, value)
    return text


def of_a_database(metric: str) -> bool:
    """Whether a metric has the label `db`."""
    others = ("process_", "python_", "scrape_", "instance:")
    return metric not in of_the_process() and not metric.startswith(others) and metric != "up"


@cache
def known_metrics() -> set[str]:
    """Our metrics, those of our process, those of our recording rules, and Prometheus's own metrics about a scrape."""
    known = of_the_process() | set(FAMILIES) | OF_PROMETHEUS
    return known | {rule["record"] for rule in recorded()}


def recorded() -> list[Json]:
    """Our recording rules."""
    files = [yaml.load(path.read_text("utf-8"), Loader=LOADER) for path in RECORDING]
    return [rule for file in files for group in file["groups"] for rule in group["rules"]]


def first(dashboard: Json) -> Json:
    """The first panel with a query over time."""
    return next(one for one in panels(dashboard) if one["type"] == "timeseries")
