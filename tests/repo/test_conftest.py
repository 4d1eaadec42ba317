"""With LATCHSCOPE_REQUIRE_ALL=1 no test may skip itself; deselecting by marker is no skip."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

SUITES = {
    "a test that skips": "import pytest\ndef test_it(): pytest.skip('no oracle here')\n",
    "a test marked to skip": "import pytest\n@pytest.mark.skip(reason='no oracle here')\ndef test_it(): pass\n",
    "a fixture that skips": (
        "import pytest\n@pytest.fixture\ndef it(): pytest.skip('no oracle here')\ndef test_it(it): pass\n"
    ),
    "a file that skips": "import pytest\npytest.skip('no oracle here', allow_module_level=True)\n",
}
HARMLESS = {
    "a test that is expected to fail": "import pytest\n@pytest.mark.xfail\ndef test_it(): assert False\n",
    "a test of another marker": "import pytest\n@pytest.mark.oracle\ndef test_it(): assert False\ndef test_on(): pass\n",
}


def run(suite: str, folder: Path, require_all: str) -> subprocess.CompletedProcess[str]:
    shutil.copy(ROOT / "tests" / "conftest.py", folder)
    (folder / "test_suite.py").write_text(suite, encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = oracle\n", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not oracle", str(folder)]
    variables = {**os.environ, "LATCHSCOPE_REQUIRE_ALL": require_all, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("suite", SUITES)
def test_require_all_makes_a_skip_fail_and_say_why(suite: str, tmp_path: Path) -> None:
    done = run(SUITES[suite], tmp_path, "1")
    assert done.returncode != 0, done.stdout
    assert "LATCHSCOPE_REQUIRE_ALL=1 allows no skip" in done.stdout
    assert "no oracle here" in done.stdout


def test_skip_stays_a_skip_without_require_all(tmp_path: Path) -> None:
    done = run(SUITES["a test that skips"], tmp_path, "")
    assert done.returncode == 0, done.stdout
    assert "1 skipped" in done.stdout


@pytest.mark.parametrize("suite", HARMLESS)
def test_require_all_leaves_xfail_and_deselected_tests_alone(suite: str, tmp_path: Path) -> None:
    done = run(HARMLESS[suite], tmp_path, "1")
    assert done.returncode == 0, done.stdout
