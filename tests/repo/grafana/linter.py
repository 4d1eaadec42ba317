"""The rules of grafana/dashboard-linter under its names, and three of ours in its manner. A rule yields its complaints."""

import json
import re
from collections.abc import Iterator

from tests.repo.grafana.dashboards import (
    SELECTOR,
    TARGET_LABELS,
    Json,
    Rule,
    known_metrics,
    of_a_database,
    panels,
    selectors,
    targets,
    variables,
)

UNITS = {
    *("none", "short", "percentunit", "s", "cps", "ops", "bytes"),
    *("dateTimeAsIso", "dateTimeFromNow", "dtdhms", "suffix: h"),
}
"""Ids of Grafana's value formats, as many as we use."""


def template_datasource(dashboard: Json) -> Iterator[str]:
    sources = variables(dashboard, "datasource")
    if list(sources) != ["datasource"]:
        yield f"data source variables are {list(sources)}, not one named datasource"
        return
    if sources["datasource"]["query"] != "prometheus" or sources["datasource"]["label"] != "Data source":
        yield "the data source variable is no Prometheus labelled `Data source`"


def template_job_instance(dashboard: Json) -> Iterator[str]:
    wanted: dict[str, tuple[str, str | None]] = {"rac": ("RAC", ".*"), "db": ("Database", ".+")}
    wanted |= {name: (name, ".*") for name in TARGET_LABELS}
    if any(not of_a_database(match["name"]) for _, match in selectors(dashboard)):
        wanted |= {"job": ("Job", None), "instance": ("Instance", None)}
    for name, (label, every) in wanted.items():
        one = variables(dashboard).get(name)
        if one is None:
            yield f"there is no variable {name}"
        elif one["label"] != label or one["datasource"] != {"type": "prometheus", "uid": "${datasource}"}:
            yield f"variable {name} lacks its label or the chosen data source"
        elif (one["multi"], one["includeAll"], one.get("allValue")) not in ((True, True, every), (False, False, None)):
            yield f"variable {name} offers several values, and All is {one.get('allValue')} and not {every}"


def template_label_promql(dashboard: Json) -> Iterator[str]:
    for name, one in variables(dashboard).items():
        if not re.fullmatch(r"label_values\([a-z_:]+(\{[^{}]+\})?,[a-z]+\)", one["query"]):
            yield f"variable {name} does not ask label_values(metric,label)"


def template_on_time_change_reload(dashboard: Json) -> Iterator[str]:
    for name, one in variables(dashboard).items():
        if one["refresh"] != 2:
            yield f"variable {name} is not refreshed when the time range changes"


def template_unused(dashboard: Json) -> Iterator[str]:
    for one in dashboard["templating"]["list"]:
        rest = {
            **dashboard,
            "templating": {"list": [each for each in dashboard["templating"]["list"] if each is not one]},
        }
        if not re.search(rf"\$\{{?{one['name']}\b", json.dumps(rest)):
            yield f"nothing uses the variable {one['name']}"


def panel_datasource(dashboard: Json) -> Iterator[str]:
    asked = [(one["title"], one) for one in panels(dashboard)]
    asked += [(one["name"], one) for one in dashboard["annotations"]["list"]]
    asked += [(place, one) for place, one in targets(dashboard) if not place.startswith("annotation")]
    for place, one in asked:
        if one.get("datasource") != {"type": "prometheus", "uid": "${datasource}"}:
            yield f"{place} does not ask the chosen data source"


def panel_title_description(dashboard: Json) -> Iterator[str]:
    for one in panels(dashboard):
        if not one.get("title") or len(one.get("description", "")) < 10:
            yield f"panel {one['id']} has no title or no description"
    titles = [one["title"] for one in panels(dashboard)]
    for title in sorted(set(titles)):
        if titles.count(title) > 1:
            yield f"{titles.count(title)} panels are named {title}"


