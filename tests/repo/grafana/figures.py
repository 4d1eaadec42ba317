"""What Grafana shows of series: promtool evaluates each query with the shipped rules, Grafana's own code says text and colour."""

import json
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tests.repo.grafana.dashboards import RECORDING, Json, filled, panels
from tests.repo.grafana.display import defaults, fields

LOST = "undo-storm"
"""The database in trouble, which the dashboard of one database shows."""
STEP = 15
"""Seconds between two scrapes."""
GOT = re.compile(r'^    expr: ("(?:[^"\\]|\\.)*"), time: (\S+),\n        exp: .*\n        got: (.*)$', re.MULTILINE)
SERIES = re.compile(r'\{((?:[^"{}]|"(?:[^"\\]|\\.)*")*)\} (\S+?)(?:, |$)')
LABEL = re.compile(r'([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"')
OF_THE_PROCESS = {
    "latchscope_databases_owned": 3,
    "latchscope_databases_unowned": 0,
    "latchscope_store_up": 1,
    "latchscope_memory_polls": 0,
    "latchscope_thread_up": 1,
    "latchscope_thread_deaths_total": 0,
    "latchscope_spool_polls": 0,
    "latchscope_spool_lost_polls_total": 0,
    "latchscope_poll_queue_seconds": 0,
    "latchscope_exposition_bytes": 250_000,
    "process_cpu_seconds_total": 3,
    "process_resident_memory_bytes": 9e7,
    "process_open_fds": 20,
    "python_gc_collections_total": 4,
    "scrape_duration_seconds": 0.01,
    "scrape_samples_scraped": 1500,
    "up": 1,
}
"""What a process that is well says of itself, and what Prometheus adds."""
Series = dict[str, list[str]]


@dataclass(frozen=True)
class Answer:
    """One series of an answer."""

    labels: Mapping[str, str]
    value: float | None
    """None for NaN, as on the way to Grafana."""


def answers(
    series: Series, exprs: Sequence[str], moments: Sequence[int], folder: Path, step: int = STEP
) -> dict[tuple[str, int], list[Answer]]:
    """What each query answers so many seconds after the begin: promtool's word, with the shipped recording rules.

    The test that promtool runs expects nothing, so it fails wherever there is something, and says what it got.
    """
    wanted = sorted({*exprs})
    cases = [{"expr": expr, "eval_time": f"{moment}s", "exp_samples": []} for expr in wanted for moment in moments]
    given = [{"series": name, "values": " ".join(values)} for name, values in series.items()]
    test = {"interval": f"{step}s", "input_series": given, "promql_expr_test": cases}
    (folder / "absence.test.yml").write_text(
        json.dumps({"rule_files": [*map(str, RECORDING)], "evaluation_interval": f"{step}s", "tests": [test]}), "utf-8"
    )
    done = subprocess.run(
        ["promtool", "test", "rules", "absence.test.yml"], cwd=folder, capture_output=True, text=True, check=False
    )
    said = done.stdout + done.stderr
    found: dict[tuple[str, int], list[Answer]] = {(expr, moment): [] for expr in wanted for moment in moments}
    for quoted, at, got in GOT.findall(said):
        key = (json.loads(quoted), _seconds(at))
        assert key in found, f"{key} was not asked"
        found[key] = [
            Answer({name: json.loads(f'"{text}"') for name, text in LABEL.findall(labels)}, _number(value))
            for labels, value in SERIES.findall(got)
        ]
    left = GOT.sub("", said)
    assert "expr" not in left and "error" not in left.lower(), left[:2000]
    return found


def _number(text: str) -> float | None:
    return None if text == "NaN" else float(text)


def _seconds(text: str) -> int:
    units = {"d": 86400, "h": 3600, "m": 60, "s": 1}
    return sum(int(number) * units[unit] for number, unit in re.findall(r"(\d+)([dhms])", text))


def displayed(asked: Sequence[Mapping[str, Any]], folder: Path) -> list[list[dict[str, str]]]:
    """Text and colour of each request, by Grafana's own code."""
    done = subprocess.run(
        ["node", "show.cjs"], cwd=folder, input=json.dumps(asked), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    told: list[list[dict[str, str]]] = json.loads(done.stdout)
    return told


@dataclass(frozen=True)
class Shown:
    """What a panel shows of one value: its series or column, the text, and the colour."""

    of: str
    text: str
    color: str


Look = dict[tuple[str, str], list[Shown]]
"""Dashboard and panel → what is seen there."""


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


def with_color(seen: Look, color: str, board: str = "") -> set[tuple[str, str]]:
    """The panels that show something in a colour."""
    return {
        place
        for place, shown in seen.items()
        if place[0].startswith(board) and any(one.color == color for one in shown)
    }
