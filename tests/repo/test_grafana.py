"""The dashboards: written by their script, clean by the linter's rules, typed as Grafana's own, and never without data."""

import json
import os
import re
import shutil
import subprocess
import sys
import urllib.parse
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from docs.pictures import MECHANISMS
from rules.catalogue import LOADER
from service.metrics.families import FAMILIES
from tests.each import each
from tests.ports import free_port
from tests.repo.known_metrics import of_the_process
from tests.repo.processes import eventually, fetch, fetch_json, need, running
from tests.started import Started

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / "dashboards" / "grafana"
RECORDING = ROOT / "dashboards" / "prometheus" / "recording.yml"
Json = dict[str, Any]
Rule = Callable[[Json], Iterator[str]]

DASHBOARDS: dict[str, Json] = {
    path.stem: json.loads(path.read_text("utf-8")) for path in HOME.glob("dashboards/*.json")
}
SELECTOR = re.compile(
    r"(?P<call>[a-z_]+\()?(?P<name>[a-zA-Z_:][\w:]*)\{(?P<matchers>[^{}]*)\}(?:\[(?P<range>[^\]]*)\])?"
)
# The values that a person or Grafana puts in place of a variable.
VALUES = {"$rac": ".*", "$job": ".+", "$instance": ".+", "$__rate_interval": "12s", "$__range": "1m"}
UNITS = {"none", "short", "percentunit", "s", "cps", "ops", "bytes", "dateTimeAsIso", "dateTimeAsLocal", "bool_yes_no"}
"""Ids of Grafana's value formats, as many as we use."""
OF_PROMETHEUS = {"scrape_duration_seconds", "scrape_samples_scraped", "ALERTS"}
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


# The rules of grafana/dashboard-linter, under its names.


def template_datasource(dashboard: Json) -> Iterator[str]:
    sources = variables(dashboard, "datasource")
    if list(sources) != ["datasource"]:
        yield f"data source variables are {list(sources)}, not one named datasource"
        return
    if sources["datasource"]["query"] != "prometheus" or sources["datasource"]["label"] != "Data source":
        yield "the data source variable is no Prometheus labelled `Data source`"


def template_job_instance(dashboard: Json) -> Iterator[str]:
    wanted = {"rac": ("RAC", ".*"), "db": ("Database", ".+")}
    if any(not of_a_database(match["name"]) for _, match in selectors(dashboard)):
        wanted |= {"job": ("Job", ".+"), "instance": ("Instance", ".+")}
    for name, (label, every) in wanted.items():
        one = variables(dashboard).get(name)
        if one is None:
            yield f"there is no variable {name}"
        elif one["label"] != label or one["datasource"] != {"type": "prometheus", "uid": "${datasource}"}:
            yield f"variable {name} lacks its label or the chosen data source"
        elif (one["multi"], one["includeAll"], one.get("allValue")) not in ((True, True, every), (False, False, None)):
            yield f"variable {name} offers several values but not all of them by {every}"


def template_label_promql(dashboard: Json) -> Iterator[str]:
    for name, one in variables(dashboard).items():
        if not re.fullmatch(r"label_values\([a-z_]+(\{[^{}]+\})?,[a-z]+\)", one["query"]):
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


def target_rate_interval(dashboard: Json) -> Iterator[str]:
    for place, match in selectors(dashboard):
        wanted = {"rate(": {"$__rate_interval"}, "irate(": {"$__rate_interval"}}
        whole = {"increase(": {"$__range"}, "changes(": {"$__range"}, "avg_over_time(": {"$__range", "1d"}}
        if match["range"] and match["range"] not in {**wanted, **whole}.get(match["call"] or "", set()):
            yield f"{place}: {match['call']}…[{match['range']}]"


def target_job_instance(dashboard: Json) -> Iterator[str]:
    for place, match in selectors(dashboard):
        for label in ("rac", "db") if of_a_database(match["name"]) else ("job", "instance"):
            if f'{label}=~"${label}"' not in match["matchers"].split(","):
                yield f"{place}: {match['name']} is not narrowed by {label}"


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


