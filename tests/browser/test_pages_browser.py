"""The pages in a real browser, served by a real demo:

from the fleet to an export, by mouse, by keyboard and live. They are legible and accessible in light and dark, wide and
narrow. All of it is one file, so that one browser and one demo serve it. The pages replace their parts while a test looks at
them: `expect` asks again when it held a part that was replaced, a value read by hand may be that of a part which is gone.
"""

import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from collectors.demo.scenarios import scenarios
from service.intake.inputs import diagnose_all
from service.web.pages.export import as_html
from tests.browser.conftest import WIDE, NewPage, expect
from tests.oracle_standin.deadline import HANGS
from tests.paths import REPORTS
from tests.service.running import Running
from tests.service.stage import Stage
from tests.service.watch.test_hang_over_time import LongHang

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page, ViewportSize

pytestmark = pytest.mark.slow

REPORT = REPORTS / "awr-11.2.0.4.0-undo-storm.html"
LEAST_PIXELS = 9
FITS = "document.documentElement.scrollWidth <= innerWidth"
SMALLEST = (
    "Math.min(...[...document.querySelectorAll('svg text')].map(one => one.getBoundingClientRect())"
    ".filter(one => one.width && !one.hidden).map(one => one.height))"
)
PHONE: "ViewportSize" = {"width": 390, "height": 844}
COMPARE = "/db/busy-but-fine/compare?before=-8s..-4s&after=-4s..now"


@pytest.fixture(scope="module")
def storm(served: Running) -> Running:
    """The demo, once undo-storm is in its storm and a report is uploaded."""
    served.wait(lambda: served.json("/api/v1/databases/undo-storm")["state"] == "Critical", 5 * HANGS)
    return served


def open_when(page: "Page", url: str, ready: str) -> None:
    """Ask again until there are enough polls for the page to show it."""
    until = time.monotonic() + HANGS
    page.goto(url)
    while not page.evaluate(ready):
        assert time.monotonic() < until, f"never so: {ready}"
        time.sleep(0.5)
        page.goto(url)


def test_fleet_leads_to_the_database_the_cause_a_mark_a_comparison_and_an_export(storm: Running, page: "Page") -> None:
    page.goto(f"{storm.url}/")
    assert sorted(page.locator(".fleet .db a").all_text_contents()) == sorted(scenarios())
    page.get_by_role("link", name="undo-storm", exact=True).first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Too many undo segments make every transaction queue")
    link = page.locator(".chain summary", has_text="dc_rollback_segments")
    link.click()
    expect(page.locator(".chain details[open] .how")).to_contain_text("v$rowcache")
    page.get_by_role("button", name="Confirm now").click()
    expect(page.get_by_role("status").first).to_contain_text("The query gave")
    page.get_by_label("What was changed").fill("undo <b>recreated</b>")
    page.get_by_role("button", name="Set mark").click()
    page.wait_for_url("**/compare?mark=*")
    expect(page.locator("main")).to_contain_text("undo <b>recreated</b>")
    page.goto(f"{storm.url}/db/undo-storm")
    page.locator("#export summary").click()
    for name in ("One HTML file, to mail", "Markdown, for a ticket"):
        with page.expect_download() as kept:
            page.get_by_role("link", name=name, exact=True).click()
        text = kept.value.path().read_text(encoding="utf-8")
        assert "Too many undo segments" in text, name
    page.get_by_role("link", name="API", exact=True).click()
    page.locator("#swagger .opblock-tag").first.wait_for()


def test_walk_needs_nothing_but_the_keyboard(storm: Running, page: "Page") -> None:
    page.goto(f"{storm.url}/")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to content"
    page.keyboard.press("Enter")
    page.keyboard.press("/")
    page.keyboard.type("undo-storm")
    page.keyboard.press("Enter")
    page.wait_for_url("**q=undo-storm**")
    tab_to(page, "document.activeElement.matches('.fleet .db a')")
    page.keyboard.press("Enter")
    page.wait_for_url("**/db/undo-storm")
    tab_to(page, "document.activeElement.matches('.chain summary')")
    page.keyboard.press("Enter")
    expect(page.locator(".chain details[open]")).to_have_count(1)
    shown = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert shown != "none", "the focus must be visible"


