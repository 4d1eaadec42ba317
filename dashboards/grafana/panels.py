"""The few kinds of panel that our dashboards are made of, as the JSON that Grafana reads (schema version 42)."""

from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from typing import Any

Json = dict[str, Any]
SOURCE: Json = {"type": "prometheus", "uid": "${datasource}"}
WIDTH = 24

# The severities of the diagnosis, by the share of DB time lost; docs/dashboards.md says more.
BY_SHARE = ((None, "green"), (0.005, "blue"), (0.02, "orange"), (0.10, "red"))
OF_SOME = ((None, "text"), *BY_SHARE[1:])
"""The same of those that are known, which vouch for no other."""
BY_SESSIONS = ((None, "green"), (0.05, "blue"), (0.5, "orange"), (5, "red"))
BY_AGE = ((None, "text"), (180, "orange"), (600, "red"))
"""The age of data: three intervals of a minute, the longest at which rates over five minutes work; then the alert's limit."""
PLAIN = ((None, "text"),)
ALARM = ((None, "green"), (1, "red"))
NO_DATA = "no data"
ABSENT: Json = {
    "type": "special",
    "options": {"match": "null+nan", "result": {"text": NO_DATA, "color": "text", "index": 9}},
}
"""Absent is not zero: without it Grafana gives a missing figure the colour of the lowest threshold, which is green."""
NOT_ALL_KNOWN: Json = {"type": "value", "options": {"-1": {"text": "not all known", "color": "text", "index": 8}}}
"""What shared.sure gives in the place of a zero that only some can vouch for."""
ABSENT_CELL: Json = {
    **ABSENT,
    "options": {"match": "null+nan", "result": {"text": NO_DATA, "color": "transparent", "index": 9}},
}
"""The same behind a cell."""
DECIMALS = {"percentunit": 1, "short": 2}
"""Digits after the point where nothing else is said: one of a share, two of a number of sessions."""
SEVERITIES = {
    "-1": {"text": "Quiet", "color": "#808080", "index": 5},
    "0": {"text": "Fine", "color": "green", "index": 0},
    "1": {"text": "Notice", "color": "blue", "index": 1},
    "2": {"text": "Warning", "color": "orange", "index": 2},
    "3": {"text": "Critical", "color": "red", "index": 3},
}
"""latchscope_severity in words, one colour each wherever it is shown."""
SEVERITY_WORDS = dict(zip(("quiet", "info", "notice", "warning", "critical"), SEVERITIES.values(), strict=True))
SEVERITY_WORDS["down"] = {"text": "Down", "color": "red", "index": 4}
"""The label `severity` in the same words and colours, and what shared.outage says."""
BY_SEVERITY = ((None, "green"), (1, "blue"), (2, "orange"), (3, "red"))


def query(expr: str, legend: str = "", *, instant: bool = False, table: bool = False) -> Json:
    """One PromQL query; its letter is given when it joins a panel."""
    return {
        "datasource": SOURCE,
        "expr": expr,
        "legendFormat": legend,
        "instant": instant or table,
        "range": not (instant or table),
        "format": "table" if table else "time_series",
        "editorMode": "code",
    }


def panel(kind: str, title: str, description: str, unit: str, queries: Sequence[Json], **more: Any) -> Json:
    """What every panel has: a title, a description, a unit and queries."""
    size = {"w": more.pop("w", 12), "h": more.pop("h", 8)}
    defaults = {"unit": unit, **digits(unit, more.pop("decimals", None)), **more.pop("defaults", {})}
    if none := more.pop("none", None):
        defaults["noValue"] = none
    return {
        "type": kind,
        "title": title,
        "description": description,
        "datasource": SOURCE,
        "gridPos": size,
        "targets": [{"refId": chr(ord("A") + index), **query} for index, query in enumerate(queries)],
        "fieldConfig": {"defaults": defaults, "overrides": more.pop("overrides", [])},
        **more,
    }


def digits(unit: str, decimals: int | None = None) -> Json:
    """How many digits Grafana shows after the point, unless it is left to Grafana."""
    shown = DECIMALS.get(unit) if decimals is None else decimals
    return {} if shown is None else {"decimals": shown}


