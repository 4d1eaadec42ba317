"""The walk of a sample: the tracer sees which functions it passes, and the real walk reaches all its ends."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.repo.sample_walk import GOAL, HOME, ORIGIN
from tests.repo.tracing import Tracer

TREE = {
    "rules/carried.py": (
        "from dataclasses import dataclass\n"
        "@dataclass(frozen=True)\nclass Snapshot:\n    rows: tuple\n    other: int = 5\n"
    ),
    "rules/passed.py": "def handed(snapshot, taker):\n    return taker(snapshot)\n",
    "rules/opened.py": "def total(snapshot):\n    return sum(row['sleeps'] for row in snapshot.rows)\n",
    "rules/shown.py": "def shown(text):\n    return len(text)\n",
    "rules/blind.py": "def blind(snapshot, taker):\n    return taker(snapshot)\n",
    "rules/elsewhere.py": "def elsewhere(snapshot):\n    return snapshot.other\n",
}


def test_tracer_sees_which_files_a_sample_passes(tmp_path: Path) -> None:
    parts = {}
    for name, text in TREE.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        spec = importlib.util.spec_from_file_location(f"rules.{path.stem}", path)
        assert spec and spec.loader
        parts[path.stem] = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(parts[path.stem])
    tracer = Tracer(tmp_path, marks=("86427",))
    tracer.request = "page"
    before = sys.getprofile()
    sys.setprofile(tracer)
    snapshot = parts["carried"].Snapshot(({"sleeps": 86427.1},))
    parts["passed"].handed(snapshot, parts["opened"].total)
    parts["blind"].blind(snapshot, parts["elsewhere"].elsewhere)
    parts["shown"].shown("86,427 sleeps")
    sys.setprofile(before)
    for stem in parts:
        del sys.modules[f"rules.{stem}"]
    assert {file: set(legs) for file, legs in tracer.walk().items()} == {
        "rules/carried.py": {"shape"},
        "rules/passed.py": {"page"},
        "rules/opened.py": {"page"},
        "rules/shown.py": {"page"},
    }


def test_tracer_recognises_the_marks() -> None:
    marked = Tracer(HOME, marks=("86427", "73194")).marked
    assert all(
        map(marked, (86427, 0.86427, 8642.7, "8,643 per second", "86.4273 %", b"a 731942086427\n", "86\u202f427"))
    )
    assert not any(map(marked, (86426, 0, True, "18642", "8643.2", "86 %", b"", "186427")))


@pytest.mark.soak
def test_sample_walk_reaches_its_ends_through_few_files() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.repo.sample_walk"],
        cwd=HOME,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    legs = {line.split()[0]: set(line.split()[1:]) for line in done.stdout.splitlines() if line.startswith("  ")}
    assert {"origin", "poll", "store", "metrics", "page"} <= set().union(*legs.values())
    assert set(ORIGIN) <= set(legs) and all((HOME / file).exists() for file in legs)
    assert "poll" in legs["collectors/poll.py"]
    found = re.match(r"files that one sample passes: (\d+)", done.stdout)
    assert found and int(found.group(1)) <= GOAL, done.stdout