def tab_to(page: "Page", there: str) -> None:
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.evaluate(there):
            return
    raise AssertionError(f"no way by Tab to {there}")


def refreshed(page: "Page", times: int = 3) -> Callable[[], None]:
    """Wait until the page has refreshed this many times."""
    seen: list[str] = []
    page.on("response", lambda answer: seen.append(answer.url) if answer.url == page.url else None)

    def wait() -> None:
        until = time.monotonic() + HANGS
        while len(seen) < times:
            assert time.monotonic() < until, "the page does not refresh"
            page.wait_for_timeout(50)

    return wait


def test_refresh_keeps_focus_place_selection_and_what_is_open(storm: Running, hasty_page: "Page") -> None:
    hasty_page.goto(f"{storm.url}/db/undo-storm")
    link = hasty_page.get_by_role("link", name="Show the commands")
    link.focus()
    hasty_page.evaluate("window.same = true; scrollTo(0, 200)")
    old = hasty_page.locator("[data-live=crumbs]").inner_text()
    refreshed(hasty_page)()
    hasty_page.wait_for_function("old => document.querySelector('[data-live=crumbs]').innerText !== old", arg=old)
    assert hasty_page.evaluate("[window.same, document.activeElement.textContent, scrollY]") == [
        True,
        "Show the commands",
        200,
    ]
    hasty_page.locator(".chain summary").first.click()
    hasty_page.evaluate("getSelection().selectAllChildren(document.querySelector('.lede'))")
    told = hasty_page.evaluate("String(getSelection())")
    refreshed(hasty_page)()
    assert hasty_page.evaluate("String(getSelection())") == told
    expect(hasty_page.locator(".chain details[open]")).to_have_count(1)


def test_refresh_does_not_lose_what_is_being_typed(storm: Running, hasty_page: "Page") -> None:
    hasty_page.goto(f"{storm.url}/db/busy-but-fine")
    hasty_page.get_by_label("What was changed").fill("half a thought")
    refreshed(hasty_page)()
    expect(hasty_page.get_by_label("What was changed")).to_have_value("half a thought")


def test_page_says_when_the_connection_is_lost_and_when_it_is_back(storm: Running, hasty_page: "Page") -> None:
    hasty_page.goto(f"{storm.url}/db/busy-but-fine")
    hasty_page.evaluate("window.really = fetch; window.fetch = async () => { throw new Error('gone'); }; 0")
    expect(hasty_page.locator(".lost")).to_contain_text("No answer from latchscope")
    hasty_page.evaluate("window.fetch = window.really; 0")
    expect(hasty_page.locator(".lost")).to_have_count(0)
    expect(hasty_page.get_by_role("heading", level=1)).to_be_visible()


def test_phone_has_the_first_screen_and_folds_the_rest(storm: Running, new_page: NewPage) -> None:
    page = new_page(hasty=True, viewport=PHONE)
    page.goto(f"{storm.url}/db/undo-storm")
    expect(page.locator(".verdict, [data-live=fix], .steps").first).to_be_visible()
    heading = page.get_by_role("button", name="What else was checked")
    expect(heading).to_have_attribute("aria-expanded", "false")
    expect(page.get_by_text("Ruled out:")).to_be_hidden()
    heading.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Ruled out:")).to_be_visible()
    refreshed(page)()
    expect(page.get_by_text("Ruled out:")).to_be_visible()
    assert page.locator(".folded").count() > 3 and page.evaluate(FITS)


