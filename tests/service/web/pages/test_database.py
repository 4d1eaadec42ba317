"""The pages: all render, in every state, and no text of a database becomes markup or script."""

import re
import sqlite3
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from html import unescape
from urllib.parse import quote

import pytest
from httpx import Response

from collectors.demo.scenarios import scenarios
from collectors.model import ConfirmationResult, Rows
from rules.cause import catalogue
from rules.changes import Change, ChangeKind
from rules.engine import Examination
from rules.explain.story import screen
from rules.model import Candidate, WaiterGroup, WaiterTotal, WaiterTotals
from service.config.settings import DatabaseSettings
from service.state.board import Failure
from service.state.episodes import Confirmed
from service.state.time_window import iso
from service.store.repository import Repository
from service.web.pages.database import past_trouble
from tests.service.stage import BEGAN, Client, Stage

HOSTILE = "<script>alert('x')</script>&\"'"


@pytest.fixture(scope="module")
def app(still: Stage) -> Client:
    """The app for tests that only read."""
    still.poll_all(40, 42, 44)
    return still.app()


@pytest.fixture
def own(stage: Stage) -> Client:
    """The same app for a single test that changes something."""
    stage.poll_all(40, 42, 44)
    return stage.app()


def paths() -> list[str]:
    return [
        "/",
        "/reports",
        "/causes",
        *(f"/db/{one}" for one in scenarios()),
        *(f"/db/undo-storm/{one}" for one in ("history", "compare")),
        *(f"/causes/{one}" for one in catalogue()),
    ]


@pytest.fixture(scope="module")
def pages(app: Client) -> Mapping[str, Response]:
    """Every page, requested once."""
    return {path: app.get(path) for path in paths()}


def test_pages_all_render_safely(pages: Mapping[str, Response]) -> None:
    for path, answer in pages.items():
        assert answer.status_code == 200, path
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        policy = answer.headers["content-security-policy"]
        assert [
            one for one in ("default-src 'none'", "script-src 'self'", "frame-ancestors 'none'") if one not in policy
        ] == []
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert no_inline(answer.text), path
        assert not re.search(r">\s*(None|nan|Undefined)\s*<", answer.text), path
        one = path.startswith(("/db/", "/causes/")) and not path.endswith(("/history", "/compare"))
        assert ('class="dont"><b>Do not</b> ' in answer.text) == one, path
        if predicted := answer.text.partition('class="pill">Predicted</span> ')[2]:
            assert predicted.startswith("Waits cost ") and "not the time lost" in predicted, (
                "what the user feels, first"
            )
        assert path != "/db/busy-but-fine" or "Do not</b> tune on 50." in answer.text
        assert not re.search(r"<dd>[\d.]+ %</dd>", answer.text), f"{path}: a number may not leave its unit behind"


NAMES = ({"con_id": 3.0, "sql_id": "gx0d8ku3vq7mz", "statements": 18210.0}, {"con_id": None, "sql_id": HOSTILE})


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (
            ConfirmationResult(214.0, "CDB$ROOT", 1, NAMES),
            (
                "<b>214 (in CDB$ROOT, over all containers)</b>.",
                'col">statements</th>',
                'class="n">18,210</td>',
                ">–</td>",
            ),
        ),
        (
            ConfirmationResult(0.0, "ERP1", 3),
            (
                "<b>0 (in PDB ERP1 only); that it misses the bound proves nothing, as other containers were not seen</b>.",
            ),
        ),
        (
            ConfirmationResult(None, refused=("v$sqlstats",)),
            ("It cannot run here: needs read or select on v$sqlstats; `latchscope grants --confirm",),
        ),
    ],
    ids=["all names", "one container", "refused"],
)
def test_page_after_a_confirming_query(stage: Stage, answer: ConfirmationResult, words: tuple[str, ...]) -> None:
    """Where it was read and what it names; that too small a number proves nothing; what keeps it from running."""
    for moment in (40, 42, 44):
        published = stage.poll("parse-storm", moment)
    made = {name: getattr(answer, name) for name in ("value", "container", "con_id", "names", "unnamed", "refused")}
    stage["parse-storm"].confirmed["hard-parse-storm"] = Confirmed(
        **made, cause="hard-parse-storm", sql="select 1", startup_time=published.snapshot.startup_time,
        at=time.time(), expires=time.monotonic() + 1e6,
    )  # fmt: skip
    stage.poll("parse-storm", at=46)
    page = unescape(stage.app().get("/db/parse-storm").text).replace("<code>", "`")
    assert [word for word in words if word not in page] == []


