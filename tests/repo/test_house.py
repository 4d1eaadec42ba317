"""The house rules that a machine can check: imports, sizes, words, and no trace of the machine that wrote the text."""

import ast
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Set
from functools import cache
from pathlib import Path

import pytest

from collectors.registry import collectors
from rules.cause import HOME, catalogue
from rules.signals import SIGNALS
from service.metrics.families import FAMILIES

ROOT = Path(__file__).resolve().parents[2]
FLOORS = ("collectors", "rules", "service")
MODULES = sorted(path.relative_to(ROOT) for floor in FLOORS for path in (ROOT / floor).rglob("*.py"))
MOST_LINES = 800
SHORT = 60
MOST_SHORT_FILES = 9
"""Files below SHORT lines that are no view. The number may only fall."""


def lint(home: Path) -> subprocess.CompletedProcess[str]:
    """import-linter over a tree, without its cache."""
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    return subprocess.run(command, cwd=home, capture_output=True, text=True, timeout=60, check=False)


def test_imports_run_one_way() -> None:
    done = lint(ROOT)
    assert done.returncode == 0, done.stdout
    assert "0 broken" in done.stdout


PLANTED = {
    "collectors/delta.py": ("import rules.model", "collectors.delta -> rules.model"),
    "rules/engine.py": ("from collectors.poll import poll", "rules.engine -> collectors.poll"),
    "rules/formatting.py": ("import oracledb", "rules.formatting -> oracledb"),
}
"""Module → a forbidden import, and import-linter's name for it."""


