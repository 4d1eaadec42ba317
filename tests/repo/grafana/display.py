"""Rules of what Grafana makes of a dashboard, found by looking at ours in Grafana 12.3. A rule yields its complaints."""

import re
from collections.abc import Iterator
from typing import Any

from tests.repo.grafana.dashboards import DASHBOARDS, TARGET_LABELS, Json, Rule, panels, selectors, targets

MENU = 948
"""Pixels for the panels of a window of 1280, beside Grafana's menu."""
COLUMNS, ROW, BETWEEN = 24, 30, 8
LETTER, BESIDE_TITLE, BESIDE_COLUMNS = 8, 64, 16
"""Pixels of a title's letter, of what stands beside a title (padding and two icons), of a table's padding."""
SENTENCE = 130
"""Pixels that a column without a width needs."""
SEVERITY_COLORS = {"green", "blue", "orange", "red"}
OVER_FIVE_MINUTES = re.compile(r":(?:\w+_)?(?:rate|avg|ratio)5m\b|\brate\([^\[]*\[5m\]")


def pixels(columns: int, window: int) -> int:
    """How wide a panel of so many grid columns is."""
    one = (window - (COLUMNS - 1) * BETWEEN) / COLUMNS
    return int(columns * one + (columns - 1) * BETWEEN)


def defaults(panel: Json) -> Json:
    """What holds for every field of a panel."""
    found: Json = panel["fieldConfig"]["defaults"]
    return found


def fields(panel: Json) -> Iterator[tuple[str, Json]]:
    """A panel's fields as far as they are told apart: the defaults, then every override by its column."""
    yield "", defaults(panel)
    columns: dict[str, Json] = {}
    for one in panel["fieldConfig"]["overrides"]:
        settings = {setting["id"]: setting["value"] for setting in one["properties"]}
        columns.setdefault(one["matcher"]["options"], {}).update(settings)
    yield from columns.items()


def says_no_data(field: Json) -> bool:
    """Whether null and NaN have words and a colour of their own that is no severity."""
    found = [
        one["options"]["result"]
        for one in field.get("mappings", [])
        if one["type"] == "special" and one["options"]["match"] == "null+nan"
    ]
    return any(one["text"] == "no data" and one["color"] not in SEVERITY_COLORS for one in found)


def timeline_colors(dashboard: Json) -> Iterator[str]:
    for panel in panels(dashboard):
        if panel["type"] == "state-timeline" and defaults(panel).get("color", {}).get("mode") == "thresholds":
            yield f"{panel['title']}: a state timeline with colours of thresholds shows `< 80` and never a mapping"


def absent_is_not_zero(dashboard: Json) -> Iterator[str]:
    for panel in panels(dashboard):
        if panel["type"] == "stat" and not says_no_data(defaults(panel)):
            yield f"{panel['title']}: null and NaN have no mapping, so a missing figure has the colour of the lowest threshold"
        for column, field in fields(panel):
            kind = field.get("custom.cellOptions", {}).get("type", "")
            if kind == "color-background" and not says_no_data(field):
                yield f"{panel['title']}: null and NaN have no mapping, so an empty cell of {column} has a severity's colour"
        none = defaults(panel).get("noValue", "no data")
        if not none.lower().startswith("no data"):
            yield f"{panel['title']}: without data it says {none!r}, which may be wrong: nothing is known then"


def invented_zero(dashboard: Json) -> Iterator[str]:
    for place, target in targets(dashboard):
        if re.search(r"\bor\s+(?:on\s*\(\)\s*)?vector\(", target["expr"]):
            yield f"{place}: `or vector(…)` gives a figure while nothing is known; write `or 0 * count(…)` of what must be there"


def all_is_ours(dashboard: Json) -> Iterator[str]:
    open_ended = {one["name"] for one in dashboard["templating"]["list"] if one.get("allValue")}
    for place, match in selectors(dashboard):
        ours = "latchscope_" in match["name"] or 'alertname=~"Latchscope' in match["matchers"]
        ours |= "$job" in match["matchers"] and "job" not in open_ended
        for name in sorted(open_ended):
            if not ours and f"${name}" in match["matchers"]:
                yield f"{place}: All of {name} matches {match['name']} of every job; leave out its allValue"


