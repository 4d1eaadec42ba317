"""The pages in a real browser, served by a real demo: they render, refresh themselves, and their links lead somewhere."""

from pathlib import Path

from collectors.scenarios import scenarios
from service.intake.inputs import diagnose_all
from service.web.pages.html_report import as_html
from tests.browser.chromium import Chromium
from tests.service.running import Running

REPORT = Path(__file__).parents[1] / "recordings/reports/awr-11.2.0.4.0-undo-storm.html"


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
    browser.until("document.getElementById('content').dataset.old === undefined", 9)
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
    browser.until("document.title === '(no answer) latchscope'", 9)
    assert browser.run("document.querySelector('h1').textContent").startswith("busy-but-fine")


def test_missing_page_leads_back(served: Running, browser: Chromium, tmp_path: Path) -> None:
    browser.open(f"{served.url}/db/nobody")
    assert any("404" in one for one in browser.complaints), "the browser notes the 404 itself"
    browser.complaints.clear()
    browser.click("main a")
    assert browser.run("location.pathname") == "/"
