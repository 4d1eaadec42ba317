"""The dashboards: written by their script, clean by the linter's rules and by ours of what Grafana shows."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path

import pytest
import yaml

from tests.repo.grafana.dashboards import (
    DASHBOARDS,
    HOME,
    ROOT,
    TARGET_LABELS,
    Json,
    ask,
    filled,
    first,
    panels,
    targets,
    variable,
    variables,
)
from tests.repo.grafana.display import DISPLAY
from tests.repo.grafana.kinds import KINDS
from tests.repo.grafana.linter import LINTER
from tests.repo.processes import need

RULES = {**LINTER, **DISPLAY, **KINDS}


def test_dashboards_are_three_with_stable_uids() -> None:
    assert sorted(DASHBOARDS) == ["latchscope-database", "latchscope-fleet", "latchscope-health"]
    assert all(one["uid"] == name and len(name) <= 40 for name, one in DASHBOARDS.items())


def test_dashboard_files_are_what_the_script_makes(tmp_path: Path) -> None:
    made = subprocess.run([sys.executable, "-B", str(HOME / "build.py"), "--output", str(tmp_path)], check=False)
    assert made.returncode == 0
    assert {path.name: path.read_text("utf-8") for path in tmp_path.iterdir()} == {
        path.name: path.read_text("utf-8") for path in (HOME / "dashboards").glob("*.json")
    }


def test_dashboards_and_rules_keep_the_same_labels() -> None:
    lists = [
        re.search(r"^TARGET_LABELS = (.*)$", (ROOT / "dashboards" / of / "build.py").read_text("utf-8"), re.MULTILINE)
        for of in ("grafana", "prometheus")
    ]
    assert {one and one[1] for one in lists} == {str(TARGET_LABELS).replace("'", '"')}


def test_link_address_can_be_chosen(tmp_path: Path) -> None:
    command = [sys.executable, "-B", str(HOME / "build.py"), "--output", str(tmp_path)]
    subprocess.run([*command, "--address", "https://latchscope.example.org/"], check=True)
    for path in tmp_path.iterdir():
        value = variables(json.loads(path.read_text("utf-8")), "textbox")["latchscope"]
        assert value["query"] == value["current"]["value"] == "https://latchscope.example.org"


@pytest.mark.parametrize("name", sorted(DASHBOARDS))
@pytest.mark.parametrize("rule", RULES)
def test_dashboard_obeys_the_linter_rule(rule: str, name: str) -> None:
    assert list(RULES[rule](DASHBOARDS[name])) == []


def test_lint_file_excludes_known_rules_and_says_why() -> None:
    """Settings for the linter's own program. Our rules check what it leaves out, in another form."""
    excluded = yaml.safe_load((HOME / "dashboards" / ".lint").read_text("utf-8"))["exclusions"]
    known = {rule for names in RULES for rule in names.split(", ")}
    assert excluded.keys() <= known
    assert [rule for rule, one in excluded.items() if len(one["reason"]) < 20] == []
    titles = {dashboard["title"] for dashboard in DASHBOARDS.values()}
    assert {each["dashboard"] for one in excluded.values() for each in one.get("entries", [])} <= titles


OURS = 'cluster=~"$cluster",env=~"$env",region=~"$region",rac=~"$rac",db=~"$db"'


def kind(dashboard: Json, name: str) -> Json:
    """The first panel of a kind."""
    return next(one for one in panels(dashboard) if one["type"] == name)


def default(panel: Json, **values: object) -> None:
    """Set what holds for every field of a panel."""
    panel["fieldConfig"]["defaults"].update(values)


def uncoloured(dashboard: Json) -> None:
    """Take the mapping of null and NaN from the first coloured column of a table."""
    for panel in panels(dashboard):
        for one in panel["fieldConfig"]["overrides"]:
            for setting in one["properties"]:
                if setting["id"] == "mappings":
                    setting["value"] = setting["value"][:1]


def widened(dashboard: Json) -> None:
    """Make every column with a width wider."""
    for one in kind(dashboard, "table")["fieldConfig"]["overrides"]:
        for setting in one["properties"]:
            if setting["id"] == "custom.width":
                setting["value"] += 200


