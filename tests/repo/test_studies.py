"""The studies of docs/before-after.md: every command on it runs and prints what the page shows."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from service.cli.main import cli

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/before-after.md").read_text(encoding="utf-8").partition("\n## Studies\n")[2]
EXAMPLES = {found[1]: found[2] for found in re.finditer(r"^```\n\$ (latchscope [^\n]+)\n(.*?)^```", PAGE, re.M | re.S)}


def test_page_shows_all_five_studies() -> None:
    assert sorted(command.split()[2] for command in EXAMPLES) == ["cpu", "parallel", "partitions", "scaling", "timer"]
    assert PAGE.count("$ latchscope") == len(EXAMPLES)


@pytest.mark.parametrize("command", EXAMPLES)
def test_command_of_the_page_prints_what_the_page_shows(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    done = CliRunner().invoke(cli, shlex.split(command)[1:])
    assert done.exit_code == 0, done.output
    assert max(map(len, done.stdout.splitlines())) <= 100
    place = 0
    for piece in re.split(r"^…\n", EXAMPLES[command], flags=re.M):
        found = done.stdout.find(piece, place)
        assert found >= 0, f"the page shows, latchscope does not print:\n{piece}"
        place = found + len(piece)


def test_options_the_page_speaks_of_exist() -> None:
    known = {
        option
        for study in ("scaling", "partitions", "parallel", "cpu", "timer")
        for option in re.findall(
            r"--[a-z]+", CliRunner().invoke(cli, ["study", study, "--help"], env={"COLUMNS": "200"}).stdout
        )
    }
    assert set(re.findall(r"--[a-z]+", PAGE)) <= known
