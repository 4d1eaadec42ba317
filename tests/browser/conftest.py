"""One browser and one demo for each file of this folder."""

import shutil
from collections.abc import Iterator

import pytest

from tests.browser.chromium import Chromium
from tests.service.running import Running, demo

BINARY = shutil.which("chromium") or shutil.which("chromium-browser")
HASTE = "{ const slowly = setInterval; window.setInterval = (what, ms) => slowly(what, ms / 20); }"
"""Pages refresh every few seconds; nobody wants to wait for that."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with demo(tmp_path_factory.mktemp("demo"), "--interval", "2") as running:
        running.wait(lambda: all(one["mechanism"] for one in running.json("/api/v1/databases")))
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    if BINARY is None:
        pytest.skip("chromium is not installed (Debian package chromium)")
    started = Chromium(BINARY)
    started.call("Page.addScriptToEvaluateOnNewDocument", source=HASTE)
    yield started
    started.close()


@pytest.fixture(autouse=True)
def _no_complaints(request: pytest.FixtureRequest) -> Iterator[None]:
    """Whatever a test does, the console stays empty, unless the test says it must not."""
    browser: Chromium = request.getfixturevalue("browser")
    browser.complaints.clear()
    yield
    assert browser.complaints == []