def linked(dashboard: Json, **link: object) -> None:
    """Change the first link."""
    dashboard["links"][0].update(link)


PLANTED: list[tuple[str, Callable[[Json], object]]] = [
    ("template-datasource-rule", lambda d: variable(d, "datasource").update(name="prometheus")),
    ("template-datasource-rule", lambda d: d["templating"]["list"].pop(0)),
    ("template-datasource-rule", lambda d: variable(d, "datasource").update(query="loki")),
    ("template-job-rule, template-instance-rule", lambda d: d["templating"]["list"].remove(variable(d, "job"))),
    ("template-job-rule, template-instance-rule", lambda d: variable(d, "db").update(allValue=".*")),
    ("template-job-rule, template-instance-rule", lambda d: variable(d, "job").update(allValue=".+")),
    ("template-job-rule, template-instance-rule", lambda d: variable(d, "instance").update(label="Server")),
    ("template-label-promql-rule", lambda d: variable(d, "db").update(query="latchscope_up")),
    ("template-on-time-change-reload-rule", lambda d: variable(d, "db").update(refresh=1)),
    ("template-unused", lambda d: d["templating"]["list"].append({**variable(d, "db"), "name": "spare"})),
    ("panel-datasource-rule", lambda d: first(d).update(datasource={"type": "prometheus", "uid": "prod"})),
    ("panel-datasource-rule", lambda d: first(d)["targets"][0].pop("datasource")),
    ("panel-title-description-rule", lambda d: first(d).update(title="")),
    ("panel-title-description-rule", lambda d: first(d).pop("description")),
    ("panel-title-description-rule", lambda d: first(d).update(title=panels(d)[-1]["title"])),
    ("panel-units-rule", lambda d: first(d)["fieldConfig"]["defaults"].pop("unit")),
    ("panel-units-rule", lambda d: first(d)["fieldConfig"]["defaults"].update(unit="seconds")),
    ("panel-no-targets-rule", lambda d: first(d).update(targets=[])),
    ("target-rate-interval-rule", lambda d: ask(d, f"rate(latchscope_latch_gets_total{{{OURS}}}[10m])")),
    ("target-job-rule, target-instance-rule", lambda d: ask(d, 'latchscope_up{rac=~"$rac"}')),
    ("target-job-rule, target-instance-rule", lambda d: ask(d, 'process_open_fds{job=~"$job"}')),
    ("target-counter-agg-rule", lambda d: ask(d, f"sum(latchscope_latch_gets_total{{{OURS}}})")),
    ("target-counter-agg-rule", lambda d: ask(d, f"delta(latchscope_latch_gets_total{{{OURS}}}[$__rate_interval])")),
    ("target-known-metric", lambda d: ask(d, f"latchscope_latch_gets{{{OURS}}}")),
    ("target-known-metric", lambda d: ask(d, "sum(latchscope_up)")),
    ("uneditable-dashboard-rule", lambda d: d.update(editable=True)),
    ("dashboard-defaults", lambda d: d.update(refresh="")),
]

