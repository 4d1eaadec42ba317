"""The outcome of a mark in a word, and the hour that was kept before this process began."""

from datetime import timedelta

import pytest

from service.history.fleet_past import AGAIN_SECONDS, FleetPast, outcome_of
from service.state.episodes import MarkVerdict
from service.store.queries.marks import Mark
from service.store.queries.recent import EpisodeAtMark, LastMark
from service.store.repository import Repository
from tests.service.stage import BEGAN, Stage

MINUTE = timedelta(minutes=1)
MARK = Mark("1", "erp1", BEGAN + 10 * MINUTE, "cache 1000", "me")


def _last(end: int | None, kind: MarkVerdict | None, *after: str) -> LastMark:
    ended, verdict = None if end is None else BEGAN + end * MINUTE, kind and "a sentence"
    return LastMark(
        MARK,
        (EpisodeAtMark("undo-segments", BEGAN, ended, verdict, kind, ended or MARK.at + MINUTE),),
        frozenset(after),
    )


def test_outcome_is_told_of_the_trouble_that_lasted_at_the_mark() -> None:
    outcomes = [
        outcome_of(last).outcome
        for last in (
            _last(11, "verified"),
            _last(11, "verified", "undo-segments"),
            _last(11, "verified", "logon-storm"),
            _last(11, "not_verified"),
            _last(11, "too_early"),
            _last(None, None),
            _last(11, None),
            _last(5, "verified"),
            LastMark(MARK, (), frozenset()),
        )
    ]
    assert outcomes == [
        "helped",
        "helped, then came back",
        "helped",
        "did not help",
        "too early to tell",
        "trouble lasts",
        "not judged",
        "not judged",
        "not judged",
    ]


def test_hour_is_read_once_of_what_we_poll_and_each_minute_of_what_others_do(
    stage: Stage, tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, now, asked = Repository(f"sqlite:///{tmp_path}/store.db"), [1_000.0], []
    monkeypatch.setattr("service.history.fleet_past.time.monotonic", lambda: now[0])
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
