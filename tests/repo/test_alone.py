"""A checkout stands on its own: nothing in tests, bench, docs or examples reads what is beside it."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.paths import ROOT

FOLDERS = (".ci", "bench", "dashboards", "docs", "examples", "tests")
FILES = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "Makefile", "mkdocs.yml", "pyproject.toml")
ONE_DOOR = "tests/conftest.py"
"""The only file with a way out. The anonymised reports may be beside the checkout, and its found_reports looks for them."""
BESIDE = re.compile(r"(?:\.\./)+shared/|\bshared/data\b|^shared$")
PARENTS = re.compile(r"parents\[(\d+)\]")


def climbs(text: str, depth: int) -> Iterator[str]:
    """Each way out of the checkout in the source of a module that is `depth` folders below it."""
    for node in ast.walk(ast.parse(text)):
        words = ast.unparse(node) if isinstance(node, ast.Subscript | ast.Attribute) else ""
        if isinstance(node, ast.Subscript):
            found = PARENTS.search(words)
            outside = found is not None and "__file__" in words and int(found[1]) > depth
        elif isinstance(node, ast.Attribute):
            above = "__file__" in words and words.count(".parent") > depth + 1
            outside = node.attr == "parent" and (above or words == "ROOT.parent")
        else:
            outside = isinstance(node, ast.Constant) and isinstance(node.value, str) and bool(BESIDE.search(node.value))
            words = ast.unparse(node) if outside else ""
        if outside:
            yield words


def ways_out(path: Path) -> list[str]:
    """The ways out of the checkout that a file of the tree has."""
    text = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix == ".py":
        return sorted(climbs(text, len(path.relative_to(ROOT).parts) - 1))
    return [found[0] for found in BESIDE.finditer(text)]


def scanned() -> Iterator[Path]:
    """Every file of ours but this one."""
    for path in (path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*"))):
        ours = path.is_file() and path.suffix != ".pyc" and "node_modules" not in path.parts
        if ours and path != Path(__file__).resolve():
            yield path
    yield from (ROOT / name for name in FILES)


def test_nothing_looks_outside_the_checkout() -> None:
    found = {str(path.relative_to(ROOT)): out for path in scanned() if (out := ways_out(path))}
    assert found == {ONE_DOOR: ["'shared'", "ROOT.parent"]}


PLANTED = (
    'DATA = Path(__file__).parents[4] / "data"',
    "DATA = Path(__file__).resolve().parents[3] / 'x'",
    "DATA = ROOT.parent / 'x'",
    "DATA = Path(__file__).parent.parent.parent.parent / 'x'",
    'open("../shared/data/seeds/vmtasks.csv")',
    'run("diagnose", "shared/data/probes/P00.json")',
)


@pytest.mark.parametrize("line", PLANTED)
def test_planted_way_out_is_noticed(line: str) -> None:
    assert [*climbs(line, depth=2)]


def test_way_within_the_checkout_is_none() -> None:
    inside = "A = Path(__file__).parents[2] / 'examples'\nB = Path(__file__).parent.parent.parent\nC = tmp_path.parent"
    assert [*climbs(inside, depth=2)] == []
