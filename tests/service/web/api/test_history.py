"""REST of the history: figures with their gaps, pages, episodes, marks, comparisons, and refusals."""

import csv
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path

import pytest

from rules.changes import Change
from rules.comparison.changes import Comparison
from service.history.curves import NAMED
from service.state.time_window import iso
from service.store.repository import Repository
from tests.service.marked import DB, at, marked, polled
from tests.service.stage import BEGAN, Client, Stage
from tests.service.stores import Place

LOCK = {"lock_waits"}
"""The scripted database lists an event only after the first wait for it."""
PATH = f"/api/v1/databases/{DB}"
BOTH = f"begin={iso(at(0))}&end={iso(at(3600))}"


def told_of(store: Repository, stage: Stage, place: Place) -> Client:
    """Polls around the mark, with a gap of half a minute."""
    polled(store, stage, 100, 112)
    polled(store, stage, 142, 150)
    return stage.app(place.url)


@pytest.fixture
def own(store: Repository, stage: Stage, place: Place) -> Client:
    """The app over a store of each engine, for a test that writes to it."""
    return told_of(store, stage, place)


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def app(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """The app over a store of each engine, for the tests of this file that only read."""
    server = request.getfixturevalue("postgres") if request.param == "postgresql" else None
    place = Place(request.param, tmp_path_factory.mktemp("read"), server)
    store = Repository(place.url)
    with pytest.MonkeyPatch.context() as patch:
        stage = Stage(patch, place.folder)
        made = told_of(store, stage, place)
    yield made
    stage.close()
    store.close()
    place.close()


def got(app: Client, path: str) -> dict:  # type: ignore[type-arg]
    answer = app.get(path)
    assert answer.status_code == 200, answer.text
    return answer.json()  # type: ignore[no-any-return]


def test_history_tells_every_metric_with_its_unit(app: Client) -> None:
    told = got(app, f"{PATH}/history?{BOTH}&{'&'.join(f'metric={name}' for name in NAMED)}")
    assert {one["metric"] for one in told["series"]} == set(NAMED) - {"mutex_sleeps", "mutex_wait_seconds", *LOCK}
    assert all(len(one["values"]) == len(told["times"]) for one in told["series"])
    by_name = {(one["metric"], one["of"]): one for one in told["series"]}
    sleeps = by_name["child_sleeps", "child 1 (dc_rollback_segments)"]
    assert sleeps["values"][0] is None, "the first poll has no interval"
    assert sleeps["values"][1] == pytest.approx(5200, rel=0.01)
    children = [one["values"][1] for one in told["series"] if one["metric"] == "child_sleeps"]
    assert None not in children and 0.0 in children, "an unchanged counter has a figure, which is zero"
    assert by_name["cache_usage", "dc_rollback_segments"]["values"][3] == 14600, "an unchanged level is still known"


def test_history_of_an_unwatched_stretch_and_of_a_missing_bucket_is_null(
    own: Client, store: Repository, stage: Stage
) -> None:
    stage[DB].owned, stage[DB].published = True, None  # as this process polls it, after a restart
    polled(store, stage, 1000, 1004)
    told = got(own, f"{PATH}/history?{BOTH}&metric=latch_sleeps")
    (series,) = told["series"]
    restarted = told["times"].index(iso(at(1000)))
    assert told["seconds"][restarted] is None and series["values"][restarted] is None
    store.upkeep.sum_hours(at(86400))
    told = got(own, f"{PATH}/history?{BOTH}&metric=latch_sleeps&resolution=5m")
    assert told["times"] == [iso(at(0)), iso(at(300)), iso(at(900))]
    (series,) = told["series"]
    assert series["values"][1] is None and None not in (series["values"][0], series["values"][2])
    assert [place for place, each in enumerate(series.get("highest") or ()) if each is not None] == [0, 2]
    fine = got(own, f"{PATH}/history?{BOTH}&metric=latch_sleeps&resolution=poll")
    pairs = zip(fine["series"][0]["values"], fine["times"], strict=True)
    within = [value for value, time in pairs if time < iso(at(300)) and value is not None]
    assert series["highest"][0] == pytest.approx(max(within)) and series["highest"][0] > series["values"][0]
    assert fine["series"][0]["highest"] is None


def test_history_pages_join_to_the_whole(app: Client) -> None:
    asked = f"{PATH}/history?{BOTH}&metric=child_gets&of=child 1&resolution=poll"
    whole, path = got(app, asked), f"{asked}&limit=5"
    times, values = [], []
    while path:
        answer = app.get(path)
        told = answer.json()
        assert len(told["times"]) <= 5
        times += told["times"]
        values += told["series"][0]["values"]
        path = told["next"]
        assert (f'<{path}>; rel="next"' == answer.headers.get("link")) if path else "link" not in answer.headers
    assert (times, values) == (whole["times"], whole["series"][0]["values"])


@pytest.mark.parametrize("how", ["format=csv", "Accept"])
def test_csv_has_the_same_figures_and_empty_cells_for_null(app: Client, how: str) -> None:
    asked = f"{PATH}/history?{BOTH}&metric=latch_sleeps&metric=share_of_db_time&limit=4"
    answer = app.get(f"{asked}&{how}") if how != "Accept" else app.get(asked, headers={"Accept": "text/csv"})
    assert answer.headers["content-type"].startswith("text/csv") and 'rel="next"' in answer.headers["link"]
    rows = list(csv.DictReader(StringIO(answer.text)))
    told = got(app, asked)
    assert len(rows) == 8 and rows[0]["value"] == ""
    assert [float(row["value"]) for row in rows[2:4]] == [one["values"][1] for one in told["series"]]


@pytest.mark.parametrize(
    ("path", "status", "says"),
    [
        ("history", 422, "metric"),
        ("history?metric=nothing", 422, "no metric nothing; the metrics are: child_gets"),
        (
            f"history?metric=cache_gets&of=nothere&{BOTH}",
            422,
            "nothing is named nothere in this window; the names are: ",
        ),
        (f"history?metric=cache_gets&of=dc_users&of=nothere&{BOTH}", 422, "dc_rollback_segments, "),
        (f"history?metric=latch_gets&of=nothere&{BOTH}", 422, "leave out `of`"),
        ("history?metric=child_gets&begin=yesterday", 422, "yesterday is not a time"),
        ("history?metric=child_gets&begin=-1h&end=-2h", 422, "the end is not after the begin"),
        ("history?metric=child_gets&cursor=x", 422, "not a cursor"),
        ("history?metric=child_gets&resolution=1d", 422, "resolution"),
        ("history?metric=child_gets&limit=0", 422, "limit"),
        ("episodes?cursor=x", 422, "not a cursor"),
        *((f"diagnosis?at={edge}", 422, "year") for edge in ("9999-12-31T23:59:59Z", "0001-01-01T00:00Z")),
        ("history?metric=child_gets&cursor=0001-01-01T00:00:00%2B14:00", 422, "not a cursor"),
        ("history?metric=child_gets&cursor=9999-12-31T23:59:59-14:00", 422, "not a cursor"),
        ("episodes?cursor=9999-12-31T23:59:59-14:00~x~y", 422, "not a cursor"),
        ("marks?begin=2026-01-01T00:00", 422, "no time zone"),
        ("compare", 422, "give before and after, or mark"),
        ("compare?mark=last&before=-2h/-1h", 422, "give before and after, or mark"),
        ("compare?before=-2h&after=-1h/now", 422, "is not a window"),
        ("compare?mark=last&span=long", 422, "span is 'long'"),
        ("compare?mark=last", 404, "no mark yet"),
        ("compare?before=-2h/-1h&after=-1h/now", 409, "nothing of undo-storm is kept between"),
    ],
)
def test_refused_request_says_the_way_out(app: Client, path: str, status: int, says: str) -> None:
    answer = app.get(f"{PATH}/{path}")
    assert answer.status_code == status and says in answer.json()["detail"], answer.text
    assert answer.headers["content-type"] == "application/problem+json"


def test_episodes_can_be_filtered_and_an_unknown_database_is_404_everywhere(app: Client) -> None:
    every, other = f"/api/v1/episodes?{BOTH}", "parse-storm"
    assert {one["database"] for one in got(app, every)} == {DB}
    assert got(app, f"{every}&database={DB}") == got(app, every)
    assert got(app, f"{every}&database={other}") == []
    refused = app.get(f"{every}&database=nobody")
    assert refused.status_code == 404 and "no database named nobody" in refused.json()["detail"]
    for path in ("history?metric=child_gets", "episodes", "marks", "compare?mark=last"):
        assert app.get(f"/api/v1/databases/nobody/{path}").status_code == 404
    long = f"begin={iso(at(0) - timedelta(days=30))}&end={iso(at(3600))}"
    assert got(app, f"{PATH}/history?{long}&metric=latch_gets")["resolution"] == "5m"


def test_episodes_of_store_and_memory_are_each_paged_once(own: Client, store: Repository) -> None:
    (memory,) = got(own, f"{PATH}/episodes?{BOTH}")
    assert [memory[name] for name in ("database", "cause", "end", "verdict")] == [DB, "undo-segments", None, None]
    assert memory["last_seen"] == iso(at(112)), "its waits have fallen since"
    (kept,) = store.episodes.between(DB, at(0), at(3600)).items
    store.episodes.verdict(DB, kept.cause, kept.begin, "verified", "verified: a test")
    assert got(own, f"{PATH}/episodes?{BOTH}")[0]["verdict"] == "verified: a test"
    assert [one["cause"] for one in got(own, f"/api/v1/episodes?{BOTH}")] == ["undo-segments"]
    assert got(own, f"/api/v1/episodes?begin={iso(at(-90))}&end={iso(at(-60))}") == []


def test_mark_is_set_listed_and_compared(own: Client, store: Repository, tmp_path: Path) -> None:
    answer = own.get(f"{PATH}/marks", "POST", json={"text": " undo  tablespace recreated ", "at": iso(at(112))})
    mark = answer.json()
    assert answer.status_code == 201 and (mark["text"], mark["at"]) == ("undo tablespace recreated", iso(at(112)))
    assert got(own, f"{PATH}/marks?{BOTH}") == [mark]
    for which in ("last", mark["id"]):
        told = Comparison.model_validate(got(own, f"{PATH}/compare?mark={which}&settle=28s"))
        assert told.mark == "undo tablespace recreated" and told.find("child_sleeps") is not None
    windows = f"before={iso(at(100))}/{iso(at(112))}&after={iso(at(142))}..{iso(at(150))}"
    assert Comparison.model_validate(got(own, f"{PATH}/compare?{windows}")).mark is None


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        ({"text": "  "}, "1 to 500"),
        ({"text": "x" * 501}, "1 to 500"),
        ({"text": "x\x07"}, "printable"),
        ({"text": "x", "at": 0}, "write it as text"),
        ({"text": "x", "at": "2026-03-01T12:00:00"}, "no time zone"),
        ({"text": "x", "at": iso(datetime.now(UTC) + timedelta(days=1))}, "in the future"),
        ({"text": "x", "at": "9999-12-31T23:59:59-05:00"}, "in the future"),
        ({"text": "x", "at": "0001-01-01T00:00:00+05:00"}, "is before 1990"),
        ({"text": "x", "at": "1969-12-31T23:59:59Z"}, "is before 1990"),
        ({}, "text"),
    ],
)
def test_invalid_mark_is_refused(app: Client, wanted: dict[str, str], says: str) -> None:
    answer = app.get(f"{PATH}/marks", "POST", json=wanted)
    assert answer.status_code == 422 and says in answer.json()["detail"]
    foreign = app.get(f"{PATH}/marks", "POST", json={"text": "x"}, headers={"Origin": "http://evil.example"})
    assert foreign.status_code == 403
    assert got(app, f"{PATH}/marks?begin={iso(at(0))}&end={iso(datetime.now(UTC) + timedelta(days=9))}") == []


