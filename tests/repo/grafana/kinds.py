"""Rules against faults that dashboards had in storms, in hangs and without labels. A rule yields its complaints."""

import re
from collections.abc import Iterator

from tests.repo.grafana.dashboards import TARGET_LABELS, Json, Rule, panels, recorded, selectors, targets, variables
from tests.repo.grafana.display import defaults

TARGETS = ", ".join(TARGET_LABELS)
SEEN = re.compile(r"latchscope_(?:seen:timestamp|silent:last7d)")
FEW = {"surface", *TARGET_LABELS}
"""Labels of a legend that have few values in one database."""
IN_BANDS = {"Verdict over time": {"cause", "cache"}, "Views that can be read": {"collector"}}
"""Bands of what is never many: causes found in one database, views that we read."""
SESSIONS_OF_ONE = 0.05


def graphs(dashboard: Json) -> Iterator[tuple[str, Json]]:
    """Every query that is drawn over time, with its panel's title."""
    for panel in panels(dashboard):
        if panel["type"] in ("timeseries", "state-timeline"):
            yield from ((panel["title"], target) for target in panel["targets"])


def target_labels(dashboard: Json) -> Iterator[str]:
    of_one = not variables(dashboard)["db"]["multi"]
    for place, target in targets(dashboard):
        for kept in re.findall(r"\b(?:by|on) \(([^()]*)\)", target["expr"]):
            names = kept.split(", ")
            if ((of_one and kept and kept != "why") or {"db", "instance"} & {*names}) and not kept.startswith(TARGETS):
                yield f"{place}: ({kept}) makes one of two with the same name in two environments"


def last_poll_raw(dashboard: Json) -> Iterator[str]:
    for panel in panels(dashboard):
        for target in panel["targets"] if panel["type"] in ("stat", "table") else ():
            behind = [one["expr"] for one in recorded() if re.search(rf"\b{one['record']}\b", target["expr"])]
            for expr in (target["expr"], *behind):
                for name in re.findall(r"\bdb\w*:latchscope_impact\w*:\w+", expr):
                    yield f"{panel['title']}: {name} is older than the raw figures beside it"


def worst_of_step(dashboard: Json) -> Iterator[str]:
    for title, target in graphs(dashboard):
        if not re.search(r"_over_time\(.*\[(?:\$__rate_interval|1d:)", target["expr"]):
            yield f"{title}: a long step shows one moment of it, and hides a hang of a minute"


def lone_points(dashboard: Json) -> Iterator[str]:
    for panel in panels(dashboard):
        if defaults(panel).get("custom", {}).get("showPoints") == "never":
            yield f"{panel['title']}: what one step has is one point, and is not drawn"


def worst_ranks(dashboard: Json) -> Iterator[str]:
    for title, target in graphs(dashboard):
        for rank in re.findall(r"(?:top|bottom)k\((?:[^@]*)", target["expr"]):
            if len(rank) + target["expr"].index(rank) == len(target["expr"]):
                yield f"{title}: a rank of each step draws more lines than it names, with gaps"
            if rank.startswith("top") and re.search("(?:avg|sum)_over_time", rank):
                yield f"{title}: a rank by the mean loses a storm of minutes in a day"


def lines_limited(dashboard: Json) -> Iterator[str]:
    for title, target in graphs(dashboard):
        named = set(re.findall(r"{{(\w+)}}", target["legendFormat"])) - FEW
        if named - IN_BANDS.get(title, set()) and not re.search(r"(?:top|bottom)k\(", target["expr"]):
            yield f"{title}: a line for each of {', '.join(sorted(named))}, without a limit"


def green_of_all(dashboard: Json) -> Iterator[str]:
    for panel in panels(dashboard) if variables(dashboard)["db"]["multi"] else ():
        steps = defaults(panel).get("thresholds", {}).get("steps", [{}])
        if (
            panel["type"] == "stat"
            and steps[0].get("color") == "green"
            and not SEEN.search(panel["targets"][-1]["expr"])
        ):
            yield f"{panel['title']}: it can be green although some do not answer"


def limits_of_one(dashboard: Json) -> Iterator[str]:
    for panel in panels(dashboard) if variables(dashboard)["db"]["multi"] else ():
        if SESSIONS_OF_ONE in [step["value"] for step in defaults(panel).get("thresholds", {}).get("steps", [])]:
            yield f"{panel['title']}: the sum of many healthy databases has the colour of one that is not"


def views_that_can_be_read(dashboard: Json) -> Iterator[str]:
    for place, match in selectors(dashboard):
        if match["name"] == "latchscope_collector_success" and 'collector!="x$kqrst"' not in match["matchers"]:
            yield f"{place}: x$kqrst can be granted nowhere on some platforms, which is red for ever"


def chosen_although_gone(dashboard: Json) -> Iterator[str]:
    for name, one in variables(dashboard).items():
        if not re.search(r"_seen:timestamp|_worst:topk", one["query"]):
            yield f"variable {name} forgets what ended before the time range"


def annotation_labels(dashboard: Json) -> Iterator[str]:
    for one in dashboard["annotations"]["list"]:
        for label in re.findall(r"{{(\w+)}}", one["titleFormat"] + one["textFormat"]):
            if label not in ("alertname", "cause", "db"):
                yield f"annotation {one['name']}: it says {label!r} where the label is missing"


def down_first(dashboard: Json) -> Iterator[str]:
    for panel in panels(dashboard):
        order = [one["displayName"] for one in panel["options"].get("sortBy", [])]
        if panel["type"] == "table" and "'Up'" in str(panel) and order[:1] != ["Up"]:
            yield f"{panel['title']}: databases that do not answer have no cost, so they stand last"


KINDS: dict[str, Rule] = {
    "target-labels": target_labels,
    "last-poll-raw": last_poll_raw,
    "worst-of-step": worst_of_step,
    "lone-points": lone_points,
    "worst-ranks": worst_ranks,
    "lines-limited": lines_limited,
    "green-of-all": green_of_all,
    "limits-of-one": limits_of_one,
    "views-that-can-be-read": views_that_can_be_read,
    "chosen-although-gone": chosen_although_gone,
    "annotation-labels": annotation_labels,
    "down-first": down_first,
}