RULES: dict[str, Rule] = {
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
EXCLUDED: dict[str, str] = {}
"""Rule and dashboard → why the rule does not apply there. Keep it empty."""


def of_a_database(metric: str) -> bool:
    """Whether a metric has the label `db`."""
    return metric not in of_the_process() and not metric.startswith(("process_", "python_", "scrape_"))


@cache
def known_metrics() -> set[str]:
    """Our metrics, those of our process, those of our recording rules, and Prometheus's own metrics about a scrape."""
    recorded = yaml.load(RECORDING.read_text("utf-8"), Loader=LOADER)["groups"]
    known = of_the_process() | set(FAMILIES) | OF_PROMETHEUS
    return known | {rule["record"] for group in recorded for rule in group["rules"]}


def test_dashboards_are_three_with_stable_uids() -> None:
    assert sorted(DASHBOARDS) == ["latchscope-database", "latchscope-fleet", "latchscope-health"]
    assert all(one["uid"] == name and len(name) <= 40 for name, one in DASHBOARDS.items())


def test_dashboard_files_are_what_the_script_makes(tmp_path: Path) -> None:
    made = subprocess.run([sys.executable, "-B", str(HOME / "build.py"), "--output", str(tmp_path)], check=False)
    assert made.returncode == 0
    assert {path.name: path.read_text("utf-8") for path in tmp_path.iterdir()} == {
        path.name: path.read_text("utf-8") for path in (HOME / "dashboards").glob("*.json")
    }


def test_link_address_can_be_chosen(tmp_path: Path) -> None:
    command = [sys.executable, "-B", str(HOME / "build.py"), "--output", str(tmp_path)]
    subprocess.run([*command, "--address", "https://latchscope.example.org/"], check=True)
    for path in tmp_path.iterdir():
        value = variables(json.loads(path.read_text("utf-8")), "textbox")["latchscope"]
        assert value["query"] == value["current"]["value"] == "https://latchscope.example.org"


@pytest.mark.parametrize("name", sorted(DASHBOARDS))
@pytest.mark.parametrize("rule", RULES)
def test_dashboard_obeys_the_linter_rule(rule: str, name: str) -> None:
    assert f"{rule} {name}" not in EXCLUDED
    assert list(RULES[rule](DASHBOARDS[name])) == []


def test_linter_excludes_nothing() -> None:
    assert EXCLUDED == {}


def test_lint_file_excludes_known_rules_and_says_why() -> None:
    """Settings for the linter's own program. Our rules check what it leaves out, in another form."""
    excluded = yaml.safe_load((HOME / "dashboards" / ".lint").read_text("utf-8"))["exclusions"]
    known = {rule for names in RULES for rule in names.split(", ")}
    assert excluded.keys() <= known
    assert [rule for rule, one in excluded.items() if len(one["reason"]) < 20] == []
    titles = {dashboard["title"] for dashboard in DASHBOARDS.values()}
    assert {each["dashboard"] for one in excluded.values() for each in one.get("entries", [])} <= titles


def first(dashboard: Json) -> Json:
    """The first panel with a query over time."""
    return next(one for one in panels(dashboard) if one["type"] == "timeseries")


def ask(dashboard: Json, expr: str) -> None:
    """Plant a query."""
    first(dashboard)["targets"][0]["expr"] = expr


def variable(dashboard: Json, name: str) -> Json:
    """A variable that a test breaks."""
    return next(one for one in dashboard["templating"]["list"] if one["name"] == name)


OURS = 'rac=~"$rac",db=~"$db"'
PLANTED: list[tuple[str, Callable[[Json], object]]] = [
    ("template-datasource-rule", lambda d: variable(d, "datasource").update(name="prometheus")),
    ("template-datasource-rule", lambda d: d["templating"]["list"].pop(0)),
    ("template-datasource-rule", lambda d: variable(d, "datasource").update(query="loki")),
    ("template-job-rule, template-instance-rule", lambda d: d["templating"]["list"].remove(variable(d, "job"))),
    ("template-job-rule, template-instance-rule", lambda d: variable(d, "db").update(allValue=".*")),
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
    ("target-rate-interval-rule", lambda d: ask(d, f"rate(latchscope_latch_gets_total{{{OURS}}}[5m])")),
    ("target-job-rule, target-instance-rule", lambda d: ask(d, 'latchscope_up{rac=~"$rac"}')),
    ("target-job-rule, target-instance-rule", lambda d: ask(d, 'process_open_fds{job=~"$job"}')),
    ("target-counter-agg-rule", lambda d: ask(d, f"sum(latchscope_latch_gets_total{{{OURS}}})")),
    ("target-counter-agg-rule", lambda d: ask(d, f"delta(latchscope_latch_gets_total{{{OURS}}}[$__rate_interval])")),
    ("target-known-metric", lambda d: ask(d, f"latchscope_latch_gets{{{OURS}}}")),
    ("target-known-metric", lambda d: ask(d, "sum(latchscope_up)")),
    ("uneditable-dashboard-rule", lambda d: d.update(editable=True)),
    ("dashboard-defaults", lambda d: d.update(refresh="")),
]


@each(("rule", "spoil"), PLANTED)
def test_linter_notices_a_planted_violation(rule: str, spoil: Callable[[Json], object]) -> None:
    dashboard = deepcopy(DASHBOARDS["latchscope-health"])
    spoil(dashboard)
    assert list(RULES[rule](dashboard))


def test_linter_rules_each_have_a_planted_violation() -> None:
    assert set(RULES) == {rule for rule, _ in PLANTED}


def test_linter_rules_are_each_explained_in_the_docs() -> None:
    told = (ROOT / "docs" / "dashboards.md").read_text("utf-8")
    assert [rule for names in RULES for rule in names.split(", ") if f"`{rule}`" not in told] == []


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


# Grafana's own types.


@pytest.fixture(scope="module")
def typecheck(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The type check with its packages, outside the checkout."""
    need("node", "nodejs")
    npm = need("npm", "npm")
    folder = tmp_path_factory.mktemp("typecheck") / "typecheck"
    shutil.copytree(HOME / "typecheck", folder, ignore=shutil.ignore_patterns("node_modules", "embedded.ts"))
    done = subprocess.run([npm, "ci", "--prefer-offline"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def typed(folder: Path, dashboards: Path) -> str:
    """The compiler's messages about the dashboards of a folder; empty if all is well."""
    environment = {**os.environ, "DASHBOARDS": str(dashboards)}
    done = subprocess.run(
        ["npm", "run", "--silent", "check"], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode == 0) == (done.stdout == ""), done.stdout + done.stderr
    return done.stdout


WRONG: dict[str, Callable[[Json], object]] = {
    "editable": lambda d: d.update(editable="no"),
    "unknownmember": lambda d: d.update(unknownmember=1),
    "graphTooltip": lambda d: d.update(graphTooltip=7),
    "drawStyle": lambda d: first(d)["fieldConfig"]["defaults"]["custom"].update(drawStyle="lines"),
    "legend": lambda d: first(d)["options"].pop("legend"),
    "placement": lambda d: first(d)["options"]["legend"].update(placement="under"),
    "showAll": lambda d: first(d)["options"].update(showAll=True),
    "fortune": lambda d: first(d).update(type="fortune"),
    "expr": lambda d: first(d)["targets"][0].update(expr=1),
    "absolut": lambda d: panels(d)[1]["fieldConfig"]["defaults"]["thresholds"].update(mode="absolut"),
}


def test_dashboards_match_grafanas_types_and_a_wrong_type_is_noticed(typecheck: Path, tmp_path: Path) -> None:
    """One run of the compiler over the shipped dashboards, which are right, and some that are wrong."""
    for path in (HOME / "dashboards").glob("*.json"):
        shutil.copy(path, tmp_path)
    for name, spoil in WRONG.items():
        dashboard = deepcopy(DASHBOARDS["latchscope-health"])
        spoil(dashboard)
        (tmp_path / f"{name}.json").write_text(json.dumps(dashboard), "utf-8")
    said = typed(typecheck, tmp_path)
    noticed = {int(line) for line in re.findall(r"^embedded\.ts\((\d+),", said, re.MULTILINE)}
    lines = (typecheck / "embedded.ts").read_text("utf-8").splitlines()
    told = {lines[line - 2].removeprefix("// ").removesuffix(".json") for line in noticed}
    assert told == set(WRONG), said


def test_lock_file_names_no_registry() -> None:
    lock = json.loads((HOME / "typecheck" / "package-lock.json").read_text("utf-8"))
    assert [name for name, one in lock["packages"].items() if "resolved" in one] == []
    assert all("integrity" in one for name, one in lock["packages"].items() if name)
    assert lock["packages"]["node_modules/@grafana/schema"]["version"] == "13.2.3"


def test_provisioning_cannot_be_changed_in_grafana() -> None:
    sources = yaml.safe_load((HOME / "provisioning" / "datasources" / "prometheus.yml").read_text("utf-8"))
    (source,) = sources["datasources"]
    assert (source["uid"], source["type"], source["editable"]) == ("latchscope-prometheus", "prometheus", False)
    (provider,) = yaml.safe_load((HOME / "provisioning" / "dashboards" / "latchscope.yml").read_text("utf-8"))[
        "providers"
    ]
    assert provider["allowUiUpdates"] is False and provider["disableDeletion"] is True


# The same queries against a real Prometheus that scrapes the real service.

SCRIPTED = (*MECHANISMS, "parse-storm")
LATER = {
    "Sessions that hang": "the script of ddl-hang hangs after a minute",
    "Longest wait": "the script of ddl-hang hangs after a minute",
    "Mean time to a verified remedy": "a remedy is verified minutes after a mark",
}
"""Folded panel → why it has no data in the first seconds of the scripts. docs/images shows them."""
SHOWN_BY = {
    "Mutex sleeps by location": "users-mutex",
    "Sessions waiting for a mutex by location": "users-mutex",
    "Sessions waiting for row cache lock": "nocache-sequence-1",
    "Sampled waiters by cache": "nocache-sequence-1",
    "Share of the sampled waiters by cache": "nocache-sequence-1",
    "Sessions asleep on the result cache latch": "ads-result-cache",
    "Result cache latch: misses and sleeps": "ads-result-cache",
}
"""Folded panel → the database whose trouble it shows. Every other panel has data of the parse storm."""


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Prometheus that scrapes latchscope with the scripted databases and one that cannot be reached."""
    program = need("prometheus", "prometheus")
    folder = tmp_path_factory.mktemp("prometheus")
    port, own, closed = free_port(), free_port(), free_port()
    fleet = [
        {"name": name, "dsn": f"demo:{name}", "interval": 2, **({"cluster": "shop"} if "sequence" in name else {})}
        for name in SCRIPTED
    ]
    fleet.append({"name": "gone", "dsn": f"127.0.0.1:{closed}/gone", "password_file": str(folder / "password")})
    (folder / "password").write_text("of no use", "utf-8")
    settings = {"listen": f"127.0.0.1:{port}", "store": f"sqlite:///{folder}/store.db", "databases": fleet}
    (folder / "latchscope.yaml").write_text(yaml.safe_dump(settings), "utf-8")
    scrape = {"job_name": "latchscope", "static_configs": [{"targets": [f"127.0.0.1:{port}"]}]}
    every = {"scrape_interval": "2s", "evaluation_interval": "2s"}
    configured = {"global": every, "scrape_configs": [scrape], "rule_files": [str(RECORDING)]}
    (folder / "prometheus.yml").write_text(yaml.safe_dump(configured), "utf-8")
    watcher = [program, f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data"]
    watcher += [f"--web.listen-address=127.0.0.1:{own}"]
    with running(watcher, folder / "prometheus.log"):
        serve = Started(
            "-m", "service", "serve", "--config", str(folder / "latchscope.yaml"), errors=folder / "latchscope.log"
        )
        try:
            address = f"http://127.0.0.1:{own}"
            eventually(lambda: fetch(f"{address}/-/ready")[0] == 200 or None, (folder / "prometheus.log").read_text)
            yield address
        finally:
            serve.terminate()
            serve.wait(60)


def answer(prometheus: str, expr: str) -> list[Json]:
    """The series that a query gives now, without those that are not a number."""
    told = fetch_json(f"{prometheus}/api/v1/query?{urllib.parse.urlencode({'query': expr})}")
    assert told["status"] == "success"
    return [one for one in told["data"]["result"] if one["value"][1] != "NaN"]


def empty(prometheus: str, panel: Json, db: str) -> bool:
    """Whether a panel shows nothing for a database."""
    return not any(answer(prometheus, filled(target["expr"], db)) for target in panel["targets"])


def wanted() -> list[tuple[str, Json, str]]:
    """Dashboard, panel and database:

    a visible panel has data for each database, a folded one for the database of its trouble.
    """
    found = []
    for name, dashboard in DASHBOARDS.items():
        shown = {one["id"] for one in visible(dashboard)}
        for panel in panels(dashboard):
            dbs: tuple[str, ...] = (".+",)
            if name == "latchscope-database":
                dbs = MECHANISMS if panel["id"] in shown else (SHOWN_BY.get(panel["title"], "parse-storm"),)
            found += [(name, panel, db) for db in dbs if panel["title"] not in LATER]
    return found


def test_shown_by_names_folded_panels() -> None:
    folded = {one["title"] for one in panels(DASHBOARDS["latchscope-database"])}
    folded -= {one["title"] for one in visible(DASHBOARDS["latchscope-database"])}
    assert SHOWN_BY.keys() <= folded
    everywhere = {one["title"] for dashboard in DASHBOARDS.values() for one in visible(dashboard)}
    assert not LATER.keys() & everywhere


def test_panels_have_data_or_are_folded_for_every_mechanism(prometheus: str) -> None:
    left = wanted()

    def all_answered() -> bool | None:
        left[:] = [one for one in left if empty(prometheus, one[1], one[2])]
        return not left or None

    eventually(all_answered, lambda: "\n".join(f"{name}: {panel['title']}: {db}" for name, panel, db in left))


def test_variables_all_offer_values(prometheus: str) -> None:
    offered: dict[str, list[str]] = {}

    def all_there() -> bool | None:
        for dashboard in DASHBOARDS.values():
            for name, one in variables(dashboard).items():
                metric, label = one["query"].removeprefix("label_values(").removesuffix(")").rsplit(",", 1)
                asked = urllib.parse.urlencode({"match[]": filled(metric)})
                offered[name] = fetch_json(f"{prometheus}/api/v1/label/{label}/values?{asked}")["data"]
        everyone = sorted([*SCRIPTED, "gone"])
        return (offered["db"] == everyone and offered["rac"] == ["shop"] and offered["job"] == ["latchscope"]) or None

    eventually(all_there, lambda: f"not all is offered: {offered}")
    assert len(offered["instance"]) == 1
