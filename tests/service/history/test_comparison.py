"""Before and after from the history: windows around a mark, the sentence about them, and the diagnosis of a past moment."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from service.history.comparison import (
    AGAIN_SECONDS,
    SETTLE,
    CannotCompare,
    ComparedWindows,
    FleetPast,
    NoMark,
    around,
    at_mark,
    comparison,
    diagnosis_at,
    outcome_of,
)
from service.state.episodes import MarkVerdict
from service.state.time_window import Window
from service.store.episodes import LastMark, Mark
from service.store.repository import Repository
from tests.service.marked import DB, MARKED, at, marked, polled
from tests.service.stage import BEGAN, Stage
from tests.service.store.test_topics import episode


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Repository]:
    """A SQLite store: the queries behind a comparison give the same on both engines, as tests/service/store proves."""
    opened = Repository(f"sqlite:///{tmp_path}/store.db")
    yield opened
    opened.close()


def test_comparison_at_a_mark_shows_sleeps_and_anomaly_fell_in_part(store: Repository, stage: Stage) -> None:
    polled(store, stage, 60, 200)
    marked(store)
    told = at_mark(store, DB)
    slept, held = told.find("child_sleeps"), told.find("hold_anomaly")
    assert slept is not None and held is not None
    assert (slept.of, slept.direction, slept.verdict) == ("dc_rollback_segments", "fell", "changed")
    assert slept.factor == pytest.approx(38 / 5200, rel=0.05), (
        "the windows contain the storm and the relief, not the time between"
    )
    assert (held.direction, held.verdict) == ("fell", "changed")
    assert told.sentence.startswith("After the mark `undo tablespace recreated`, sleeps on dc_rollback_segments fell ")
    assert "hold anomaly index from" in told.sentence and "some remain" in told.sentence
    assert told.deciding == slept
    assert told.work is not None and told.work.same and told.work.name == "executions"
    assert told.came_back is None


@pytest.mark.parametrize("asked", [172.0, pytest.param(400.0, marks=pytest.mark.slow)])
def test_windows_hold_storm_and_relief_whenever_they_are_asked_for(
    stage: Stage, tmp_path: object, asked: float
) -> None:
    store = Repository(f"sqlite:///{tmp_path}/store.db")
    polled(store, stage, 0, asked, 4)
    told = at_mark(store, DB) if marked(store) else None
    slept = told.find("child_sleeps") if told else None
    assert slept is not None and slept.factor == pytest.approx(38 / 5200, rel=0.08)
    store.close()


def test_windows_are_equally_long_and_skip_the_settling_time(store: Repository, stage: Stage) -> None:
    polled(store, stage, 60, 200)
    windows = around(store, marked(store))
    assert windows.before.end == at(MARKED - 2), "the last poll that showed the trouble"
    assert windows.after.begin == at(MARKED) + SETTLE
    assert windows.before.length == windows.after.length == timedelta(seconds=40)
    asked = around(store, store.marks.get(DB, "last"), timedelta(seconds=30), timedelta(seconds=10))  # type: ignore[arg-type]
    assert (asked.before.begin, asked.after) == (at(114), Window(at(156), at(180))), (
        "from the last poll with its waits on"
    )


def test_span_sets_only_the_length_and_a_shorter_window_is_noted(store: Repository, stage: Stage) -> None:
    polled(store, stage, 0, 400, 4)
    mark = marked(store, 100)
    usual, asked = around(store, mark), around(store, mark, timedelta(minutes=10))
    assert (asked.before, asked.after) == (usual.before, usual.after)
    assert asked.before.length == asked.after.length
    assert any(one.startswith("windows of 600 s were requested, ") for one in asked.notes)
    assert not any("asked for" in one for one in (*usual.notes, *around(store, mark, timedelta(seconds=20)).notes))


def test_too_few_polls_before_the_mark_do_not_suggest_waiting(store: Repository, stage: Stage) -> None:
    polled(store, stage, 140, 200)
    with pytest.raises(CannotCompare, match=r"before the mark .*; name a longer span or two windows$"):
        around(store, marked(store))


def test_windows_do_not_reach_across_another_mark(store: Repository, stage: Stage) -> None:
    polled(store, stage, 60, 200)
    marked(store, 100)
    marked(store, 186)
    windows = around(store, marked(store))
    assert windows.before.begin >= at(100) + SETTLE and windows.after.end <= at(186)


def test_windows_do_not_reach_across_a_restart(store: Repository, stage: Stage) -> None:
    polled(store, stage, 60, 100)
    stage.began += timedelta(seconds=3)
    polled(store, stage, 102, 200)
    polls = store.history.polls(DB, at(90), at(120))
    (restart,) = [one.at for one in polls if one.why]
    assert around(store, marked(store)).before.begin >= restart


def test_windows_end_where_a_trouble_returns_and_a_note_says_so(store: Repository, stage: Stage) -> None:
    polled(store, stage, 0, 400, 4)
    told = at_mark(store, DB) if marked(store, 100) else None
    windows = around(store, store.marks.get(DB, "last"))  # type: ignore[arg-type]
    again = sorted(one.begin for one in store.episodes.between(DB, at(0), at(999)).items)
    assert len(again) == 2 and windows.after.end <= again[1]
    assert told is not None and any("came back at" in one for one in told.notes)
    assert told.came_back is not None and told.came_back.cause == "undo-segments"
    assert told.came_back.at > at(MARKED)


def test_comparison_that_is_impossible_says_why_and_what_to_do(store: Repository, stage: Stage) -> None:
    with pytest.raises(NoMark, match="undo-storm has no mark yet; set one"):
        at_mark(store, DB)
    polled(store, stage, 60, 150)
    mark = marked(store)
    with pytest.raises(NoMark, match="no mark nobody"):
        at_mark(store, DB, "nobody")
    with pytest.raises(CannotCompare, match=r"0 polls of undo-storm after the mark .* ask again"):
        at_mark(store, DB, mark.id)
    old = store.marks.add(DB, at(-86400), "before anything was kept", "a test")
    with pytest.raises(CannotCompare, match="nothing of undo-storm is kept between"):
        at_mark(store, DB, old.id)
    with pytest.raises(CannotCompare, match="before: nothing of undo-storm is kept between"):
        comparison(store, DB, ComparedWindows(Window(at(-900), at(-800)), Window(at(100), at(140))))


def test_comparison_of_two_windows_notes_what_they_were_made_from(store: Repository, stage: Stage) -> None:
    polled(store, stage, 60, 110)
    told = comparison(store, DB, ComparedWindows(Window(at(60), at(80)), Window(at(90), at(110))))
    slept = told.find("child_sleeps")
    assert slept is not None and slept.verdict == "within noise" and told.mark is None
    assert {one for one in told.notes if one.startswith(("before: ", "after: "))} == {
        "before: the difference of the snapshots at both ends",
        "after: the difference of the snapshots at both ends",
    }


MINUTE = timedelta(minutes=1)
MARK = Mark("1", "erp1", BEGAN + 10 * MINUTE, "cache 1000", "me")


def _last(end: int | None, kind: MarkVerdict | None, *after: str) -> LastMark:
    ended = None if end is None else BEGAN + end * MINUTE
    lasting = episode(end=ended, last_seen=ended or MARK.at + MINUTE, verdict=kind and "a sentence", verdict_kind=kind)
    return LastMark(MARK, (lasting,), frozenset(after))


def test_outcome_is_told_of_the_trouble_that_lasted_at_the_mark() -> None:
    for last, outcome in (
        (_last(11, "verified"), "helped"),
        (_last(11, "verified", "undo-segments"), "helped, then came back"),
        (_last(11, "verified", "logon-storm"), "helped"),
        (_last(11, "not_verified"), "did not help"),
        (_last(11, "too_early"), "too early to tell"),
        (_last(None, None), "trouble lasts"),
        (_last(11, None), "not judged"),
        (_last(5, "verified"), "not judged"),
        (LastMark(MARK, (), frozenset()), "not judged"),
    ):
        assert outcome_of(last).outcome == outcome, last


def test_hour_is_read_once_of_what_we_poll_and_each_minute_of_what_others_do(
    stage: Stage, tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, now, asked = Repository(f"sqlite:///{tmp_path}/store.db"), [1_000.0], []
    monkeypatch.setattr("service.history.comparison.time.monotonic", lambda: now[0])
    monkeypatch.setattr(
        store.recent, "minutes", lambda names, since: asked.append(names) or {name: {} for name in names}
    )
    past, ours, theirs = FleetPast(store), stage["undo-storm"], stage["users-mutex"]
    theirs.owned = False
    for _ in range(3):
        past.fill_hours([ours, theirs])
        FleetPast(store).fill_hours([theirs])  # another page asks no more often
    assert asked == [["undo-storm", "users-mutex"]]
    now[0] += AGAIN_SECONDS
    past.fill_hours([ours, theirs])
    assert asked[1:] == [["users-mutex"]]
    store.close()


# The diagnosis of a past moment: that of the poll then, with its chain, or why there is none


def test_past_moment_has_the_verdict_of_the_nearest_snapshot_with_reasons(store: Repository, stage: Stage) -> None:
    polled(store, stage, 60, 200, 10)
    sick, well = diagnosis_at(store, DB, at(124)), diagnosis_at(store, DB, at(200))
    assert sick.basis is not None and well.basis is not None
    assert (sick.basis.end, sick.state) == (at(120), "Critical")
    assert sick.findings[0].cause == "undo-segments"
    assert [link.kind for link in sick.chain] == ["wait", "place", "cache", "holder", "cause"]
    assert well.basis.end == at(200)
    assert well.state != "Critical"


def test_past_moment_that_nobody_watched_cannot_be_told(store: Repository, stage: Stage) -> None:
    polled(store, stage, 60, 80, 10)
    first, long_ago = diagnosis_at(store, DB, at(61)), diagnosis_at(store, DB, at(0) - timedelta(days=3))
    for told in (first, long_ago):
        assert (told.basis, told.state) == (None, "No data")
        assert told.headline.startswith("Cannot tell: ")
    assert "is kept around" in long_ago.headline
