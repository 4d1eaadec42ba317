"""The command line: stdout and stderr, exit codes, and one line for each mistake."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from collectors.grants import KINDS
from rules.cause import load
from rules.model import Diagnosis
from service import __main__ as start
from service.cli.main import cli
from tests.oracle_standin.deadline import HANGS
from tests.paths import REPORTS


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fixed width keeps lines unwrapped."""
    monkeypatch.setenv("COLUMNS", "200")


def run(*arguments: object, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(cli, [str(one) for one in arguments], input=stdin)


def one_line(told: Result) -> str:
    """Standard error, which must be a single line of ours."""
    assert told.exit_code == 2, told.output
    assert isinstance(told.exception, SystemExit), told.exception
    assert told.stdout == ""
    assert re.fullmatch(r"latchscope: .+\n", told.stderr), told.stderr
    return told.stderr


@pytest.mark.parametrize("form", ["text", "json", "markdown", "html"])
def test_answer_is_all_of_stdout_in_each_form(incident: Path, tmp_path: Path, form: str) -> None:
    begins = {"text": "undo-segments (", "json": "{", "markdown": "## undo-segments (", "html": "<!doctype html>"}
    for told in (
        run("diagnose", incident, "--format", form),
        *([run("diagnose", incident)] if form == "text" else []),
        *([run("diagnose", "-", "--format", form, stdin=incident.read_bytes())] if form != "html" else []),
    ):
        assert (told.exit_code, told.stderr) == (0, "") and told.stdout.startswith(begins[form])
        assert form != "json" or Diagnosis.model_validate_json(told.stdout).findings[0].cause == "undo-segments"
    (tmp_path / "bad.json").write_bytes(b"{nonsense")
    assert f"{tmp_path / 'bad.json'} is not valid JSON" in one_line(
        run("diagnose", tmp_path / "bad.json", "--format", form)
    )
    assert "standard input is empty" in one_line(run("diagnose", "-", "--format", form, stdin=b""))


def test_json_of_several_inputs_is_a_list_of_those_that_can_be_read(
    incident: Path, tmp_path: Path, capture_file: Callable[..., Path]
) -> None:
    none, several = tmp_path / "none.json", tmp_path / "several"
    several.mkdir()
    (several / "a.json").write_bytes(incident.read_bytes())
    (several / "b.json").write_bytes(incident.read_bytes()[:500])
    for inputs, named, said in (
        ((incident, capture_file()), ["undo-segments", "written"], ""),
        ((none, incident), ["undo-segments"], f"{none} does not exist; give the path of a file or a folder"),
        ((several,), ["undo-segments"], "it ends too early"),
    ):
        told = run("diagnose", *inputs, "--format", "json")
        assert [one["database"] for one in json.loads(told.stdout)] == named
        assert told.exit_code == (2 if said else 0) and said in told.stderr and told.stderr.count("\n") == bool(said)


def test_exit_code_follows_severity_what_could_not_be_judged_and_first_what_could_not_be_read(
    incident: Path, tmp_path: Path
) -> None:
    fine, bad, restarted = (REPORTS / name for name in ("day-1.txt", "day-3.txt", "awr-11.2.0.4.0-restart.txt"))
    unknown = ("--fail-on", "warning", "--fail-on-unknown")
    for inputs, options, code in (
        ([incident], ("--fail-on", "info"), 1),
        ([incident], ("--fail-on", "notice"), 1),
        ([incident], ("--fail-on", "warning"), 1),
        ([incident], ("--fail-on", "critical"), 0),
        ([incident, tmp_path / "none"], ("--fail-on", "info"), 2),
        ([fine], ("--fail-on", "info"), 0),
        ([bad], ("--fail-on", "critical"), 1),
        ([restarted], unknown, 3),
        ([fine, restarted], unknown, 3),
        ([bad, restarted], unknown, 1),
        ([restarted, tmp_path / "none"], unknown, 2),
        ([fine], ("--fail-on-unknown",), 0),
        ([restarted], ("--fail-on", "warning"), 0),
    ):
        assert run("diagnose", *inputs, *options).exit_code == code, (inputs, options)
    assert "1 and 3 only with --fail-on" in " ".join(run("diagnose", "--help").stdout.replace("│", " ").split())


def test_diagnose_reports_a_folder_without_files_in_one_line(tmp_path: Path) -> None:
    assert "is a directory without files; give it an AWR" in one_line(run("diagnose", tmp_path))
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports" / "notes.txt").write_text("x")
    told = run("diagnose", tmp_path)
    assert told.exit_code == 2 and "holds directories alone: looked at 1 file in 1 directory below it" in told.stderr
    (tmp_path / "alert.log").write_text("ORA-00600", encoding="utf-8")
    told = run("diagnose", tmp_path)
    assert (told.exit_code, told.stdout) == (2, "")
    assert f"{tmp_path} is a directory without an AWR or Statspack report" in told.stderr.splitlines()[-1]


def test_diagnose_reads_a_folder_and_names_foreign_files_as_skipped(incident: Path, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(incident.read_bytes())
    (tmp_path / "alert.log").write_text("ORA-00600", encoding="utf-8")
    told = run("diagnose", tmp_path, "--format", "json")
    assert told.exit_code == 0, "an unrelated file is no error"
    assert json.loads(told.stdout)["database"] == "undo-segments"
    assert re.fullmatch(r"latchscope: skipped: .*alert\.log is not an AWR or Statspack report.*\n", told.stderr)


def test_a_broken_cause_file_is_one_line(
    incident: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "dear.yaml").write_text("id: [", encoding="utf-8")
    monkeypatch.setattr("rules.cause.HOME", tmp_path)
    monkeypatch.setattr("rules.engine.catalogue", lambda: load(tmp_path))
    monkeypatch.setattr("os.umask", lambda mask: mask)
    monkeypatch.setattr(sys, "argv", ["latchscope", "diagnose", str(incident)])
    with pytest.raises(SystemExit) as ended:
        start.main()
    out, error = capsys.readouterr()
    assert (ended.value.code, out) == (2, "")
    assert re.fullmatch(r"latchscope: dear\.yaml is not valid YAML: .*; correct the file in .*\n", error)


def test_version_imports_no_command() -> None:
    code = (
        "import sys, service.cli.main; print(*(m for m in sys.modules if m.split('.')[0] in ('rules', 'collectors')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=HANGS, check=True)
    assert done.stdout.strip() == ""


def test_diagnose_makes_two_diagnoses_of_one_compare_report() -> None:
    told = run("diagnose", REPORTS / "awrdd-11.2.0.4.0-before-and-during.html", "--format", "json")
    before, during = json.loads(told.stdout)
    assert before["basis"]["end"] <= during["basis"]["begin"]


def test_diagnose_prints_table_by_time_and_details_of_several_reports() -> None:
    told = run("diagnose", *(REPORTS / f"day-{day}.txt" for day in range(1, 6)))
    assert (told.exit_code, told.stderr) == (0, "")
    lines = told.stdout.splitlines()
    assert lines[0] == "5 inputs: 3 critical, 2 fine." and lines[5].startswith("day-3.txt  Critical  15.3 % ")
    assert [line.split()[1] for line in lines[3:8]] == ["Fine", "Fine", "Critical", "Critical", "Critical"]
    assert told.stdout.count("figures are of an interval") == 1, "was 5: the text has each cause once"


def test_diagnose_writes_html_to_stdout_or_to_the_named_file(incident: Path, tmp_path: Path) -> None:
    told = run("diagnose", incident, "--format", "html")
    assert told.exit_code == 0 and told.stdout.startswith("<!doctype html>")
    path = tmp_path / "told.html"
    filed = run("diagnose", incident, "--format", "html", "-o", path)
    assert (filed.stdout, filed.stderr) == ("", f"{path}: written, as html\n")  # was: nothing at all
    assert path.read_text(encoding="utf-8") == told.stdout
    assert "cannot be written" in one_line(run("diagnose", incident, "-o", tmp_path / "none" / "x"))


def test_diagnose_strips_terminal_control_characters_of_a_file(capture_file: Callable[..., Path]) -> None:
    rows = {"columns": ["cache#", "type", "parameter", "gets"], "rows": [[1, "PARENT", "dc_\x1b]0;owned\x07", 9]]}
    path = capture_file(snapshots=[{"taken_at": None, "views": {"v$rowcache": rows}}])
    for format in ("text", "markdown"):
        told = run("diagnose", path, "--format", format, "--verbose")
        assert "owned" in told.stdout and "\x1b" not in told.stdout and "\x07" not in told.stdout


def test_command_without_its_subcommand_prints_its_help() -> None:
    for words in ((), ("causes",), ("study",), ("config",)):
        told = run(*words)
        assert told.exit_code == 2 and "Usage: " in told.output, words


def configured(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "latchscope.yaml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.slow
def test_installed_command_keeps_stdout_and_stderr_apart(incident: Path, tmp_path: Path) -> None:
    """Once as a real process, as a shell would run it."""
    done = subprocess.run(
        [sys.executable, "-m", "service", "diagnose", str(incident), str(tmp_path / "none"), "--format", "json"],
        capture_output=True,
        text=True,
        check=False,
        timeout=HANGS,
        cwd=Path(__file__).parents[3],
        env={**os.environ, "PYTHONWARNINGS": "error"},
    )
    assert done.returncode == 2
    assert [one["database"] for one in json.loads(done.stdout)] == ["undo-segments"]
    assert done.stderr == f"latchscope: {tmp_path / 'none'} does not exist; give the path of a file or a folder\n"


def test_version_is_that_of_the_distribution() -> None:
    told = run("--version")
    assert (told.exit_code, told.stderr) == (0, "")
    assert told.stdout.startswith(f"latchscope {version('latchscope')}, Python 3.")


def test_completion_can_be_installed_and_completes_commands_and_causes() -> None:
    assert "--install-completion" in run("--help").stdout
    for words, completed in (("latchscope cau", "causes"), ("latchscope causes show undo-s", "undo-segments")):
        asked = {"_LATCHSCOPE_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
        told = CliRunner().invoke(cli, [], env=asked, prog_name="latchscope")
        assert completed in told.stdout.split(), told.output


def test_configuration_without_databases_is_an_error_of_every_command_that_watches(tmp_path: Path) -> None:
    path = configured(tmp_path, "listen: 127.0.0.1:0")
    for words in (
        ("serve",),
        ("check",),
        ("capture", "a", "-o", tmp_path / "x"),
        ("holders", "a"),
        ("mark", "a", "text"),
        ("compare", "--db", "a", "--mark", "last"),
    ):
        assert "no databases; list them under `databases`" in one_line(run(*words, "--config", path)), words


@pytest.mark.parametrize("kind", KINDS)
def test_grants_prints_the_script_of_every_kind(kind: str) -> None:
    told = run("grants", "--user", "lscope", "--for", kind)
    assert (told.exit_code, told.stderr) == (0, "")
    assert "lscope" in told.stdout.splitlines()[1]


def test_grants_takes_a_release_for_a_kind_and_names_the_kinds_otherwise() -> None:
    (head, older), (_, same) = (run("grants", "--for", word).stdout.split("\n", 1) for word in ("12c", "cdb"))
    assert older == same
    assert head == "-- latchscope on 12c, a container database. Without containers run what --for non-cdb prints."
    later, either = run("grants", "--for", "19c").stdout, run("grants", "--for", "cdb").stdout
    grants = [line for line in either.splitlines() if not line.startswith("--")]
    assert (
        [line for line in later.splitlines() if not line.startswith("--")]
        == [line for line in grants if "latchscope_kqrst" not in line]
        != grants
    )
    (head, oldest), (_, same) = (run("grants", "--for", word).stdout.split("\n", 1) for word in ("11g", "11.2"))
    assert head == "-- latchscope on 11g, which has no containers." and oldest == same
    everywhere = run("grants", "--for", "non-cdb").stdout
    grants_of_newer = everywhere.partition("-- From 12.1 on these are read.")[2].partition("-- X$ tables")[0]
    assert " on sys.cdb_objects " in grants_of_newer and " on sys.cdb_" not in oldest
    told = one_line(run("grants", "--for", "autonomus"))
    assert "did you mean autonomous?" in told and all(kind in told for kind in KINDS)
