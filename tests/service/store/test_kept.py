"""Which polls keep their snapshot, and which snapshots stay as they grow old."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.config.settings import HistorySettings
from service.store.record import record_of
from service.store.repository import Repository
from service.store.upkeep import _doomed
from tests.service.stage import BEGAN, Kept, Stage

DB, CALM = "undo-storm", "busy-but-fine"
LATE = BEGAN + timedelta(days=1)
MINUTE = timedelta(minutes=1)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Repository]:
    """Which snapshots are kept is decided before any engine."""
    opened = Repository(f"sqlite:///{tmp_path}/store.db")
    yield opened
    opened.close()


def kept_of(
    store: Repository, stage: Stage, name: str, moments: Sequence[float], mark: float = -1, restart: float = -1
) -> list[float]:
    """Poll as the service does. Returns the seconds of the snapshots that the store then has."""
    for moment in moments:
        if moment == restart:
            stage.began += timedelta(seconds=3)
        if moment == mark:
            store.marks.add(name, BEGAN + timedelta(seconds=moment - 1), "a change", "anna")
        kept = stage.keeper = Kept([])
        stage.poll(name, moment)
        record = record_of(*kept.polls[0], kept.records[0], complete=False, kept=store.kept)
        assert record is not None
        store.write([record])
    assert len(store.history.polls(name, BEGAN, LATE)) == len(moments)
    return [(one - BEGAN).total_seconds() for one in store.snapshots.times(name, BEGAN, LATE)]


@pytest.mark.parametrize("side", ["mark", "restart"])
def test_calm_database_keeps_one_a_minute_and_both_sides_of_a_mark_or_restart(
    store: Repository, stage: Stage, side: str
) -> None:
    found = kept_of(store, stage, CALM, range(10, 1100, 15), **{side: 700})
    every = [(poll.at - BEGAN).total_seconds() for poll in store.history.polls(CALM, BEGAN, LATE)]
    (beside,) = [one for one in every if 700 <= one < 715]
    sides = [one for one in every if one <= 310 or 685 <= one <= beside + 300]
    assert [one for one in found if one in sides] == sides, (
        "the one before a side gets its snapshot late, those after it for a while"
    )
    others = [one for one in found if one not in sides]
    assert len({one // 60 for one in others}) == len(others) in (8, 9), "one a minute"


def test_each_poll_of_a_trouble_is_kept_and_of_five_minutes_after_it(store: Repository, stage: Stage) -> None:
    storm = range(0, 120, 5)
    assert kept_of(store, stage, DB, storm) == [*storm]


def test_setting_above_two_days_keeps_the_snapshot_of_every_poll() -> None:
    for days, every in ((1, False), (2, False), (3, True)):
        store = Repository("sqlite://", HistorySettings(snapshots=days * 86400))
        assert store.upkeep.every_snapshot == every
        store.close()


@given(
    st.lists(st.integers(0, 4000), unique=True, max_size=60),
    st.lists(st.integers(0, 4000), max_size=4),
    st.integers(0, 4000),
)
def test_thinning_leaves_the_last_of_each_step_and_both_sides_of_each_moment(
    minutes: list[int], sides: list[int], hourly: int
) -> None:
    times, moments = ([BEGAN + minute * MINUTE for minute in sorted(each)] for each in (minutes, sides))
    border = BEGAN + hourly * MINUTE
    left = set(times) - set(_doomed(times, border, moments))
    for one in times:
        width = MINUTE * (60 if one < border else 5)
        step = [
            each
            for each in times
            if (each - BEGAN) // width == (one - BEGAN) // width and (each < border) == (one < border)
        ]
        assert max(step) in left
    for side in moments:
        before, later = [each for each in times if each < side], [each for each in times if each >= side]
        assert {*before[-1:], *later[:1]} <= left
        assert side not in times or {*later[:2]} <= left
    assert _doomed(sorted(left), border, moments) == []
