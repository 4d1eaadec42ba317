"""`latchscope demo` as a process, over its scripts and over the wire: from the start to verdicts over REST, until a signal."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from collectors.demo.scenarios import scenarios
from tests.paths import ROOT
from tests.service.running import demo


@pytest.mark.slow
def test_demo_serves_its_verdicts_and_ends_on_sigterm(tmp_path: Path) -> None:
    # Half a second holds enough sleeps for parse-storm; the storm of undo-storm is tested on a fake clock.
    with demo(tmp_path, "--interval", "0.5", "--history", "60", fresh=True) as latchscope:
        names = {one["name"] for one in latchscope.json("/api/v1/databases")}
        assert names == set(scenarios())

        def diagnosis(name: str) -> dict[str, Any]:
            return dict(latchscope.json(f"/api/v1/databases/{name}/diagnosis"))

        latchscope.wait(lambda: all(diagnosis(name)["basis"] for name in names))
        fine = diagnosis("busy-but-fine")
        assert (fine["severity"], fine["mechanism"], fine["release"]) == ("info", "latch", "11.2.0.4.0")
        assert {one["severity"] for one in fine["findings"]} <= {"info"} and "spinning" in fine["headline"]

        def first(name: str) -> str | None:
            return next((finding["cause"] for finding in diagnosis(name)["findings"]), None)

        latchscope.wait(lambda: first("parse-storm") == "hard-parse-storm")  # its first seconds look like another one
        (link,) = re.findall(r"the storm of the hour before: (\S+)", latchscope.log.read_text())
        assert link.startswith(f"{latchscope.url}/db/undo-storm?at=")
        assert "Critical since" in httpx.get(link).text
        assert 'latchscope_up{db="undo-storm"} 1' in httpx.get(f"{latchscope.url}/metrics").text
        assert latchscope.json("/readyz") == {"status": "ok"}
        for page in ("/", "/db/undo-storm", "/causes", "/causes/undo-segments"):
            assert httpx.get(f"{latchscope.url}{page}").status_code == 200
        latchscope.stop()
    said = latchscope.log.read_text()
    assert "Traceback" not in said and "ERROR" not in said


@pytest.mark.slow
def test_service_starts_without_any_extra() -> None:
    """Each package of an extra is kept from being imported. The app must load all the same."""
    extras = ("psycopg", "textual", "mcp", "apprise", "requests")
    blocked = f"import sys; sys.modules.update(dict.fromkeys({extras!r})); import service.app, service.cli.main"
    done = subprocess.run([sys.executable, "-c", blocked], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
