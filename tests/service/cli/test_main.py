"""The command line: stdout and stderr, exit codes, and one line for each mistake."""

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from collectors.grants import KINDS
from collectors.ondemand import changes
from collectors.registry import collectors
from rules.model import Diagnosis, Severity
from service.cli.main import cli
from tests.oracle_standin.deadline import HANGS
from tests.paths import REPORTS

DATABASES = "databases: [{name: a, dsn: 'demo:undo-storm'}]\n"
LISTEN = f"listen: 127.0.0.1:0\n{DATABASES}"


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """The handlers of the process stay pytest's. A fixed width keeps lines unwrapped."""
    monkeypatch.setattr("service.cli.serve.configure_logging", lambda form: None)
    monkeypatch.setattr("service.cli.serve.faulthandler.enable", lambda: None)
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


def test_diagnose_prints_text_by_default(incident: Path) -> None:
    told = run("diagnose", incident)
    assert (told.exit_code, told.stderr) == (0, "")
    assert "Child 1 of latch# 270" in told.stdout


def test_diagnose_json_is_all_of_stdout(incident: Path) -> None:
    told = run("diagnose", incident, "--format", "json")
    assert (told.exit_code, told.stderr) == (0, "")
    assert Diagnosis.model_validate_json(told.stdout).findings[0].cause == "undo-segments"


def test_diagnose_prints_markdown(incident: Path) -> None:
    told = run("diagnose", incident, "--format", "markdown")
    assert told.exit_code == 0
    assert told.stdout.startswith("## undo-segments (")


def test_diagnose_reads_standard_input(incident: Path) -> None:
    told = run("diagnose", "-", "--format", "json", stdin=incident.read_bytes())
    assert json.loads(told.stdout)["database"] == "undo-segments"
    assert "standard input is empty" in one_line(run("diagnose", "-", stdin=b""))


def test_diagnose_json_of_several_files_is_a_list(incident: Path, capture_file: Callable[..., Path]) -> None:
    told = run("diagnose", incident, capture_file(), "--format", "json")
    assert [one["database"] for one in json.loads(told.stdout)] == ["undo-segments", "written"]


def test_diagnose_reports_readable_files_when_another_is_unreadable(incident: Path, tmp_path: Path) -> None:
    told = run("diagnose", tmp_path / "none.json", incident, "--format", "json")
    assert told.exit_code == 2
    assert [one["database"] for one in json.loads(told.stdout)] == ["undo-segments"]
    assert told.stderr == f"latchscope: {tmp_path / 'none.json'} does not exist; give the path of a file or a folder\n"


@pytest.mark.parametrize(
    ("severity", "code"), [("info", 1), ("notice", 1), ("warning", 1), ("critical", 0)], ids=list(Severity)
)
def test_fail_on_sets_the_exit_code_by_severity(incident: Path, severity: str, code: int) -> None:
    told = run("diagnose", incident, "--fail-on", severity, "--format", "json")
    assert told.exit_code == code
    assert json.loads(told.stdout)["severity"] == "warning"


def test_fail_on_ignores_diagnoses_without_anything_to_do() -> None:
    assert run("diagnose", REPORTS / "day-1.txt", "--fail-on", "info").exit_code == 0
    assert run("diagnose", REPORTS / "day-3.txt", "--fail-on", "critical").exit_code == 1


def test_fail_on_unknown_has_an_exit_code_for_what_could_not_be_judged(tmp_path: Path) -> None:
    fine, bad, restarted = (REPORTS / name for name in ("day-1.txt", "day-3.txt", "awr-11.2.0.4.0-restart.txt"))
    for names, code in (
        ([restarted], 3),
        ([fine, restarted], 3),
        ([bad, restarted], 1),
        ([restarted, tmp_path / "none"], 2),
    ):
        assert run("diagnose", *names, "--fail-on", "warning", "--fail-on-unknown").exit_code == code, names
    assert run("diagnose", fine, "--fail-on-unknown").exit_code == 0
    assert run("diagnose", restarted, "--fail-on", "warning").exit_code == 0, "only --fail-on-unknown asks for it"
    assert "1 and 3 only with --fail-on" in " ".join(run("diagnose", "--help").stdout.replace("│", " ").split())


def test_exit_code_of_an_unreadable_input_outranks_a_finding(incident: Path, tmp_path: Path) -> None:
    assert run("diagnose", incident, tmp_path / "none", "--fail-on", "info").exit_code == 2


@pytest.mark.parametrize("format", ["text", "json", "markdown", "html"])
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"\x00\x01\xff", "is not an AWR or Statspack report"),
        (b"nonsense", "is not an AWR or Statspack report"),
        (b"{nonsense", "is not valid JSON at line 1 column 2"),
        (b'{"format": "latchscope-capture", "ver', "it ends too early"),
        (b'{"format": "latchscope-capture", "version": 2}', "is a capture of version 2"),
    ],
    ids=["empty", "binary", "words", "malformed", "truncated", "another version"],
)
def test_diagnose_reports_a_bad_file_in_one_line_with_exit_code_2(
    tmp_path: Path, content: bytes, said: str, format: str
) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(content)
    line = one_line(run("diagnose", path, "--format", format))
    assert said in line
    assert str(path) in line


def test_diagnose_refuses_a_file_of_200_megabytes_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "large.json"
    with path.open("wb") as file:
        file.truncate(200 * 2**20)
    assert "is 200 MiB; an input is at most 64 MiB" in one_line(run("diagnose", path))