def test_import_contracts_notice_planted_imports(tmp_path: Path) -> None:
    for floor in FLOORS:
        shutil.copytree(ROOT / floor, tmp_path / floor, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for module, (wrong, _) in PLANTED.items():
        with (tmp_path / module).open("a", encoding="utf-8") as planted:
            planted.write(f"\n{wrong}\n")
    done = lint(tmp_path)
    assert done.returncode != 0
    assert [named for _, named in PLANTED.values() if named not in done.stdout] == [], done.stdout


@cache
def parsed(path: Path) -> ast.Module:
    """The syntax tree of a module of ours."""
    return ast.parse((ROOT / path).read_text(encoding="utf-8"))


def imported(path: Path) -> Iterator[str]:
    """Top-level packages that a file imports, anywhere in it."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.split(".")[0]


def test_driver_is_imported_by_what_reads_and_no_module_imports_the_loads() -> None:
    assert [str(path) for path in MODULES if "oracledb" in imported(path)] == ["collectors/oracle.py"]
    assert [str(path) for path in MODULES if "tests" in imported(path)] == []


def test_files_have_at_most_as_many_lines_as_the_limit() -> None:
    lines = {str(path): len((ROOT / path).read_text(encoding="utf-8").splitlines()) for path in SPOKEN_FOR}
    assert {path: count for path, count in lines.items() if count > MOST_LINES} == {}, "split it by its subject"
    short = [
        path for path, count in lines.items() if count < SHORT and "/views/" not in path and "__init__" not in path
    ]
    assert len(short) <= MOST_SHORT_FILES, f"a file below {SHORT} lines needs a reason; join one: {short}"


LONGEST_TEMPLATE_LINE = 200


def test_template_lines_can_be_read_in_a_diff() -> None:
    lines = [
        (f"{path.relative_to(ROOT)}:{number}", len(line))
        for path in (ROOT / "service").rglob("templates/*.html")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
    ]
    assert lines, "the templates moved"
    assert [place for place, length in lines if length > LONGEST_TEMPLATE_LINE] == [], "break it by its meaning"


SPOKEN_FOR = [path for path in MODULES if "versions" not in path.parts]
"""Files that people write; a tool makes migrations."""
NUMBERS = {"int", "float"}


@cache
def errors_of_ours() -> set[str]:
    """Names of the classes of this project that can be raised."""
    bases = {
        node.name: {ast.unparse(base).rpartition(".")[2] for base in node.bases}
        for path in MODULES
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.ClassDef)
    }
    found = {"Exception"}
    while more := {name for name, of in bases.items() if of & found} - found:
        found |= more
    return found - {"Exception"}


def parts_of(annotation: ast.expr | None) -> set[str]:
    """The alternatives of an annotation: `float | None` is float and None."""
    if isinstance(annotation, ast.BinOp):
        return parts_of(annotation.left) | parts_of(annotation.right)
    return {ast.unparse(annotation)} if annotation else set()


def needs_words(function: ast.FunctionDef, errors: Set[str]) -> bool:
    """Whether its name and types leave open what a number counts, when it returns None, or which of our errors it raises."""
    returned = parts_of(function.returns)
    taken = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    numbers = returned & NUMBERS or any(parts_of(one.annotation) & NUMBERS for one in taken)
    perhaps = "None" in returned and len(returned) > 1
    raised = {
        ast.unparse(node.exc.func if isinstance(node.exc, ast.Call) else node.exc).rpartition(".")[2]
        for node in ast.walk(function)
        if isinstance(node, ast.Raise) and node.exc
    }
    return bool(numbers or perhaps or raised & errors)


def silent(tree: ast.Module, errors: Set[str]) -> Iterator[str]:
    """Public classes without a docstring, and public functions that need one and lack it."""
    for body in (tree.body, *(node.body for node in tree.body if isinstance(node, ast.ClassDef))):
        for node in body:
            if not isinstance(node, ast.ClassDef | ast.FunctionDef) or node.name.startswith("_"):
                continue
            if isinstance(node, ast.ClassDef) or needs_words(node, errors):
                yield from () if ast.get_docstring(node) else (node.name,)


def test_docstrings_explain_modules_classes_and_what_types_leave_open() -> None:
    trees = {str(path): parsed(path) for path in SPOKEN_FOR}
    assert [path for path, tree in trees.items() if not ast.get_docstring(tree)] == [], "a module"
    unexplained = {path: list(silent(tree, errors_of_ours())) for path, tree in trees.items()}
    assert {path: names for path, names in unexplained.items() if names} == {}, (
        "a public class, or a function with a unit, an error or a None"
    )


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("def names() -> list[str]: ...", False),
        ("def close(self) -> None: ...", False),
        ("def _age() -> float: ...", False),
        ("def age() -> float: ...", True),
        ("def wait(interval: float) -> None: ...", True),
        ("def found(name: str) -> str | None: ...", True),
        ("def read(path: Path) -> Settings:\n    raise BadSettings('no')", True),
        ("def read(path: Path) -> Settings:\n    raise ValueError('no')", False),
        ("class Thing: ...", True),
        ("def age() -> float:\n    'Seconds.'", False),
    ],
)
def test_docstring_check_knows_what_must_be_explained(code: str, told: bool) -> None:
    assert bool(list(silent(ast.parse(code), errors_of_ours()))) is told


METRIC = re.compile(r"latchscope_[a-z_]+")


def metrics_in(tree: ast.Module) -> Iterator[str]:
    """Names of metrics in the strings of a module, whole or as the start of a composed name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and METRIC.fullmatch(node.value):
            yield node.value


def test_metric_is_named_in_one_place() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path in MODULES:
        for name in metrics_in(parsed(path)):
            places[name].append(str(path))
    assert set(FAMILIES) <= set(places)
    assert {name: where for name, where in places.items() if len(where) > 1} == {}, "refer to the family instead"
    assert [name for name in places if name.endswith("_")] == [], "nobody can search for a composed name"


def test_top_level_packages_hold_a_docstring_only() -> None:
    for floor in FLOORS:
        (only,) = ast.parse((ROOT / floor / "__init__.py").read_text(encoding="utf-8")).body
        assert isinstance(only, ast.Expr)


def test_views_signals_and_causes_are_all_described_for_people() -> None:
    told = (HOME / "README.md").read_text(encoding="utf-8")
    assert [name for name in SIGNALS if f"`{name}`" not in told] == []
    assert [view for view, one in collectors().items() if not (one.about and one.without)] == []
    assert [one.id for one in catalogue().values() if len(one.explanation) < 80 or not one.remedy] == []


MIRRORED = (
    "collectors",
    "collectors/ondemand",
    "rules/comparison",
    "rules/explain",
    "rules/studies",
    "service/config",
    "service/watch",
    "service/web/charts",
)
"""Folders whose modules all have a test of the same name. If another folder is complete, add it."""
TESTED_ELSEWHERE: dict[str, str] = {}


@pytest.mark.parametrize("folder", MIRRORED)
def test_test_files_are_named_after_the_module_they_test(folder: str) -> None:
    modules = [path for path in MODULES if str(path.parent) == folder and path.name != "__init__.py"]
    untested = [str(path) for path in modules if not (ROOT / "tests" / folder / f"test_{path.name}").exists()]
    assert modules, f"{folder} is gone; take it out of the list"
    assert sorted(set(untested) - set(TESTED_ELSEWHERE)) == []


def test_test_folders_each_match_a_folder_of_modules() -> None:
    folders = {path.parent for path in MODULES}
    tests = [
        path.relative_to(ROOT / "tests") for floor in FLOORS for path in (ROOT / "tests" / floor).rglob("test_*.py")
    ]
    assert sorted({str(path.parent) for path in tests if path.parent not in folders}) == []


def test_test_folders_are_not_packages() -> None:
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
    """Files that git follows or would follow; without git, all files."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    if listed.returncode == 0:
        names = [ROOT / name for name in listed.stdout.split("\0") if name]
    else:
        names = [
            path for path in ROOT.rglob("*") if not any(part.startswith(".") for part in path.parts[len(ROOT.parts) :])
        ]
    yield from (path for path in names if path.is_file() and path.suffix in TEXT)


def test_files_do_not_mention_the_machine_they_were_written_on() -> None:
    told = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:80]}"
        for path in files_of_the_project()
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1)
        if MACHINE.search(line)
    ]
    assert told == []


def test_machine_check_notices_a_path_of_the_machine() -> None:
    slash = "/"
    assert MACHINE.search(f"see {slash}work{slash}main") and MACHINE.search(f'"{slash}root{slash}.venv"')
    assert not MACHINE.search(f"https:{slash}{slash}example.org{slash}home{slash}page")


RETIRED = frozenset(
    [
        "nameless",
        "misplaced",
        "waited",
        "lost_time",
        "unseen",
        "several",
        "troubles",
        "weighing",
        "quiet",
        "judging",
        "ranking",
        "confirming",
        "confirming_views",
        "printed",
        "remembered",
        "lasting",
        "predicted",
        "grades",
        "frozen",
        "draws",
        "sleeping",
        "course",
        "outlier",
        "same_interval",
        "held_out",
        "funnel",
        "right_of_way",
        "characters",
        "garbage",
        "outages",
        "outcomes",
        "verifier",
        "mark_verdicts",
        "aliases",
        "trial",
        "sending",
        "patience",
        "bulkhead",
        "fleet_rows",
        "fleet_schemas",
        "checked",
        "compared",
        "sureness",
        "action_said",
        "past_trouble",
        "restarted",
        "lazy",
        "mistakes",
        "refusals",
    ]
)
"""Names of modules that nobody could guess."""


def test_no_module_has_a_name_that_nobody_guesses() -> None:
    assert [str(path) for path in MODULES if path.stem in RETIRED] == []
