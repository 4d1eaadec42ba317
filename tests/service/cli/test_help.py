"""`latchscope help`: each table against the code that it describes. And the start where the system lacks what we call."""

import ast
import json
import re
import sys
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
from service.intake.inputs import OURS

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
        if function in ("typer.Exit", "sys.exit", "os._exit"):
            codes = [part.value for each in node.args for part in ast.walk(each) if isinstance(part, ast.Constant)]
            self.exits |= {(self.path.stem, code) for code in codes if isinstance(code, int)}
        if re.match(r"os\.(environ\.\w+|getenv)$", function) and node.args:
            self.asked.append(node.args[0])
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

LACKS = {"fcntl", "resource", "os.getuid", "termios", "tty", "signal.SIGHUP"}
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
