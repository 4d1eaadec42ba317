"""Whether a mark ended a trouble: noted when it ends, said with its reason."""

import pytest

from service.history.verifier import Verifier, mark_of
from service.store.repository import Repository
from tests.service.marked import DB, MARKED, at, marked, polled
from tests.service.stage import Stage


def verdict_after(store: Repository, stage: Stage, mark: float, end: float = 200, begin: float = 80) -> str | None:
    polled(store, stage, begin, end)
    marked(store, mark)
    Verifier(store).do(at(end))
    (episode,) = store.episodes.between(DB, at(0), at(999)).items
    return episode.verdict


def test_a_trouble_that_a_change_ended_is_verified(store: Repository, stage: Stage) -> None:
    told = verdict_after(store, stage, MARKED)
    assert told is not None
    assert told.startswith("verified: after the mark `undo tablespace recreated`, sleeps on dc_rollback_segments fell ")
    assert "The work went on meanwhile" in told


def test_a_change_that_did_nothing_yet_is_not_verified(store: Repository, stage: Stage) -> None:
    told = verdict_after(store, stage, 110, end=165)
    assert told is not None and told.startswith(
        "not verified because after the mark `undo tablespace recreated` sleeps"
    )


def test_too_little_after_the_mark_is_said_and_made_good_later(store: Repository, stage: Stage) -> None:
    told = verdict_after(store, stage, MARKED, end=158)
    assert told is not None and told == "not verified yet: too early to tell; looked at again as polls come"
    polled(store, stage, 160, 200)
    Verifier(store).do(at(200))
    (episode,) = store.episodes.between(DB, at(0), at(999)).items
    assert episode.verdict is not None and episode.verdict.startswith("verified: ")


@pytest.mark.parametrize(
    ("mark", "end"), [(70.0, 200), (199.0, 200), (100.0, 120)], ids=["earlier", "later", "lasting"]
)
def test_without_a_mark_while_it_lasted_or_while_it_lasts_nothing_is_said(
    store: Repository, stage: Stage, mark: float, end: float
) -> None:
    assert verdict_after(store, stage, mark, end) is None


def test_the_last_mark_of_an_episode_counts(store: Repository, stage: Stage) -> None:
    polled(store, stage, 100, 170)
    marked(store, 110)
    last = marked(store, 141)
    (episode,) = store.episodes.between(DB, at(0), at(999)).items
    assert mark_of(store, episode) == last
