"""The rules of tests/conftest.py: which tests run, what they may cost, which skips are allowed, and how a run ends."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import conftest, skips
from tests.paths import ROOT

NPM = "npm is not installed (Debian package npm)"
AMTOOL = "amtool is not installed (Debian package prometheus-alertmanager)"
FILES = {
    "test_skips": f"import pytest\ndef test_it(): pytest.skip({NPM!r})\n",
    "test_fixture": f"import pytest\n@pytest.fixture\ndef it(): pytest.skip({NPM!r})\ndef test_it(it): pass\n",
    "test_file": f"import pytest\npytest.skip({NPM!r}, allow_module_level=True)\n",
    "test_expected": "import pytest\n@pytest.mark.xfail\ndef test_it(): assert False\n",
    "test_slow": "import pytest\n@pytest.mark.slow\ndef test_it(): assert False\ndef test_on(): pass\n",
    "test_all_slow": "import pytest\npytestmark = pytest.mark.slow\nraise ValueError('this file is not even imported')\n",
    "test_costly": "def test_it(): sum(range(5_000_000))\n",
}


def outcomes(folder: Path, require_all: str) -> tuple[dict[str, list[str]], str]:
    """Each file → the lines about it of one run over all of them; and the whole text."""
    conf = (ROOT / "tests" / "conftest.py").read_text(encoding="utf-8")
    (folder / "conftest.py").write_text(conf.replace("MOST_SECONDS = 2.0", "MOST_SECONDS = 0.02"), encoding="utf-8")
    for name, suite in FILES.items():
        (folder / f"{name}.py").write_text(suite, encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n  slow\n  soak\n", encoding="utf-8")
    options = ["-q", "-rA", "-p", "no:cacheprovider", "--continue-on-collection-errors"]
    variables = {**os.environ, "LATCHSCOPE_REQUIRE_ALL": require_all, "PYTHONPATH": str(ROOT), "COLUMNS": "300"}
    variables["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # half of the time of such a run
    command = [sys.executable, "-m", "pytest", *options, str(folder)]
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, timeout=120, check=False)
    said = re.findall(r"^(?:PASSED|FAILED|ERROR|SKIPPED|XFAIL) .*$", done.stdout, re.M)
    return {name: [line for line in said if f"{name}.py" in line] for name in FILES}, done.stdout


def test_slow_tests_are_left_out_costly_ones_fail_and_the_run_says_what_it_skipped(tmp_path: Path) -> None:
    found, said = outcomes(tmp_path, "")
    assert {name: [line.split()[0] for line in lines] for name, lines in found.items()} == {
        "test_skips": ["SKIPPED"],
        "test_fixture": ["SKIPPED"],
        "test_file": ["SKIPPED"],
        "test_expected": ["XFAIL"],
        "test_slow": ["PASSED"],
        "test_all_slow": [],
        "test_costly": ["FAILED"],
    }
    assert re.search(r"it took \d+\.\d s of processor, more than \d\.\d: make it smaller, or mark it `slow`", said)
    assert "3 tests skipped for want of npm; on Debian and Ubuntu: sudo apt-get install npm" in said


@pytest.mark.slow
def test_skip_is_a_failure_that_says_why_where_everything_is_required(tmp_path: Path) -> None:
    found, _ = outcomes(tmp_path, "1")
    for name in ("test_skips", "test_fixture", "test_file"):
        (line,) = found[name]
        assert (
            line.startswith(("FAILED", "ERROR")) and "LATCHSCOPE_REQUIRE_ALL=1 allows no skip" in line and NPM in line
        )
    assert found["test_expected"][0].startswith("XFAIL")


def test_programs_that_are_missing_are_named_once_with_the_command_that_brings_them() -> None:
    alertmanager = AMTOOL.replace("amtool", "prometheus-alertmanager")
    reasons = [NPM, f"Skipped: {AMTOOL}", NPM, alertmanager, skips.REPORTS, "no control group", "uv is not installed"]
    assert [*skips.lines(reasons)] == [
        "4 tests skipped for want of amtool, npm, prometheus-alertmanager; "
        "on Debian and Ubuntu: sudo apt-get install npm prometheus-alertmanager",
        "1 test skipped without the anonymised reports, which the project may not carry",
        "2 tests skipped for another reason; the lines above say which",
    ]
    assert [*skips.lines([])] == []


def test_lists_of_conftest_name_what_is_there() -> None:
    assert [name for name in conftest.WAITING if not (ROOT / name).is_file()] == []
    assert len(conftest.KEPT) <= conftest.MOST_KEPT and all(len(reason) > 20 for reason in conftest.KEPT.values())
    for file, _, name in (nodeid.partition("::") for nodeid in conftest.KEPT):
        text = (ROOT / file).read_text(encoding="utf-8")
        assert f"def {name.partition('[')[0]}(" in text and not conftest.SLOW_FILE.search(text), f"{file}::{name}"