def test_cause_page_shows_the_text_of_each_release(app: Client) -> None:
    page = unescape(app.get("/causes/sequence-nocache").text)
    assert re.search(r"From 9\.2 on:</p><div [^>]*><pre [^>]*>select count\(\*\) from dba_sequences", page)
    assert re.search(r"From 12\.1 on:</p><div [^>]*><pre [^>]*>select con_id, sequence_owner", page)


def no_inline(html: str) -> bool:
    """No script, style or handler in the page itself, because its policy would refuse them."""
    scripts = re.findall(r"<script\b([^>]*)>(.*?)</script>", html, re.S)
    return (
        all("src=" in head and not body.strip() for head, body in scripts)
        and not re.search(r"<style\b|\sstyle=|\son[a-z]+=", html)
        and "javascript:" not in html
    )


@pytest.mark.parametrize("read", ["/db/undo-storm", "/db/undo-storm/history", pytest.param("", marks=pytest.mark.slow)])
def test_local_links_all_lead_somewhere(app: Client, pages: Mapping[str, Response], read: str) -> None:
    """Of one page, or of every page."""
    found = {
        unescape(link): path
        for path, page in pages.items()
        for link in re.findall(r'(?:href|src)="(/[^"#]*)', page.text)
        if read in ("", path)
    }
    assert len(found) > 20
    for link, path in found.items():
        answer = pages.get(link) or app.get(link)
        not_built = link.startswith("/docs/") and "make site" in answer.text
        assert answer.status_code == 200 or not_built, f"{path} → {link}"


def test_fleet_page_lists_the_worst_first(app: Client, still: Stage) -> None:
    order = re.findall(r'<td class="db"><a href="/db/([^"]+)">', app.get("/").text)
    ranks = [still[one].published.diagnosis.severity.rank for one in order]  # type: ignore[union-attr]
    assert set(order) == set(scenarios())
    assert ranks == sorted(ranks, reverse=True)
    assert order.index("undo-storm") < order.index("parse-storm") < order.index("busy-but-fine")


def test_database_page_shows_the_steps_of_the_diagnosis(app: Client) -> None:
    text = app.get("/db/undo-storm").text
    steps = re.findall(r"<li><b>([^<]+)</b>: ", text)
    assert steps[:5] == ["hot child", "cache", "confirmation", "miss location", "cause"]
    links = re.findall(r'<span class="name">([^<]+)</span>', text)
    assert links == [
        "latch: row cache objects", "child latch 1", "dc_rollback_segments", "kqrpre: find obj", "too many undo segments",
    ]  # fmt: skip
    for word in ("dc_rollback_segments", "kqrpre: find obj", "ORA-30013", "dba_rollback_segs", "Ruled out", "<svg"):
        assert word in text


def test_cause_page_has_everything_its_file_has(pages: Mapping[str, Response]) -> None:
    for one in catalogue().values():
        text = re.sub(r"\s+", " ", pages[f"/causes/{one.id}"].text)
        assert bool(re.search(r"<h2 id=\"g\">The (sign|\d+ signs)</h2>", text)) != one.handbook, one.id
        told = unescape(text).replace("<code>", "`").replace("</code>", "`")
        for word in (
            one.kb,
            one.title,
            one.do_now,
            one.do_not.removeprefix("Do not"),
            "Fix it",
            one.expected_effect,
            "When this is wrong",
        ):
            assert word in told, f"{one.id}: {word}"
        assert told.rindex("<h2") == told.index('<h2 id="e">When this is wrong'), f"{one.id}: the page ends with it"
        assert ((one.confirm and one.confirm.limits) or "") in told and (one.then or "") in told, one.id
        assert [step.do for step in one.remedy_steps if f"<h3>{step.do}</h3>" not in told] == [], one.id


