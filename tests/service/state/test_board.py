"""What appears as current, and what is too old for that."""

from dataclasses import asdict
from datetime import datetime, timedelta

import pytest

from rules.base import Easing
from rules.changes import Change
from rules.explain.story import first_screen
from service.config.settings import DatabaseSettings
from service.state.board import (
    KEEP,
    LONG_QUEUE_SECONDS,
    MINUTES,
    MOST_KEPT,
    Board,
    ChangeLog,
    Failure,
    LastHour,
    MonitoredDatabase,
    easing_of,
    readiness,
    with_easing,
)
from service.store.repository import Repository
from service.web.pages.verdict import verdict
from tests.service.stage import BEGAN, Stage


def test_storm_that_the_last_poll_did_not_show_is_easing_until_the_last_that_did(stage: Stage) -> None:
    for at in (60, 75, 90):
        stage.poll("undo-storm", at=at)
    watched = stage["undo-storm"]
    assert watched.published is not None
    calm = watched.published.diagnosis.model_copy(update={"findings": ()})
    (lasting,) = watched.episodes.open
    assert easing_of(watched.published.diagnosis, watched.episodes.open) is None
    easing = easing_of(calm, watched.episodes.open)
    assert easing is not None
    assert (easing.cause, easing.until) == ("undo-segments", lasting.last_seen)
    said = with_easing("Nothing to do about the row cache", easing)
    assert said.startswith("Recovering: too many undo segments until 12:01:30 UTC; ")
    assert said.endswith("; nothing to do about the row cache")
    assert with_easing("Nothing to do", None) == "Nothing to do"
    blind = calm.model_copy(update={"basis": None})
    assert easing_of(blind, watched.episodes.open) is None


def test_first_poll_after_the_remedy_says_that_the_storm_eases(stage: Stage) -> None:
    for at in (130, 132, 134, 142):
        stage.poll("undo-storm", at=at)
    summary = stage["undo-storm"].summary
    assert summary is not None and summary.easing is not None
    assert summary.cause is None
    assert (summary.easing.cause, summary.easing.cache) == ("undo-segments", "dc_rollback_segments")
    assert summary.headline.startswith("The waits go on: too many undo segments until 12:02:14 UTC; row cache waits ")
    assert "no known cause" not in summary.headline
    assert summary.since is not None and summary.state == "Critical"


def test_after_the_remedy_each_face_says_that_the_storm_eases(stage: Stage) -> None:
    """From the first poll without the cause to the last poll with its waits."""
    for at in (134, 136, 138, 140, 142):
        published = stage.poll("undo-storm", at=at)
    watched, begin = stage["undo-storm"], stage["undo-storm"].episodes.open[0].begin
    client = stage.app()
    store = Repository(f"sqlite:///{stage.folder}/store.db")
    store.marks.add("undo-storm", BEGAN + timedelta(seconds=140), "undo tablespace recreated", "dba1")
    store.close()
    title = "Recovering: too many undo segments until 12:02:18, and the waits are falling"
    page, told = client.get("/db/undo-storm").text, client.get("/api/v1/databases/undo-storm/diagnosis").json()
    assert f'<h1 id="v">{title}</h1>' in page and "no known cause" not in page.casefold()
    assert "Critical, getting better" in page and "Wait for the next polls before you change anything else" in page
    assert "<b>Do not</b> undo the change of 12:02:20 UTC." in page
    assert told["severity"] == "critical" and told["headline"].startswith(
        "Recovering: too many undo segments until 12:02:18 UTC, and the waits are falling; row cache waits cost 27.8 % "
    )
    assert told["easing"]["waits"] == "falling" and told["easing"]["change"]["text"] == "undo tablespace recreated"
    assert told["chain"][-1]["name"] == "too many undo segments"
    (row,) = (each for each in client.get("/api/v1/databases").json() if each["name"] == "undo-storm")
    assert (row["cause_title"], row["cache"]) == (title.replace(" until 12:02:18", ""), "dc_rollback_segments")
    assert datetime.fromisoformat(row["since"]) == begin and row["last_mark"]["outcome"] == "too early to tell"
    assert "Recovering: too many undo segments, and the waits are falling" in client.get("/").text
    verdict = [line for line in b"".join(published.blocks.values()).decode().splitlines() if "verdict_info" in line]
    assert ['severity="critical",action="Wait for the next polls' in line for line in verdict] == [True]
    changes = [stage.poll("undo-storm", at=at).episode_changes for at in (144, 146, 150, 154, 156, 158, 160, 162)]
    assert [[change.what for change in each] for each in changes] == [[]] * 7 + [["end"]]
    assert watched.episodes.all[0].end == BEGAN + timedelta(seconds=156), "18 s after the last poll with its cause"


