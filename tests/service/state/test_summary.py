"""A database in short: what eases is told until it is over, and a poll that cannot tell says nothing of it."""

from service.state.board import MonitoredDatabase
from service.state.summary import easing_of, with_easing
from tests.service.stage import Stage


def _storm(stage: Stage) -> MonitoredDatabase:
    """The demo's storm, with an episode that lasts."""
    for at in (60, 75, 90):
        stage.poll("undo-storm", at=at)
    return stage["undo-storm"]


def test_storm_that_the_last_poll_did_not_show_is_easing_until_the_last_that_did(stage: Stage) -> None:
    watched = _storm(stage)
    assert watched.published is not None
    calm = watched.published.diagnosis.model_copy(update={"findings": ()})
    (lasting,) = watched.episodes.open
    assert easing_of(watched.published.diagnosis, watched.episodes.open) is None
    easing = easing_of(calm, watched.episodes.open)
    assert easing is not None
    assert (easing.cause, easing.until) == ("undo-segments", lasting.last_seen)
    said = with_easing("Nothing to do about the row cache", easing)
    assert said.startswith("Easing: too many undo segments until 12:01:30 UTC; ")
    assert said.endswith("; nothing to do about the row cache")
    assert with_easing("Nothing to do", None) == "Nothing to do"
    blind = calm.model_copy(update={"basis": None})
    assert easing_of(blind, watched.episodes.open) is None


def test_first_poll_after_the_remedy_says_that_the_storm_eases(stage: Stage) -> None:
    for at in (130, 132, 134, 142):
        stage.poll("undo-storm", at=at)
    summary = stage["undo-storm"].summary
    assert summary is not None and summary.easing is not None
    assert (summary.cause, summary.easing.cause, summary.easing.cache) == (
        None,
        "undo-segments",
        "dc_rollback_segments",
    )
    assert summary.headline.startswith("Easing: too many undo segments until 12:02:14 UTC; row cache waits cost ")
