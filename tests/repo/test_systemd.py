"""The systemd unit starts commands that exist, as its own user, with one writable folder."""

import re
import subprocess
from pathlib import Path

import typer

from service.cli.main import cli
from tests.repo.processes import need

ROOT = Path(__file__).resolve().parents[2]
UNIT = (ROOT / "dashboards/systemd/latchscope.service").read_text(encoding="utf-8")


def test_unit_starts_commands_that_exist_with_options_they_have() -> None:
    started = re.findall(r"^ExecStart(?:Pre)?=\S+/latchscope (.+)$", UNIT, re.M)
    assert len(started) == 2
    for words in (line.split() for line in started):
        command = typer.main.get_command(cli)
        while words and words[0] in getattr(command, "commands", {}):
            command = command.get_command(typer.Context(command), words.pop(0))  # type: ignore[attr-defined]
        known = {option for parameter in command.params for option in parameter.opts}
        assert {word for word in words if word.startswith("-")} <= known
        takes = [parameter for parameter in command.params if parameter.param_type_name == "argument"]
        assert words[-1].endswith("latchscope.yaml") and len(words) == (1 if takes else 2)


def test_systemd_finds_nothing_wrong_with_the_unit(tmp_path: Path) -> None:
    analyze = need("systemd-analyze", "systemd")
    unit = tmp_path / "latchscope.service"
    installed = re.sub(r"(?<=^ExecStart=)\S+|(?<=^ExecStartPre=)\S+", "/bin/true", UNIT, flags=re.M)
    for text, said in ((installed, ""), (installed.replace("[Install]", "Restrat=no\n[Install]"), "Restrat")):
        unit.write_text(text, encoding="utf-8")
        done = subprocess.run([analyze, "verify", str(unit)], capture_output=True, text=True, check=False)
        assert said in done.stderr and bool(said) == bool(done.stderr), done.stderr
        assert done.returncode == 0 or said


def test_unit_runs_without_rights_it_does_not_need() -> None:
    lines = UNIT.splitlines()
    assert "User=latchscope" in lines and "ProtectSystem=strict" in lines and "CapabilityBoundingSet=" in lines
    assert {"Type=notify", "ExecReload=/bin/kill -HUP $MAINPID"} <= {*lines}, (
        "tests/service/test_reload.py has both ends"
    )
    assert "StateDirectory=latchscope" in lines and not any(line.startswith("ReadWritePaths") for line in lines)


def test_unit_tries_for_ever_and_the_page_says_so() -> None:
    """A store that is late by any time is waited for, so a mistake in the configuration has no limit either."""
    head = UNIT.partition("[Service]")[0]
    assert "StartLimitIntervalSec=0" in head.splitlines() and "Restart=on-failure" in UNIT.splitlines()
    assert "`StartLimitIntervalSec=0`" in (ROOT / "docs" / "deploy.md").read_text("utf-8")
