"""What is gone is red or *no data* on every dashboard, never green: the demo's data, shown by Grafana's own code."""

import shutil
import subprocess
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from tests.repo.grafana.dashboards import DASHBOARDS, HOME, Json, filled, panels
from tests.repo.grafana.display import OVER_FIVE_MINUTES, defaults, fields
from tests.repo.grafana.figures import SITUATIONS, STEP, STOPS, Answer, answers, displayed, recorded
from tests.repo.processes import need
from tests.service.stage import Stage

pytestmark = pytest.mark.slow

BEFORE, SOON = STEP * STOPS, STEP * STOPS + 60
STOPPED = {0: BEFORE, 1: SOON, 5: BEFORE + 300, 15: BEFORE + 900}
"""Minutes since latchscope stopped, and the moment."""
LOST = "undo-storm"
"""The database that is down, refuses a view, or was watched by the replica that is gone."""
ALARMS = {
    "service stopped": {"fleet": {"Down", "Databases"}, "health": {"Down", "Databases that answer", "Gone"}},
    "database down": {"fleet": {"Down", "Databases"}, "health": {"Down", "Databases that answer"}},
    "view refused": {"health": {"Views lost", "Views that can be read"}},
    "replica gone": {"fleet": {"Down", "Databases"}, "health": {"Down", "Databases that answer", "Gone"}},
}
"""The panels that are red in a situation, one minute after it began."""


@dataclass(frozen=True)
class Shown:
    """What a panel shows of one value: its series or column, the text, and the colour."""

    of: str
    text: str
    color: str


Look = dict[tuple[str, str], list[Shown]]
"""Dashboard and panel → what is seen there."""