@pytest.mark.parametrize(
    ("path", "link"),
    [
        ("/db/nobody", '<a class="button" href="/">'),
        ("/causes/nothing", '<a class="button" href="/causes">'),
        ("/db/undo-strom/compare", '<a href="/db/undo-storm">undo-storm</a>'),
        ("/reprots", '<a href="/reports">/reports</a>'),
        ("/db/%3Cimg src=x onerror=alert(1)%3E", "&lt;img"),
    ],
)
def test_unknown_page_is_404_and_leads_back_or_on(app: Client, path: str, link: str) -> None:
    answer = app.get(path, headers={"accept": "text/html,*/*"})
    assert answer.status_code == 404 and answer.headers["content-type"].startswith("text/html")
    assert "content-security-policy" in answer.headers and link in answer.text and "<img" not in answer.text


def test_past_moment_has_an_address_and_a_bad_one_says_why(app: Client, still: Stage) -> None:
    published = still["undo-storm"].published
    assert published is not None and published.snapshot.taken_at is not None
    text = app.get(f"/db/undo-storm?at={published.snapshot.taken_at:%Y-%m-%dT%H:%M:%SZ}").text
    assert "As it was at" in text and "Too many undo segments make every transaction queue" in text
    began = still["undo-storm"].episodes.open[0].begin
    assert f'Critical since <time datetime="{began.isoformat()}">01 Mar 12:00</time> UTC' in text
    assert "/static/live.js" not in text, "the past does not change"
    for odd in ("soon", "9999-12-31T23:59:59Z", "0001-01-01T00:00Z"):
        assert app.get(f"/db/undo-storm?at={odd}").status_code == 422


def test_forms_act_and_lead_back_to_the_page(own: Client) -> None:
    asked = own.get("/db/undo-storm/samples", "POST")
    assert (asked.status_code, asked.headers["location"]) == (303, "/db/undo-storm?done=sampled")
    assert "Waiting sessions are sampled" in own.get("/db/undo-storm?done=sampled").text
    nothing = own.get("/db/undo-storm/confirmations", "POST", content="cause=nothing")
    assert (nothing.status_code, "No cause nothing with a confirming query" in nothing.text) == (404, True)
    for form in ("samples", "confirmations", "login/resume"):
        foreign = own.get(f"/db/undo-storm/{form}", "POST", headers={"origin": "https://elsewhere.example"})
        assert foreign.status_code == 403, form


def test_diagnosis_can_be_taken_along(app: Client) -> None:
    for form, word in (("html", "<!doctype html>"), ("md", "## undo-storm")):
        kept = app.get(f"/db/undo-storm/export.{form}")
        assert kept.status_code == 200 and "attachment" in kept.headers["content-disposition"]
        assert "Too many undo segments" in kept.text and kept.text.startswith(word)
    menu = app.get("/db/undo-storm").text.partition('<details class="menu"')[2].partition("</details>")[0]
    assert re.findall(r'href="([^"?]+)', menu) == [
        "/db/undo-storm/export.html", "/db/undo-storm/export.md", "/api/v1/databases/undo-storm/diagnosis", "/db/undo-storm"
    ]  # fmt: skip


def test_pages_before_the_first_poll_say_what_they_wait_for(stage: Stage) -> None:
    app = stage.app()
    assert app.get("/").text.count(screen("nothing known").title) == len(scenarios())
    text = app.get("/db/undo-storm").text
    assert "No poll has finished yet" in text
    assert "Not enough polls for a chart yet" in text
    assert "<b>Do not</b> judge by one poll" in text
    stage.watch()
    assert "latchscope demo" in stage.app().get("/").text


