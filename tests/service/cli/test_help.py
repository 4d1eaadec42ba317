"""`latchscope help`: each table against the code that it describes. And the start where the system lacks what we call."""

import ast
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from pydantic import BaseModel
from typer.testing import CliRunner

from service import __main__ as start
from service.cli.help import EXIT_CODES, READ_BY_LIBRARIES, READ_HERE, setting_variables
from service.cli.main import LatchscopeGroup, cli
from service.config import load
from service.config.settings import BadSettings
from service.intake.archives import OTHERS
from service.intake.inputs import OURS, diagnose_all
from tests.paths import EXAMPLES

ROOT = Path(__file__).parents[3]
PRODUCT = [path for floor in ("collectors", "rules", "service") for path in sorted((ROOT / floor).rglob("*.py"))]


def nodes() -> Iterator[tuple[Path, ast.AST]]:
    """Every node of the product."""
    for path in PRODUCT:
        yield from ((path, node) for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def told(*words: str) -> str:
    done = CliRunner().invoke(cli, ["help", *words], prog_name="latchscope", env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    return done.stdout


def exits() -> set[tuple[str, int]]:
    """Each module that ends the process, with the code as written there."""
    found = set()
    for path, node in nodes():
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("typer.Exit", "sys.exit", "os._exit"):
            codes = [part.value for each in node.args for part in ast.walk(each) if isinstance(part, ast.Constant)]
            found |= {(path.stem, code) for code in codes if isinstance(code, int)}
    return found


def test_exit_codes_are_those_of_the_code() -> None:
    listed = {code for code, _, _ in EXIT_CODES}
    assert {code for _, code in exits()} == listed, "130, 0, 2 and what commands add"
    own = {(module, code) for code, _, modules in EXIT_CODES for module in modules}
    every = {("main", 0), ("main", 1), ("main", 2), ("__main__", 2), ("__main__", 130), ("messages", 2), ("serve", 0)}
    assert {pair for pair in exits() if pair[1] not in (0, 2) and pair[0] not in ("main", "__main__")} == own
    assert {pair for pair in exits() if pair[0] in ("__main__", "messages")} <= every
    shown = told("exit-codes")
    assert [int(code) for code in re.findall(r"^  (\d+) ", shown, re.M)] == sorted(listed)


def test_exit_codes_of_commands_are_real(tmp_path: Path, incident: Path) -> None:
    run = CliRunner().invoke
    assert run(cli, ["diagnose", str(incident)]).exit_code == 0
    assert run(cli, ["diagnose", str(incident), "--fail-on", "warning"]).exit_code == 1
    assert run(cli, ["diagnose", str(tmp_path / "none")]).exit_code == 2
    unjudged = str(EXAMPLES / "reports" / "awr-11.2.0.4.0-restart.txt")
    assert run(cli, ["diagnose", unjudged, "--fail-on-unknown"]).exit_code == 3


def variables_read() -> set[str]:
    """What the code asks of os.environ by name, also through a constant of a module."""
    named, found = {}, set()
    for _, node in nodes():
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.targets[0], ast.Name)
        ):
            named[node.targets[0].id] = node.value.value
    for _, node in nodes():
        asked: ast.AST | None = None
        if isinstance(node, ast.Call) and re.match(r"os\.(environ\.\w+|getenv)$", ast.unparse(node.func)) and node.args:
            asked = node.args[0]
        elif isinstance(node, ast.Subscript) and ast.unparse(node.value) == "os.environ":
            asked = node.slice
        elif isinstance(node, ast.Compare) and ast.unparse(node.comparators[0]) == "os.environ":
            asked = node.left
        if isinstance(asked, ast.Constant):
            found.add(str(asked.value))
        elif asked is not None:
            found.add(str(named.get(ast.unparse(asked), ast.unparse(asked))))
    return found


def test_environment_lists_every_variable_that_the_code_reads() -> None:
    listed = {name for name, _ in READ_HERE}
    assert variables_read() == listed | {"database.password_env"}, "you name the variable of a password"
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


def test_inputs_of_every_listed_kind_are_read() -> None:
    folder = EXAMPLES / "incident"
    files = [*sorted(folder.iterdir()), EXAMPLES / "reports" / "statspack-11.2.0.3.0-undo-storm.txt"]
    outcome = diagnose_all([str(file) for file in files])
    assert not outcome.errors and {each.source for each in outcome.diagnosed} == {
        "views",
        "report",
        "alert log",
        "trace",
    }


# Native Windows

LACKS = {
    "fcntl": "locks of the spool and of a SQLite store",
    "termios": "the keys of `latchscope top`",
    "tty": "the keys of `latchscope top`",
    "resource": "limit of open files",
    "os.getuid": "who should own a file",
}
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


def lacking_on_windows() -> set[str]:
    """What the product imports or calls and Windows has not."""
    found = set()
    for _, node in nodes():
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names} & ONLY_POSIX
        elif isinstance(node, ast.ImportFrom):
            found |= {node.module or ""} & ONLY_POSIX
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            name, of = node.attr, node.value.id
            posix = (of == "os" and name in OS_POSIX) or (of == "socket" and name in ("AF_UNIX", "SO_REUSEPORT"))
            signals = of == "signal" and name.startswith("SIG") and name not in SIGNALS_OF_WINDOWS
            found |= {f"{of}.{name}"} if posix or signals or (of == "time" and name == "tzset") else set()
    return found


def test_what_native_windows_lacks_is_listed_here_and_on_the_page() -> None:
    assert lacking_on_windows() == set(LACKS)
    page = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
    section = page.partition("## Windows")[2].partition("\n## ")[0]
    assert "WSL" in section and "untried" in section
    assert set(re.findall(r"^\| `([\w.]+)` \|", section, re.M)) == set(LACKS)


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
