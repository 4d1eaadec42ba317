"""A run ends with what it skipped for want of which program, and the command that brings it."""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests import skips
from tests.paths import ROOT

NPM = "npm is not installed (Debian package npm)"
AMTOOL = "amtool is not installed (Debian package prometheus-alertmanager)"
ALERTMANAGER = "prometheus-alertmanager is not installed (Debian package prometheus-alertmanager)"


def test_programs_are_named_once_with_the_command_that_brings_them() -> None:
    assert [*skips.lines([NPM, f"Skipped: {AMTOOL}", NPM, ALERTMANAGER])] == [
        "4 tests skipped for want of amtool, npm, prometheus-alertmanager; "
        "on Debian and Ubuntu: sudo apt-get install npm prometheus-alertmanager"
    ]


def test_reports_and_other_reasons_have_lines_of_their_own() -> None:
    assert [*skips.lines([skips.REPORTS, "no control group", "uv is not installed"])] == [
        "1 test skipped without the anonymised reports, which the project may not carry",
        "2 tests skipped for another reason; the lines above say which",
    ]
    assert [*skips.lines([])] == []


def test_run_ends_with_the_line(tmp_path: Path) -> None:
    skip = f"import pytest\ndef test_it(): pytest.skip({NPM!r})\n"
    (tmp_path / "conftest.py").write_bytes((ROOT / "tests" / "conftest.py").read_bytes())
    (tmp_path / "test_one.py").write_text(skip, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-ra", "-p", "no:cacheprovider", "-n", "1", str(tmp_path)]
    variables = {**os.environ, "LATCHSCOPE_REQUIRE_ALL": "", "PYTHONPATH": str(ROOT), "COLUMNS": "300"}
    done = subprocess.run(
        command, cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=120, check=False
    )
    listed, told, counted = done.stdout.splitlines()[-3:]
    assert listed.startswith("SKIPPED [1] test_one.py") and counted.startswith("1 skipped")
    assert told == "1 test skipped for want of npm; on Debian and Ubuntu: sudo apt-get install npm"


def test_every_skip_for_want_of_a_program_names_its_package() -> None:
    skipping = re.compile(r"skip\(\s*f?\"([^\"]* is not installed[^\"]*)\"")
    found = [
        words for path in sorted((ROOT / "tests").rglob("*.py")) for words in skipping.findall(path.read_text("utf-8"))
    ]
    assert len(found) > 5
    assert [words for words in found if not skips.PROGRAM.match(words)] == ["uv is not installed"], "Debian has no uv"
