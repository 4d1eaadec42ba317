"""`latchscope causes`: every cause by its id and by its number, and the nearest one for a typing mistake. And certificates."""

import json
from pathlib import Path

from typer.testing import CliRunner

from rules.cause import catalogue
from service.cli.main import cli
from tests.paths import INCIDENT, STORM


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
    assert rows["shared-pool-shrink", "3"] == "root replaced not possible"
    assert rows["undo-segments", "2"] == "container not possible not possible"
    assert rows["starved-host", "1"] == "instance same same"


def test_certificate_is_written_beside_the_report(tmp_path: Path) -> None:
    file = tmp_path / "certificate.json"
    plain = CliRunner().invoke(cli, ["diagnose", str(STORM)])
    told = CliRunner().invoke(cli, ["diagnose", str(STORM), "--certificate", str(file)])
    assert (told.exit_code, told.stdout) == (0, plain.stdout)
    assert told.stderr == f"{file}: written, as certificate\n"
    (certificate,) = json.loads(file.read_text(encoding="utf-8"))["certificates"]
    assert certificate["input"] == STORM.name and certificate["found"][0] == "undo-segments"


def test_several_inputs_give_one_list_of_certificates_in_their_order(tmp_path: Path) -> None:
    file = tmp_path / "certificate.json"
    inputs = [str(STORM), str(INCIDENT)]
    told = CliRunner().invoke(cli, ["diagnose", *inputs, "--certificate", str(file), "--fail-on", "info"])
    assert told.exit_code == 1  # as without a certificate
    written = json.loads(file.read_text(encoding="utf-8"))
    assert [each["input"] for each in written["certificates"]] == [STORM.name, INCIDENT.name]


def test_certificate_that_cannot_be_written_gives_one_line(tmp_path: Path) -> None:
    for file, way_out in ((tmp_path / "none" / "c.json", "make the folder"), (tmp_path, "name a file in it")):
        told = CliRunner().invoke(cli, ["diagnose", str(STORM), "--certificate", str(file)])
        assert told.exit_code == 2 and told.stderr.startswith(f"latchscope: {file} cannot be written: "), told.stderr
        assert way_out in told.stderr and told.stderr.count("\n") == 1


def test_report_and_certificate_need_two_files(tmp_path: Path) -> None:
    file = tmp_path / "both.json"
    told = CliRunner().invoke(cli, ["diagnose", str(STORM), "-o", str(file), "--certificate", str(file)])
    assert told.exit_code == 2 and told.stderr.endswith("name two files\n") and not file.exists()


def test_unreadable_input_writes_no_certificate(tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    told = CliRunner().invoke(cli, ["diagnose", str(tmp_path / "none.json"), "--certificate", str(file)])
    assert told.exit_code == 2 and not file.exists()
    assert told.stderr == f"latchscope: {tmp_path / 'none.json'} does not exist; give the path of a file or a folder\n"