def test_failures_headlines_and_names_of_the_database_are_escaped(stage: Stage) -> None:
    for name in ("undo-storm", "healthy-19c"):
        first, second = stage.poll(name, 40), stage.poll(name, 42)
    watched = stage["undo-storm"]
    assert watched.published is not None and second.delta is not None
    hostile = watched.published.diagnosis.model_copy(update={"headline": HOSTILE, "notes": (HOSTILE,)})
    watched.published = replace(watched.published, examined=Examination(hostile))
    rows = tuple({**row, "parameter": HOSTILE} for row in first.snapshot.rows("v$rowcache"))
    changes = replace(second.delta.read("v$rowcache"), rows=rows)  # type: ignore[type-var]
    delta = replace(second.delta, readings={**second.delta.readings, "v$rowcache": changes})
    stage["healthy-19c"].published = replace(second, delta=delta)
    stage["parse-storm"].failure = Failure(HOSTILE, HOSTILE, since=0.0, next_attempt=None)
    app = stage.app()
    for path in ("/", "/db/undo-storm", "/db/healthy-19c", "/db/parse-storm"):
        text = app.get(path).text
        assert "<script>alert" not in text and "&lt;script&gt;alert" in text, path
    stage["parse-storm"].failure = Failure("credential", "ORA-01017: logon denied", since=0.0, next_attempt=None)
    text = app.get("/db/parse-storm").text
    assert "The login is stopped" in text
    assert "The database does not let this user log in: ORA-01017: logon denied." in text


def test_restart_is_told_with_what_was_before_and_what_is_lost(stage: Stage) -> None:
    for moment in (40, 42, 44):
        stage.poll("undo-storm", at=moment)
    stage.began = BEGAN + timedelta(seconds=60)
    text = ""
    for moment, state, there in ((5, "No data", True), (7, "Fine", False)):
        stage.poll("undo-storm", at=moment)
        text = stage.app().get("/db/undo-storm").text
        assert ("The instance has restarted" in text, "totals of now with figures" in text) == (there, there), state
        assert "<b>The instance restarted at " in text and "See it as it was" in text, state
        assert re.search(r"Before it: .*Critical</span> Too many undo segments.*of DB time", text, re.DOTALL), state
        assert "Lost: the counters started again" in text, state
    app = stage.app()
    for kept in ("why = 'in other words'", "kind = null, why = 'the instance restarted (of 0.2.0)'"):
        with sqlite3.connect(stage.folder / "store.db") as store:
            store.execute(f"update polls set {kept} where why like 'the instance r%' or why like 'in other%'")
        store.close()
        assert "<b>The instance restarted at " in app.get("/db/undo-storm").text, f"no sentence is a flag: {kept}"
    (link,) = re.findall(r'<a href="([^"]*)">See it as it was', text)
    assert "Too many undo segments" in stage.app().get(unescape(link)).text
    assert "restarted at" not in stage.app().get("/db/busy-but-fine").text


def test_child_with_unknown_gets_is_still_shown(stage: Stage) -> None:
    stage.poll("undo-storm", at=40)
    before = stage["undo-storm"].published
    assert before is not None
    wrapped = tuple({**row, "gets": 2**62} for row in before.snapshot.rows("v$latch_children"))
    reading = Rows("v$latch_children", wrapped)
    snapshot = replace(before.snapshot, readings={**before.snapshot.readings, reading.view: reading})
    stage["undo-storm"].published = replace(before, snapshot=snapshot)
    stage.poll("undo-storm", at=42)
    text = stage.app().get("/db/undo-storm").text
    assert '<td class="n">1</td><td><code>dc_rollback_segments</code></td>' in text
    assert "fell (" in text, "and the note says what happened"


def test_stale_database_shows_no_old_verdict(stage: Stage) -> None:
    stage.poll_all(40, 42)
    stage.at = 200
    app = stage.app()
    assert "state critical" not in app.get("/").text
    text = app.get("/db/undo-storm").text
    assert "No data" in text and "<b>Do not</b>" in text and "Too many undo segments" not in text


def test_charts_come_from_the_store_survive_a_restart_and_have_a_gap_where_polls_were_missed(stage: Stage) -> None:
    stage.watch(DatabaseSettings(name="undo-storm", dsn="demo:undo-storm", interval=2.0))
    stage.poll_all(40, 42, 44, 100, 102)
    for restarted in (False, True):
        stage["undo-storm"].published = None if restarted else stage["undo-storm"].published
        text = stage.app().get("/db/undo-storm").text
        (sleeps, _) = re.findall(r'data-chart="sleeps".*?<path class="line s1" d="([^"]*)"(?s:.*?)(data-chart)', text)[
            0
        ]
        assert sleeps.count("M") == 2, "two stretches, and no line across the gap"


