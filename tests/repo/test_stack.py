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


def engine(folder: Path, version: str, info: str = "exit 0") -> None:
    """A program docker that tells a version and knows nothing else."""
    program = folder / "docker"
    program.write_text(
        f'#!/bin/sh\ncase "$1 $2" in "compose version") echo {version};; "info --format") {info};;\n'
        '*) echo "docker: $*" >&2; exit 9;; esac\n'
    )
    program.chmod(0o755)


def test_compose_test_skips_by_name_without_docker(tmp_path: Path) -> None:
    done = run(tmp_path)
    assert (done.returncode, done.stdout) == (0, "compose-test: skipped: there is no program docker\n")


def test_compose_test_skips_by_name_without_an_engine(tmp_path: Path) -> None:
    engine(tmp_path, "v2.40.3", "echo no daemon >&2; exit 1")
    done = run(tmp_path)
    assert done.returncode == 0
    assert done.stdout.startswith("compose-test: skipped: no Docker engine with compose v2 answers")
    assert "no daemon" in done.stdout


@pytest.mark.parametrize("version", ["1.29.2", "v2.19.1"])
def test_compose_test_skips_an_old_compose(tmp_path: Path, version: str) -> None:
    engine(tmp_path, version)
    done = run(tmp_path)
    assert (done.returncode, done.stdout) == (
        0,
        f"compose-test: skipped: compose is {version}, and the file needs 2.20 or newer\n",
    )


def test_compose_test_fails_where_the_file_does_not_start(tmp_path: Path) -> None:
    engine(tmp_path, "2.40.3")
    done = run(tmp_path)
    assert done.returncode == 1
    assert "FAILED" in done.stdout and "skipped" not in done.stdout


def test_compose_test_asks_what_the_file_publishes() -> None:
    published = {port.rsplit(":", 1)[0] for service in SERVICES.values() for port in service.get("ports", [])}
    for address in (stack.LATCHSCOPE, stack.GRAFANA, stack.PROMETHEUS):
        assert address.removeprefix("http://") in published
    staying = {name for name, service in SERVICES.items() if not service.get("profiles") and name != "secrets"}
    assert set(stack.STAY) == staying == set(stack.UIDS)
    for name, uid in stack.UIDS.items():
        assert SERVICES[name].get("user", "10001:10001").split(":")[0] == uid
    assert len(list((ROOT / "dashboards" / "grafana" / "dashboards").glob("*.json"))) == stack.DASHBOARDS


def test_checks_wait_no_longer_than_they_may_and_fail_with_what_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stack, "answer", lambda url, login=None, bearer=None: (200, "[]"))
    monkeypatch.setattr(stack, "logins", lambda: stack.Logins("token", "password"))
    with pytest.raises(stack.Failed, match="latchscope with no login: 200 instead of 401"):
        stack.become(stack.latchscope_logins, 0)
