"""Labels that people add to targets stay, do not collide with latchscope's own, and links lead to latchscope."""

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
    stale = ", ".join(name for name, text in kept.items() if (tmp_path / name).read_text("utf-8") != text)
    assert not stale, f"{stale} of dashboards/prometheus: not as templates/ and the causes say; run `make docs`"


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
