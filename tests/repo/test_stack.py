"""`make compose-test` as far as it goes without an engine: it skips by name, and fits docker-compose.yml."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.live import stack
from tests.repo.compose import ROOT, SERVICES


def run(path: Path) -> subprocess.CompletedProcess[str]:
    """The script with nothing but this folder on PATH."""
    surroundings = {**os.environ, "PATH": str(path)}
    words = [sys.executable, "-m", "tests.live.stack"]
    return subprocess.run(words, cwd=ROOT, env=surroundings, capture_output=True, text=True, check=False)


def engine(folder: Path, version: str, info: str) -> None:
    """A program docker that tells a version and knows nothing else."""
    program = folder / "docker"
    program.write_text(
        f'#!/bin/sh\ncase "$1 $2" in "compose version") echo {version};; "info --format") {info};;\n'
        '*) echo "docker: $*" >&2; exit 9;; esac\n'
    )
    program.chmod(0o755)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "info", "code", "said"),
    [
        ("", "", 0, "compose-test: skipped: there is no program docker\n"),
        ("v2.40.3", "echo no daemon >&2; exit 1", 0, "compose-test: skipped: no Docker engine with compose v2 answers"),
        ("1.29.2", "exit 0", 0, "compose-test: skipped: compose is 1.29.2, and the file needs 2.20 or newer\n"),
        ("v2.19.1", "exit 0", 0, "compose-test: skipped: compose is v2.19.1, and the file needs 2.20 or newer\n"),
        ("2.40.3", "exit 0", 1, "FAILED"),
    ],
)
def test_compose_test_skips_by_name_or_fails_where_the_file_does_not_start(
    version: str, info: str, code: int, said: str, tmp_path: Path
) -> None:
    if version:
        engine(tmp_path, version, info)
    done = run(tmp_path)
    assert done.returncode == code and said in done.stdout and ("skipped" in done.stdout) == (code == 0)
    assert "no daemon" in done.stdout or "no daemon" not in info


def test_compose_test_asks_what_the_file_publishes() -> None:
    published = {port.rsplit(":", 1)[0] for service in SERVICES.values() for port in service.get("ports", [])}
    for address in (stack.LATCHSCOPE, stack.GRAFANA, stack.PROMETHEUS):
        assert address.removeprefix("http://") in published
    staying = {name for name, service in SERVICES.items() if not service.get("profiles") and name != "secrets"}
    assert set(stack.STAY) == staying == set(stack.UIDS)
    for name, uid in stack.UIDS.items():
        assert SERVICES[name].get("user", "10001:10001").split(":")[0] == uid
    assert len(list((ROOT / "dashboards" / "grafana" / "dashboards").glob("*.json"))) == stack.DASHBOARDS
