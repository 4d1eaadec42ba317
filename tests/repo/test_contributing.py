"""The worked examples of CONTRIBUTING.md, followed as printed in a copy of the tree: they name the right files, and the
tests pass.
"""

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
COPIED = ("collectors", "rules", "service", "docs", "tests")
FILES = ("uv.lock", *(path.name for path in ROOT.glob("*.md")), "pyproject.toml")
DONE = """
import sys, pytest
from docs import build
build.main()
sys.exit(pytest.main(sys.argv[1:]))
"""
CONCERNED = (
    "tests/collectors/test_registry.py",
    "tests/collectors/test_live_setup.py",
    "tests/collectors/test_statements.py",
    "tests/service/watch/test_sampling.py",
)


@dataclass(frozen=True, slots=True)
class Printed:
    """A file that an exercise prints, whole or as a diff."""

    path: str
    language: str
    text: str

    def write(self, root: Path) -> None:
        """Follow the exercise. A diff must fit in exactly one place."""
        path = root / self.path
        if self.language != "diff":
            assert not path.exists(), f"{self.path} is there already"
            path.write_text(self.text, encoding="utf-8")
            return
        lines = self.text.splitlines(keepends=True)
        before = "".join(line[1:] for line in lines if line[0] in " -")
        after = "".join(line[1:] for line in lines if line[0] in " +")
        text = path.read_text(encoding="utf-8")
        assert text.count(before) == 1, f"the lines around the change stand {text.count(before)} times in {self.path}"
        path.write_text(text.replace(before, after), encoding="utf-8")


def exercise(title: str) -> list[Printed]:
    """The files that an exercise has you write, in order."""
    section = TEXT.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    found = re.findall(r"^\*\*\d\. `(\S+)`\*\*.*?^```(\w+)\n(.*?)^```", section, re.DOTALL | re.MULTILINE)
    return [Printed(*one) for one in found]


@pytest.mark.parametrize("title", ["Add a cause", "Add a view", "Add a setting"])
def test_exercise_touches_two_files(title: str) -> None:
    assert len({one.path for one in exercise(title)}) == len(exercise(title)) == 2


def test_exercises_work_as_printed(tmp_path: Path) -> None:
    for folder in COPIED:
        shutil.copytree(
            ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__", "data", "upgrade")
        )
    for file in FILES:
        shutil.copy(ROOT / file, tmp_path / file)
    for printed in (*exercise("Add a view"), *exercise("Add a setting")):
        printed.write(tmp_path)
    command = [sys.executable, "-c", DONE, "-q", "-p", "no:cacheprovider", *CONCERNED]
    # The same process makes the documents; it has imported all of the service before pytest checks its plugins.
    command += ["-k", "librarycache or containers or deadlines", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    made = (tmp_path / "docs" / "configuration.md").read_text(encoding="utf-8")
    assert "| `oracle.close_timeout` | `2s` | Time to close a session." in made
    assert "`sys.v_$librarycache`" in (tmp_path / "docs" / "oracle.md").read_text(encoding="utf-8")
