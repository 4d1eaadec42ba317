"""A database in short: what eases is told until it is over, and a poll that cannot tell says nothing of it."""

from datetime import timedelta

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


def test_hang_is_one_story_in_state_text_and_page(stage: Stage) -> None:
    """Which set a count is of stands beside it, and trouble is as old as its longest wait."""
    for at in (72, 74, 76):
        published = stage.poll("ddl-hang", at=at)
    diagnosis, summary = published.whole, stage["ddl-hang"].summary
    (group,) = diagnosis.waiting
    assert group.sessions > group.hanging > 0, "some have waited shorter than a hang"
    assert summary is not None and summary.since is not None
    assert published.snapshot.taken_at is not None
    assert published.snapshot.taken_at - summary.since == timedelta(seconds=group.longest_seconds)
    assert stage["ddl-hang"].episodes.open[0].begin > summary.since, "polls saw it later than it began"
    story = (
        f"{group.sessions} sessions wait for dc_objects, {group.hanging} of them for 10 seconds or longer and up to "
    )
    assert story in diagnosis.headline and story in (diagnosis.chain[0].measured or "")
    assert diagnosis.chain[0].value == group.sessions
    assert diagnosis.blockers is not None and diagnosis.blockers.blockers[0].waiters == group.sessions
    holder = "See why session 312 on instance 1 keeps the lock, and let it finish if it can."
    assert summary.do_now == diagnosis.findings[0].do_now == holder
    page = stage.app().get("/db/ddl-hang").text
    assert f"sessions wait, {group.hanging} of them for 10\u00a0s or longer</dt><dd>{group.sessions}</dd>" in page
    assert holder in page
    assert "the longest wait, since 1 Mar 12:0" in page