def panel_units(dashboard: Json) -> Iterator[str]:
    for one in panels(dashboard):
        set_here = [one["fieldConfig"]["defaults"].get("unit")]
        for override in one["fieldConfig"]["overrides"]:
            set_here += [setting["value"] for setting in override["properties"] if setting["id"] == "unit"]
        for unit in set_here:
            if unit not in UNITS:
                yield f"{one['title']} has the unit {unit!r}"


def panel_no_targets(dashboard: Json) -> Iterator[str]:
    for one in panels(dashboard):
        if not one.get("targets"):
            yield f"{one['title']} asks nothing"


RANGES = {
    "rate(": {"5m"},
    "increase(": {"$__range"},
    "last_over_time(": {"5m", "15m", "$__range"},
    "avg_over_time(": {"$__range"},
    "max_over_time(": {"$__range", "$__rate_interval"},
    "min_over_time(": {"$__rate_interval"},
}
"""Function → the ranges that we give it. Where a step is longer than five minutes, a subquery looks at all of it."""


def target_rate_interval(dashboard: Json) -> Iterator[str]:
    for place, match in selectors(dashboard):
        if match["range"] and match["range"] not in RANGES.get(match["call"] or "", set()):
            yield f"{place}: {match['call']}…[{match['range']}]"


def target_job_instance(dashboard: Json) -> Iterator[str]:
    several = variables(dashboard)["db"]["multi"]
    for place, match in selectors(dashboard):
        own = ("rac", "db") if of_a_database(match["name"]) else ("job", "instance")
        for label in (*TARGET_LABELS, *own):
            # A pattern would take erp-1 for erp.1.
            wanted = f'{label}="${label}"' if label == "db" and not several else f'{label}=~"${label}"'
            if wanted not in match["matchers"].split(","):
                yield f"{place}: {match['name']} is not narrowed by {wanted}"


def target_counter_agg(dashboard: Json) -> Iterator[str]:
    for place, match in selectors(dashboard):
        if match["name"].endswith("_total") and match["call"] not in ("rate(", "irate(", "increase("):
            yield f"{place}: the counter {match['name']} is not under rate or increase"


def target_known_metric(dashboard: Json) -> Iterator[str]:
    known = known_metrics()
    for place, target in targets(dashboard):
        named = {match["name"] for match in SELECTOR.finditer(target["expr"])}
        bare = set(re.findall(r"(?<![\w:])(?:latchscope|process|python|scrape)_\w+", target["expr"]))
        for name in sorted((named | bare) - known):
            yield f"{place}: there is no metric {name}"
        for name in sorted(bare - named):
            yield f"{place}: {name} has no selector"
        if target.get("datasource", {"type": "prometheus"})["type"] != "prometheus":
            yield f"{place} asks something that is no Prometheus"


def uneditable_dashboard(dashboard: Json) -> Iterator[str]:
    if dashboard.get("editable") is not False:
        yield "it can be edited"


def dashboard_defaults(dashboard: Json) -> Iterator[str]:
    if (dashboard["time"], dashboard["refresh"]) != ({"from": "now-1h", "to": "now"}, "30s"):
        yield "it does not open on the last hour, refreshed every 30 s"
    if not dashboard["title"].startswith("latchscope / ") or "latchscope" not in dashboard["tags"]:
        yield "its title or tags do not say whose it is"


LINTER: dict[str, Rule] = {
    "template-datasource-rule": template_datasource,
    "template-job-rule, template-instance-rule": template_job_instance,
    "template-label-promql-rule": template_label_promql,
    "template-on-time-change-reload-rule": template_on_time_change_reload,
    "template-unused": template_unused,
    "panel-datasource-rule": panel_datasource,
    "panel-title-description-rule": panel_title_description,
    "panel-units-rule": panel_units,
    "panel-no-targets-rule": panel_no_targets,
    "target-rate-interval-rule": target_rate_interval,
    "target-job-rule, target-instance-rule": target_job_instance,
    "target-counter-agg-rule": target_counter_agg,
    "target-known-metric": target_known_metric,
    "uneditable-dashboard-rule": uneditable_dashboard,
    "dashboard-defaults": dashboard_defaults,
}