def test_static_files_are_served_with_their_types(app: Client) -> None:
    for name, kind in (("latchscope.css", "css"), ("latchscope.js", "javascript"), ("live.js", "javascript")):
        assert app.get(f"/static/{name}").headers["content-type"].startswith(f"text/{kind}")


def test_database_page_shows_waiters_episodes_and_what_else_to_check(stage: Stage) -> None:
    for moment in (40, 42, 44):
        published = stage.poll("undo-storm", moment)
    group = WaiterGroup(
        event="latch: row cache objects", cache="dc_rollback_segments", sessions=3.0, share=1.0, sql_id="7h35uxf5uhmm1",
        module=HOSTILE, program=None, container=None, blocker=None,
    )  # fmt: skip
    entry = next(one for one in catalogue().values() if one.handbook)
    candidate = Candidate(cause=entry.id, title=entry.name, check="look")
    total = WaiterTotal(name="7h35uxf5uhmm1", waiters=6, share=1.0, sessions=3.0)
    totals = WaiterTotals(looks=2, waiters=6, by_sql_id=(total,), by_module=(total,))
    update = {"who": (group,), "who_totals": totals, "candidates": (candidate,)}
    told = published.diagnosis.model_copy(update=update)
    stage["undo-storm"].published = replace(published, examined=Examination(told))
    text = stage.app().get("/db/undo-storm").text.replace("\N{NO-BREAK SPACE}", " ")
    peak = quote(iso(stage["undo-storm"].episodes.open[0].peak_at))
    for word in (
        "7h35uxf5uhmm1",
        "<summary>Episodes</summary>",
        "lasts",
        f"/causes/{entry.id}",
        "2 looks found 6 waiting sessions, 3.0 on average.",
        "The verdict has another average",
        f'<a href="/db/undo-storm?at={peak}">as it was at the peak</a>',
    ):
        assert word in text, word
    assert HOSTILE not in text
    assert stage.app().get("/db/healthy-19c").text.count("<summary>Episodes</summary>") == 0


def test_card_names_the_session_that_all_others_wait_for(stage: Stage) -> None:
    for moment in (40, 42, 44):
        published = stage.poll("undo-storm", moment)
    group = WaiterGroup(
        event="row cache lock", cache="dc_objects", sessions=3.0, share=0.95, sql_id=None,
        module=None, program=None, container=None, blocker="312@1",
    )  # fmt: skip
    for share, named in ((0.95, True), (0.5, False)):
        told = published.diagnosis.model_copy(
            update={"findings": (), "who": (group.model_copy(update={"share": share}),), "who_totals": None}
        )
        stage["undo-storm"].published = replace(published, examined=Examination(told))
        text = stage.app().get("/db/undo-storm").text
        said = screen("one holder", holder="312@1")
        assert [said.do in text, said.do_not.removeprefix("Do not") in text] == [named, named]
        assert ("<b>Do not</b> change settings while the cause is unknown" in text) is not named


def test_page_that_is_fine_again_leads_to_the_trouble_that_just_ended(stage: Stage) -> None:
    for moment in (40, 42, 44, 160, 180, 200, 220):
        stage.poll("undo-storm", moment)
    watched = stage["undo-storm"]
    (ended,) = watched.episodes.all
    assert ended.end is not None
    app = stage.app()
    text = app.get("/db/undo-storm").text.replace("\N{NO-BREAK SPACE}", " ")
    line = re.search(r'<p class="callout" data-live="past">(.*?)</p>', text)
    assert line is not None, "the page does not mention the storm of a moment ago"
    said = re.sub(r"<[^>]+>", "", line[1])
    assert re.fullmatch(
        rf"Until {ended.end:%H:%M:%S} UTC: too many undo segments, at most [\d.]+ % of DB time\. Look at it as it was",
        said,
    )
    link = re.search(r'href="([^"]+)"', line[1])
    assert link is not None
    past = app.get(link[1]).text
    assert "Too many undo segments make every transaction queue" in past
    assert 'data-live="past"' not in past
    stage.poll("undo-storm", 220 + 3600)
    assert past_trouble(watched) is None, "an hour later it is history"
    stage.poll("healthy-19c", 40)
    assert past_trouble(stage["healthy-19c"]) is None, "no trouble yet"