SHOWN: list[tuple[str, str, Callable[[Json], object], str]] = [
    ("timeline-colors", "fleet", lambda d: default(kind(d, "state-timeline"), color={"mode": "thresholds"}),
     "Severity over time: a state timeline with colours of thresholds"),
    ("absent-is-not-zero", "fleet", lambda d: default(kind(d, "stat"), mappings=[]),
     "Answering: null and NaN have no mapping, so a missing figure"),
    ("absent-is-not-zero", "fleet", uncoloured, "Databases: null and NaN have no mapping, so an empty cell"),
    ("absent-is-not-zero", "health", lambda d: default(kind(d, "table"), noValue="Every database answers"),
     "Databases that do not answer: without data it says 'Every database answers'"),
    ("invented-zero", "health",
     lambda d: kind(d, "stat")["targets"][0].update(expr=f"sum(latchscope_up{{{OURS}}}) or vector(0)"),
     "Answering A: `or vector(…)` gives a figure while nothing is known"),
    ("all-is-ours", "health", lambda d: variable(d, "job").update(allValue=".+"),
     "CPU A: All of job matches process_cpu_seconds_total of every job"),
    ("all-is-ours", "database",
     lambda d: (d["annotations"]["list"].append({"name": "Foreign", "target": {"expr": f"ALERTS{{{OURS}}}"}})
                or variable(d, "db").update(allValue=".+")),
     "annotation Foreign: All of db matches ALERTS of every job"),
    ("link-variables", "fleet", lambda d: linked(d, includeVars=True),
     "the link Database carries db to latchscope / Database"),
    ("link-variables", "database", lambda d: linked(d, type="dashboards", url="", includeVars=True),
     "the link Fleet carries db to latchscope / Fleet"),
    ("link-variables", "database", lambda d: linked(d, url="/d/latchscope-fleet?${db:queryparam}"),
     "the link Fleet carries db to latchscope / Fleet"),
    ("annotation-scope", "fleet",
     lambda d: d["annotations"]["list"][0].pop("filter") and d["annotations"]["list"][0].update(enable=True),
     "annotation Alerts paints every graph"),
    ("annotation-scope", "database", lambda d: d["annotations"]["list"][0]["filter"].update(ids=[999]),
     "annotation Episodes is for panels that do not exist"),
    ("annotation-scope", "fleet", lambda d: d["annotations"]["list"][0].update(hide=True),
     "annotation Alerts is off, and nobody can switch it on"),
    ("figure-decimals", "database", lambda d: panels(d)[1]["fieldConfig"]["defaults"].pop("decimals"),
     "Time lost: a share without decimals"),
    ("figure-decimals", "fleet", lambda d: panels(d)[6]["fieldConfig"]["overrides"][2]["properties"].pop(1),
     "Databases Sessions waiting: a number without decimals"),
    ("title-width", "fleet", lambda d: kind(d, "stat").update(title="Not answering"), "Not answering: 13 letters"),
    ("column-width", "fleet", widened, "Databases: its columns need 2110 px, and at 1280 px"),
    ("window-said", "database",
     lambda d: kind(d, "timeseries")["targets"][0].update(expr=f"db_surface:latchscope_impact:ratio_avg5m{{{OURS}}}"),
     "DB time lost over time: a mean over five minutes that does not say so"),
    ("target-labels", "fleet", lambda d: ask(d, f"max by (rac, db) (latchscope_severity{{{OURS}}})"),
     "DB time lost over time A: (rac, db) makes one of two"),
    ("last-poll-raw", "database",
     lambda d: kind(d, "stat")["targets"][0].update(expr=f"max(db:latchscope_impact:ratio{{{OURS}}})"),
     "Severity: db:latchscope_impact:ratio is older"),
    ("worst-of-step", "fleet", lambda d: ask(d, f"latchscope_severity{{{OURS}}}"), "DB time lost over time: a long step"),
    ("lone-points", "health", lambda d: first(d)["fieldConfig"]["defaults"]["custom"].update(showPoints="never"),
     "Data age: what one step has"),
    ("worst-ranks", "database", lambda d: ask(d, f"topk(6, latchscope_rowcache_entries_used{{{OURS}}})"),
     "DB time lost over time: a rank of each step"),
    ("worst-ranks", "database",
     lambda d: ask(d, f"topk(6, avg_over_time(latchscope_impact_ratio{{{OURS}}}[$__range] @ end()))"),
     "DB time lost over time: a rank by the mean"),
    ("lines-limited", "health", lambda d: ask(d, f"max by (db) (latchscope_data_age_seconds{{{OURS}}})"),
     "Data age: a line for each of db"),
    ("green-of-all", "fleet",
     lambda d: panels(d)[2]["targets"][-1].update(expr=f"count(latchscope_finding{{{OURS}}}) or 0 * count(latchscope_up)"),
     "Problems: it can be green although some do not answer"),
    ("limits-of-one", "fleet",
     lambda d: default(panels(d)[4], thresholds={"steps": [{"value": None, "color": "green"}, {"value": 0.05, "color": "blue"}]}),
     "Waiting: the sum of many healthy databases"),
    ("views-that-can-be-read", "health", lambda d: ask(d, f"sum(1 - latchscope_collector_success{{{OURS}}})"),
     "Data age A: x$kqrst can be granted nowhere"),
    ("chosen-although-gone", "health", lambda d: variable(d, "job").update(query="label_values(latchscope_up,job)"),
     "variable job forgets"),
    ("annotation-labels", "database", lambda d: d["annotations"]["list"][0].update(textFormat="{{cache}}"),
     "annotation Episodes: it says 'cache'"),
    ("down-first", "fleet", lambda d: kind(d, "table")["options"]["sortBy"].pop(0), "Databases: databases that do not answer"),
]  # fmt: skip
"""Rule, dashboard, what is planted there, and how the rule begins to say it."""


