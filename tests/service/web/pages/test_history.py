"""The pages over time: what they show of known polls, gaps with their reasons, marks, and refusals with a way out."""

import re
from datetime import UTC, datetime, timedelta
from urllib.parse import quote

import pytest

from rules.formatting import rough
from rules.model import Severity
from service.history.baselines import WEEK
from service.state.episodes import Episode
from service.store.episodes import Baseline
from service.store.record import row_of
from service.store.repository import Repository
from tests.service.stage import BEGAN, Client, Stage
from tests.service.web.pages.test_database import HOSTILE, no_inline

DB = "undo-storm"
STORM = 40


def at(seconds: float) -> datetime:
    return BEGAN + timedelta(seconds=seconds)


def iso(seconds: float) -> str:
    return quote(at(seconds).isoformat().replace("+00:00", "Z"))


def history(app: Client, begin: float, end: float) -> str:
    answer = app.get(f"/db/{DB}/history?begin={iso(begin)}&end={iso(end)}")
    assert answer.status_code == 200, answer.text
    assert no_inline(answer.text)
    return answer.text


def stored(stage: Stage) -> Repository:
    return Repository(f"sqlite:///{stage.folder}/store.db")


@pytest.fixture(scope="module")
def app(still: Stage) -> Client:
    """The app for tests that only read."""
    for moment in (STORM, 42, 44, 46, 48):
        still.poll(DB, moment)
    return still.app()


@pytest.fixture
def own(stage: Stage) -> Client:
    """The same app for a single test that changes something."""
    for moment in (STORM, 42, 44, 46, 48):
        stage.poll(DB, moment)
    return stage.app()


def cells(text: str) -> list[list[str]]:
    """The rows of the table of figures."""
    body = re.search(r'<table class="figures">.*?<tbody>(.*?)</tbody>', text, re.S)
    assert body
    return [re.findall(r"<td[^>]*>(.*?)</td>", row, re.S) for row in re.findall(r"<tr>(.*?)</tr>", body[1], re.S)]


def test_history_page_has_the_figures_of_the_polls_its_charts_resolution_and_time_zone(
    app: Client, still: Stage
) -> None:
    text = history(app, 41, 49)
    published = still[DB].published
    assert published is not None
    assert published.diagnosis.impact is not None
    last = cells(text)[-1]
    assert last[:2] == ["2026-03-01 12:00:46", "12:00:48"]
    assert float(last[2]) == pytest.approx((published.diagnosis.impact.share_of_db_time or 0) * 100, rel=0.01)
    assert published.delta is not None
    hot = next(row for row in published.delta.rows("v$latch_children") if row["child#"] == 1)
    assert float(last[3].replace(",", "")) == pytest.approx(float(hot["sleeps"]) / 2, rel=0.01)  # type: ignore[arg-type]
    for words in (
        "DB time lost", "Row cache latch sleeps", "Dictionary gets", "Hard parses", "Executions",
        "Entries used of dc_rollback_segments", "dc_rollback_segments", "Resolution: every poll", "All times are UTC",
        '>01 Mar 12:00:41</time> – <time', "format=csv", "1 hour", "90 days", "later", "wider",
    ):  # fmt: skip
        assert words in text, words
    assert len(re.findall('<svg class="chart (?:events )?wide"', text)) == 7


def test_history_page_of_a_mutex_database_shows_where_mutexes_sleep(stage: Stage) -> None:
    for moment in (40, 42, 44):
        stage.poll("users-mutex", moment)
    text = stage.app().get(f"/db/users-mutex/history?begin={iso(40)}&end={iso(45)}").text
    assert "Row cache mutex sleeps" in text
    assert "metric=mutex_sleeps" in text


def test_missed_polls_and_restarts_are_gaps_with_reasons_and_not_zero(stage: Stage) -> None:
    for moment in (40, 42, 44, 46, 100, 102, 104):
        stage.poll(DB, moment)
    stage.began = BEGAN + timedelta(seconds=5)
    for moment in (106, 108):
        stage.poll(DB, moment)
    text = history(stage.app(), 41, 114)
    told = [row[2] for row in cells(text) if len(row) == 3]
    assert len(told) == 2
    assert told[0] == "gap: not watched"
    assert "started" in told[1]
    drawn = re.findall(r'<path class="line s0" d="([^"]*)"', text)
    assert [one.count("M") for one in drawn] == [3] * len(drawn)


