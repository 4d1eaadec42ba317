"""What an operator reads on Database at 1280 × 800 without scrolling: the verdict, and no figures that contradict it."""

import re
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from functools import cache

from tests.repo.grafana import dashboards
from tests.repo.grafana.dashboards import DASHBOARDS, Json, visible
from tests.repo.grafana.display import BETWEEN, ROW, columns_of, defaults, fields

HEAD, SCREEN = 150, 800
"""Pixels of Grafana's head with its controls, and of the whole screen."""
LAST_POLL = "last poll"
QUANTITIES = {"percentunit": "share of DB time", "short": "sessions"}
"""Unit → what its figures are on this screen. Two windows of one of them contradict each other unless a title says so."""


@dataclass(frozen=True)
class Figure:
    """One query of a panel: its unit, what it is about, and over which time."""

    title: str
    query: str
    unit: str
    windows: frozenset[str]


def bottom(panel: Json) -> int:
    """Where a panel ends, in pixels from the top of the window."""
    lines = panel["gridPos"]["y"] + panel["gridPos"]["h"]
    return int(HEAD + lines * (ROW + BETWEEN) - BETWEEN)


def above_the_fold(dashboard: Json) -> list[Json]:
    """The panels that end on the first screen."""
    return [panel for panel in visible(dashboard) if bottom(panel) <= SCREEN]


RANK = r"fleet:latchscope_worst:topk\{[^}]*\}"
CHOICE = re.compile(rf"\s+and on \([^()]*\) (?:group by \([\w, ]*\) \(topk by \(why\) \(\d+, {RANK}\)\)|{RANK})")
"""What says which databases a query is about, and gives none of its figures."""


@cache
def recorded() -> dict[str, str]:
    """A recording rule as it is read, a rank with its reason → its queries."""
    found: dict[str, str] = {}
    for rule in dashboards.recorded():
        name = rf"(?<![\w:]){re.escape(rule['record'])}(?![\w:])"
        if reason := rule.get("labels", {}).get("why"):
            name += rf"""\{{[^}}]*\bwhy=~?"[^"]*\b{reason}\b"""
        found[name] = f"{found.get(name, '')} {rule['expr']}"
    return found


def windows(expr: str) -> frozenset[str]:
    """The ranges that a query goes over, through recording rules; the last poll if there is none.

    The worst poll of a step is a poll, and what was last known is no mean.
    """
    expr = re.sub(r"(last_over_time\([^\[\]]*)\[[^\]]*\]|\[\$__rate_interval[^\]]*\]", r"\1", CHOICE.sub("", expr))
    found = set(re.findall(r"\[([^\]]+)\]", expr))
    for name, behind in recorded().items():
        if re.search(name, expr):
            # A rule that remembers reads itself.
            found |= windows(re.sub(name, "", behind)) - {LAST_POLL}
    return frozenset(found or {LAST_POLL})


def figures(panels: list[Json]) -> Iterator[Figure]:
    """Every query of these panels. In a table each has the unit of its own column."""
    for panel in panels:
        renamed = panel.get("transformations", [{}, {"options": {"renameByName": {}}}])[1]["options"]["renameByName"]
        units = dict(fields(panel))
        for target in panel["targets"]:
            column = units.get(renamed.get(f"Value #{target['refId']}", ""), {})
            unit = column.get("unit", defaults(panel)["unit"])
            yield Figure(panel["title"], target["expr"], unit, windows(target["expr"]))


def contradictions(panels: list[Json]) -> Iterator[str]:
    """Panels that show a quantity over another window than the verdict does, and whose title does not say so."""
    for one in figures(panels):
        if one.unit in QUANTITIES and one.windows != {LAST_POLL} and "5 min mean" not in one.title:
            over = ", ".join(sorted(one.windows))
            what = QUANTITIES[one.unit]
            yield f"{one.title}: {what} over {over}, beside a verdict of the last poll, and its title does not say so"


def test_first_screen_of_a_database_ends_above_the_fold() -> None:
    shown = above_the_fold(DASHBOARDS["latchscope-database"])
    assert {panel["title"]: bottom(panel) for panel in shown} == {
        "Severity": 256,
        "Time lost": 256,
        "Waiting": 256,
        "Data age": 256,
        "Up for": 256,
        "Release": 256,
        "Verdict": 560,
        "DB time lost over time": 788,
        "Verdict over time": 788,
    }


def test_verdict_says_what_an_operator_reads_in_five_seconds() -> None:
    (verdict,) = (panel for panel in above_the_fold(DASHBOARDS["latchscope-database"]) if panel["type"] == "table")
    order = next(one["options"] for one in verdict["transformations"] if one["id"] == "organize")
    places = {order["renameByName"].get(name, name): place for name, place in order["indexByName"].items()}
    shown = sorted(columns_of(verdict), key=lambda column: places[column])
    assert shown == ["Severity", "Since", "Cause", "Do now", "Check first", "Do not", "Cache"]


def test_figures_above_the_fold_are_all_of_the_last_poll() -> None:
    found = list(figures(above_the_fold(DASHBOARDS["latchscope-database"])))
    assert {(one.title, one.unit) for one in found if one.unit in QUANTITIES} == {
        ("Time lost", "percentunit"),
        ("Waiting", "short"),
        ("DB time lost over time", "percentunit"),
    }
    assert {window for one in found for window in one.windows} == {LAST_POLL}


def test_no_figure_on_a_dashboard_contradicts_the_verdict_unsaid() -> None:
    for dashboard in DASHBOARDS.values():
        assert list(contradictions(above_the_fold(dashboard))) == []
    planted = deepcopy(above_the_fold(DASHBOARDS["latchscope-database"]))
    planted[2]["targets"][0]["expr"] = "max(db_surface:latchscope_impact_sessions:avg5m)"
    assert list(contradictions(planted)) == [
        "Waiting: sessions over 5m, beside a verdict of the last poll, and its title does not say so"
    ]
