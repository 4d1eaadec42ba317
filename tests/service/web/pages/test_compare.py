"""Before and after on a page: around a mark, for two windows, and windows that cannot be compared."""

import re
from datetime import UTC, datetime, timedelta
from html import unescape
from urllib.parse import quote

import pytest

from rules.formatting import sentence
from service.history.comparison import ComparedWindows, comparison
from service.render.comparison import cells
from service.state.time_window import Window
from tests.service.stage import Client, Stage
from tests.service.web.pages.test_database import HOSTILE, no_inline
from tests.service.web.pages.test_history import DB, at, iso, stored

CALM, STORM, RELIEF = range(2, 22, 4), range(44, 92, 4), range(124, 160, 4)


@pytest.fixture(scope="module")
def app(still: Stage) -> Client:
    """The app for tests that only read."""
    for moment in (*CALM, *STORM, *RELIEF):
        still.poll(DB, moment)
    return still.app()


@pytest.fixture
def own(stage: Stage) -> Client:
    """The same app for a single test that changes something."""
    for moment in (*CALM, *STORM, *RELIEF):
        stage.poll(DB, moment)
    return stage.app()


@pytest.fixture
def calm(stage: Stage) -> Client:
    """A database without any event yet."""
    stage.poll(DB, 2)
    stage.poll(DB, 4)
    return stage.app()


def compared(app: Client, before: tuple[float, float], after: tuple[float, float]) -> str:
    windows = [f"{iso(begin)}..{iso(end)}" for begin, end in (before, after)]
    answer = app.get(f"/db/{DB}/compare?before={windows[0]}&after={windows[1]}")
    assert answer.status_code == 200, answer.text
    assert no_inline(answer.text)
    return answer.text


def test_compare_page_shows_two_windows_on_one_scale_with_what_changed_first(app: Client) -> None:
    text = compared(app, (1, 19), (45, 89))
    assert text.index('<h2 id="c">What changed</h2>') < text.index('<h2 id="s">What stayed the same</h2>')
    ids = re.findall(r' id="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    pairs = re.findall(r'<div class="half gap-top">(.*?)</div>', text, re.S)
    assert len(pairs) == 5, "five charts, each of both sides"
    for pair in pairs:
        sides = re.findall(r'<svg class="chart half".*?</svg>', pair, re.S)
        before, after = (re.findall(r'text-anchor="end">([^<]*)<', side) for side in sides)
        assert before == after


def test_compare_page_has_the_same_figures_as_the_command(app: Client, still: Stage) -> None:
    told = comparison(stored(still), DB, ComparedWindows(Window(at(1), at(19)), Window(at(45), at(89))))
    text = compared(app, (1, 19), (45, 89))
    shown = [
        re.sub(r"<code>.*?</code>|<[^>]+>", "", row).strip() for row in re.findall(r'<th scope="row">(.*?)</th>', text)
    ]
    said = [sentence(cells(change)[0]) for change in told.changes if change.verdict != "cannot tell"]
    assert sorted(map(unescape, shown)) == sorted(said)
    lead = re.search(r'<div class="ratio[^"]*"><b>([^<]+)</b><span>([^<]+)</span>', text)
    assert lead is not None and lead.groups() == ("new", "from none"), "no session slept before"
    assert f'<h1 id="v">{told.sentence}</h1>' in unescape(text)
    one = next(change for change in told.changes if change.verdict != "cannot tell")
    for factor in (0.9996, 1.0, 1.0004):
        same = one.model_copy(update={"factor": factor, "direction": "same", "verdict": "within noise"})
        assert cells(same)[4:] == ("1 ×", "no change")
    assert cells(one.model_copy(update={"factor": 1 / 238}))[4] == "1/238"


def test_compare_page_around_a_mark_escapes_its_text_and_says_if_the_trouble_is_verified(
    own: Client, stage: Stage
) -> None:
    text = compared(own, (50, 70), (70, 89))
    assert re.search(r'<b>Not verified</b>: <a href="/causes/undo-segments">', text)
    text = compared(own, (50, 89), (127, 159))
    assert re.search(r'<b>Verified</b>: <a href="/causes/undo-segments">', text)
    assert "Verified: the change helped" in text
    mark = stored(stage).marks.add(DB, at(60), HOSTILE, "ops")
    answer = own.get(f"/db/{DB}/compare?mark={mark.id}")
    assert answer.status_code == 200, answer.text
    assert "<script>alert" not in answer.text
    assert "&lt;script&gt;alert" in answer.text
    assert "set by ops" in answer.text


@pytest.mark.parametrize(
    ("query", "status", "why"),
    [
        ("before=-2h..-1h", 422, "one of the two windows is not given"),
        ("before=x&after=y", 422, "is not a window"),
        ("before=-1h..-2h&after=-1h..now", 422, "not after the begin"),
        ("mark=nothing", 404, "no mark nothing"),
        ("before=2020-01-01T00:00Z..2020-01-01T01:00Z&after=-1h..now", 200, "nothing of undo-storm is kept"),
        ("mark=%3Cscript%3E", 404, "&lt;script&gt;"),
    ],
)
def test_compare_page_without_a_result_says_why_and_keeps_the_form(
    calm: Client, query: str, status: int, why: str
) -> None:
    answer = calm.get(f"/db/{DB}/compare?{query}")
    assert (
        answer.status_code,
        why in answer.text.replace('<p class="lede">O', "o").replace('<p class="lede">N', "n"),
    ) == (status, True), answer.text
    assert '<form class="row" method="get">' in answer.text
    assert "<script>" not in answer.text


def test_compare_page_without_a_query_shows_form_and_latest_marks(calm: Client, stage: Stage) -> None:
    assert "No change mark in the last 90 days" in calm.get(f"/db/{DB}/compare").text
    mark = stored(stage).marks.add(DB, datetime.now(UTC) - timedelta(days=1), "patched", "ops")
    text = calm.get(f"/db/{DB}/compare").text
    assert f"/db/{quote(DB)}/compare?mark={mark.id}" in text
    assert "patched" in text
