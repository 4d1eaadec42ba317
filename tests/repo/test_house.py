"""The house rules that a machine can keep: imports, sizes, words, and nothing of the machine it was written on."""

import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from collectors.registry import collectors
from rules.catalogue import HOME, catalogue
from rules.signals import SIGNALS

ROOT = Path(__file__).resolve().parents[2]
FLOORS = ("collectors", "rules", "service")
MODULES = sorted(path.relative_to(ROOT) for floor in FLOORS for path in (ROOT / floor).rglob("*.py"))
MOST_LINES = 300


def lint(home: Path) -> subprocess.CompletedProcess[str]:
    """import-linter over a tree, without its cache."""
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    return subprocess.run(command, cwd=home, capture_output=True, text=True, timeout=60, check=False)


def test_imports_run_one_way() -> None:
    done = lint(ROOT)
    assert done.returncode == 0, done.stdout
    assert "0 broken" in done.stdout


@pytest.mark.parametrize(
    ("module", "wrong"),
    [
        ("collectors/delta.py", "import rules.model"),
        ("rules/engine.py", "from collectors.poll import poll"),
        ("rules/formatting.py", "import oracledb"),
    ],
)
def test_a_planted_wrong_import_is_noticed(module: str, wrong: str, tmp_path: Path) -> None:
    for floor in FLOORS:
        shutil.copytree(ROOT / floor, tmp_path / floor, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    with (tmp_path / module).open("a", encoding="utf-8") as planted:
        planted.write(f"\n{wrong}\n")
    done = lint(tmp_path)
    assert done.returncode != 0
    assert "BROKEN" in done.stdout


def imported(path: Path) -> Iterator[str]:
    """Top-level packages that a file imports, anywhere in it."""
    for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.split(".")[0]


def test_only_one_module_talks_to_the_driver() -> None:
    assert [str(path) for path in MODULES if "oracledb" in imported(path)] == ["collectors/oracle.py"]


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_a_file_fits_in_the_head(path: Path) -> None:
    lines = len((ROOT / path).read_text(encoding="utf-8").splitlines())
    assert lines < MOST_LINES, f"{path} has {lines} lines; split it by what it does"


@pytest.mark.parametrize("path", [path for path in MODULES if "versions" not in path.parts], ids=str)
def test_everything_public_says_what_it_is(path: Path) -> None:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    assert ast.get_docstring(tree), f"{path} has no docstring"
    silent = [
        node.name
        for body in (tree.body, *(node.body for node in tree.body if isinstance(node, ast.ClassDef)))
        for node in body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
        if not ast.get_docstring(node)
    ]
    assert silent == []


def test_top_level_packages_hold_a_docstring_only() -> None:
    for floor in FLOORS:
        (only,) = ast.parse((ROOT / floor / "__init__.py").read_text(encoding="utf-8")).body
        assert isinstance(only, ast.Expr)


def test_every_view_signal_and_cause_is_told_to_people() -> None:
    told = (HOME / "README.md").read_text(encoding="utf-8")
    assert [name for name in SIGNALS if f"`{name}`" not in told] == []
    assert [view for view, one in collectors().items() if not (one.about and one.without)] == []
    assert [one.id for one in catalogue().values() if len(one.explanation) < 80 or not one.remedy] == []


def test_tests_of_the_rules_stand_under_the_name_of_what_they_test() -> None:
    modules = {path.stem for path in (ROOT / "rules").glob("*.py")} - {"__init__"}
    tests = {path.stem.removeprefix("test_") for path in (ROOT / "tests" / "rules").glob("test_*.py")}
    assert sorted(modules - tests) == []


def test_tests_are_no_packages() -> None:
    assert list((ROOT / "tests").rglob("__init__.py")) == []


TEXT = {
    ".py",
    ".yaml",
    ".yml",
    ".md",
    ".toml",
    ".json",
    ".html",
    ".js",
    ".css",
    ".sql",
    ".sh",
    ".cfg",
    ".ini",
    ".txt",
    "",
}
MACHINE = re.compile(r"(?<![\w.~$}/-])/(?:" + "|".join(("work", "root", "home")) + r")/[\w.]")


def files_of_the_project() -> Iterator[Path]:
    """Files that git follows or would follow; all of them where there is no git."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    if listed.returncode == 0:
        names = [ROOT / name for name in listed.stdout.split("\0") if name]
    else:
        names = [
            path for path in ROOT.rglob("*") if not any(part.startswith(".") for part in path.parts[len(ROOT.parts) :])
        ]
    yield from (path for path in names if path.is_file() and path.suffix in TEXT)


def test_nothing_tells_of_the_machine_it_was_written_on() -> None:
    told = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:80]}"
        for path in files_of_the_project()
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1)
        if MACHINE.search(line)
    ]
    assert told == []


def test_that_check_can_fail() -> None:
    slash = "/"
    assert MACHINE.search(f"see {slash}work{slash}main") and MACHINE.search(f'"{slash}root{slash}.venv"')
    assert not MACHINE.search(f"https:{slash}{slash}example.org{slash}home{slash}page")
