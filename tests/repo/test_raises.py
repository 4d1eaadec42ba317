"""What a docstring says that a function raises is a class: of the project, of Python, or of a package that the file imports."""

import ast
import builtins
import importlib
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

from tests.paths import ROOT

FOLDERS = ("collectors", "rules", "service", "bench", "docs", "dashboards", "tests")
NAME = r"`?((?:[a-z_]+\.)?[A-Z]\w*[a-z]\w*|[a-z_]+\.[a-z]\w+)`?"
MORE = rf"\s*(?:[,;]|\b(?:or|and)\b)\s*(?:(?:or|and)\s+)?{NAME}"
LATER = re.compile(r"[,;]\s*(?:(?:or|and)\s+)?`?([A-Z][a-z]+[A-Z]\w*)`?")
"""A further class after a condition, as in "Raises ValueError if it is empty, StoreError if it is locked"."""


def raised(text: str) -> Iterator[str]:
    """The classes that a docstring says are raised."""
    for found in re.finditer(rf"\braises\s+(?={NAME})", text, re.IGNORECASE):
        sentence = re.split(r"\.(?=\s|$)", text[found.end() :], maxsplit=1)[0]
        place = 0
        while match := re.compile(MORE if place else NAME).match(sentence, place):
            yield match[1]
            place = match.end()
        yield from LATER.findall(sentence, place)


def unknown(source: str) -> list[str]:
    """The classes that a file's docstrings say are raised, and that are none, each with its line."""
    tree = ast.parse(source)
    imported = set(_imported(tree))
    return [
        f"{node.lineno}: {name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for name in raised(node.value.value)
        if not (name in _ours() or hasattr(builtins, name) or _installed(name, imported))
    ]


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module


def _installed(name: str, imported: set[str]) -> bool:
    """Whether one of the packages of these modules has that class, in a module that is loaded."""
    place, _, last = name.rpartition(".")
    for each in sorted(imported):
        package = each.partition(".")[0]
        if package in FOLDERS or (place and place != each):
            continue
        with suppress(ImportError):
            importlib.import_module(each)
        inside = [module for key, module in list(sys.modules.items()) if f"{key}.".startswith(f"{package}.")]
        if any(isinstance(vars(module).get(last), type) for module in inside if module is not None):
            return True
    return False


def _files() -> list[Path]:
    return [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]


@cache
def _ours() -> frozenset[str]:
    """The names of all classes of the project."""
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in _files())
    return frozenset(node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef))


def test_what_docstrings_say_is_raised_is_a_class() -> None:
    wrong = {
        str(path.relative_to(ROOT)): names
        for path in _files()
        if "raises" in (text := path.read_text(encoding="utf-8")).lower() and (names := unknown(text))
    }
    assert wrong == {}


def test_class_that_is_not_there_is_noticed() -> None:
    planted = '''
import zlib

def first():
    """Read it. Raises StoreTrouble."""

def second():
    """Every method raises ValueError, Full or zlib.error; NotThere if it is late."""

def third():
    """Raises 403, or what the store does. Raises `KeyError` if it is
    empty, LostAgain otherwise."""
'''
    assert unknown(planted) == ["5: StoreTrouble", "8: Full", "8: NotThere", "11: LostAgain"]
    assert unknown('"""Raises zlib.error."""') == ["1: zlib.error"], "a package that the file does not import"