def test_diagnose_reports_a_folder_without_files_in_one_line(tmp_path: Path) -> None:
    assert "is a directory without files; give it an AWR" in one_line(run("diagnose", tmp_path))
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports" / "notes.txt").write_text("x")
    told = run("diagnose", tmp_path)
    assert told.exit_code == 2 and "holds directories alone: looked at 1 file in 1 directory below it" in told.stderr


def test_diagnose_reads_a_folder_and_names_foreign_files_as_skipped(incident: Path, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(incident.read_bytes())
    (tmp_path / "alert.log").write_text("ORA-00600", encoding="utf-8")
    told = run("diagnose", tmp_path, "--format", "json")
    assert told.exit_code == 0, "an unrelated file is no error"
    assert json.loads(told.stdout)["database"] == "undo-segments"
    assert re.fullmatch(r"latchscope: skipped: .*alert\.log is not an AWR or Statspack report.*\n", told.stderr)


def test_diagnose_of_a_folder_that_holds_nothing_of_ours_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "alert.log").write_text("ORA-00600", encoding="utf-8")
    told = run("diagnose", tmp_path)
    assert (told.exit_code, told.stdout) == (2, "")
    assert f"{tmp_path} is a directory without an AWR or Statspack report" in told.stderr.splitlines()[-1]


def test_a_broken_cause_file_is_one_line(incident: Path, tmp_path: Path) -> None:
    (tmp_path / "dear.yaml").write_text("id: [", encoding="utf-8")
    words = f"import pathlib, sys, rules.cause as c; c.HOME = pathlib.Path({str(tmp_path)!r})"
    command = f"{words}; sys.argv[1:] = ['diagnose', {str(incident)!r}]; from service.__main__ import main; main()"
    ended = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=False, timeout=HANGS)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert re.fullmatch(r"latchscope: dear\.yaml is not valid YAML: .*; correct the file in .*\n", ended.stderr)


def test_version_imports_no_command() -> None:
    code = (
        "import sys, service.cli.main; print(*(m for m in sys.modules if m.split('.')[0] in ('rules', 'collectors')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=HANGS, check=True)
    assert done.stdout.strip() == ""


def test_diagnose_json_of_a_folder_with_a_bad_file_is_a_list(incident: Path, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(incident.read_bytes())
    (tmp_path / "b.json").write_bytes(incident.read_bytes()[:500])
    told = run("diagnose", tmp_path, "--format", "json")
    assert told.exit_code == 2 and "it ends too early" in told.stderr
    assert [one["database"] for one in json.loads(told.stdout)] == ["undo-segments"]


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


def configured(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "latchscope.yaml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("listen: [", "is not valid YAML"),
        ("lisen: 127.0.0.1:8000", "lisen: no such setting"),
        ("databases: [{name: a, dsn: h/s}, {name: a, dsn: h/t}]", "two databases are named a"),
        ("databases: [{name: a, dsn: h/s, interval: 5s}]", "a real database is polled no more often than every 10 s"),
        ("defaults: {interval: 5s}", "a real database is polled no more often than every 10 s"),
        ("listen: here", "is not an address"),
    ],
)
def test_serve_reports_an_invalid_configuration_in_one_line(tmp_path: Path, text: str, said: str) -> None:
    assert said in one_line(run("serve", "--config", configured(tmp_path, text)))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"{LISTEN}store: sqlite:////no/such/folder/x.db", "unable to open database file"),
        (f"{LISTEN}store: nonsense", "store: is not the address of a store; write sqlite:///FILE"),
        (f"{LISTEN}store: postgresql+nodriver://u:geheim@h/db", "'postgresql+nodriver' is not a kind of store"),
    ],
)
def test_serve_reports_a_store_that_cannot_be_opened_in_one_line(tmp_path: Path, text: str, said: str) -> None:
    line = one_line(run("serve", "--config", configured(tmp_path, text)))
    assert said in line
    assert "geheim" not in line


def test_serve_reports_a_missing_configuration_in_one_line(tmp_path: Path) -> None:
    assert "does not exist" in one_line(run("serve", "--config", tmp_path / "none.yaml"))


def test_serve_reports_a_port_in_use_in_one_line(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        line = one_line(run("serve", "--config", configured(tmp_path, f"listen: 127.0.0.1:{port}\n{DATABASES}")))
    assert line == f"latchscope: cannot listen on 127.0.0.1:{port}: Address already in use; choose another port\n"


def test_command_line_prints_help_without_a_command() -> None:
    told = run()
    for command in ("demo", "serve", "diagnose"):
        assert command in told.output


@pytest.mark.parametrize("wrong", [("diagnose",), ("diagnose", "x", "--format", "pdf"), ("serve", "--port", "x")])
def test_command_line_misuse_exits_with_2_and_no_traceback(wrong: tuple[str, ...]) -> None:
    told = run(*wrong)
    assert told.exit_code == 2
    assert isinstance(told.exception, SystemExit)
    assert "Traceback" not in told.output


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


def test_grants_confirm_adds_the_views_of_confirming_queries_with_the_causes_they_serve() -> None:
    polls, whole = run("grants", "--for", "cdb"), run("grants", "--for", "cdb", "--confirm")
    assert (whole.exit_code, whole.stderr) == (0, "")
    optional = {collectors()[view].granted_on for view in ("running_jobs", *changes.views())}
    opened = {f"sys.{name}" for name in re.findall(r"cdb_\w+", polls.stdout)}
    assert whole.stdout.startswith(polls.stdout) and opened == {
        name.replace("dba_", "cdb_") for name in optional if "dba_" in name
    }
    assert "-- cdb_tab_privs: object-grants\ngrant read on sys.cdb_tab_privs to C##LATCHSCOPE;\n" in whole.stdout


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
