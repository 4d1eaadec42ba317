"""The dashboards against the types that Grafana itself is built with."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path

import pytest

from tests.repo.grafana.dashboards import DASHBOARDS, HOME, Json, first, panels
from tests.repo.processes import need

pytestmark = pytest.mark.slow


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


@pytest.mark.parametrize(("folder", "package"), [("typecheck", "schema"), ("display", "data")])
def test_lock_file_names_no_registry(folder: str, package: str) -> None:
    lock = json.loads((HOME / folder / "package-lock.json").read_text("utf-8"))
    assert [name for name, one in lock["packages"].items() if "resolved" in one] == []
    assert all("integrity" in one for name, one in lock["packages"].items() if name)
    assert lock["packages"][f"node_modules/@grafana/{package}"]["version"] == "13.2.3"