def test_pages_work_without_a_script(storm: Running, new_page: NewPage) -> None:
    page = new_page(java_script_enabled=False)
    page.goto(f"{storm.url}/?state=critical")
    page.get_by_role("link", name="undo-storm", exact=True).first.click()
    page.locator(".chain summary").first.click()
    expect(page.locator(".chain details[open]")).to_have_count(1)
    page.get_by_label("What was changed").fill("no script")
    page.get_by_role("button", name="Set mark").click()
    page.wait_for_url("**/compare?mark=*")


def test_drag_over_a_chart_outlives_refreshes_and_zooms_to_that_time(storm: Running, hasty_page: "Page") -> None:
    open_when(hasty_page, f"{storm.url}/db/undo-storm", "document.querySelectorAll('.chart.can-zoom').length > 2")
    chart = hasty_page.locator(".chart.wide.can-zoom").first
    chart.hover(position={"x": 200, "y": 80})
    hasty_page.mouse.down()
    expect(hasty_page.locator(".drag")).to_have_count(1)
    refreshed(hasty_page)()
    expect(hasty_page.locator(".drag")).to_have_count(1)
    chart.hover(position={"x": 900, "y": 80})
    hasty_page.mouse.up()
    hasty_page.wait_for_url("**/history?begin=*")
    expect(hasty_page.get_by_role("heading", level=1)).to_have_text(re.compile(r"UTC$"))


FOCUS = "document.activeElement"
PICKED = f"document.getElementById({FOCUS}.getAttribute('aria-activedescendant')).dataset.href"


def test_ctrl_k_finds_by_keyboard_and_gives_the_focus_back(storm: Running, page: "Page") -> None:
    page.goto(f"{storm.url}/db/busy-but-fine")
    page.get_by_label("What was changed").focus()
    page.keyboard.press("Control+k")
    finder = page.get_by_role("dialog", name="Find")
    quiet = finder.get_by_role("option", name="busy-but-fine")
    quiet.wait_for()
    page.keyboard.type("dc_sequences")
    quiet.wait_for(state="detached")
    finder.get_by_role("option", name="Cause").first.wait_for()
    assert page.evaluate(f"[{FOCUS}.getAttribute('role'), {FOCUS}.getAttribute('aria-expanded')]") == [
        "combobox",
        "true",
    ]
    first = page.evaluate(PICKED)
    page.keyboard.press("ArrowDown")
    second = page.evaluate(PICKED)
    expect(finder.locator("[aria-selected=true]")).to_have_count(1)
    page.keyboard.press("ArrowUp")
    assert page.evaluate(PICKED) == first != second
    page.keyboard.press("ArrowUp")
    expect(finder.get_by_role("option").last).to_have_attribute("aria-selected", "true")
    for name in ("Close", "Find a database", "Close"):
        page.keyboard.press("Tab")
        assert name in page.evaluate(f"{FOCUS}.labels?.[0]?.textContent ?? {FOCUS}.textContent"), "Tab stays inside"
    page.keyboard.press("Escape")
    expect(finder).to_have_count(0)
    assert page.evaluate(f"{FOCUS}.name") == "text", "the focus is where it was"
    page.keyboard.press("Meta+k")
    page.keyboard.type("zzzz")
    finder.get_by_role("status").filter(has_text="Nothing has all of these words").wait_for()
    expect(finder.get_by_role("combobox")).to_have_attribute("aria-expanded", "false")
    page.keyboard.press("Control+k")
    expect(finder).to_have_count(0)
    page.keyboard.press("Control+k")
    page.keyboard.type("RowCacheHang")
    page.keyboard.press("Enter")  # before its answer is there
    page.wait_for_url("**/runbooks/RowCacheHang")


def test_find_has_a_button_and_without_script_a_page(storm: Running, page: "Page", new_page: NewPage) -> None:
    page.goto(storm.url)
    page.get_by_role("button", name="Find Ctrl K").click()
    page.get_by_role("combobox").fill("undo-st")
    page.get_by_role("option", name="undo-storm").first.click()
    page.wait_for_url("**/db/undo-storm")
    plain = new_page(java_script_enabled=False)
    plain.goto(storm.url)
    plain.get_by_role("link", name="Find", exact=True).click()
    plain.get_by_role("searchbox").fill("row cache lock")
    plain.get_by_role("button", name="Find").click()
    plain.locator(".found a", has_text="Cause").first.click()
    plain.wait_for_url("**/causes/*")