def test_window_that_nobody_watched_says_so_and_a_database_is_not_found(app: Client) -> None:
    text = history(app, 4000, 8000)
    assert "The store has nothing of undo-storm in this window" in text
    assert "not watched" in text
    for path in ("/db/nobody/history", "/db/nobody/compare"):
        assert app.get(path).status_code == 404
    assert app.get("/db/nobody/marks", "POST", content="text=x").status_code == 404
    assert "Cannot tell: no polls of the rest of the hour can be used, and it takes 3" in differs(history(app, 41, 49))


def test_refused_view_is_unknown_and_not_zero_and_a_group_that_cannot_tell(stage: Stage) -> None:
    stage.refused = {DB: ("v$latch_children", "v$latch", "v$rowcache")}
    for moment in range(0, 40, 2):
        stage.poll(DB, moment)
    text = history(stage.app(), 10, 25)
    assert re.search(r"Row cache latch sleeps.*?</figcaption><p class=\"quiet\">Not known", text)
    assert cells(text)[-1][3] == "–"
    assert "Gets of a dictionary cache, per second: cannot tell, v$rowcache was not read often enough" in differs(text)


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("begin=soon", "soon is not a time"),
        ("begin=-1h&end=-2h", "the end is not after the begin"),
        ("begin=2026-03-01T12:00", "no time zone"),
        ("begin=-9000d", "longer than"),
        ("begin=%3Cscript%3Ealert(1)%3C/script%3E", "&lt;script&gt;"),
    ],
)
def test_bad_window_is_a_page_that_says_why_and_leads_on(app: Client, query: str, why: str) -> None:
    answer = app.get(f"/db/{DB}/history?{query}")
    assert answer.status_code == 422
    assert answer.headers["content-type"].startswith("text/html")
    assert why in answer.text.replace("The end", "the end").replace("Soon", "soon")
    assert "<script>" not in answer.text
    assert f"/db/{DB}/history?begin=-24h" in answer.text


def test_store_that_does_not_answer_is_reported_and_other_pages_stay(own: Client, stage: Stage) -> None:
    with stored(stage).engine.begin() as connection:
        for table in ("polls", "marks", "episodes"):
            connection.exec_driver_sql(f"drop table {table}")
    answer = own.get(f"/db/{DB}/history")
    assert (answer.status_code, "he store does not answer" in answer.text) == (503, True)
    assert own.get(f"/db/{DB}/marks", "POST", content="text=x").status_code == 503
    for path in ("/", f"/db/{DB}"):
        answer = own.get(path)
        assert answer.status_code == 200, path
        assert "The store does not answer" in answer.text


def test_episodes_and_marks_are_on_the_timeline_and_in_the_list(own: Client, stage: Stage) -> None:
    store = stored(stage)
    store.marks.add(DB, at(45), HOSTILE, "ops")
    store.baselines.put([Baseline(DB, "executions_per_second", WEEK, 9000.0, 8000.0, 9500.0, 60)])
    text = history(own, 39, 60)
    assert text.count("usual for the hour</span>") == 1, "beside the one chart whose figure has a learned range"
    assert "usual 9,000, mostly 8,000 to 9,500: the usual of all hours" in text
    assert own.get(f"/db/{DB}").text.count("usual for the hour</span>") == 1
    assert "<script>alert" not in text
    assert '<path class="flag"' in text
    assert '<rect class="lane"' in text
    assert re.search(r"Too many undo segments on dc_rollback_segments</a>", text)
    assert "set by ops" in text
    assert text.count('class="flagline"') == 12, "through each chart"


