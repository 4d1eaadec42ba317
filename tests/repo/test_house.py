"""The house rules that a machine can check: ceilings, imports, docstrings, names, and no trace of the machine of the author."""

import ast
import builtins
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from pathlib import Path

import pytest

from collectors.registry import collectors
from rules.cause import HOME, catalogue
from rules.signals import SIGNALS
from service.metrics.families import FAMILIES
from tests.paths import ROOT
from tests.repo import ceilings
from tests.repo.ceilings import FLOORS, Ceiling, over

MODULES = sorted(path.relative_to(ROOT) for floor in FLOORS for path in (ROOT / floor).rglob("*.py"))


@pytest.fixture(scope="module")
def trees() -> Mapping[str, ast.Module]:
    """Module of the product → its syntax tree, without migrations, which a tool makes."""
    return {str(path.relative_to(ROOT)): tree for path, tree in ceilings.trees()}


@pytest.fixture(scope="module")
def nodes(trees: Mapping[str, ast.Module]) -> Mapping[str, Sequence[ast.AST]]:
    """The same, with every node of the tree."""
    return dict(zip(trees, ceilings.nodes(), strict=True))


# Ceilings


@pytest.mark.usefixtures("nodes")
def test_no_ceiling_is_exceeded() -> None:
    assert over() == []


def test_ceiling_that_is_exceeded_is_named_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    one = Ceiling("product lines", lambda: 11, 10, 5)
    monkeypatch.setattr(ceilings, "CEILINGS", (one, replace(one, most=11), replace(one, most=12, reason="a new wing")))
    assert over() == [
        "product lines: 11 are more than 10; take something away, or raise the ceiling in tests/repo/ceilings.py with the "
        "reason beside it"
    ]


# Imports


def lint(home: Path) -> subprocess.CompletedProcess[str]:
    """import-linter over a tree, without its cache."""
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    return subprocess.run(command, cwd=home, capture_output=True, text=True, timeout=60, check=False)


def test_imports_run_one_way() -> None:
    done = lint(ROOT)
    assert done.returncode == 0 and "0 broken" in done.stdout, done.stdout


PLANTED = {
    "collectors/delta.py": ("import rules.model", "collectors.delta -> rules.model"),
    "rules/engine.py": ("from collectors.poll import poll", "rules.engine -> collectors.poll"),
    "rules/formatting.py": ("import oracledb", "rules.formatting -> oracledb"),
    "rules/model.py": ("import rules.engine", "rules.model"),
    "service/cli/serve.py": ("import service.cli.mcp", "service.cli.serve -> service.cli.mcp"),
    "service/state/board.py": ("import service.cli.top", "service.state.board -> service.cli.top"),
}
"""Module → a forbidden import, and import-linter's name for it."""


