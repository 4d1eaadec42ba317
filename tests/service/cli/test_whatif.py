"""`latchscope whatif`: a file or a database of the store; what cannot be said is one line and exit 2."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from service.cli.main import cli

PROBES = Path(__file__).parents[4] / "shared" / "data" / "probes"
STORM = str(PROBES / "P00_undo_storm.json")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["whatif", *arguments])


def test_text_says_the_sentence_the_figures_and_what_they_rest_on() -> None:
    told = run(STORM, "--cache", "dc_rollback_segments", "--gets", "0.5")
    assert told.exit_code == 0, told.output
    first, *rest = told.stdout.splitlines()
    assert "child 1 (dc_rollback_segments): misses 25.0 % → " in first and "work × " in first
    assert any(line.startswith("misses per get") for line in rest)
    assert "low confidence: it rests on 1 of the 3 intervals" in told.stdout


def test_json_is_one_object() -> None:
    found = json.loads(run(STORM, "--children", "4", "--json").stdout)
    assert found["child"] == 1 and found["miss_ratio"]["low"] < found["miss_ratio"]["value"] < 0.25


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ((STORM,), "say what is to change"),
        ((STORM, "--gets", "0"), "--gets 0 is not above 0"),
        ((STORM, "--gets", "0.05"), "beyond ×5"),
        ((STORM, "--processes", "many"), "--processes many is not a factor such as 2x"),
        ((STORM, "--timer", "soon"), "--timer soon is not a time such as 1ms"),
        ((STORM, "--timer", "1ms", "--gets", "0.5"), "--timer is tried by itself"),
        ((STORM, "--cache", "nothing", "--gets", "0.5"), "no child latch is known to guard nothing; known are: "),
        ((STORM, "--gets", "0.5", "--window", "5m"), "--window chooses from the store"),
        ((str(PROBES / "P10_idle.json"), "--gets", "0.5"), "nobody can collide"),
        ((str(PROBES / "P27_since_startup.json"), "--gets", "0.5"), "take an interval"),
        (("nowhere", "--gets", "0.5"), "nowhere is no file"),
    ],
)
def test_what_cannot_be_said_is_one_line(arguments: tuple[str, ...], why: str) -> None:
    told = run(*arguments)
    assert told.exit_code == 2 and told.stdout == ""
    assert why in told.stderr and len(told.stderr.splitlines()) == 1
