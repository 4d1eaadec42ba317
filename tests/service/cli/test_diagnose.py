"""`latchscope causes`: every cause by its id and by its number, and the nearest one for a typing mistake."""

from typer.testing import CliRunner

from rules.cause import catalogue
from service.cli.main import cli


def test_causes_command_lists_and_shows_every_cause() -> None:
    listed = CliRunner().invoke(cli, ["causes", "list"])
    assert listed.exit_code == 0
    assert [line.split()[1] for line in listed.output.splitlines()] == list(catalogue())
    for cause in catalogue().values():
        shown = CliRunner().invoke(cli, ["causes", "show", cause.id])
        assert shown.exit_code == 0 and cause.name in shown.output and cause.kb in shown.output
        assert ("A handbook cause" in shown.output) == cause.handbook, cause.id


def test_cause_is_shown_by_its_number_however_it_is_written() -> None:
    by_id = CliRunner().invoke(cli, ["causes", "show", "undo-segments"]).stdout
    for number in ("KB-01", "kb-01", "KB1", "1"):
        assert CliRunner().invoke(cli, ["causes", "show", number]).stdout == by_id, number


def test_unknown_cause_names_the_one_that_was_meant() -> None:
    for word, said in (
        ("undo-segmets", "did you mean undo-segments?"),
        ("xyzzy", "`latchscope causes list` shows them"),
    ):
        told = CliRunner().invoke(cli, ["causes", "show", word])
        assert told.exit_code == 2 and said in told.stderr, told.stderr


def test_every_step_is_listed_with_where_it_runs_and_its_platforms() -> None:
    shown = CliRunner().invoke(cli, ["causes", "steps"])
    assert shown.exit_code == 0
    _, *lines = shown.stdout.splitlines()
    assert len(lines) == sum(len(cause.remedy_steps) for cause in catalogue().values())
    rows = {(line.split()[0], line.split()[1]): " ".join(line.split()[2:]) for line in lines}
    assert rows["shared-pool-shrink", "4"] == "root replaced not possible"
    assert rows["undo-segments", "2"] == "undo not possible not possible"
    assert rows["starved-host", "1"] == "instance same same"