def test_store_that_is_away_is_503(stage: Stage, store: Repository, place: Place) -> None:
    polled(store, stage, 100, 102)
    marked(store)
    app = stage.app(place.url)
    place.execute("drop table marks")
    answer = app.get(f"{PATH}/marks")
    assert answer.status_code == 503 and answer.json()["title"] == "The store does not answer"
    assert json.loads(answer.text)["type"].startswith("/docs/problems/")


def test_changes_are_listed_newest_first_and_paged(stage: Stage) -> None:
    stage.poll_all(38, 40)
    app = stage.app()
    first, *later = (
        Change(
            at=BEGAN + timedelta(seconds=at), kind="ddl", text=f"TABLE APP.T{at} changed by DDL", source="dba_objects"
        )
        for at in (10, 20, 30)
    )
    store = Repository(f"sqlite:///{stage.folder}/store.db")
    with store.engine.begin() as connection:
        store.timeline.write(connection, [("undo-storm", change) for change in (first, *later)])
    window = f"begin={iso(BEGAN)}&end={iso(BEGAN + timedelta(minutes=1))}"
    newest = app.get(f"/api/v1/databases/undo-storm/changes?{window}&limit=2")
    assert [one["text"] for one in newest.json()] == ["TABLE APP.T30 changed by DDL", "TABLE APP.T20 changed by DDL"]
    older = app.get(newest.headers["link"].partition(">")[0].removeprefix("<"))
    assert [Change.model_validate(one) for one in older.json()] == [first]
    assert app.get("/api/v1/databases/nobody/changes").status_code == 404