def timeseries(title: str, description: str, unit: str, *queries: Json, **more: Any) -> Json:
    """Lines over time, the largest first in the legend and in the tooltip. `short_legend`: names in one line, no figures.

    A line's colour only tells it from the others; it goes with the name, so a database keeps its own.
    """
    legend: Json = {"displayMode": "table", "placement": "bottom", "showLegend": True, "calcs": ["lastNotNull", "max"]}
    legend |= {"sortBy": "Max", "sortDesc": True}
    if more.pop("short_legend", False):
        legend = {**legend, "displayMode": "list", "calcs": []}
    options = {
        "legend": legend,
        "tooltip": {"mode": "multi", "sort": "desc", "hideZeros": True},
    }
    custom: Json = {"drawStyle": "line", "lineWidth": 2, "fillOpacity": 0, "showPoints": "auto", "spanNulls": False}
    if unit in ("short", "cps", "ops"):
        custom["axisSoftMax"] = 1  # otherwise the axis of a graph of zeros goes to 100
    defaults: Json = {"custom": custom, "color": {"mode": "palette-classic-by-name"}, "min": 0}
    if steps := more.pop("steps", None):
        custom["thresholdsStyle"] = {"mode": "line"}
        defaults["thresholds"] = thresholds(steps)
    return panel(
        "timeseries", title, description, unit, queries, options=options, defaults=defaults, **{"h": 9, **more}
    )


def stat(title: str, description: str, unit: str, expr: str, steps: Iterable[Any] = PLAIN, **more: Any) -> Json:
    """One figure: the last value, coloured by its thresholds. `worse`: colour → the query that shows in its place if it
    gives anything, so that the colour can say what the number does not. `per`: for each of what these labels tell apart."""
    worse, legend, per = more.pop("worse", {}), more.pop("legend", ""), more.pop("per", "")
    asked, shown = [], ""
    for each in (*worse.values(), expr):
        asked.append(query(f"({each}) unless on ({per}) ({shown})" if shown else each, legend, instant=True))
        shown = f"{shown} or {each}" if shown else each
    painted = [
        {
            "matcher": {"id": "byFrameRefID", "options": letter},
            "properties": [{"id": "thresholds", "value": thresholds([(None, color)])}],
        }
        for letter, color in zip("ABC", worse, strict=False)
    ]
    options = {
        "colorMode": "value",
        "graphMode": "none",
        "justifyMode": "auto",
        "orientation": "auto",
        "percentChangeColorMode": "standard",
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
        "showPercentChange": False,
        "textMode": more.pop("text", "auto"),
        "wideLayout": True,
    }
    defaults: Json = {
        "thresholds": thresholds(steps),
        "color": {"mode": "thresholds"},
        "noValue": more.pop("none", NO_DATA),
    }
    words = more.pop("words", None)
    defaults["mappings"] = [{"type": "value", "options": words} if words else NOT_ALL_KNOWN, ABSENT]
    size = {"w": 4, "h": 4, **more}
    return panel("stat", title, description, unit, asked, options=options, defaults=defaults, overrides=painted, **size)


def bars(title: str, description: str, unit: str, expr: str, legend: str, **more: Any) -> Json:
    """A bar per series, in the order of the answer."""
    options = {
        "displayMode": "basic",
        "legend": {"displayMode": "list", "placement": "bottom", "showLegend": False, "calcs": []},
        "maxVizHeight": 300,
        "minVizHeight": 16,
        "minVizWidth": 8,
        "namePlacement": "left",
        "orientation": "horizontal",
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
        "showUnfilled": True,
        "sizing": "auto",
        "valueMode": "text",
    }
    defaults = {"min": 0, "color": {"mode": "palette-classic-by-name"}, "noValue": NO_DATA, **more.pop("limits", {})}
    asked = [query(expr, legend, instant=True)]
    return panel("bargauge", title, description, unit, asked, options=options, defaults=defaults, **more)


def states(title: str, description: str, words: Json, *queries: Json, **more: Any) -> Json:
    """A coloured band per series; `words` maps values to a text and a colour.

    Never coloured by thresholds: Grafana then puts the range of a threshold in the place of each value, and no mapping is used.
    """
    options = {
        "alignValue": "left",
        "legend": {"displayMode": "list", "placement": "bottom", "showLegend": False, "calcs": []},
        "mergeValues": True,
        "rowHeight": 0.85,
        "showValue": "auto",
        "tooltip": {"mode": "single", "sort": "none"},
    }
    mapped = [{"type": "value", "options": words}]
    defaults = {"custom": {"fillOpacity": 80, "lineWidth": 0}, "mappings": mapped, "color": {"mode": "palette-classic"}}
    return panel("state-timeline", title, description, "none", queries, options=options, defaults=defaults, **more)


