"""Labels that people add to targets stay, do not collide with latchscope's own, and links lead to latchscope."""

import json
import re
import runpy
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from rules.base import LOADER
from tests.repo.processes import need

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "dashboards" / "prometheus"
BUILD = runpy.run_path(str(FOLDER / "build.py"), run_name="build")
OTHERS = {"cluster": "eu-1", "env": "prod", "region": "eu"}
"""Labels that people put on a target, or on everything that a Prometheus sends."""


def build(folder: Path, **options: Any) -> None:
    """Write the output of the script. test_runbooks runs its command line as the guide prints it."""
    for name, text in BUILD["texts"](**options).items():
        (folder / name).write_text(text, "utf-8")


def loaded(path: Path) -> Any:
    return yaml.load(path.read_text(encoding="utf-8"), Loader=LOADER)


def test_rules_and_routing_in_the_tree_are_what_the_script_makes(tmp_path: Path) -> None:
    build(tmp_path)
    kept = {path.name: (FOLDER / path.name).read_text("utf-8") for path in tmp_path.iterdir()}
    assert set(kept) == {"recording.yml", "fleet.yml", "alerts.yml", "alertmanager.yml"}
    assert {path.name: path.read_text("utf-8") for path in tmp_path.iterdir()} == kept, (
        "run `python dashboards/prometheus/build.py`"
    )


@pytest.mark.slow
def test_target_labels_stand_in_one_list(tmp_path: Path) -> None:
    build(tmp_path, target_labels=["zone"])
    for path in tmp_path.iterdir():
        text = path.read_text("utf-8")
        assert "zone" in text and not re.search(r"\b(env|region)\b", text), path.name
    promtool = need("promtool", "prometheus")
    subprocess.run([promtool, "check", "rules", "recording.yml", "fleet.yml", "alerts.yml"], cwd=tmp_path, check=True)


def test_public_address_stands_in_one_variable(tmp_path: Path) -> None:
    build(tmp_path, address="https://latchscope.example.org/")
    links = {
        rule["annotations"][name].split("/", 3)[2]
        for group in loaded(tmp_path / "alerts.yml")["groups"]
        for rule in group["rules"]
        for name in ("page", "runbook_url")
    }
    assert links == {"latchscope.example.org"}


def test_links_of_the_shipped_alerts_open_from_the_shipped_compose() -> None:
    published = loaded(ROOT / "docker-compose.yml")["services"]["latchscope"]["ports"]
    host, port, _ = published[0].split(":")
    text = (FOLDER / "alerts.yml").read_text("utf-8")
    assert set(re.findall(r"http://[\w.:-]+", text)) == {f"http://{host}:{port}"}


@pytest.mark.slow
@pytest.mark.parametrize("others", [OTHERS, {}], ids=["with", "without"])
def test_labels_of_targets_reach_every_alert(others: dict[str, str], tmp_path: Path) -> None:
    """A storm of a RAC instance with the labels of a target and of a pod; the pod's are dropped."""
    labels = {"db": "erp1", "rac": "erp", **others}

    def series(name: str, **more: str) -> str:
        every = {**labels, **more, "job": "latchscope", "instance": "a:8000", "pod": "latchscope-0"}
        return name + "{" + ",".join(f'{key}="{value}"' for key, value in every.items()) + "}"

    child = {"latch": "row cache objects", "child": "1", "cache": "dc_users"}
    given = {
        series("latchscope_up"): "1x30",
        series("latchscope_latch_sleeps_total", **child): "0+300000x30",
        series("latchscope_latch_wait_seconds_total", **child): "0+600x30",
        series("latchscope_db_time_seconds_total"): "0+1860x30",
        series("latchscope_finding", cause="undo-segments", cache="dc_users", severity="critical"): "1x30",
        series("latchscope_impact_ratio"): "0.32x30",
    }
    groups = [group["name"] for name in ("recording.yml", "alerts.yml") for group in loaded(FOLDER / name)["groups"]]
    told = " ".join(f'{key}="{value}",' for key, value in sorted(labels.items())).rstrip(",")
    kept = "alertname, db, rac, cluster, env, region, pod, instance, job"
    fired = f'count by ({kept}) (ALERTS{{alertstate="firing",severity="critical"}})'
    expected = [
        {"labels": f'{{alertname="{name}", {told}}}', "value": 1}
        for name in ("LatchscopeFindingActive", "RowCacheObjectsSleepsHigh")
    ]
    case = {
        "rule_files": [str(FOLDER / "recording.yml"), str(FOLDER / "alerts.yml")],
        "evaluation_interval": "1m",
        "group_eval_order": groups,
        "tests": [
            {
                "interval": "1m",
                "input_series": [{"series": name, "values": values} for name, values in given.items()],
                "promql_expr_test": [{"expr": fired, "eval_time": "25m", "exp_samples": expected}],
            }
        ],
    }
    (tmp_path / "case.yml").write_text(json.dumps(case), "utf-8")
    done = subprocess.run(
        [need("promtool", "prometheus"), "test", "rules", "case.yml"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
