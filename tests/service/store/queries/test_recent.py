"""The store's answers for rows of the fleet: last marks with their troubles, the last hour, earlier episodes."""

from dataclasses import replace
from datetime import timedelta
from threading import Event, Thread

import pytest
from sqlalchemy import Engine
from sqlalchemy.exc import OperationalError

from collectors.model import NotComparable
from service.state.board import PollRecord
from service.store.repository import Repository
from tests.oracle_standin.deadline import HANGS
from tests.service.stage import BEGAN, Stage
from tests.service.store.queries.test_topics import episode

MINUTE = timedelta(minutes=1)


def test_last_mark_of_each_database_comes_with_the_troubles_before_and_after(store: Repository, stage: Stage) -> None:
    published = stage.poll("undo-storm", 40)
    ended = replace(episode(), last_seen=BEGAN + 5 * MINUTE, end=BEGAN + 5 * MINUTE)
    again = replace(episode(), begin=BEGAN + 30 * MINUTE, last_seen=BEGAN + 31 * MINUTE, peak_at=BEGAN + 30 * MINUTE)
    record = PollRecord(published.delta, None, (ended, again))  # type: ignore[arg-type]
    store.keep(published.snapshot, published.diagnosis, record)
    assert store.recent.last_marks() == {}
    store.marks.add("erp1", BEGAN, "an older one", "me")
    store.marks.add("erp1", BEGAN + 4 * MINUTE, "undo tablespace recreated", "me")
    store.marks.add("crm", BEGAN, "calm", "me")
    marks = store.recent.last_marks()
    assert {name: last.mark.text for name, last in marks.items()} == {
        "erp1": "undo tablespace recreated",
        "crm": "calm",
    }
    assert store.recent.last_marks("erp1") == {"erp1": marks["erp1"]} and store.recent.last_marks("nobody") == {}
    assert [(one.cause, one.begin, one.end) for one in marks["erp1"].before] == [
        ("undo-segments", BEGAN, BEGAN + 5 * MINUTE)
    ]
    assert (marks["erp1"].after, marks["crm"].before) == ({"undo-segments"}, ())
    assert store.recent.earlier("erp1", "undo-segments", BEGAN + 30 * MINUTE) == 1
    assert store.recent.earlier("erp1", "undo-segments", BEGAN) == 0


def test_fleet_is_drawn_without_a_store_that_hangs(store: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    told, found = Event(), list[object]()

    def hangs(engine: Engine) -> None:
        told.wait(2 * HANGS)
        raise OperationalError("select", {}, ConnectionError("it was frozen"))

    monkeypatch.setattr(Engine, "connect", hangs)
    reader = Thread(target=lambda: found.append(store.recent.last_marks()), daemon=True)
    reader.start()
    reader.join(HANGS)
    told.set()
    assert found == [{}], "no page waits for a store that hangs"


def test_minutes_are_means_weighted_by_seconds_of_the_databases_asked_for(store: Repository, stage: Stage) -> None:
    for at in (60, 62, 64, 180):
        published = stage.poll("undo-storm", at)
        change = published.delta or NotComparable("undo-storm", None, "the first poll", "wait", kind="first_poll")
        store.keep(published.snapshot, published.diagnosis, PollRecord(change))
    minutes = store.recent.minutes(["undo-storm", "nobody"], BEGAN)
    assert minutes is not None and minutes["nobody"] == {}
    first = int((BEGAN.timestamp() + 62) // 60)
    assert set(minutes["undo-storm"]) == {first, first + 2}
    assert 0.31 < minutes["undo-storm"][first] < 0.33
    assert store.recent.minutes(["undo-storm"], BEGAN + timedelta(hours=1)) == {"undo-storm": {}}
