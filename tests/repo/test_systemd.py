"""The systemd unit starts commands that exist, as a user of its own, with one folder to write to."""

import re
from pathlib import Path

import typer

from service.cli.main import cli

UNIT = (Path(__file__).resolve().parents[2] / "dashboards/systemd/latchscope.service").read_text(encoding="utf-8")


def test_unit_starts_commands_that_exist_with_options_they_have() -> None:
    started = re.findall(r"^Exec\w+=\S+/latchscope (.+)$", UNIT, re.M)
    assert len(started) == 2
    for words in (line.split() for line in started):
        command = typer.main.get_command(cli)
        while words and words[0] in getattr(command, "commands", {}):
            command = getattr(command, "commands")[words.pop(0)]  # noqa: B009
        known = {option for parameter in command.params for option in parameter.opts}
        assert {word for word in words if word.startswith("-")} <= known
        takes = [parameter for parameter in command.params if parameter.param_type_name == "argument"]
        assert words[-1].endswith("latchscope.yaml") and len(words) == (1 if takes else 2)


def test_unit_runs_without_rights_it_does_not_need() -> None:
    lines = UNIT.splitlines()
    assert "User=latchscope" in lines and "ProtectSystem=strict" in lines and "CapabilityBoundingSet=" in lines
    assert "StateDirectory=latchscope" in lines and not any(line.startswith("ReadWritePaths") for line in lines)
