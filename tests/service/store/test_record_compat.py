"""What a newer release left in the store is read by this one: members that it does not know are left out, at any depth."""

import json
from datetime import UTC, datetime
from typing import Any

from rules.base import ChangeMade, Easing, Severity
from service.state.board import DatabaseSummary
from service.state.episodes import Confirmed
from service.state.replicas import DatabaseStatus, OwnerRequest
from service.store.record import known_members, obstacle_kind, read, verdict_kind
from tests.service.stage import Stage

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
CHANGE = ChangeMade(at=NOW, text="a")
EASING = Easing(cause="undo-segments", name="Undo", cache=None, until=NOW, waits="falling", change=CHANGE)
SUMMARY = DatabaseSummary(
    "19.0.0.0.0", "erp1", NOW, "mutex", Severity.WARNING, "a headline", state="Warning", easing=EASING
)
CONFIRMED = Confirmed(1.0, cause="undo-segments", sql="select 1 from dual", startup_time=None, at=1.0, expires=2.0)


def newer(value: Any) -> Any:
    """The same, with a member that nobody knows yet in every object."""
    if isinstance(value, dict):
        return {**{name: newer(member) for name, member in value.items()}, "of_a_newer_release": [1]}
    return [newer(member) for member in value] if isinstance(value, list) else value


def test_members_of_a_newer_release_are_left_out_at_any_depth(stage: Stage) -> None:
    for moment in (40, 42):
        stage.poll("undo-storm", moment)
    published = stage["undo-storm"].published
    assert published is not None
    values = (
        DatabaseStatus(database="erp1", pace=15, polled_at=1.0, ahead=0.0, failure=None, summary=SUMMARY),
        OwnerRequest(database="erp1", do="confirmed", confirmed=CONFIRMED),
        published.diagnosis,
    )
    for value in values:
        assert read(type(value), json.dumps(newer(json.loads(value.model_dump_json())))) == value
    assert known_members(Confirmed, {"value": 1.0, "of_a_newer_release": [1]}) == {"value": 1.0}


def test_kind_decides_and_the_sentence_only_where_there_is_none() -> None:
    assert obstacle_kind("restart", "in other words") == "restart"
    assert verdict_kind("verified", "in other words") == "verified"
    obstacles = {
        "the first poll has nothing to compare with": "first_poll",
        "the instance restarted (started 2026-03-01 12:00:00, now 2026-03-01 13:00:00); counters began again": "restart",
        "the later snapshot is not later by the database's clock": "not_comparable",
        None: None,
    }
    assert {why: obstacle_kind(None, why) for why in obstacles} == obstacles
    verdicts = {
        "verified: after the mark `undo tablespace recreated`, sleeps fell": "verified",
        "not verified because after the mark `x` the load went too": "not_verified",
        "not verified yet: too early to tell; looked at again as polls come": "too_early",
        None: None,
    }
    assert {verdict: verdict_kind(None, verdict) for verdict in verdicts} == verdicts
