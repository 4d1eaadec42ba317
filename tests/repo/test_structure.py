"""The structure: tests.repo.structure measures what is there, and the gates hold for this checkout."""

import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.repo import structure
from tests.repo.structure import (
    Arrow,
    arrows,
    cycles,
    long,
    modules,
    report,
)

HERE = modules(structure.HOME)
LONG_FUNCTIONS = 3
"""The goal is 3. Add none meanwhile."""

WRONG = {
    "collectors/model.py": "class Row:\n    pass\n",
    "rules/engine.py": (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from rules import later\n"
        "class Row:\n    def longest(self):\n" + "        told = one = 1\n" * 60 + "P = 1\n_Row = Row\n"
    ),
    "rules/later.py": "def lazy():\n    from . import engine\n    # one comment, told\n    return engine\n",
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
        ("rules.engine", "rules.later"),
        ("rules.later", "rules.engine"),
        ("rules.model", "service.app"),
        ("service.app", "collectors.model"),
    }
    assert cycles(arrows(known)) == [["rules.engine", "rules.later"]]
    assert long(known.values()) == [("rules.engine.Row.longest", 61)]
    assert structure.words(known["rules.engine"]) == {"one": 60, "told": 60}
    assert structure.words(known["rules.later"]) == {}


def test_report_names_what_is_wrong(wrong: Path) -> None:
    lines = list(report(wrong))
    assert "import cycles: 1 (goal 0)" in lines


@cache
def drawn() -> set[Arrow]:
    """Every import of product code, drawn once."""
    return arrows(HERE)


def test_imports_have_no_cycles() -> None:
    assert cycles(drawn()) == []


def test_functions_over_the_length_limit_stay_few() -> None:
    assert len(long(HERE.values())) <= LONG_FUNCTIONS, long(HERE.values())


ONCE = 113
"""Private helpers of at most three lines that are used once. The number may only fall."""


def test_tiny_helpers_that_are_used_once_only_get_fewer() -> None:
    once = structure.used_once(HERE.values(), structure.TINY)
    assert len(once) <= ONCE, f"say it where it is used: {once}"


def test_helper_used_once_is_seen() -> None:
    text = "def _a(x):\n    return x\ndef _b(x):\n    return x\ndef c():\n    return _a(1) + _b(1) + _b(2)\n"
    assert structure.used_once([structure.Module("rules.a", Path("rules/a.py"), text)], 3) == ["rules.a._a"]


ROOMS = {
    ("rules.studies", "service.render.study", "service.cli.study", "service.web.pages.study"): (),
    ("service.top", "service.cli.top"): (),
    ("service.cli.mcp",): (),
}
"""Modules of a side room, with its command and page, and what alone may import them: where its routes or threads start."""


def modules_of(room: tuple[str, ...]) -> set[str]:
    return {name for name in HERE if any(name == part or name.startswith(f"{part}.") for part in room)}


def test_a_side_room_is_imported_only_where_it_is_plugged_in() -> None:
    for room, sockets in ROOMS.items():
        inside = modules_of(room)
        assert len(inside) >= len(room), f"{room} is not where it was"
        outside = {source for source, target in drawn() if target in inside} - inside
        assert outside == set(sockets), f"{room} is needed by more than its sockets"


IMPORT = """
import importlib, sys
for name in sys.stdin.read().split():
    importlib.import_module(name)
print("imported", len([name for name in sys.modules if name.split(".")[0] in ("collectors", "rules", "service")]))
"""


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The product in a folder of its own."""
    home = tmp_path_factory.mktemp("copy")
    for folder in ("collectors", "rules", "service"):
        shutil.copytree(structure.HOME / folder, home / folder, ignore=shutil.ignore_patterns("__pycache__", "site"))
    return home


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room[0])
def test_a_side_room_can_be_taken_out(room: tuple[str, ...], copied: Path, tmp_path: Path) -> None:
    """In a copy without its files, everything that does not plug it in is imported."""
    assert imported(copied, room, tmp_path) == ""


def test_a_room_that_others_need_cannot_be_taken_out(copied: Path, tmp_path: Path) -> None:
    assert "No module named 'service.escape'" in imported(copied, ("service.escape",), tmp_path)


def imported(home: Path, room: tuple[str, ...], aside: Path) -> str:
    """The error of importing all of a copy but a room and what plugs it in. Empty if there is none."""
    without = modules_of(room)
    plugged = set(ROOMS.get(room, ()))
    while more := {source for source, target in drawn() if target in plugged} - plugged:
        plugged |= more
    rest = sorted(name for name in HERE if name not in without | plugged and ".migrations" not in name)
    assert len(rest) > 200
    paths = [home.joinpath(*part.split(".")) for part in room]
    taken = [path if path.is_dir() else path.with_suffix(".py") for path in paths]
    moved = [path.rename(aside / f"{place}") for place, path in enumerate(taken)]
    try:
        command = [sys.executable, "-c", IMPORT]
        names = "\n".join(rest)
        done = subprocess.run(command, cwd=home, input=names, capture_output=True, text=True, check=False)
    finally:
        for path, away in zip(taken, moved, strict=True):
            away.rename(path)
    return done.stderr[-2000:]
