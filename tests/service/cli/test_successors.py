"""Commands and options that left: one line says what does their job, whatever follows them, and nothing else knows them."""

import pytest
from typer.testing import CliRunner

from service.cli.main import cli
from service.successors import successors

LEFT = sorted(successors().commands)


@pytest.mark.parametrize("name", LEFT)
@pytest.mark.parametrize("following", [[], ["erp1", "--gets", "0.5"], ["--help"]], ids=["bare", "arguments", "help"])
def test_what_left_answers_with_what_does_its_job(name: str, following: list[str]) -> None:
    told = CliRunner().invoke(cli, [*name.split(), *following], prog_name="latchscope")
    assert (told.exit_code, told.stdout) == (2, "")
    assert told.stderr == f"latchscope: {name} has left. {successors().commands[name]}\n"


@pytest.mark.parametrize("name", [name for name in LEFT if "--" in name])
def test_option_that_left_may_have_its_value_after_an_equals_sign(name: str) -> None:
    told = CliRunner().invoke(cli, [*f"{name}=x".split(), "y"], prog_name="latchscope")
    assert told.exit_code == 2 and told.stderr.startswith(f"latchscope: {name} has left. ")


@pytest.mark.parametrize("name", LEFT)
def test_what_left_is_no_command_and_no_option_and_is_not_suggested(name: str) -> None:
    *path, last = name.split()
    shown = CliRunner().invoke(cli, [*path, "--help"])
    assert shown.exit_code == 0 and last not in shown.stdout.split()
    nearly = CliRunner().invoke(cli, [*path, f"{last}x"], prog_name="latchscope")
    assert nearly.exit_code == 2 and f"did you mean {last}?" not in nearly.stderr


def test_line_that_only_resembles_what_left_is_answered_as_before() -> None:
    told = CliRunner().invoke(cli, ["diagnose", "top", "--formt", "json"], prog_name="latchscope")
    assert told.exit_code == 2 and "did you mean --format?" in told.stderr and "has left" not in told.stderr
