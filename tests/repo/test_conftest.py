"""With LATCHSCOPE_REQUIRE_ALL=1 no test may skip itself; deselecting by marker is no skip."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from tests.conftest import WAITING, pytest_collection_modifyitems

ROOT = Path(__file__).resolve().parents[2]

SKIPPING = {
    "test_skips": "import pytest\ndef test_it(): pytest.skip('no oracle here')\n",
    "test_marked": "import pytest\n@pytest.mark.skip(reason='no oracle here')\ndef test_it(): pass\n",
    "test_fixture": "import pytest\n@pytest.fixture\ndef it(): pytest.skip('no oracle here')\ndef test_it(it): pass\n",
    "test_file": "import pytest\npytest.skip('no oracle here', allow_module_level=True)\n",
}
HARMLESS = {
    "test_expected": "import pytest\n@pytest.mark.xfail\ndef test_it(): assert False\n",
    "test_deselected": "import pytest\n@pytest.mark.oracle\ndef test_it(): assert False\ndef test_on(): pass\n",
}


def outcomes(folder: Path, require_all: str) -> dict[str, set[str]]:
    """The outcome of each file of SKIPPING and HARMLESS, with its reason, from one run over all of them."""
    shutil.copy(ROOT / "tests" / "conftest.py", folder)
    for name, suite in {**SKIPPING, **HARMLESS}.items():
        (folder / f"{name}.py").write_text(suite, encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = oracle\n", encoding="utf-8")
    options = ["-q", "-rA", "-p", "no:cacheprovider", "-p", "no:xdist", "--continue-on-collection-errors"]
    command = [sys.executable, "-m", "pytest", *options, "-m", "not oracle", str(folder)]
    variables = {**os.environ, "LATCHSCOPE_REQUIRE_ALL": require_all, "PYTHONPATH": str(ROOT), "COLUMNS": "300"}
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, timeout=120, check=False)
    found: dict[str, set[str]] = {name: set() for name in (*SKIPPING, *HARMLESS)}
    for line in done.stdout.splitlines():
        if line.startswith(("PASSED", "FAILED", "ERROR", "SKIPPED", "XFAIL")):
            for name in found:
                if f"{name}.py" in line:
                    found[name].add(line)
    assert all(found.values()), done.stdout
    return found


def test_require_all_makes_every_kind_of_skip_fail_and_say_why(tmp_path: Path) -> None:
    found = outcomes(tmp_path, "1")
    for name in SKIPPING:
        (line,) = found[name]
        assert line.startswith(("FAILED", "ERROR")), line
        assert "LATCHSCOPE_REQUIRE_ALL=1 allows no skip" in line and "no oracle here" in line
    assert [line.split()[0] for name in HARMLESS for line in found[name]] == ["XFAIL", "PASSED"]


def test_skip_stays_a_skip_without_require_all(tmp_path: Path) -> None:
    found = outcomes(tmp_path, "")
    assert all(line.startswith("SKIPPED") for name in SKIPPING for line in found[name])


def test_files_that_wait_are_there_and_come_first() -> None:
    assert [name for name in WAITING if not (ROOT / name).is_file()] == []
    others = ["tests/repo/test_conftest.py", "tests/browser/test_pages_browser.py"]
    items = [SimpleNamespace(path=ROOT / name) for name in (*others, *reversed(WAITING))]
    pytest_collection_modifyitems(cast("list[pytest.Item]", items))
    assert [str(item.path.relative_to(ROOT)) for item in items] == [*WAITING, *others]
