"""The pages in a real browser, served by a real demo: they render, refresh themselves, and their links lead somewhere.

The history and the comparison are drawn, legible and within a narrow window, and a form sets marks. All of it is one file,
so that one browser and one demo serve it.
"""

import time
from pathlib import Path

import pytest

from collectors.scenarios import scenarios
from service.intake.inputs import diagnose_all
from service.web.pages.html_report import as_html
from tests.browser.chromium import Chromium
from tests.oracle_standin.deadline import HANGS
from tests.service.running import Running

REPORT = Path(__file__).parents[1] / "recordings/reports/awr-11.2.0.4.0-undo-storm.html"
LEAST_PIXELS = 9
TEXTS = "[...document.querySelectorAll('svg text')].map(one => one.getBoundingClientRect().height)"


def test_fleet_page_shows_every_database_and_leads_to_it(served: Running, browser: Chromium) -> None:
    browser.open(f"{served.url}/")
    assert browser.run("document.title") == "Fleet · latchscope"
    names = browser.run("[...document.querySelectorAll('td a')].map(a => a.textContent)")
    assert sorted(names) == sorted(scenarios())
    assert browser.run("getComputedStyle(document.querySelector('.tag')).backgroundColor") != "rgba(0, 0, 0, 0)"
    browser.click("a[href='/db/undo-storm']")
    assert browser.run("location.pathname") == "/db/undo-storm"
    assert browser.run("document.querySelector('h1').textContent").startswith("undo-storm")


def test_database_page_has_its_tables_and_charts(served: Running, browser: Chromium) -> None:
    browser.open(f"{served.url}/db/busy-but-fine")
    browser.until("document.querySelectorAll('svg path.line').length >= 2 || (location.reload(), false)")
    headings = browser.run("[...document.querySelectorAll('h2')].map(h => h.textContent)")
    for wanted in ("The walk", "Recent polls", "Dictionary caches", "Ruled out", "Could not be judged"):
        assert wanted in headings
    caches = browser.run("[...document.querySelectorAll('td')].map(td => td.textContent)")
    assert "dc_users" in caches


def test_pages_stay_within_the_window(served: Running, browser: Chromium) -> None:
    for path in ("/", "/db/parse-storm", "/reports", "/causes", "/causes/undo-segments"):
        browser.open(f"{served.url}{path}")
        assert browser.run("document.documentElement.scrollWidth <= innerWidth"), path


def test_database_page_refreshes_itself_and_keeps_its_place(served: Running, browser: Chromium) -> None:
    browser.open(f"{served.url}/db/busy-but-fine")
    browser.run("(window.same = true, document.getElementById('content').dataset.old = 'yes', scrollTo(0, 200))")
    browser.until("document.getElementById('content').dataset.old === undefined")
    assert browser.run("window.same"), "it was brought up to date in place, not loaded again"
    assert browser.run("scrollY") == 200


def test_causes_page_leads_to_each_cause_and_back(served: Running, browser: Chromium) -> None:
    browser.open(f"{served.url}/")
    browser.click("nav a[href='/causes']")
    browser.click("a[href='/causes/undo-segments']")
    assert browser.run("document.querySelector('h1').textContent").startswith("Too many undo segments")
    browser.click("header a.mark")
    assert browser.run("location.pathname") == "/"


def test_links_of_the_pages_lead_somewhere(served: Running, browser: Chromium) -> None:
    for path in ("/", "/db/parse-storm", "/causes"):
        browser.open(f"{served.url}{path}")
        statuses = browser.run(
            "Promise.all([...new Set([...document.links].map(a => a.href))].filter(u => u.startsWith(location.origin))"
            ".map(async u => [u, (await fetch(u)).status]))"
        )
        assert statuses
        assert {status for _, status in statuses} == {200}, statuses


def test_report_upload_leads_to_its_diagnosis(served: Running, browser: Chromium) -> None:
    browser.open(f"{served.url}/")
    browser.click("nav a[href='/reports']")
    assert browser.run("document.querySelector('main').textContent").count("None was uploaded yet") == 1
    browser.choose("input[type=file]", REPORT)
    browser.click("button")
    assert browser.run("location.pathname").startswith("/reports/")
    assert browser.run("document.querySelector('h1').textContent") == REPORT.name
    assert browser.run("document.querySelectorAll('svg.bars rect.bar').length") > 4
    assert browser.run("document.documentElement.scrollWidth <= innerWidth")
    browser.open(f"{served.url}/reports")
    browser.click("td a")
    assert browser.run("document.querySelector('.tag').textContent") == "critical"


def test_report_upload_names_a_refused_file_on_the_page(served: Running, browser: Chromium, tmp_path: Path) -> None:
    (tmp_path / "alert.log").write_text("ORA-00600", encoding="utf-8")
    browser.open(f"{served.url}/reports")
    browser.choose("input[type=file]", tmp_path / "alert.log")
    browser.click("button")
    assert "alert.log is not an AWR" in browser.run("document.querySelector('.failure').textContent")
    assert any("415" in one for one in browser.complaints), "the browser notes the status itself"
    browser.complaints.clear()


def test_mail_page_opens_from_a_file_and_its_policy_allows_its_style(browser: Chromium, tmp_path: Path) -> None:
    days = [str(REPORT.with_name(f"day-{day}.txt")) for day in range(1, 6)]
    (tmp_path / "mailed.html").write_text(as_html(diagnose_all(days)), encoding="utf-8")
    browser.open((tmp_path / "mailed.html").as_uri())
    assert (
        browser.run("getComputedStyle(document.querySelector('.tag.critical')).backgroundColor") != "rgba(0, 0, 0, 0)"
    )
    assert browser.run("document.querySelectorAll('rect.first').length") == 2
    assert browser.run("document.documentElement.scrollWidth <= innerWidth")
    browser.complaints[:] = [one for one in browser.complaints if not one.startswith("asked file:")]


def test_outage_keeps_the_page_and_says_so(served: Running, browser: Chromium) -> None:
    browser.open(f"{served.url}/db/busy-but-fine")
    browser.run("window.fetch = async () => new Response('{\"status\": 500}')")
    browser.until("document.title === '(no answer) latchscope'")
    assert browser.run("document.querySelector('h1').textContent").startswith("busy-but-fine")


def test_missing_page_leads_back(served: Running, browser: Chromium, tmp_path: Path) -> None:
    browser.open(f"{served.url}/db/nobody")
    assert any("404" in one for one in browser.complaints), "the browser notes the 404 itself"
    browser.complaints.clear()
    browser.click("main a")
    assert browser.run("location.pathname") == "/"


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