# What changed: beside the waits, by its time alone.


def changed(seconds: float, text: str, kind: ChangeKind = "ddl") -> Change:
    return Change(at=BEGAN + timedelta(seconds=seconds), kind=kind, text=text, source="dba_objects", con_id=0)


def stored(stage: Stage) -> Repository:
    """The store of the stage's app."""
    return Repository(f"sqlite:///{stage.folder}/store.db")


def card_of(page: str) -> str:
    (card,) = re.findall(r'<section class="card" id="changes".*?</section>', page, re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", card)).split())


def test_changes_are_told_with_their_times_beside_the_waits_and_no_cause_names_them(stage: Stage) -> None:
    for moment in (38, 40, 42, 44):
        stage.poll("undo-storm", moment)
    app, timeline = stage.app(), stage["undo-storm"].timeline
    timeline.add([changed(20, "TABLE APP.ORDERS changed by DDL"), changed(42, "statistics: x began", "statistics")])
    stored(stage).marks.add("undo-storm", BEGAN + timedelta(seconds=30), "a release", "anna")
    page = app.get("/db/undo-storm").text
    card = card_of(page)
    assert "DDL 12:00:20 TABLE APP.ORDERS changed by DDL, 20 s before the waits began" in card
    assert "Statistics 12:00:42 statistics: x began, 2 s after the waits began" in card
    assert "Mark 12:00:30 a release (set by anna), 10 s before the waits began" in card
    apart = r'<section class="card" id="changes".*?</section>|<title>.*?</title>'
    assert "APP.ORDERS" not in re.sub(apart, "", page, flags=re.DOTALL)
    got = app.get("/api/v1/databases/undo-storm/diagnosis").json()
    assert [one["text"] for one in got["changes"]][:2] == ["TABLE APP.ORDERS changed by DDL", "a release (set by anna)"]
    assert "APP.ORDERS" not in str(got["findings"]) + str(got["chain"]) + got["headline"]
    timeline.add(changed(second, f"{HOSTILE} {second}") for second in range(10, 27))
    page = app.get("/db/undo-storm").text
    assert "All 20 changes" in card_of(page) and HOSTILE not in page, "many are behind a click"


def test_database_without_waits_shows_the_changes_of_the_last_hour_without_an_order(stage: Stage) -> None:
    """That there is none is said too, and what was not read is listed."""
    for moment in (4, 6, 8):
        stage.poll("healthy-19c", moment)
    app = stage.app()
    card = card_of(app.get("/db/healthy-19c").text)
    assert "No change is known of the last hour." in card and "Not known: 7 sources" in card
    assert "objects that DDL changed, grants and revokes included: not read yet" in card
    stage["healthy-19c"].timeline.add([changed(-3700, "old"), changed(5, "TABLE APP.ORDERS changed by DDL")])
    card = card_of(app.get("/db/healthy-19c").text)
    assert "12:00:05 TABLE APP.ORDERS changed by DDL" in card and "waits began" not in card and "old" not in card


def test_changes_of_then_are_on_the_page_of_a_past_time_and_small_triangles_in_the_charts(stage: Stage) -> None:
    for moment in (38, 40, 42, 44):
        stage.poll("undo-storm", moment)
    app, store = stage.app(), stored(stage)
    with store.engine.begin() as connection:
        then, later = (changed(seconds, f"TABLE APP.T{seconds} changed by DDL") for seconds in (40, 600))
        store.timeline.write(connection, [("undo-storm", then), ("undo-storm", later)])
    window = f"begin={iso(BEGAN)}&end={iso(BEGAN + timedelta(minutes=2))}"
    for path in ("/db/undo-storm", f"/db/undo-storm/history?{window}"):
        assert "<title>12:00:40 TABLE APP.T40 changed by DDL</title>" in app.get(path).text, path
    card = card_of(app.get(f"/db/undo-storm?at={iso(BEGAN + timedelta(seconds=44))}").text)
    assert "12:00:40 TABLE APP.T40 changed by DDL, as the waits began" in card and "T600" not in card
    assert "which sources of changes could be read then is not kept" in card