def test_dialog_is_accessible_with_and_without_matches(storm: Running, new_page: NewPage) -> None:
    from axe_playwright_python.sync_playwright import Axe

    page, found = new_page(reduced_motion="reduce"), []
    page.goto(storm.url)
    for words in ("dc_users", "zzzz"):
        page.keyboard.press("Control+k")
        page.get_by_role("combobox").fill(words)
        page.get_by_role("status").filter(has_text="match" if words == "dc_users" else "Nothing").wait_for()
        for name, rules, size in ACCESSIBLE:
            page.emulate_media(color_scheme="dark" if name == "dark" else "light")
            page.set_viewport_size(size)
            results = Axe().run(page, "dialog.finder", options={"resultTypes": ["violations"], **rules}).response
            assert results["passes"], f"{words}, {name}: no rule was tried"
            found += [f"{words}, {name}: {rule['id']}" for rule in results["violations"]]
            assert page.evaluate(FITS), f"{words}, {name}"
        page.keyboard.press("Escape")
    assert found == []


def test_stretch_that_is_selected_says_what_differs_in_it(storm: Running, page: "Page") -> None:
    open_when(
        page, f"{storm.url}/db/undo-storm/history?begin=-1h", "document.querySelector('.chart.can-zoom') !== null"
    )
    expect(page.locator("#differs")).to_have_count(0)
    page.get_by_label("From").fill("-30s")
    page.get_by_label("to", exact=True).fill("now")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_role("heading", name="What differs here")).to_be_visible()
    expect(page.locator("#differs")).to_contain_text("sessions waited for the row cache here")
    expect(page.locator(".differs tbody", has_text="Time waited of a wait event")).to_contain_text(
        "latch: row cache objects"
    )


def test_timeline_can_be_zoomed_and_moved_by_links(storm: Running, page: "Page") -> None:
    open_when(page, f"{storm.url}/db/undo-storm/history?begin=-1m", "document.querySelector('.events .lane') !== null")
    assert page.evaluate("getComputedStyle(document.querySelector('.events .lane')).fill") != "rgb(0, 0, 0)"
    assert page.locator("table.figures tbody tr").count() > 1
    page.goto(storm.url + page.evaluate("document.querySelector('a.zoom').href.baseVal"))
    for link in ("a[rel=prev]", "a[rel=next]"):
        with page.expect_event("load"):  # `click` returns before the browser leaves, and half a page has no width
            page.locator(link).click()
    assert page.evaluate(FITS)


def test_report_upload_leads_to_its_diagnosis_and_names_what_is_refused(
    storm: Running, page: "Page", tmp_path: Path, complaints: list[str]
) -> None:
    page.goto(f"{storm.url}/reports")
    page.locator("input[type=file]").set_input_files(REPORT)
    page.get_by_role("button", name="Diagnose").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(REPORT.name)
    expect(page.locator(".verdict .state").first).to_contain_text("Critical")
    assert page.evaluate(FITS)
    expect(page.locator("#share .sql button")).to_have_text("Copy")
    expect(page.locator("#share pre")).to_have_text(page.url.partition("?")[0])
    with page.expect_download() as kept:
        page.locator("#share").get_by_role("link", name="One HTML file").click()
    assert kept.value.suggested_filename.endswith(".html")
    page.get_by_text("Delete this report").click()
    page.get_by_role("button", name="Delete it for good").click()
    expect(page.get_by_role("status")).to_have_text("The report is deleted.")
    expect(page.locator("tbody tr")).to_have_count(0)
    page.locator("input[type=file]").set_input_files(REPORT)
    page.get_by_role("button", name="Diagnose").click()
    (tmp_path / "alert.log").write_text("ORA-00600", encoding="utf-8")
    page.goto(f"{storm.url}/reports")
    page.locator("input[type=file]").set_input_files(tmp_path / "alert.log")
    page.get_by_role("button", name="Diagnose").click()
    expect(page.get_by_role("alert")).to_contain_text("alert.log is not an AWR")
    assert any("415" in one for one in complaints), "the browser logs the status itself"
    complaints.clear()


