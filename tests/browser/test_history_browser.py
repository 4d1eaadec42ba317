"""The history and the comparison in a real browser: drawn, legible and within a narrow window, and marks set by a form."""

import time

import pytest

from tests.browser.chromium import Chromium
from tests.oracle_standin.deadline import HANGS
from tests.service.running import Running

LEAST_PIXELS = 9
TEXTS = "[...document.querySelectorAll('svg text')].map(one => one.getBoundingClientRect().height)"


@pytest.fixture
def narrow(browser: Chromium) -> Chromium:
    browser.call("Emulation.setDeviceMetricsOverride", width=500, height=900, deviceScaleFactor=1, mobile=False)
    return browser


@pytest.fixture(autouse=True)
def _wide_again(browser: Chromium) -> object:
    yield
    browser.call("Emulation.clearDeviceMetricsOverride")


def within(browser: Chromium) -> bool:
    return bool(browser.run("document.documentElement.scrollWidth <= innerWidth"))


def open_when(browser: Chromium, url: str, ready: str) -> None:
    """Ask again until enough was polled for the page to show it."""
    until = time.monotonic() + HANGS
    browser.open(url)
    while not browser.run(ready):
        assert time.monotonic() < until, f"never so: {ready}"
        time.sleep(0.5)
        browser.open(url)


def test_database_page_leads_to_its_history_and_on_to_any_window(served: Running, browser: Chromium) -> None:
    browser.open(f"{served.url}/db/undo-storm")
    browser.click("a[href='/db/undo-storm/history']")
    open_when(
        browser, f"{served.url}/db/undo-storm/history?begin=-1m", "document.querySelectorAll('.over svg').length >= 5"
    )
    assert browser.run("document.querySelectorAll('table.figures tbody tr').length") > 1
    browser.click("a[rel=prev]")
    assert "begin=" in browser.run("location.search")
    browser.click("a[rel=next]")
    assert browser.run("document.querySelector('h1').textContent") == "undo-storm over time"
    assert within(browser)


def test_timeline_has_its_colours_and_can_be_zoomed_without_a_script(served: Running, browser: Chromium) -> None:
    open_when(
        browser, f"{served.url}/db/parse-storm/history?begin=-1m", "document.querySelector('.events .band') !== null"
    )
    assert browser.run("getComputedStyle(document.querySelector('.events .band')).fill") != "rgb(0, 0, 0)"
    assert browser.run("document.querySelectorAll('script').length") == 0
    address = browser.run("document.querySelector('a.zoom').href.baseVal")
    browser.open(f"{served.url}{address}")
    assert browser.run("document.querySelector('h1').textContent") == "parse-storm over time"


def test_mark_form_sets_a_mark_and_leads_to_before_and_after(served: Running, browser: Chromium) -> None:
    browser.open(f"{served.url}/db/busy-but-fine")
    browser.run("document.querySelector('input[name=text]').value = 'shared pool <b>doubled</b>'")
    browser.click(".mark-form button")
    assert browser.run("location.pathname") == "/db/busy-but-fine/compare"
    assert "shared pool <b>doubled</b>" in browser.run("document.querySelector('main').textContent")
    browser.open(f"{served.url}/db/busy-but-fine")
    assert "shared pool <b>doubled</b>" in browser.run("document.querySelector('.happened').textContent")


def test_refresh_does_not_lose_what_is_being_typed(served: Running, browser: Chromium) -> None:
    """Typing begins while the fresh page is on its way: the worst moment there is."""
    browser.open(f"{served.url}/db/busy-but-fine")
    browser.run(
        "new Promise(asked => { const really = fetch; window.fetch = async (...what) => { const answer = await really(...what);"
        " asked(); await new Promise(done => { window.release = done; }); return answer; } })"
    )
    browser.run("document.querySelector('input[name=text]').value = 'half a thought'")
    age = browser.run("document.getElementById('content').textContent")
    browser.run("release()")
    browser.run("new Promise(done => setTimeout(done, 700))")
    assert browser.run("document.querySelector('input[name=text]').value") == "half a thought"
    assert browser.run("document.getElementById('content').textContent") == age


def test_compare_page_shows_two_windows_side_by_side(served: Running, browser: Chromium) -> None:
    url = f"{served.url}/db/busy-but-fine/compare?before=-8s..-4s&after=-4s..now"
    open_when(browser, url, "document.querySelectorAll('.pair svg').length >= 8")
    first, second = browser.run(
        "[...document.querySelectorAll('.pair:first-of-type svg')].map(s => s.getBoundingClientRect().top)"
    )
    assert first == second
    assert browser.run(f"Math.min(...{TEXTS})") >= LEAST_PIXELS
    assert within(browser)


def test_pages_over_time_are_legible_in_a_narrow_window(served: Running, narrow: Chromium) -> None:
    compare = "/db/busy-but-fine/compare?before=-8s..-4s&after=-4s..now"
    for path in (
        "/",
        "/db/undo-storm",
        "/db/undo-storm/history?begin=-1m",
        "/db/undo-storm/history?begin=-90d",
        compare,
    ):
        open_when(narrow, f"{served.url}{path}", "document.querySelectorAll('svg text').length > 3")
        assert within(narrow), path
        assert narrow.run(f"Math.min(...{TEXTS})") >= LEAST_PIXELS, path
        headed = "[...document.querySelectorAll('.scroll thead')].map(one => one.getBoundingClientRect().height)"
        heights = narrow.run(headed)
        assert all(heights) and len(heights) == ("/history" in path or "/compare" in path), (path, heights)
