"""The mixin equals what we ship, and takes your own address and labels."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from rules.base import LOADER
from tests.repo.processes import need

ROOT = Path(__file__).resolve().parents[2]
MIXIN = ROOT / "dashboards" / "mixin" / "mixin.libsonnet"
PARTS = "{ dashboards: it.grafanaDashboards, rules: it.prometheusRules, alerts: it.prometheusAlerts }"


def evaluated(more: str = "{}") -> dict[str, Any]:
    """The mixin with something added, as jsonnet evaluates it."""
    jsonnet = pytest.importorskip("_gojsonnet", reason="gojsonnet is not installed; run `make .venv/.ready`")
    code = f"local it = (import '{MIXIN}') + {more}; {PARTS}"
    told: dict[str, Any] = json.loads(jsonnet.evaluate_snippet("mixin", code))
    return told


def shipped(name: str) -> Any:
    return yaml.load((ROOT / "dashboards" / "prometheus" / name).read_text("utf-8"), Loader=LOADER)


def test_mixin_gives_what_is_shipped() -> None:
    told = evaluated()
    assert told["rules"]["groups"] == [*shipped("recording.yml")["groups"], *shipped("fleet.yml")["groups"]]
    assert told["alerts"] == shipped("alerts.yml")
    files = sorted((ROOT / "dashboards" / "grafana" / "dashboards").glob("*.json"))
    assert told["dashboards"] == {path.name: json.loads(path.read_text("utf-8")) for path in files}


def test_mixin_takes_an_address_and_labels(tmp_path: Path) -> None:
    told = evaluated("{ _config+:: { address: 'https://latchscope.example.org', targetLabels: ['zone'] } }")
    text = json.dumps(told)
    assert "127.0.0.1:8000" not in text and "https://latchscope.example.org/db/" in text
    build = [sys.executable, "-B", str(ROOT / "dashboards" / "grafana" / "build.py"), "--output", str(tmp_path)]
    subprocess.run([*build, "--address", "https://latchscope.example.org", "--labels", "zone"], check=True)
    made = {path.name: json.loads(path.read_text("utf-8")) for path in tmp_path.iterdir()}
    assert told["dashboards"] == made and "region" not in json.dumps(made)
    rules = json.dumps([told["rules"], told["alerts"]])
    assert "by (zone, rac, db)" in rules and "$labels.zone $labels.rac $labels.db" in rules
    assert "region" not in rules and "zone=%q,rac=%q,db=%q" in rules
    for name in ("rules", "alerts"):
        (tmp_path / f"{name}.yml").write_text(yaml.safe_dump(told[name]), "utf-8")
    promtool = need("promtool", "prometheus")
    subprocess.run([promtool, "check", "rules", "rules.yml", "alerts.yml"], cwd=tmp_path, check=True)


def test_mixin_takes_a_selector_gates_and_a_place_for_the_runbooks() -> None:
    gates = "{ critical: { share: '0.3', sessions: '7' }, warning+: {}, undoSegments: '20000' }"
    told = evaluated(
        f"{{ _config+:: {{ selector: 'job=\"ls\"', runbooks: 'https://wiki.example.org', gates+: {gates} }} }}"
    )
    exprs = {rule["expr"] for kind in ("rules", "alerts") for group in told[kind]["groups"] for rule in group["rules"]}
    raw = [
        name for expr in exprs for name in re.findall(r"(?<![:\w])latchscope_[a-z_]+(?![a-z_:])(?:\{[^}]*\})?", expr)
    ]
    assert raw and [name for name in raw if 'job="ls"' not in name] == []
    assert not [expr for expr in exprs if re.search(r':latchscope_[a-z_]+\{job=|latchscope_[a-z_]+\{job="ls"\}:', expr)]
    alerts = [rule for group in told["alerts"]["groups"] for rule in group["rules"]]
    assert {rule["annotations"]["runbook_url"].rpartition("/")[0] for rule in alerts} == {"https://wiki.example.org"}
    gated = {rule["labels"]["severity"]: rule["expr"] for rule in alerts if rule["alert"] == "RowCacheMutexWaits"}
    assert [re.findall(r">= ([\d.]+)", gated[each]) for each in ("critical", "warning")] == [
        ["0.3", "0.05", "7"],
        ["0.02", "0.05", "0.5"],
    ]
    assert any("> 20000" in rule["expr"] for rule in alerts if rule["alert"] == "UndoSegmentsGrowing")


def test_mixin_can_be_added_to_another() -> None:
    told = evaluated("{ prometheusAlerts+:: { groups+: [{ name: 'another', rules: [] }] } }")
    assert [group["name"] for group in told["alerts"]["groups"]][-1] == "another"
