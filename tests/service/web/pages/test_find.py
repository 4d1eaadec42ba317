"""The list behind Ctrl-K: what finds what, in which order, and for whom."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules.cause import catalogue
from service.web.pages.causes import runbook_names
from service.web.pages.find import MOST, Place, find, fixed_places
from tests.service.stage import Client, Stage
from tests.service.web.pages.test_database import HOSTILE, no_inline


@pytest.fixture(scope="module")
def app(still: Stage) -> Client:
    still.poll_all(40.0, 42.0)
    return still.app()


def links(app: Client, asked: str) -> list[str]:
    answer = app.get("/find", params={"q": asked})
    assert answer.status_code == 200 and no_inline(answer.text)
    listed = answer.text.partition("data-found>")[2].partition("</ul>")[0]
    return re.findall(r'<a href="([^"]+)">', listed)


@pytest.mark.parametrize(
    ("asked", "first"),
    [
        ("undo-storm", "/db/undo-storm"),
        ("UNDO-ST", "/db/undo-storm"),
        ("RowCacheHang", "/runbooks/RowCacheHang"),
        ("cache hang", "/runbooks/RowCacheHang"),
    ],
)
def test_a_name_or_its_beginning_finds_it_first(app: Client, asked: str, first: str) -> None:
    assert links(app, asked)[0] == first


def test_a_cache_and_a_wait_event_find_their_causes(app: Client) -> None:
    for cause in catalogue().values():
        for name in cause.caches:
            by_cache = [one.link for one in fixed_places() if f" {name.casefold()} " in f" {one.keys} "]
            assert f"/causes/{cause.id}" in by_cache
    sequences = {f"/causes/{cause.id}" for cause in catalogue().values() if "dc_sequences" in cause.caches}
    assert sequences and sequences <= set(links(app, "dc_sequences"))
    by_event = {one.link for one in find(fixed_places(), "row cache lock").places if one.kind == "Cause"}
    locks = {f"/causes/{cause.id}" for cause in catalogue().values() if "lock" in cause.surfaces}
    assert by_event and by_event <= locks | {one.link for one in fixed_places() if "row cache lock" in one.words}
    assert "/db/undo-storm" in links(app, "dc_rollback_segments"), "a database is found by its hot cache"


def test_all_that_an_empty_question_finds_begins_with_the_worst_database(app: Client) -> None:
    found = links(app, "")
    states = {one["name"]: one["state"] for one in app.get("/api/v1/databases").json()}
    worst = next(one for one in ("Critical", "Warning", "Notice", "Fine", "No data") if one in states.values())
    assert states[found[0].removeprefix("/db/")] == worst
    kinds = {one.split("/")[1] for one in found}
    assert kinds == {"db", "causes", "runbooks"}
    assert sum(one.startswith("/runbooks/") for one in found) == min(MOST, len(runbook_names()))


@pytest.mark.parametrize(
    "asked", ["", *(pytest.param(one, marks=pytest.mark.slow) for one in ("latch", "dc_users", "undo"))]
)
def test_every_link_leads_to_a_page(app: Client, asked: str) -> None:
    for link in links(app, asked):
        assert app.get(link).status_code == 200, link


@given(st.lists(st.text("abc ", min_size=1, max_size=6), max_size=30), st.text("ab c", max_size=5))
def test_every_place_with_all_words_is_found_and_no_other(names: list[str], asked: str) -> None:
    places = [Place("Cause", name, "", f"/{number}") for number, name in enumerate(names)]
    having = {one.link for one in places if all(word in one.name for word in asked.split())}
    found = find(places, asked)
    assert found.count == len(having) and len(found.places) == min(MOST, len(having))
    assert {one.link for one in found.places} <= having


def test_a_better_match_of_any_kind_comes_before_a_worse_one() -> None:
    places = [
        Place("Database", "erp", "", "/words", "", "the undo of erp"),
        Place("Cause", "Segments", "", "/keys", "undo", ""),
        Place("Runbook", "GrowingUndo", "", "/inside"),
        Place("Cause", "Undo segments", "", "/begins"),
        Place("Runbook", "Undo", "", "/whole"),
    ]
    order = ["/whole", "/begins", "/inside", "/keys", "/words"]
    assert [one.link for one in find(places, "undo").places] == order


def test_page_says_what_is_not_there_and_shows_no_question_as_markup(app: Client) -> None:
    assert "Nothing has all of these words" in app.get("/find?q=zzzz").text
    assert app.get("/find", params={"q": "x" * 201}).status_code == 422
    text = app.get("/find", params={"q": HOSTILE}).text
    assert no_inline(text) and HOSTILE not in text
    for path in ("/", "/db/undo-storm", "/causes", "/nothing"):
        assert 'href="/find" data-find>Find' in app.get(path, headers={"Accept": "text/html"}).text, path