@pytest.fixture(scope="module")
def grafana(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Grafana's own `@grafana/data`, outside the checkout."""
    need("node", "nodejs")
    need("promtool", "prometheus")
    npm = need("npm", "npm")
    folder = tmp_path_factory.mktemp("display") / "display"
    shutil.copytree(HOME / "display", folder, ignore=shutil.ignore_patterns("node_modules"))
    command = [npm, "ci", "--prefer-offline", "--ignore-scripts", "--no-bin-links"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def stages(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, dict[str, list[str]]]:
    """Situation → what Prometheus kept of it."""
    kept = {}
    for situation in SITUATIONS:
        with pytest.MonkeyPatch.context() as patch:
            kept[situation] = recorded(Stage(patch, tmp_path_factory.mktemp("stage")), situation)
    return kept


def asked(name: str, target: Json, chosen: Mapping[str, str]) -> str:
    """A query with its variables filled in: one database on Database, everything elsewhere, unless it is chosen."""
    text = target["expr"].replace("$__range", "1h").replace("$__rate_interval", "1m")
    for variable, value in chosen.items():
        text = text.replace(f"${variable}", value)
    return filled(text, LOST if name == "latchscope-database" else ".+")


def settings(panel: Json, column: str) -> Json:
    """What holds for one column: the defaults and its own."""
    own = next((field for name, field in fields(panel) if name == column), {})
    return {**defaults(panel), **{name: value for name, value in own.items() if not name.startswith("custom.")}}


def coloured(panel: Json, column: str) -> bool:
    """Whether a column of a table has a colour that says something."""
    own = next((field for name, field in fields(panel) if name == column), {})
    return bool(own.get("custom.cellOptions", {}).get("type", "").startswith("color"))


def requests(panel: Json, found: list[list[Answer]]) -> Iterator[tuple[list[str], Json]]:
    """What to ask Grafana's code about a panel with these answers, and of which series or columns."""
    named = [("", one.value) for answer in found for one in answer]
    painted = {one["matcher"]["options"]: one["properties"] for one in panel["fieldConfig"]["overrides"]}
    for letter, answer in zip("ABC", found, strict=False):
        if panel["type"] == "stat" and letter in painted and answer:
            panel = deepcopy(panel)
            defaults(panel).update({one["id"]: one["value"] for one in painted[letter]})
    if panel["type"] in ("stat", "bargauge"):
        series = [{"name": "", "values": [value]} for _, value in named]
        yield ["figure"] * max(len(series), 1), {"panel": panel, "series": series}
        if not series:  # Grafana's data source gives an empty frame or none
            yield ["figure"], {"panel": panel, "series": [{"name": "", "values": []}]}
    elif panel["type"] == "state-timeline" and named:
        yield (
            [f"band of {one.labels.get('db', '')}" for answer in found for one in answer],
            {
                "config": defaults(panel),
                "series": [{"name": "", "values": [value]} for _, value in named],
            },
        )
    elif panel["type"] == "table":
        yield from _cells(panel, found)


def _cells(panel: Json, found: list[list[Answer]]) -> Iterator[tuple[list[str], Json]]:
    """The coloured cells of a table: a row for each database, a column for each query, and labels of the first."""
    organize = next(one["options"] for one in panel["transformations"] if one["id"] == "organize")
    rows = sorted({one.labels.get("db", "") for answer in found for one in answer})
    for target, answer in zip(panel["targets"], found, strict=True):
        column = organize["renameByName"].get(f"Value #{target['refId']}", "Value")
        if coloured(panel, column) and rows:
            values = {one.labels.get("db", ""): one.value for one in answer}
            series = [{"name": column, "values": [values.get(row)]} for row in rows]
            yield [f"{column} of {row}" for row in rows], {"config": settings(panel, column), "series": series}
    for label, column in organize["renameByName"].items():
        texts = [(one.labels["db"], one.labels[label]) for one in found[0] if label in one.labels]
        if coloured(panel, column) and texts:
            series = [{"name": column, "values": [text]} for _, text in texts]
            yield [f"{column} of {row}" for row, _ in texts], {"config": settings(panel, column), "series": series}


def look(
    dashboards: Mapping[str, Json],
    series: dict[str, list[str]],
    moments: list[int],
    grafana: Path,
    folder: Path,
    chosen: Mapping[str, str] = MappingProxyType({}),
    step: int = STEP,
) -> dict[int, Look]:
    """What every panel shows at each moment. A graph is there with its lines, which have no severity's colour."""
    places = [(name, panel) for name, dashboard in dashboards.items() for panel in panels(dashboard)]
    exprs = [asked(name, target, chosen) for name, panel in places for target in panel["targets"]]
    got = answers(series, exprs, moments, folder, step)
    seen: dict[int, Look] = {moment: {} for moment in moments}
    waiting: list[tuple[list[Shown], list[str], dict[str, Any]]] = []
    for moment in moments:
        for name, panel in places:
            found = [got[asked(name, target, chosen), moment] for target in panel["targets"]]
            shown = seen[moment].setdefault((name.removeprefix("latchscope-"), panel["title"]), [])
            if panel["type"] == "timeseries":
                shown += [Shown("line", f"{one.value:.4g}", "line") for answer in found for one in answer]
            waiting += [(shown, of, request) for of, request in requests(panel, found)]
    for (shown, of, _), told in zip(waiting, displayed([request for *_, request in waiting], grafana), strict=True):
        shown += [Shown(name, one["text"], one["color"]) for name, one in zip(of, told, strict=True)]
    for moment in moments:
        for (name, title), shown in seen[moment].items():
            kind = next(panel for board, panel in places if board.endswith(name) and panel["title"] == title)
            if kind["type"] == "bargauge":
                shown[:] = [one if one.text == "no data" else Shown("bar", one.text, "line") for one in shown]
    return seen


@pytest.fixture(scope="module")
def looks(
    grafana: Path, stages: Mapping[str, dict[str, list[str]]], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, dict[int, Look]]:
    """Situation → moment → what is seen."""
    return {
        situation: look(
            DASHBOARDS,
            series,
            list(STOPPED.values()) if situation == "service stopped" else [SOON],
            grafana,
            tmp_path_factory.mktemp("promtool"),
        )
        for situation, series in stages.items()
    }


def with_color(seen: Look, color: str, board: str = "") -> set[tuple[str, str]]:
    """The panels that show something in a colour."""
    return {
        place
        for place, shown in seen.items()
        if place[0].startswith(board) and any(one.color == color for one in shown)
    }


def test_storm_is_seen_while_all_is_well(looks: dict[str, dict[int, Look]]) -> None:
    """Otherwise nothing below could fail."""
    seen = looks["service stopped"][BEFORE]
    assert seen["database", "Severity"] == [Shown("figure", "Critical", "red")]
    assert {one.text for one in seen["database", "Time lost"]} == {"31.9%"}
    assert [one.color for one in seen["fleet", "Down"]] == ["green"]
    assert {one.color for one in seen["health", "Databases that answer"]} == {"green"}
    assert len([title for board, title in seen if board == "database" and seen[board, title]]) > 20


@pytest.mark.parametrize("minutes", [1, 5, 15])
def test_stopped_service_is_red_or_no_data_and_never_green(looks: dict[str, dict[int, Look]], minutes: int) -> None:
    seen = looks["service stopped"][STOPPED[minutes]]
    assert with_color(seen, "green") == set()
    figures = [one for shown in seen.values() for one in shown if one.of == "figure" and one.color != "red"]
    assert figures
    assert {one.text.lower()[:7] for one in figures} == {"no data"}
    red = {board: {title for of, title in with_color(seen, "red", board)} for board in ("fleet", "health")}
    if minutes < 15:  # afterwards a database may have left the configuration
        # The last minute was a storm, and a band says so at the worst of each step.
        assert {board: titles - {"Severity over time"} for board, titles in red.items()} == ALARMS["service stopped"]
    else:
        assert red["health"] >= {"Gone"}


def test_lines_end_with_the_service(looks: dict[str, dict[int, Look]]) -> None:
    """Only what looks back goes on, as far as it looks: a mean of five minutes, or the cost of a day."""
    windowed = {
        (name.removeprefix("latchscope-"), panel["title"])
        for name, dashboard in DASHBOARDS.items()
        for panel in panels(dashboard)
        if any("[" in target["expr"] or OVER_FIVE_MINUTES.search(target["expr"]) for target in panel["targets"])
    }
    for minutes in (1, 5, 15):
        seen = looks["service stopped"][STOPPED[minutes]]
        going = {place for place, shown in seen.items() if any(one.of == "line" for one in shown)}
        assert going <= (windowed if minutes < 15 else {("fleet", "DB time lost per day")}), minutes


@pytest.mark.parametrize("situation", SITUATIONS[1:])
def test_partial_loss_is_red_where_it_is_told(looks: dict[str, dict[int, Look]], situation: str) -> None:
    seen = looks[situation][SOON]
    for board, titles in ALARMS[situation].items():
        assert titles <= {title for _, title in with_color(seen, "red", board)}, (board, situation)


@pytest.mark.parametrize("situation", ["database down", "replica gone"])
def test_lost_database_shows_nothing_green_about_itself(looks: dict[str, dict[int, Look]], situation: str) -> None:
    seen = looks[situation][SOON]
    assert with_color(seen, "green", "database") == set()
    table = {one.of: one for one in seen["fleet", "Databases"]}
    assert table[f"Severity of {LOST}"] == Shown(f"Severity of {LOST}", "no data", "transparent")
    assert table[f"Up of {LOST}"].color == "red"
    assert f"Severity of {LOST}" not in {one.of for one in seen["fleet", "Verdicts"]}


def test_refused_view_gives_no_figure_of_its_own(looks: dict[str, dict[int, Look]]) -> None:
    before, seen = looks["service stopped"][BEFORE], looks["view refused"][SOON]
    assert before["database", "Gets by child"]
    assert with_color(seen, "green", "database") == set()
    assert [one.text for one in seen["database", "Views that could not be read"]] == ["1"]


def test_panel_without_its_mapping_is_seen_to_turn_green(
    grafana: Path, stages: Mapping[str, dict[str, list[str]]], tmp_path: Path
) -> None:
    """What was shown before: the test notices it."""
    board = deepcopy(DASHBOARDS["latchscope-fleet"])
    named = {panel["title"]: panel for panel in panels(board)}
    board["panels"] = [named["Problems"], named["Worst loss"], named["Severity over time"]]
    named["Problems"]["targets"][-1]["expr"] = "count(latchscope_finding) or vector(0)"
    green = {"mode": "absolute", "steps": [{"value": None, "color": "green"}]}
    named["Worst loss"]["fieldConfig"]["defaults"].update(mappings=[], noValue="–", thresholds=green)
    seen = look({"latchscope-fleet": board}, stages["service stopped"], [SOON], grafana, tmp_path)[SOON]
    assert with_color(seen, "green") == {("fleet", "Problems"), ("fleet", "Worst loss")}
