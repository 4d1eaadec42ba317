"""The structure: tests.repo.structure measures what is there, and the gates hold for this checkout."""

from functools import cache
from pathlib import Path

import pytest

from tests.each import each
from tests.repo import structure
from tests.repo.structure import (
    LAYERS,
    Arrow,
    arrows,
    cycles,
    layered,
    long,
    modules,
    repeated,
    report,
    undeclared,
    upward,
)

HERE = modules(structure.HOME)
LONG_FUNCTIONS = 3
"""The goal is 3. Add none meanwhile."""
REPEATED_TYPES = 0
"""The goal is 0. Add none meanwhile."""

WRONG = {
    "collectors/model.py": "class Row:\n    pass\n",
    "rules/engine.py": (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from rules import ranking\n"
        "class Row:\n    def longest(self):\n" + "        told = one = 1\n" * 50 + "P = 1\n_Row = Row\n"
    ),
    "rules/ranking.py": "def lazy():\n    from . import engine\n    # one comment, told\n    return engine\n",
    "rules/model.py": "import service.app\n\nRow = int\n",
    "service/app.py": "import collectors.model, json\n",
    "service/store/migrations/versions/0001.py": "import service.app\n",
}


@pytest.fixture
def wrong(tmp_path: Path) -> Path:
    """A checkout with every measured mistake."""
    for name, text in WRONG.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_measures_see_planted_faults(wrong: Path) -> None:
    known = modules(wrong)
    assert arrows(known) == {
        ("rules.engine", "rules.ranking"),
        ("rules.ranking", "rules.engine"),
        ("rules.model", "service.app"),
        ("service.app", "collectors.model"),
    }
    assert cycles(arrows(known)) == [["rules.engine", "rules.ranking"]]
    assert upward(arrows(known), "", LAYERS[""]) == [("rules.model", "service.app")]
    assert long(known.values()) == [("rules.engine.Row.longest", 51)]
    assert repeated(known.values()) == {"Row": ["collectors.model", "rules.engine", "rules.model"]}
    assert structure.words(known["rules.engine"]) == {"one": 50, "told": 50}
    assert structure.words(known["rules.ranking"]) == {}


def test_report_names_what_is_wrong(wrong: Path) -> None:
    lines = list(report(wrong))
    assert "import cycles: 1 (goal 0)" in lines
    assert "  rules/model.py imports service.app" in lines
    assert not any("upward arrows in service" in line for line in lines)  # there are no wings


def test_layer_neighbours_may_not_import_each_other() -> None:
    layers = ("a | b", "c")
    assert upward({("x.a.m", "x.b"), ("x.c", "x.a"), ("x.a", "x.c"), ("x.a", "x.a.m")}, "x", layers) == [
        ("x.a.m", "x.b"),
        ("x.c", "x.a"),
    ]
    assert undeclared(["x.a.m", "x.d", "y.e"], "x", layers) == ["d"]


@cache
def drawn() -> set[Arrow]:
    """Every import of product code, drawn once."""
    return arrows(HERE)


def test_imports_have_no_cycles() -> None:
    assert cycles(drawn()) == []


@each("package", LAYERS)
def test_imports_never_go_up_a_layer(package: str) -> None:
    assert package in layered(structure.HOME)
    assert upward(drawn(), package, LAYERS[package]) == []
    assert undeclared(HERE, package, LAYERS[package]) == []


def test_functions_over_the_length_limit_stay_few() -> None:
    assert len(long(HERE.values())) <= LONG_FUNCTIONS, long(HERE.values())


def test_type_name_stands_for_one_type() -> None:
    assert len(repeated(HERE.values())) <= REPEATED_TYPES, repeated(HERE.values())
