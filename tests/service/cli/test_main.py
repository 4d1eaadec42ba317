"""The command line: stdout and stderr, exit codes, and one line for each mistake."""

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from typing import NoReturn

import pytest
import typer
from click.testing import Result
from pydantic import BaseModel
from typer.testing import CliRunner

from collectors.grants import KINDS
from rules.cause import load as load_causes
from rules.model import Diagnosis
from service import __main__ as start
from service.cli.help import EXIT_CODES, READ_BY_LIBRARIES, READ_HERE, output_formats, setting_variables
from service.cli.main import LatchscopeGroup, cli
from service.config import load
from service.config.settings import BadSettings
from service.intake.archives import OTHERS
from service.intake.inputs import OURS
from service.store.repository import Repository
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
    assert f"{tmp_path / 'bad.json'} is not an AWR or Statspack report" in one_line(
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


def test_diagnose_reports_a_folder_without_files_and_skips_what_is_foreign(incident: Path, tmp_path: Path) -> None:
    assert "is a directory without files; give it an AWR" in one_line(run("diagnose", tmp_path))
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports" / "notes.txt").write_text("x")
    told = run("diagnose", tmp_path)
    assert told.exit_code == 2 and "holds directories alone: looked at 1 file in 1 directory below it" in told.stderr
    (tmp_path / "alert.log").write_text("ORA-00600", encoding="utf-8")
    told = run("diagnose", tmp_path)
    assert (told.exit_code, told.stdout) == (2, "")
    assert f"{tmp_path} is a directory without an AWR or Statspack report" in told.stderr.splitlines()[-1]
    (tmp_path / "a.json").write_bytes(incident.read_bytes())
    told = run("diagnose", tmp_path, "--format", "json")
    assert told.exit_code == 0 and json.loads(told.stdout)["database"] == "undo-segments"
    assert "latchscope: skipped: " in told.stderr and "alert.log is not an AWR" in told.stderr, "which is no error"


def test_a_broken_cause_file_is_one_line(
    incident: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "dear.yaml").write_text("id: [", encoding="utf-8")
    monkeypatch.setattr("rules.cause.HOME", tmp_path)
    monkeypatch.setattr("rules.engine.catalogue", lambda: load_causes(tmp_path))
    monkeypatch.setattr("os.umask", lambda mask: mask)
    monkeypatch.setattr(sys, "argv", ["latchscope", "diagnose", str(incident)])
    with pytest.raises(SystemExit) as ended:
        start.main()
    out, error = capsys.readouterr()
    assert (ended.value.code, out) == (2, "")
    assert re.fullmatch(r"latchscope: dear\.yaml is not valid YAML: .*; correct the file in .*\n", error)


@pytest.mark.parametrize("asked", [["--version"], ["--help"], []])
def test_version_and_help_import_no_command(asked: list[str]) -> None:
    code = (
        f"import sys\nfrom typer.testing import CliRunner\nfrom service.cli.main import cli\n"
        f"print(CliRunner().invoke(cli, {asked}).output)\n"
        "print(*(m for m in sys.modules if m.split('.')[0] in ('rules', 'collectors', 'pydantic', 'sqlalchemy')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=HANGS, check=True)
    *said, imported = done.stdout.splitlines()
    assert imported == "" and ("latchscope" in said[0] or all(f" {name} " in done.stdout for name in COMMANDS))


COMMANDS = LatchscopeGroup.places


def test_help_of_a_command_is_its_help_and_completion_needs_no_import() -> None:
    for words in (("diagnose",), ("store", "check"), ("help", "formats")):
        assert run("help", *words).stdout == run(*words, "--help").stdout != ""
    asked = {"_LATCHSCOPE_COMPLETE": "complete_bash", "COMP_WORDS": "latchscope ", "COMP_CWORD": "1"}
    assert CliRunner().invoke(cli, [], env=asked, prog_name="latchscope").stdout.split() == list(COMMANDS)


def test_json_is_format_json_of_every_command_that_has_it(tmp_path: Path) -> None:
    config = configured(tmp_path, f"store: sqlite:///{tmp_path}/a.db\ndatabases: [{{name: a, dsn: 'demo:undo-storm'}}]")
    Repository(f"sqlite:///{tmp_path}/a.db").close()
    report, table = REPORTS / "day-2.txt", tmp_path / "t.csv"
    asked: dict[str, tuple[object, ...]] = {
        "diagnose": (report,),
        "compare": (report, REPORTS / "day-3.txt"),
        "check": ("--config", config),
        "month": ("--config", config),
        "config validate": (config,),
        "causes list": (),
        "causes show": ("KB-01",),
        "causes steps": (),
        "sql list": (),
        "sql show": ("a",),
        "store check": ("--config", config),
        "store figures": ("a", "--config", config),
        "study timer": ("--granularity", "1ms", "--need", "2ms"),
    }
    listed = {path for path, forms in output_formats(typer.main.get_command(cli)) if "json" in forms}
    elsewhere = {"notify test", *(f"study {one}" for one in ("scaling", "partitions", "parallel", "cpu"))}
    assert listed == set(asked) | elsewhere, table
    for path, words in asked.items():
        short, long = (run(*path.split(), *words, *form) for form in (["--json"], ["--format", "json"]))
        assert short.exit_code == long.exit_code and short.stderr == long.stderr, path
        if short.exit_code == 0:
            assert json.loads(short.stdout).__class__ is json.loads(long.stdout).__class__, path
            assert run(*path.split(), *words).stdout != short.stdout, path
    assert json.loads(run("check", "--config", config, "--json").stdout)["databases"][0]["database"] == "a"


def test_ctrl_c_ends_with_130(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Stopped(BytesIO):
        """A standard input at which the user presses Ctrl-C."""

        def read(self, *_: object) -> NoReturn:
            raise KeyboardInterrupt

        read1 = readinto = readline = read

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("typer.testing.make_input_stream", lambda *_: Stopped())
    assert run("diagnose", "-").exit_code == 130 and not list(tmp_path.iterdir())


def test_diagnose_prints_table_by_time_and_details_of_several_reports() -> None:
    told = run("diagnose", *(REPORTS / f"day-{day}.txt" for day in range(1, 6)))
    assert (told.exit_code, told.stderr) == (0, "")
    lines = told.stdout.splitlines()
    assert lines[0] == "5 inputs: 3 critical, 2 fine." and lines[5].startswith("day-3.txt  Critical  15.3 % ")
    assert [line.split()[1] for line in lines[3:8]] == ["Fine", "Fine", "Critical", "Critical", "Critical"]
    assert told.stdout.count("-v shows the steps") == 1, "was 5: the text has each cause once"


def test_diagnose_writes_html_to_stdout_or_to_the_named_file(incident: Path, tmp_path: Path) -> None:
    told = run("diagnose", incident, "--format", "html")
    assert told.exit_code == 0 and told.stdout.startswith("<!doctype html>")
    path = tmp_path / "told.html"
    filed = run("diagnose", incident, "--format", "html", "-o", path)
    assert (filed.stdout, filed.stderr) == ("", f"{path}: written, as html\n")  # was: nothing at all
    assert path.read_text(encoding="utf-8") == told.stdout
    assert "cannot be written" in one_line(run("diagnose", incident, "-o", tmp_path / "none" / "x"))
    for ending, begins in (
        (".json", "{"),
        (".md", "## "),
        (".HTML", "<!doctype"),
        (".txt", "undo-"),
        (".log", "undo-"),
    ):
        told = run("diagnose", incident, "-o", tmp_path / f"a{ending}")
        assert (tmp_path / f"a{ending}").read_text(encoding="utf-8").startswith(begins), ending
    for strange in ("a.pdf", "a.html.gz"):
        assert "end it with .txt, .json, .md, .html, or" in one_line(
            run("diagnose", incident, "-o", tmp_path / strange)
        )
    as_json = f"{path}: written, as json, whatever its name says\n"
    assert run("diagnose", incident, "--json", "-o", path).stderr == (
        f"{path} exists already and is replaced; from 0.4.0 on that takes --force\n{as_json}"
    )
    assert run("diagnose", incident, "--force", "-o", path).stderr == f"{path}: written, as html\n"


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
    assert re.match(rf"latchscope {version('latchscope')}\+[0-9a-f]{{8}}, Python 3\.", told.stdout), (
        "the commit of this checkout"
    )


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


# `latchscope help`: each table against the code that it describes. And the start where the system lacks what we call

ROOT = Path(__file__).parents[3]
PRODUCT = [path for floor in ("collectors", "rules", "service") for path in sorted((ROOT / floor).rglob("*.py"))]


class Product(ast.NodeVisitor):
    """What the code of the product asks of the system: how it ends, the environment, and what Windows has not."""

    def __init__(self) -> None:
        self.exits: set[tuple[str, int]] = set()
        """Each module that ends the process, with the code as written there."""
        self.named: dict[str, object] = {}
        self.asked: list[ast.AST] = []
        self.lacking: set[str] = set()
        for self.path in PRODUCT:
            self.visit(ast.parse(self.path.read_text(encoding="utf-8")))

    @property
    def variables(self) -> set[str]:
        """What is asked of os.environ by name, also through a constant of a module."""
        names = (ast.unparse(one) if not isinstance(one, ast.Constant) else one.value for one in self.asked)
        return {str(self.named.get(name, name)) for name in names}

    def visit_Assign(self, node: ast.Assign) -> None:
        if isinstance(node.value, ast.Constant) and isinstance(node.targets[0], ast.Name):
            self.named[node.targets[0].id] = node.value.value
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        function = ast.unparse(node.func)
        if function in ("typer.Exit", "sys.exit", "os._exit", "Answer"):
            codes = [part.value for each in node.args for part in ast.walk(each) if isinstance(part, ast.Constant)]
            self.exits |= {(self.path.stem, code) for code in codes if isinstance(code, int)}
        if re.match(r"os\.(environ\.\w+|getenv)$", function) and node.args:
            self.asked.append(node.args[0])
        self.asked += [each.value for each in node.keywords if each.arg == "envvar"]
        self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if ast.unparse(node.value) == "os.environ":
            self.asked.append(node.slice)
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        if ast.unparse(node.comparators[0]) == "os.environ":
            self.asked.append(node.left)
        self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> None:
        self.lacking |= {each.name for each in node.names} & ONLY_POSIX

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        self.lacking |= {node.module or ""} & ONLY_POSIX

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if isinstance(node.value, ast.Name):
            name, of = node.attr, node.value.id
            posix = (of == "os" and name in OS_POSIX) or (of == "socket" and name in ("AF_UNIX", "SO_REUSEPORT"))
            signals = of == "signal" and name.startswith("SIG") and name not in SIGNALS_OF_WINDOWS
            self.lacking |= {f"{of}.{name}"} if posix or signals or (of == "time" and name == "tzset") else set()
        self.generic_visit(node)


@pytest.fixture(scope="module")
def product() -> Product:
    return Product()


def told(*words: str) -> str:
    done = CliRunner().invoke(cli, ["help", *words], prog_name="latchscope", env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.mark.slow
def test_exit_codes_are_those_of_the_code(product: Product) -> None:
    listed, exits = {code for code, _, _ in EXIT_CODES}, product.exits
    assert {code for _, code in exits} == listed, "130, 0, 2 and what commands add"
    own = {(module, code) for code, _, modules in EXIT_CODES for module in modules}
    assert {pair for pair in exits if pair[1] not in (0, 2) and pair[0] not in ("main", "__main__")} == own
    shown = told("exit-codes")
    assert [int(code) for code in re.findall(r"^  (\d+) ", shown, re.M)] == sorted(listed)


@pytest.mark.slow
def test_environment_lists_every_variable_that_the_code_reads(product: Product) -> None:
    listed = {name for name, _ in READ_HERE}
    assert product.variables == listed | {"database.password_env"}, "you name the variable of a password"
    shown = told("environment")
    for name in (*listed, *(name for name, _ in READ_BY_LIBRARIES), *setting_variables()):
        assert re.search(rf"^  {name}\b", shown, re.M), name


def test_each_variable_of_a_setting_reaches_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A value of the wrong kind is refused with the variable's name; a setting that takes any text has it."""
    config = tmp_path / "latchscope.yaml"
    config.write_text("databases: []\n", encoding="utf-8")
    assert len(setting_variables()) > 30
    for name in setting_variables():
        with monkeypatch.context() as environment:
            environment.setenv(name, json.dumps("~impossible~"))
            try:
                shown = _value_of(name, load.read(config))
            except BadSettings as error:
                shown = f"{error} ~impossible~" if name in str(error) else str(error)
            assert "~impossible~" in shown, f"{name} does not reach its setting: {shown}"


def _value_of(name: str, settings: BaseModel) -> str:
    value: object = settings
    for part in name.removeprefix(load.PREFIX).lower().split("__"):
        assert isinstance(value, BaseModel), name
        value = getattr(value, part)
    return str(value)


def test_formats_are_those_that_commands_take_and_inputs_that_are_read() -> None:
    shown = told("formats")
    words = " ".join(shown.split())
    for kind in ("AWR", "Statspack report", "alert log", "trace file", "output of `latchscope script`", "capture"):
        assert kind in words and kind in OURS, kind
    assert all(name in shown for name in OTHERS.values())
    for path in ("diagnose", "compare", "sql list", "study scaling"):
        assert re.search(rf"^  {path}  +text", shown, re.M), path
    top = typer.main.get_command(cli)
    assert isinstance(top, LatchscopeGroup)
    (choices,) = (
        each.type.choices for each in top.get_command(typer.Context(top), "diagnose").params if "--format" in each.opts
    )
    assert f"  diagnose{' ' * 10}" in shown and ", ".join(choices) in shown


# Native Windows

LACKS = {"fcntl", "resource", "os.getuid", "os.nice", "termios", "tty", "signal.SIGHUP", "socket.AF_UNIX"}
ONLY_POSIX = {
    "fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "syslog", "posix", "readline", "curses",
}  # fmt: skip
"""Modules of the standard library that Windows has not: availability in https://docs.python.org/3/library/."""
OS_POSIX = {
    "chown", "fchmod", "fchown", "fork", "forkpty", "getegid", "geteuid", "getgid", "getgroups", "getloadavg", "getpgid",
    "getuid", "killpg", "lchown", "mkfifo", "nice", "openpty", "pread", "pwrite", "register_at_fork", "sched_getaffinity",
    "sched_yield", "setgid", "setpgid", "setsid", "setuid", "statvfs", "sync", "sysconf", "uname", "wait", "wait3", "wait4",
}  # fmt: skip
SIGNALS_OF_WINDOWS = {"SIGABRT", "SIGBREAK", "SIGFPE", "SIGILL", "SIGINT", "SIGSEGV", "SIGTERM", "SIG_DFL", "SIG_IGN"}


@pytest.mark.slow
def test_what_native_windows_lacks_is_listed_here_and_on_the_page(product: Product) -> None:
    assert product.lacking == LACKS
    page = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
    section = page.partition("## Windows")[2].partition("\n## ")[0]
    assert "WSL" in section and "untried" in section
    assert set(re.findall(r"^\| `([\w.]+)` \|", section, re.M)) == LACKS


def test_start_on_native_windows_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setitem(sys.modules, "service.cli.main", None)
    with pytest.raises(SystemExit) as ended:
        start.main()
    out, error = capsys.readouterr()
    assert ended.value.code == 2 and out == ""
    assert re.fullmatch(r"latchscope: it does not run on native Windows, .+ WSL, .+\n", error), error