def table(title: str, description: str, *columns: tuple[str, str, str], hide: Iterable[str] = (), **more: Any) -> Json:
    """A row per label set. A column is its name, its unit and its query; `hide` drops labels and columns that say nothing
    here, `rename` says what a label is called, `order` is that of the columns."""
    values = {f"Value #{chr(ord('A') + index)}": name for index, (name, _, _) in enumerate(columns)}
    if len(columns) == 1:
        values = {"Value": columns[0][0]}
    named = {**values, **more.pop("rename", {})}
    dropped = dict.fromkeys(["Time", *hide], True)
    order = {name: place for place, name in enumerate(more.pop("order", ()))}
    transformations = [
        {"id": "merge", "options": {}},
        {"id": "organize", "options": {"excludeByName": dropped, "renameByName": named, "indexByName": order}},
    ]
    units = [override(name, {"unit": unit, **digits(unit)}) for name, unit, _ in columns]
    options = {"cellHeight": "sm", "frameIndex": 0, "showHeader": True, "sortBy": more.pop("sort", [])}
    plain = {"align": "left", "cellOptions": {"type": "auto"}, "filterable": False, "inspect": False}
    defaults = {"custom": plain, "noValue": more.pop("none", NO_DATA)}
    asked = [query(expr, table=True) for _, _, expr in columns]
    overrides = units + more.pop("overrides", [])
    shared = {"options": options, "defaults": defaults, "overrides": overrides, "transformations": transformations}
    return panel("table", title, description, "short", asked, **shared, **more)


def override(column: str, properties: Json) -> Json:
    """Properties of one column of a table."""
    return {
        "matcher": {"id": "byName", "options": column},
        "properties": [{"id": name, "value": value} for name, value in properties.items()],
    }


def column(width: int, **more: Any) -> Json:
    """A column of so many pixels."""
    return {"custom.width": width, **more}


def link(title: str, url: str) -> Json:
    """Where a click on a value leads."""
    return {"title": title, "url": url, "targetBlank": True}


def thresholds(steps: Iterable[tuple[float | None, str]]) -> Json:
    """Colours from these values on; the first step has none."""
    return {"mode": "absolute", "steps": [{"value": value, "color": color} for value, color in steps]}


def row(title: str) -> Json:
    """A heading over the panels that follow."""
    return {"type": "row", "title": title, "collapsed": False, "panels": [], "gridPos": {"w": WIDTH, "h": 1}}


def folded(title: str, *panels: Json) -> Json:
    """A heading that hides its panels until somebody opens it: what not every database has."""
    return {**row(title), "collapsed": True, "panels": list(panels)}


def placed(panels: Iterable[Json]) -> list[Json]:
    """The panels with ids and places, left to right, line by line."""
    laid: list[Json] = []
    x = y = tallest = 0
    below: int | None = None  # the line after a folded row, whose panels take no place until somebody opens it
    for number, panel in enumerate(_unfolded(panels), 1):
        w, h = panel["gridPos"]["w"], panel["gridPos"]["h"]
        if panel["type"] == "row":
            x, y, tallest = 0, y + tallest if below is None else below, 0
            below = y + h if panel["collapsed"] else None
        if x + w > WIDTH:
            x, y, tallest = 0, y + tallest, 0
        laid.append({"id": number, **panel, "gridPos": {"x": x, "y": y, "w": w, "h": h}})
        x, tallest = x + w, max(tallest, h)
    return _folded_again(laid)


def _unfolded(panels: Iterable[Json]) -> Iterator[Json]:
    """Folded rows with their panels after them, as they stand when somebody opens them."""
    for panel in panels:
        yield panel
        yield from panel.get("panels", [])


def _folded_again(laid: Iterable[Json]) -> list[Json]:
    folding: list[Json] = []
    for panel in laid:
        if panel["type"] == "row":
            folding.append({**panel, "panels": []})
        elif folding and folding[-1].get("collapsed"):
            folding[-1]["panels"].append(panel)
        else:
            folding.append(panel)
    return folding


def source() -> Json:
    """The variable that chooses the Prometheus."""
    return {
        "type": "datasource",
        "name": "datasource",
        "label": "Data source",
        "query": "prometheus",
        "current": {"text": "default", "value": "default"},
        "hide": 0,
        "includeAll": False,
        "multi": False,
        "options": [],
        "refresh": 1,
        "regex": "",
    }