@pytest.mark.parametrize(
    ("rule", "name", "spoil", "said"), [*((rule, "health", spoil, "") for rule, spoil in PLANTED), *SHOWN]
)
def test_linter_notices_a_planted_violation(rule: str, name: str, spoil: Callable[[Json], object], said: str) -> None:
    dashboard = deepcopy(DASHBOARDS[f"latchscope-{name}"])
    spoil(dashboard)
    assert any(one.startswith(said) for one in RULES[rule](dashboard))


def test_linter_rules_each_have_a_planted_violation() -> None:
    assert set(RULES) == {rule for rule, *_ in (*PLANTED, *SHOWN)}


def test_links_lead_to_existing_dashboards_pages_and_variables() -> None:
    for name, dashboard in DASHBOARDS.items():
        urls = re.findall(r'"url": "([^"]*)"', json.dumps(dashboard))
        assert urls, name
        for url in urls:
            if url.startswith("/d/"):
                assert url[3:].split("?")[0] in DASHBOARDS
            else:
                assert re.fullmatch(
                    r"\$\{latchscope:raw\}/(|db/\$\{[\w.:]+\}(/history\?begin=\$\{__from:date:iso\}&end=\$\{__to:date:iso\})?|"
                    r"causes/\$\{__data\.fields\.cause\})",
                    url,
                ), url


@pytest.mark.parametrize("name", sorted(DASHBOARDS))
def test_panels_do_not_overlap_and_have_unique_ids(name: str) -> None:
    everything = DASHBOARDS[name]["panels"]
    cells = [
        (x, y)
        for place in (one["gridPos"] for one in everything)
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(cells) == len(set(cells)) and max(x for x, _ in cells) < 24
    assert len({one["id"] for one in everything}) == len(everything)


def test_queries_are_all_valid_promql(tmp_path: Path) -> None:
    promtool = need("promtool", "prometheus")
    exprs = [target["expr"] for one in DASHBOARDS.values() for _, target in targets(one)]
    exprs += [
        one["query"].rsplit(",", 1)[0].removeprefix("label_values(")
        for d in DASHBOARDS.values()
        for one in variables(d).values()
    ]
    rules = [{"record": f"query:number:n{number}", "expr": filled(expr)} for number, expr in enumerate(exprs)]
    group = tmp_path / "queries.yml"
    group.write_text(yaml.safe_dump({"groups": [{"name": "dashboards", "rules": rules}]}), "utf-8")
    checked = subprocess.run([promtool, "check", "rules", str(group)], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
    group.write_text(group.read_text("utf-8").replace("sum by", "summe by", 1), "utf-8")
    assert subprocess.run([promtool, "check", "rules", str(group)], capture_output=True, check=False).returncode != 0


def test_provisioning_cannot_be_changed_in_grafana() -> None:
    sources = yaml.safe_load((HOME / "provisioning" / "datasources" / "prometheus.yml").read_text("utf-8"))
    (source,) = sources["datasources"]
    assert (source["uid"], source["type"], source["editable"]) == ("latchscope-prometheus", "prometheus", False)
    (provider,) = yaml.safe_load((HOME / "provisioning" / "dashboards" / "latchscope.yml").read_text("utf-8"))[
        "providers"
    ]
    assert provider["allowUiUpdates"] is False and provider["disableDeletion"] is True