def shape(dashboard: Json, name: str) -> Any:
    """What a value must be like to fit a variable. None without the variable."""
    found = [one for one in dashboard["templating"]["list"] if one["name"] == name]
    return (found[0]["type"], found[0].get("multi", False)) if found else None


def link_variables(dashboard: Json) -> Iterator[str]:
    names = [one["name"] for one in dashboard["templating"]["list"]]
    for link in dashboard["links"]:
        led = re.match(r"/d/([\w-]+)", link.get("url", ""))
        there = [DASHBOARDS[led[1]]] if led else list(DASHBOARDS.values()) if link["type"] == "dashboards" else []
        carried = names if link["includeVars"] else re.findall(r"\$\{(\w+):queryparam\}", link.get("url", ""))
        for other in there:
            for name in carried:
                if shape(dashboard, name) != shape(other, name):
                    yield f"the link {link['title']} carries {name} to {other['title']}, where it has another shape"


def annotation_scope(dashboard: Json) -> Iterator[str]:
    ids = {panel["id"] for panel in panels(dashboard)}
    for one in dashboard["annotations"]["list"]:
        chosen = one.get("filter", {}).get("ids", [])
        if one["enable"] and not one.get("useValueForTime") and not chosen:
            yield f"annotation {one['name']} paints every graph: give it a filter of panels, or switch it off"
        if set(chosen) - ids:
            yield f"annotation {one['name']} is for panels that do not exist"
        if not one["enable"] and one["hide"]:
            yield f"annotation {one['name']} is off, and nobody can switch it on"


def figure_decimals(dashboard: Json) -> Iterator[str]:
    for panel in panels(dashboard):
        for column, field in fields(panel):
            if field.get("unit") in ("percentunit", "short") and "decimals" not in field:
                what = "a share" if field["unit"] == "percentunit" else "a number"
                yield f"{' '.join([panel['title'], column]).strip()}: {what} without decimals shows digits that mean nothing"


def title_width(dashboard: Json) -> Iterator[str]:
    for panel in panels(dashboard):
        room = (pixels(panel["gridPos"]["w"], MENU) - BESIDE_TITLE) // LETTER
        if len(panel["title"]) > room:
            yield f"{panel['title']}: {len(panel['title'])} letters, and at 1280 px beside the menu only {room} fit"


def columns_of(panel: Json) -> set[str]:
    """The columns that a table shows, by the names in its head, without target labels: few series have them."""
    options = next(one["options"] for one in panel["transformations"] if one["id"] == "organize")
    letters = [f"Value #{target['refId']}" for target in panel["targets"]]
    found = {"Value"} if len(letters) == 1 else set(letters)
    for target in panel["targets"]:
        grouped = re.search(r"\bby \(([^)]*)\)", target["expr"])
        found |= {label.strip() for label in grouped[1].split(",")} if grouped else set()
    found -= {*options["excludeByName"], *TARGET_LABELS}
    named = {options["renameByName"].get(one, one) for one in found}
    return named - {column for column, field in fields(panel) if field.get("custom.hidden")}


def column_width(dashboard: Json) -> Iterator[str]:
    for panel in panels(dashboard):
        if panel["type"] == "table":
            given = {column: field["custom.width"] for column, field in fields(panel) if "custom.width" in field}
            wide = sum(given.get(column, SENTENCE) for column in columns_of(panel))
            room = pixels(panel["gridPos"]["w"], MENU) - BESIDE_COLUMNS
            if len(given) and wide > room:
                yield f"{panel['title']}: its columns need {wide} px, and at 1280 px beside the menu it has {room}"


def window_said(dashboard: Json) -> Iterator[str]:
    for panel in panels(dashboard):
        said = f"{panel['title']} {panel['description']}"
        averaged = any(OVER_FIVE_MINUTES.search(target["expr"]) for target in panel["targets"])
        if averaged and not re.search(r"5 min|[Ff]ive minutes", said):
            yield f"{panel['title']}: a mean over five minutes that does not say so, beside figures of the last poll"


DISPLAY: dict[str, Rule] = {
    "timeline-colors": timeline_colors,
    "absent-is-not-zero": absent_is_not_zero,
    "invented-zero": invented_zero,
    "all-is-ours": all_is_ours,
    "link-variables": link_variables,
    "annotation-scope": annotation_scope,
    "figure-decimals": figure_decimals,
    "title-width": title_width,
    "column-width": column_width,
    "window-said": window_said,
}