def label(name: str, text: str, metric: str, *, several: bool = False, every: str = "") -> Json:
    """A variable over the values of a label. `several` may be chosen: All is their list, or what `every` matches."""
    asked = f"label_values({metric},{name})"
    several = several or bool(every)
    chosen = {"text": ["All"], "value": ["$__all"]} if several else {"text": "", "value": ""}
    return {
        "type": "query",
        "name": name,
        "label": text,
        "datasource": SOURCE,
        "query": asked,
        "current": chosen,
        "hide": 0,
        "includeAll": several,
        "multi": several,
        "options": [],
        "refresh": 2,
        "regex": "",
        "sort": 1,
        **({"allValue": every} if every else {}),
    }


def address(name: str, text: str, description: str, value: str) -> Json:
    """An address for the links. It shows no box: a link may set it, as build.py does, and nobody types it during an incident."""
    chosen = {"text": value, "value": value}
    return {
        "type": "textbox",
        "name": name,
        "label": text,
        "description": description,
        "query": value,
        "current": chosen,
        "hide": 2,
        "options": [{**chosen, "selected": True}],
    }


def annotation(name: str, color: str, expr: str, title: str, text: str, tags: str, **more: Any) -> Json:
    """Bands over the graphs while the query gives a positive value.

    `moment`: lines at the times that are its values. `on`: the titles of the panels that show it, all of them otherwise.
    `off`: only once somebody switches it on. `switch`: whether its switch shows at the head of the dashboard.
    """
    return {
        "name": name,
        "datasource": SOURCE,
        "enable": not more.get("off", False),
        "hide": not more.get("switch", True),
        "iconColor": color,
        "target": {"refId": "Anno", "expr": expr, "interval": ""},
        "titleFormat": title,
        "textFormat": text,
        "tagKeys": tags,
        **({"filter": {"exclude": False, "ids": more["on"]}} if "on" in more else {}),
        **({"useValueForTime": True} if more.get("moment") else {}),
    }


def web_link(title: str, url: str, tooltip: str) -> Json:
    """A link at the head of a dashboard to a page of ours, whose address says all that it needs."""
    shared = {"asDropdown": False, "icon": "external link", "includeVars": False, "keepTime": False, "tags": []}
    return {**shared, "type": "link", "title": title, "url": url, "tooltip": tooltip, "targetBlank": True}


DASHBOARDS = {"fleet": "Fleet", "database": "Database", "health": "Health"}


def siblings(uid: str) -> list[Json]:
    """Links to our other dashboards, with the time range, the data source, the target labels and the address of our pages.

    No other variable: `db` of Fleet is many databases, that of Database is one.
    """
    shared = {"asDropdown": False, "icon": "dashboard", "includeVars": False, "keepTime": True, "targetBlank": False}
    kept = "${datasource:queryparam}&${latchscope:queryparam}<kept>"
    return [
        {**shared, "type": "link", "title": title, "url": f"/d/latchscope-{name}?{kept}", "tooltip": "", "tags": []}
        for name, title in DASHBOARDS.items()
        if uid != f"latchscope-{name}"
    ]


def dashboard(uid: str, title: str, description: str, variables: list[Json], panels: list[Json], **more: Any) -> Json:
    """A whole dashboard, not editable, over the last hour, refreshed every 30 seconds. build.py puts the target labels in."""
    laid = placed(panels)
    ids = {one["title"]: one["id"] for outer in laid for one in (outer, *outer.get("panels", []))}
    annotations = deepcopy(more.get("annotations", []))
    for shown in (one["filter"] for one in annotations if "filter" in one):
        shown["ids"] = [ids[title] for title in shown["ids"]]
    return {
        "uid": uid,
        "title": title,
        "description": description,
        "tags": ["latchscope", "oracle"],
        "editable": False,
        "graphTooltip": 1,
        "schemaVersion": 42,
        "version": 1,
        "timezone": "browser",
        "time": {"from": "now-1h", "to": "now"},
        "refresh": "30s",
        "timepicker": {"refresh_intervals": ["10s", "30s", "1m", "5m", "15m"]},
        "links": [*siblings(uid), *more.get("links", [])],
        "annotations": {"list": annotations},
        "templating": {"list": [source(), *variables]},
        "panels": laid,
    }