def test_other_waits_stay_unexplained_beside_a_trouble_that_eases(stage: Stage) -> None:
    for at in (134, 136, 138, 140, 142):
        published = stage.poll("undo-storm", at=at)
    lasting, (own,) = stage["undo-storm"].episodes.open, published.diagnosis.troubles
    other = own.model_copy(update={"cache": "dc_users", "child": 9})
    beside = published.diagnosis.model_copy(update={"troubles": (own, other)})
    assert (easing_of(published.diagnosis, lasting) or Easing.model_construct()).waits == "falling"  # type: ignore[call-arg]
    easing = easing_of(beside, lasting)
    assert easing is not None and easing.waits is None
    assert "no known cause explains it" in with_easing(beside.headline, easing)
    assert verdict(beside, BEGAN, None, easing).title == "Sessions wait, and no known cause explains it"
    assert verdict(beside, BEGAN).title == "Sessions wait, and no known cause explains it", "none lasted before"


def test_hang_is_one_story_in_state_text_and_page(stage: Stage) -> None:
    """Each count has the name of its set, and a trouble is as old as its longest wait."""
    for at in (72, 74, 76):
        published = stage.poll("ddl-hang", at=at)
    diagnosis, summary = published.diagnosis, stage["ddl-hang"].summary
    (group,) = diagnosis.waiting
    assert group.sessions > group.hanging > 0, "some have waited for less than a hang"
    assert summary is not None and summary.since is not None
    assert published.snapshot.taken_at is not None
    assert published.snapshot.taken_at - summary.since == timedelta(seconds=group.longest_seconds)
    assert stage["ddl-hang"].episodes.open[0].begin > summary.since, "polls saw it after it began"
    story = (
        f"{group.sessions} sessions wait for dc_objects, {group.hanging} of them for 10 seconds or longer and up to "
    )
    assert story in diagnosis.headline and story in (diagnosis.chain[0].measured or "")
    assert diagnosis.chain[0].value == group.sessions
    assert diagnosis.blockers is not None and diagnosis.blockers.blockers[0].waiters == group.sessions
    holder = "See why session 312 on instance 1 keeps the lock, and let it finish if it can."
    assert summary.do_now == diagnosis.findings[0].do_now == holder
    assert asdict(summary).get("do_not") == diagnosis.findings[0].do_not
    page = stage.app().get("/db/ddl-hang").text
    assert f"sessions wait, {group.hanging} of them for 10\u00a0s or longer</dt><dd>{group.sessions}</dd>" in page
    assert first_screen(diagnosis).do in page
    assert "the longest wait, since 1 Mar 12:0" in page


def test_poll_is_current_until_it_is_stale_or_the_database_fails(stage: Stage) -> None:
    watched = stage["undo-storm"]
    assert (watched.age, watched.up, watched.current) == (None, False, None)
    published = stage.poll("undo-storm", at=10)
    assert watched.up
    assert watched.current is published
    stage.at = 10 + max(3 * watched.interval, watched.interval + 5)
    assert watched.up
    stage.at += 0.1
    assert not watched.up
    assert watched.current is None
    assert watched.published is published, "the last poll stays, to show its age"
    watched.failure = Failure("network", "ORA-12541: no listener", since=0.0, next_attempt=None)
    assert not watched.up
    assert watched.current is None
    stage.poll("undo-storm", at=stage.at)
    assert watched.failure is None
    assert watched.up


def test_board_keeps_the_order_of_the_configuration() -> None:
    databases = [DatabaseSettings(name=name, dsn="demo:undo-storm") for name in ("zulu", "alpha")]
    board = Board([MonitoredDatabase(one, 15.0) for one in databases])
    assert [one.name for one in board] == ["zulu", "alpha"]
    assert len(board) == 2
    assert board.get("nobody") is None