def test_import_contracts_notice_planted_imports(tmp_path: Path) -> None:
    for floor in FLOORS:
        shutil.copytree(ROOT / floor, tmp_path / floor, ignore=shutil.ignore_patterns("__pycache__", "site"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for module, (wrong, _) in PLANTED.items():
        with (tmp_path / module).open("a", encoding="utf-8") as planted:
            planted.write(f"\n{wrong}\n")
    done = lint(tmp_path)
    assert done.returncode != 0
    assert [named for _, named in PLANTED.values() if named not in done.stdout] == [], done.stdout


def test_product_imports_nothing_from_tests(nodes: Mapping[str, Sequence[ast.AST]]) -> None:
    def imported(node: ast.AST) -> set[str]:
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        return {name.split(".")[0] for name in names}

    assert [path for path, each in nodes.items() for node in each if imported(node) & {"tests", "bench", "docs"}] == []


# Docstrings


def parts_of(annotation: ast.expr | None) -> set[str]:
    """The alternatives of an annotation: `float | None` is float and None."""
    if isinstance(annotation, ast.BinOp):
        return parts_of(annotation.left) | parts_of(annotation.right)
    return {ast.unparse(annotation)} if annotation else set()


def needs_words(function: ast.FunctionDef, errors: Set[str]) -> bool:
    """Whether its name and types leave open what a number counts, when it returns None, or which of our errors it raises."""
    returned = parts_of(function.returns)
    taken = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    numbers = {"int", "float"} & returned.union(*(parts_of(one.annotation) for one in taken))
    perhaps = "None" in returned and len(returned) > 1
    raised = {
        ast.unparse(node.exc.func if isinstance(node.exc, ast.Call) else node.exc).rpartition(".")[2]
        for node in ast.walk(function)
        if isinstance(node, ast.Raise) and node.exc
    }
    return bool(numbers or perhaps or raised & errors)


def unexplained(tree: ast.Module, errors: Set[str]) -> list[str]:
    """Public classes without a docstring, and public functions that need one and lack it."""
    bodies = (tree.body, *(node.body for node in tree.body if isinstance(node, ast.ClassDef)))
    return [
        node.name
        for body in bodies
        for node in body
        if isinstance(node, ast.ClassDef | ast.FunctionDef)
        and not (node.name.startswith("_") or ast.get_docstring(node))
        and (isinstance(node, ast.ClassDef) or needs_words(node, errors))
    ]


@pytest.fixture(scope="module")
def errors(nodes: Mapping[str, Sequence[ast.AST]]) -> Set[str]:
    """Names of the classes of this project that can be raised."""
    bases = {
        node.name: {ast.unparse(base).rpartition(".")[2] for base in node.bases}
        for each in nodes.values()
        for node in each
        if isinstance(node, ast.ClassDef)
    }
    found = {"Exception"}
    while more := {name for name, of in bases.items() if of & found} - found:
        found |= more
    return found - {"Exception"}


def test_docstrings_explain_modules_classes_and_what_types_leave_open(
    trees: Mapping[str, ast.Module], errors: Set[str]
) -> None:
    assert [path for path, tree in trees.items() if not ast.get_docstring(tree)] == [], "a module"
    lacking = {path: names for path, tree in trees.items() if (names := unexplained(tree, errors))}
    assert lacking == {}, "a public class, or a function with a unit, an error or a None"


@pytest.mark.parametrize(
    ("code", "lacks"),
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
def test_docstring_check_knows_what_must_be_explained(code: str, lacks: bool, errors: Set[str]) -> None:
    assert bool(unexplained(ast.parse(code), errors)) is lacks


RAISES = re.compile(r"\braises\s+`?(\w*[A-Z]\w*[a-z]\w*)`?(?:(?:,| or|, or)\s+`?([A-Z]\w*[a-z]\w*)`?)?", re.IGNORECASE)


def test_errors_that_docstrings_name_exist(nodes: Mapping[str, Sequence[ast.AST]]) -> None:
    every = [node for each in nodes.values() for node in each]
    said = [
        str(node.value.value) for node in every if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    ]
    named = {name for text in said if "aises" in text for names in RAISES.findall(text) for name in names}
    named = {name for name in named if name[:1].isupper()}
    used = {node.id for node in every if isinstance(node, ast.Name)}
    used |= {node.name for node in every if isinstance(node, ast.ClassDef)}
    assert {"StoreError", "ValueError"} <= named
    assert sorted(name for name in named - used if not hasattr(builtins, name)) == []


# Names


def test_metric_is_named_in_one_place(nodes: Mapping[str, Sequence[ast.AST]]) -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path, each in nodes.items():
        for node in each:
            if isinstance(node, ast.Constant) and re.fullmatch(r"latchscope_[a-z_]+", str(node.value)):
                places[str(node.value)].append(path)
    assert {name for name, one in FAMILIES.items() if not one.row} <= set(places)
    assert {name: where for name, where in places.items() if len(where) > 1} == {}, "refer to the family instead"
    assert [name for name in places if name.endswith("_")] == [], "nobody can search for a composed name"


def test_views_signals_and_causes_are_all_described_for_people() -> None:
    page = (HOME / "README.md").read_text(encoding="utf-8")
    assert [name for name in SIGNALS if f"`{name}`" not in page] == []
    assert [view for view, one in collectors().items() if not (one.about and one.without)] == []
    assert [one.id for one in catalogue().values() if len(one.explanation) < 80 or not one.remedy] == []


def test_tests_are_in_the_folder_of_what_they_test() -> None:
    folders = {path.parent for path in MODULES}
    tests = [
        path.relative_to(ROOT / "tests") for floor in FLOORS for path in (ROOT / "tests" / floor).rglob("test_*.py")
    ]
    assert sorted({str(path.parent) for path in tests if path.parent not in folders}) == []
    assert list((ROOT / "tests").rglob("__init__.py")) == [], "test folders are no packages"


# The machine

TEXT = {
    "", ".py", ".yaml", ".yml", ".md", ".toml", ".json", ".html", ".js", ".css", ".sql", ".j2", ".sh", ".cfg", ".ini",
    ".txt",
}  # fmt: skip
MACHINE = re.compile(r"(?<![\w.~$}/-])/(?:" + "|".join(("work", "root", "home")) + r")/[\w.]")
BESIDE = re.compile(r"(?:\.\./)+shared/|\bshared/data\b")
"""A way out of the checkout. Only tests/conftest.py has one, to reports that the project may not carry."""


def test_files_mention_neither_the_machine_nor_what_is_beside_the_checkout() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:80]}"
        for path in ceilings.files(".", "")
        if path.suffix in TEXT and path != Path(__file__).resolve()
        for text in [path.read_text(encoding="utf-8", errors="replace")]
        if re.search("/(?:work|root|home|data)/|shared/", text)
        for number, line in enumerate(text.splitlines(), 1)
        if MACHINE.search(line) or BESIDE.search(line)
    ]
    assert found == []


def test_machine_check_notices_a_path_of_the_machine() -> None:
    slash = "/"
    assert MACHINE.search(f"see {slash}work{slash}main") and MACHINE.search(f'"{slash}root{slash}.venv"')
    assert not MACHINE.search(f"https:{slash}{slash}example.org{slash}home{slash}page")
    assert BESIDE.search("../shared/x.csv") and BESIDE.search('"shared/data/probes"')


CLIMBS = re.compile(r"__file__\)[\w.()]*\.parents\[(\d+)\]|__file__\)[\w()]*((?:\.parent\b){2,})|\bROOT\.(parent)\b")


def test_no_module_climbs_out_of_the_checkout() -> None:
    ways = [
        (str(inside), match[0])
        for folder in ("bench", "dashboards", "docs", "examples", "tests")
        for path in ceilings.files(folder, ".py")
        for inside in [path.relative_to(ROOT)]
        for match in CLIMBS.finditer(path.read_text(encoding="utf-8"))
        if path != Path(__file__).resolve()
        and (match[3] or int(match[1] or match[2].count(".parent") - 1) >= len(inside.parts))
    ]
    assert ways == [("tests/conftest.py", "ROOT.parent")]
