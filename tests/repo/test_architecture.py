"""The two walks of docs/architecture.md, of a poll and of a page: each stop is there, and in touch with one before it."""

import ast
import re
from itertools import pairwise

import grimp

from tests.paths import ROOT
from tests.repo.ceilings import FLOORS

PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
EVERY = re.findall(r"^\| (\d+) \| \[(\S+\.py)\]\(\.\./\S+\) \| `([\w.]+)` \|", PAGE, re.M)
SECOND = [number for number, *_ in EVERY].index("1", 1)
STOPS, STAYS = ([(path, name) for _, path, name in part] for part in (EVERY[:SECOND], EVERY[SECOND:]))
MOST_STAYS = 23
LOADED_BY_NAME = {"collectors.views.latch_children", "rules.signals.latch"}
"""Modules that are found by their folder, so that nothing needs to import them."""


def defined(path: str) -> set[str]:
    """Names that a file defines at its top, and the methods of its classes as `Class.method`."""
    names: set[str] = set()
    for node in ast.parse((ROOT / path).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
            names |= {f"{node.name}.{part.name}" for part in node.body if isinstance(part, ast.FunctionDef)}
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return names


def test_there_are_twenty_stops_and_each_has_what_the_page_looks_for() -> None:
    assert len(STOPS) == 20
    assert [f"{path}: {name}" for path, name in (*STOPS, *STAYS) if name not in defined(path)] == []


def test_each_stop_is_in_touch_with_one_before_it() -> None:
    imports = grimp.build_graph(*FLOORS, cache_dir=None).find_modules_directly_imported_by
    names = [path.removesuffix(".py").replace("/", ".") for path, _ in STOPS]
    lost = [
        name
        for place, name in enumerate(names)
        if place > 1  # the worker begins anew: it takes the turn in which the view is read
        and name not in LOADED_BY_NAME
        and not any(before in imports(name) or name in imports(before) for before in names[:place])
    ]
    assert lost == [], "it neither imports an earlier stop, nor is imported by one"


def test_each_stay_of_a_page_is_in_touch_with_the_one_before() -> None:
    imports = grimp.build_graph(*FLOORS, cache_dir=None).find_modules_directly_imported_by
    names = [path.removesuffix(".py").replace("/", ".") for path, _ in STAYS]
    assert 20 <= len(names) < MOST_STAYS, "with the template"
    lost = [
        f"{one} → {other}" for one, other in pairwise(names) if other not in imports(one) and one not in imports(other)
    ]
    assert lost == [], "it neither imports the stay before it, nor is imported by it"