def test_mail_page_opens_from_a_file_and_its_policy_allows_its_style(page: "Page", tmp_path: Path) -> None:
    days = [str(REPORT.with_name(f"day-{day}.txt")) for day in range(1, 6)]
    (tmp_path / "mailed.html").write_text(as_html(diagnose_all(days)), encoding="utf-8")
    page.goto((tmp_path / "mailed.html").as_uri())
    assert page.evaluate("getComputedStyle(document.querySelector('.state.critical')).color") != "rgb(0, 0, 0)"
    assert page.get_by_text("day-5.txt").count() >= 1
    assert page.evaluate(FITS)


def pages_of(storm: Running) -> list[str]:
    """One page of every kind."""
    reports = storm.json("/api/v1/reports")
    return [
        "/",
        *(f"/db/{name}" for name in ("undo-storm", "ddl-hang", "healthy-19c", "users-mutex")),
        "/db/undo-storm/history?begin=-1m",
        "/month",
        "/find",
        "/find?q=dc_users",
        COMPARE,
        "/causes",
        "/causes/undo-segments",
        "/runbooks",
        "/runbooks/RowCacheObjectsSleepsHigh",
        "/reports",
        *(f"/reports/{one['id']}" for one in reports[:1]),
        "/db/nobody",
    ]


