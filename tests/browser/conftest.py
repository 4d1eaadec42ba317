"""One browser and one demo for each file of this folder. Each test has its own page, which must not complain."""

import shutil
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from tests.oracle_standin.deadline import HANGS
from tests.service.running import Running, demo

if TYPE_CHECKING:
    # Every test worker imports this file, and one of them runs it: 0.6 s of processor that the others need not spend.
    from playwright.sync_api import (  # type: ignore[attr-defined]  # LocatorAssertions is not in its __all__
        Browser,
        BrowserContext,
        ConsoleMessage,
        Locator,
        LocatorAssertions,
        Page,
        Request,
        ViewportSize,
    )

BINARY = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
HASTE = "{ const slowly = setInterval; window.setInterval = (what, ms) => slowly(what, ms / 20); }"
"""The pages' refresh interval is a few seconds. Tests shorten it."""
WIDE: "ViewportSize" = {"width": 1440, "height": 900}
OURS = ("http://127.0.0.1", "data:", "about:", "file:")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with demo(tmp_path_factory.mktemp("demo"), "--interval", "2") as running:
        running.wait(lambda: all(one["mechanism"] for one in running.json("/api/v1/databases")))
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    if BINARY is None:
        pytest.skip("chromium is not installed (Debian package chromium)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=BINARY, args=FLAGS)
        yield started
        started.close()


@pytest.fixture
def complaints() -> list[str]:
    """The complaints of console, policy and network about the pages of a test."""
    return []


NewPage = Callable[..., "Page"]


def expect(part: "Locator") -> "LocatorAssertions":
    """Playwright's `expect`."""
    from playwright.sync_api import expect as expected

    return expected(part)


@pytest.fixture
def new_page(browser: "Browser", complaints: list[str]) -> Iterator[NewPage]:
    """Opens each page in its own context, with any option of a context, and collects complaints.

    A `hasty` page refreshes several times a second. Others refresh as slowly as for people.
    """
    contexts: list[BrowserContext] = []

    def open_page(hasty: bool = False, **options: object) -> "Page":
        context = browser.new_context(**options)  # type: ignore[arg-type]
        contexts.append(context)
        context.set_default_timeout(HANGS * 1000)
        if hasty:
            context.add_init_script(HASTE)
        page = context.new_page()
        page.on("console", lambda message: _note(complaints, message))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: _ask(complaints, request))
        return page

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture
def page(new_page: NewPage) -> "Page":
    """A wide window with scripts."""
    return new_page(viewport=WIDE)


@pytest.fixture
def hasty_page(new_page: NewPage) -> "Page":
    """A wide window that refreshes several times a second."""
    return new_page(hasty=True, viewport=WIDE)


@pytest.fixture(autouse=True)
def _no_complaints(complaints: list[str]) -> Iterator[None]:
    """The console stays empty in every test, unless the test allows a message."""
    yield
    assert complaints == []


def _note(complaints: list[str], message: "ConsoleMessage") -> None:
    if message.type in ("error", "warning"):
        complaints.append(message.text)


def _ask(complaints: list[str], request: "Request") -> None:
    if not request.url.startswith(OURS):
        complaints.append(f"asked {request.url}")