@pytest.mark.parametrize(("interval", "fresh"), [(0.2, 5.2), (2.0, 7.0), (15.0, 45.0)])
def test_short_intervals_get_five_seconds_of_grace(stage: Stage, interval: float, fresh: float) -> None:
    stage.watch(DatabaseSettings(name="undo-storm", dsn="demo:undo-storm", interval=interval))
    stage.poll("undo-storm", at=0)
    stage.at = fresh - 0.01
    assert stage["undo-storm"].up
    stage.at = fresh + 0.01
    assert not stage["undo-storm"].up


NOW = 60.0 * 1_000_000


def test_minute_is_a_mean_by_seconds_old_ones_leave_and_what_was_kept_fills_the_unseen() -> None:
    hour = LastHour()
    hour.add(NOW + 10, 10.0, 0.2)
    hour.add(NOW + 40, 30.0, 0.6)
    hour.add(NOW + 50, None, 0.9)
    hour.add(NOW + 50, 5.0, None)
    values = hour.values(NOW + 59)
    assert values[-1] == 0.5
    assert set(values[:-1]) == {None}
    hour = LastHour()
    for minute in range(1_000):
        hour.add(NOW + 60 * minute, 15.0, 0.1)
    assert len(hour._minutes) <= 2 * MINUTES
    assert hour.values(NOW + 60 * 999) == (0.1,) * MINUTES
    assert hour.values(NOW + 60 * 1_100) == (None,) * MINUTES
    hour = LastHour()
    hour.add(NOW, 15.0, 0.1)
    hour.fill({1_000_000: 0.9, 999_999: 0.4})
    assert hour.filled
    assert hour.values(NOW)[-2:] == (0.4, 0.1)
    hour.fill({1_000_000: 0.7}, anew=True)
    assert hour.values(NOW)[-2:] == (None, 0.7)


def test_trouble_makes_unready_and_a_long_queue_does_not() -> None:
    assert (readiness(None, 0.0).ready, readiness(None, LONG_QUEUE_SECONDS).status) == (True, "ok")
    busy = readiness(None, 7.4)
    assert busy.ready, "polls go on"
    assert busy.status.startswith("ok, but polls wait up to 7 s for their turn")
    assert "another replica" in busy.status and "defaults.interval" in busy.status
    gone = readiness("the store does not answer", 7.4)
    assert (gone.ready, gone.status) == (False, "the store does not answer")


def test_board_reads_others_from_the_store_only_when_it_is_refreshed(stage: Stage) -> None:
    """An iteration that waits for the store would hang /metrics."""
    asked = list[tuple[list[str], bool]]()
    board = stage.board
    board.share(lambda elsewhere, whole: asked.append(([one.name for one in elsewhere], whole)))
    stage["undo-storm"].owned = True
    assert board.get("ddl-hang") in list(board) and [one.name for one in board.own()] == ["undo-storm"]
    assert asked == [], "memory only"
    assert board.refreshed("undo-storm") is board.get("undo-storm") and asked == [], "it is ours"
    assert board.refreshed("ddl-hang") is not None and board.refreshed("no-such") is None
    assert asked == [(["ddl-hang"], True)]
    assert [one.name for one in board.all_refreshed()] == [one.name for one in board]
    assert len(asked) == 2 and len(asked[1][0]) == len(board) - 1 and not asked[1][1]


# The changes in memory: each once, a day of them, and what the store does not have yet.


def job(seconds: float, name: str = "NIGHTLY") -> Change:
    return Change(at=BEGAN + timedelta(seconds=seconds), kind="job", text=f"job APP.{name} began", source="jobs_begun")


def test_event_of_two_readings_is_one_and_what_is_new_goes_to_the_store_once() -> None:
    log = ChangeLog()
    assert log.add([job(0), job(1)]) == 1 and log.add([job(2), job(60)]) == 1
    assert log.changes == (job(0), job(60))
    log = ChangeLog()
    log.add([job(0)])
    assert log.take_new() == (job(0),) and log.take_new() == ()
    log = ChangeLog()
    log.restore([job(9), job(0)])
    assert log.changes == (job(0), job(9)) and log.add([job(0)]) == 0 and log.take_new() == ()


def test_log_keeps_a_day_and_no_more_than_its_limit() -> None:
    log = ChangeLog()
    log.restore([job(0), job(KEEP.total_seconds() + 1)])
    assert log.changes == (job(KEEP.total_seconds() + 1),)
    log.restore(job(second, f"J{second}") for second in range(MOST_KEPT + 9))
    assert len(log.changes) == MOST_KEPT and log.changes[-1].text == f"job APP.J{MOST_KEPT + 8} began"
