"""The dashboards: written by their script, clean by the linter's rules and by ours of what Grafana shows."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.repo.grafana.dashboards import (
    DASHBOARDS,
    HOME,
    ROOT,
    TARGET_LABELS,
    Json,
    filled,
    targets,
    variables,
    visible,
)
from tests.repo.grafana.display import BETWEEN, DISPLAY, ROW, columns_of
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
    kept = {path.name: path.read_text("utf-8") for path in (HOME / "dashboards").glob("*.json")}
    assert {path.name for path in tmp_path.iterdir()} == set(kept)
    stale = ", ".join(name for name, text in kept.items() if (tmp_path / name).read_text("utf-8") != text)
    assert not stale, f"{stale} of dashboards/grafana/dashboards: not as the panels say; run `make docs`"


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


# What an operator reads on Database at 1280 × 800 without scrolling

HEAD, SCREEN = 150, 800
"""Pixels of Grafana's head with its controls, and of the whole screen."""


def bottom(panel: Json) -> int:
    """Where a panel ends, in pixels from the top of the window."""
    lines = panel["gridPos"]["y"] + panel["gridPos"]["h"]
    return int(HEAD + lines * (ROW + BETWEEN) - BETWEEN)


def above_the_fold(dashboard: Json) -> list[Json]:
    """The panels that end on the first screen."""
    return [panel for panel in visible(dashboard) if bottom(panel) <= SCREEN]


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
