"""REST for what a change is worth."""

from datetime import UTC, datetime

import httpx
import pytest

from service.store.repository import Repository
from service.web.api import whatif
from tests.service.marked import DB, at, polled
from tests.service.stage import Client, Stage
from tests.service.stores import Place


def asked(app: Client, path: str, body: dict[str, object]) -> httpx.Response:
    return app.get(path, "POST", json=body)


PATH = f"/api/v1/databases/{DB}/whatif"


def test_question_without_a_change_is_422_and_without_history_409(
    store: Repository, stage: Stage, place: Place
) -> None:
    app = stage.app(place.url)
    assert asked(app, PATH, {}).status_code == 422
    assert asked(app, PATH, {"timer_ms": 1, "timer_now_ms": 10, "gets": 0.5}).status_code == 422
    assert asked(app, PATH, {"gets": -1}).status_code == 422
    refused = asked(app, PATH, {"gets": 0.5})
    assert refused.status_code == 409 and "wait until it is polled" in refused.json()["detail"]
    assert asked(app, "/api/v1/databases/nobody/whatif", {"gets": 0.5}).status_code == 404


def test_answer_has_figures_with_intervals(
    store: Repository, stage: Stage, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    polled(store, stage, 60, 90)
    monkeypatch.setattr(whatif, "datetime", Clock(at(90)))
    told = asked(stage.app(place.url), PATH, {"gets": 0.5, "cache": "dc_rollback_segments"})
    assert told.status_code == 200, told.text
    found = told.json()
    assert (found["child"], found["cache"], found["confidence"]) == (1, "dc_rollback_segments", "medium")
    assert found["miss_ratio"]["low"] < found["miss_ratio"]["value"] < found["miss_ratio"]["now"]


class Clock:
    """datetime with the time of the test."""

    def __init__(self, at: datetime) -> None:
        self._at = at

    def now(self, zone: object = UTC) -> datetime:
        return self._at