def test_mark_form_sets_a_mark_and_leads_to_its_comparison(own: Client, stage: Stage) -> None:
    sent = {"text": " undo tablespace\n recreated ", "at": at(44).isoformat()}
    answer = own.get(f"/db/{DB}/marks", "POST", data=sent)
    assert answer.status_code == 303
    (mark,) = stored(stage).marks.between(DB, BEGAN, at(1000)).items
    assert (mark.text, mark.at, mark.who) == ("undo tablespace recreated", at(44), "this machine")
    assert answer.headers["location"] == f"/db/{DB}/compare?mark={mark.id}"
    assert "undo tablespace recreated" in own.get(f"/db/{DB}").text or at(44) < datetime.now(UTC) - timedelta(days=7)


@pytest.mark.parametrize(
    ("status", "fields", "headers"),
    [
        (422, {}, {}),
        (422, {"text": ""}, {}),
        (422, {"text": "x" * 501}, {}),
        (422, {"text": "x", "at": "soon"}, {}),
        (422, {"text": "x", "at": "2199-01-01T00:00Z"}, {}),
        (422, {"text": "x", "at": "1969-12-31T23:00Z"}, {}),
        (403, {"text": "x"}, {"origin": "https://evil.example"}),
        (403, {"text": "x"}, {"host": "evil.example"}),
        (413, {"text": "x" * 9000}, {}),
    ],
)
def test_mark_form_refuses_an_invalid_mark_and_one_of_another_site(
    app: Client, still: Stage, status: int, fields: dict[str, str], headers: dict[str, str]
) -> None:
    answer = app.get(f"/db/{DB}/marks", "POST", data=fields, headers=headers)
    assert answer.status_code == status and (status != 422 or "failure" in answer.text)
    assert stored(still).marks.between(DB, BEGAN, datetime.now(UTC) + timedelta(days=999)).items == ()


def test_fleet_page_shows_what_happened_within_a_day(stage: Stage) -> None:
    stage.poll(DB, STORM)
    app = stage.app()
    assert "Last 24 hours" not in app.get("/").text
    begin = datetime.now(UTC) - timedelta(hours=2)
    episode = Episode(
        DB, "undo-segments", "dc_rollback_segments", HOSTILE, begin, begin, None, Severity.WARNING, Severity.CRITICAL,
        begin, 0.3, "headline",
    )  # fmt: skip
    store = stored(stage)
    with store.engine.begin() as connection:
        store.episodes.write(connection, [row_of(episode)])
    text = app.get("/").text
    assert "Last 24 hours" in text
    assert "As a list (1)" in text
    assert '<a href="/db/undo-storm/history?begin=' in text
    assert "<script>alert" not in text


def differs(text: str) -> str:
    """The panel of what differs, without its markup."""
    panel = text.partition('id="differs"')[2].partition("</section>")[0]
    return " ".join(re.sub(r"<[^>]+>", " ", panel).split())


def test_stretch_shows_what_differs_in_it_as_rest_says(stage: Stage) -> None:
    for moment in range(0, 60, 2):
        stage.poll(DB, moment)
    app = stage.app()
    panel = differs(history(app, 22, 58))
    asked = f"/api/v1/databases/{DB}/differences?begin={iso(22)}&end={iso(58)}"
    told = app.get(asked).json()
    assert told["headline"] in panel and "sessions waited for the row cache here" in panel
    assert f"Here: {told['stretch_polls']} polls over" in panel
    group = next(one for one in told["groups"] if one["metric"] == "child_sleeps")
    first = group["members"][0]
    assert first["of"] == "child 1 (dc_rollback_segments)" and first["noticeable"]
    assert first["difference"] == pytest.approx(first["stretch"] - first["rest"])
    assert f"{first['of']} {rough(first['stretch'])} {rough(first['rest'])} +" in panel
    assert "container" not in panel, "11.2 has none"


def test_longer_window_says_how_to_see_what_differs_and_rest_refuses_it(app: Client) -> None:
    text = history(app, 0, 3600)
    assert 'id="differs"' not in text and "A stretch of at most 45 min also shows what differs" in text
    answer = app.get(f"/api/v1/databases/{DB}/differences?begin={iso(0)}&end={iso(3600)}")
    assert answer.status_code == 422
    assert "the stretch has 60 min" in answer.json()["detail"] and "at most 45 min" in answer.json()["detail"]
