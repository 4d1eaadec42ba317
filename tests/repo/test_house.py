"""The house rules that a machine can check: ceilings, imports, docstrings, names, and no trace of the machine of the author."""

import ast
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from collectors.registry import collectors
from rules.cause import HOME, catalogue
from rules.signals import SIGNALS
from service.metrics.families import FAMILIES
from tests.paths import ROOT
from tests.repo import ceilings
from tests.repo.ceilings import FLOORS, over

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
    if exceeded := over():
        pytest.fail("\n".join(exceeded), pytrace=False)


# Imports


def test_imports_run_one_way() -> None:
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0 and "0 broken" in done.stdout, done.stdout


def test_product_imports_nothing_from_tests(nodes: Mapping[str, Sequence[ast.AST]]) -> None:
    def imported(node: ast.AST) -> set[str]:
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        return {name.split(".")[0] for name in names}

    assert [path for path, each in nodes.items() for node in each if imported(node) & {"tests", "bench", "docs"}] == []


# Docstrings


def test_modules_and_public_classes_have_a_docstring(trees: Mapping[str, ast.Module]) -> None:
    """Of functions the ceilings count those without one."""
    assert [path for path, tree in trees.items() if not ast.get_docstring(tree)] == []
    classes = [(path, node) for path, tree in trees.items() for node in tree.body if isinstance(node, ast.ClassDef)]
    lacking = [(path, one.name) for path, one in classes if not (one.name.startswith("_") or ast.get_docstring(one))]
    assert lacking == []


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