def test_fleet_table_stays_in_its_card_and_breaks_no_name_in_the_middle(storm: Running, page: "Page") -> None:
    page.goto(storm.url)
    beyond = "(t => t.getBoundingClientRect().right - t.closest('.card').getBoundingClientRect().right)"
    for width in (1024, 1280, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate(f"{beyond}(document.querySelector('table.fleet'))") < 0, width
    storm.wait(lambda: storm.json("/api/v1/databases/undo-storm")["state"] == "Critical", 5 * HANGS)
    cache = page.locator(".fleet .hot code", has_text="dc_rollback_segments").first
    assert "dc_<wbr>rollback_<wbr>segments" in cache.inner_html()
    expect(cache).to_have_css("overflow-wrap", "normal")


ACCESSIBLE = (
    ("light", {}, WIDE),
    ("dark", {"runOnly": {"type": "rule", "values": ["color-contrast"]}}, WIDE),
    ("phone", {"rules": {"color-contrast": {"enabled": False}}}, PHONE),
)
"""All rules in light. In dark only colours, because only they differ. On a phone everything but colours."""


def test_every_page_is_accessible_and_fits(storm: Running, new_page: NewPage, complaints: list[str]) -> None:
    from axe_playwright_python.sync_playwright import Axe

    page, axe, found = new_page(reduced_motion="reduce"), Axe(), []
    for path in pages_of(storm):
        page.goto(f"{storm.url}{path}")
        page.evaluate("document.querySelectorAll('details').forEach(one => { one.name = ''; one.open = true; })")
        for name, rules, size in ACCESSIBLE:
            page.emulate_media(color_scheme="dark" if name == "dark" else "light")
            page.set_viewport_size(size)
            results = axe.run(page, options={"resultTypes": ["violations"], **rules}).response
            assert results["passes"], f"{path}, {name}: no rule was tried"
            found += [
                f"{path}, {name}: {rule['id']}: {[node['target'] for node in rule['nodes'][:3]]}"
                for rule in results["violations"]
            ]
            if not page.evaluate(FITS):
                found.append(f"{path}, {name}: is wider than its window")
            smallest = page.evaluate(SMALLEST)
            if smallest is not None and smallest < LEAST_PIXELS:
                found.append(f"{path}, {name}: has text of {smallest:.1f} px")
    complaints[:] = [one for one in complaints if "404" not in one]
    assert found == []


# The command of a wait chain: a page that was of now a minute ago has none.

COMMAND = "alter system cancel sql"
CLOCKS = """globalThis.later = { now: 0, wall: 0 };
{ const now = performance.now.bind(performance), wall = Date.now;
  performance.now = () => now() + later.now; Date.now = () => wall() + later.wall; }"""
"""The two clocks of a page, each of which a test moves by milliseconds."""
PASSES = {
    "the service stopped": (61_000, 61_000),
    "the tab was frozen": (600_000, 600_000),
    "the machine slept": (0, 61_000),
    "the clock was set back": (61_000, -3_600_000),
}
"""What happens → how much later it is by the clock that only runs forward, and by the one on the wall."""


@pytest.fixture
def hang_page(storm: Running, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
    """The page of a database that hangs, as its poll left it."""
    stage = Stage(monkeypatch, tmp_path)
    hang = LongHang(stage)
    hang.go(150.0)
    with ThreadPoolExecutor(1) as pool:  # this thread has the event loop of the browser
        yield pool.submit(lambda: stage.app().get("/db/ddl-hang").text).result()
    stage.close()


def opened(page: "Page", storm: Running, text: str) -> "Locator":
    """The page at its own address, with its clock in our hands; what it asks again for is not answered."""
    page.add_init_script(CLOCKS)
    page.route("**/db/ddl-hang", lambda route: route.fulfill(status=503, body=""))
    page.route("**/db/ddl-hang", lambda route: route.fulfill(body=text, content_type="text/html"), times=1)
    page.route("**/stream*", lambda route: route.fulfill(status=204, body=""))
    page.goto(f"{storm.url}/db/ddl-hang")
    command = page.locator("#holder").get_by_text(COMMAND)
    command.wait_for()
    return command


@pytest.mark.parametrize("passes", PASSES)
def test_command_leaves_the_page_by_itself(
    passes: str, storm: Running, hang_page: str, page: "Page", complaints: list[str]
) -> None:
    command = opened(page, storm, hang_page)
    now, wall = PASSES[passes]
    page.evaluate(f"later = {{ now: 0, wall: 0 }}; later.now = {min(now, 50_000)}; 0")
    expect(command).to_be_visible()
    page.evaluate(f"later.now = {now}; later.wall = {wall}; 0")
    expect(command).to_have_count(0)
    expect(page.locator("#holder").get_by_text("more than a minute old")).to_be_visible()
    expect(page.locator("#holder").get_by_text("v$rowcache_parent").first).to_be_visible()
    complaints.clear()  # the answers that were refused


def test_command_is_not_copied_when_it_is_too_old_and_is_not_there_without_script(
    storm: Running, hang_page: str, page: "Page", new_page: NewPage, complaints: list[str]
) -> None:
    opened(page, storm, hang_page)
    page.evaluate(
        "() => { globalThis.copied = []; navigator.clipboard.writeText = async (text) => copied.push(text); }"
    )
    copy = page.locator("#holder [data-what='command that ends the chain'] button")
    copy.click()
    assert len(page.evaluate("copied")) == 1
    held = copy.element_handle()
    page.evaluate("([button]) => { const now = Date.now(); Date.now = () => now + 61000; button.click(); }", [held])
    assert len(page.evaluate("copied")) == 1, "a button that is held is gone with its command"
    plain = new_page(viewport=WIDE, java_script_enabled=False)
    plain.route("**/db/ddl-hang", lambda route: route.fulfill(body=hang_page, content_type="text/html"))
    plain.goto(f"{storm.url}/db/ddl-hang")
    expect(plain.locator("#holder").get_by_text("No command").first).to_be_visible()
    assert COMMAND not in plain.locator("body").inner_text()
    complaints.clear()
