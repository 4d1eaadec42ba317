"""Whether a mark ended a trouble: stored when the trouble ends, with its reason."""

import pytest

from service.history.past_diagnosis import diagnosis_at
from service.history.verifier import Verifier, mark_of
from service.store.repository import Repository
from service.web.schemas import EpisodeOut
from tests.service.marked import DB, MARKED, at, marked, polled
from tests.service.stage import Stage


def verdict_after(store: Repository, stage: Stage, mark: float, end: float = 200, begin: float = 80) -> str | None:
    """The sentence, which begins with the kind that the store keeps."""
    polled(store, stage, begin, end)
    marked(store, mark)
    Verifier(store).do(at(end))
    (episode,) = store.episodes.between(DB, at(0), at(999)).items
    begins = {
        None: "",
        "verified": "verified: ",
        "not_verified": "not verified because",
        "too_early": "not verified yet",
    }
    assert (episode.verdict or "").startswith(begins[episode.verdict_kind])
    assert (episode.verdict is None) == (episode.verdict_kind is None)
    return episode.verdict


def test_verifier_verifies_a_trouble_that_a_change_ended(store: Repository, stage: Stage) -> None:
    told = verdict_after(store, stage, MARKED)
    assert told is not None
    assert told.startswith("verified: after the change sleeps on dc_rollback_segments fell ")
    assert "The work went on: " in told
    assert (
        " of before. The prediction made at 12:02:18 UTC held: 0.6 % of gets missed where " in told and "`" not in told
    )


def test_score_of_the_prediction_is_kept_with_its_figures(store: Repository, stage: Stage) -> None:
    verdict_after(store, stage, MARKED, end=166)
    (first,) = store.episodes.between(DB, at(0), at(999)).items
    polled(store, stage, 168, 200)
    Verifier(store).do(at(200))
    (episode,) = store.episodes.between(DB, at(0), at(999)).items
    kept, shown = episode.prediction, diagnosis_at(store, DB, at(138)).prediction
    assert first.prediction is not None and kept is not None and shown is not None
    ranges = [(figure.low, figure.high) for figure in kept.figures]
    assert ranges == [(figure.low, figure.high) for figure in first.prediction.figures], (
        "as it was made, for any window"
    )
    assert ranges[0] == (shown.figures[0].low, shown.figures[0].high), "as the page showed it before the change"
    assert kept is not None and kept.held and kept.statement[1:] in (episode.verdict or "")
    missed = kept.figures[0]
    assert missed.name == "miss_ratio" and missed.inside and missed.low <= missed.came <= missed.high < missed.before
    assert EpisodeOut(**{name: getattr(episode, name) for name in EpisodeOut.model_fields}).prediction == kept


def test_verifier_does_not_verify_a_change_without_effect_yet(store: Repository, stage: Stage) -> None:
    told = verdict_after(store, stage, 110, end=165)
    assert told is not None and told.startswith("not verified because after the change sleeps")


def test_verifier_says_it_is_too_early_and_looks_again_later(store: Repository, stage: Stage) -> None:
    told = verdict_after(store, stage, 150, end=164)
    assert told is not None and told == "not verified yet: too early to tell; checked again with each poll"
    polled(store, stage, 166, 200)
    Verifier(store).do(at(200))
    (episode,) = store.episodes.between(DB, at(0), at(999)).items
    assert episode.verdict is not None and episode.verdict.startswith("verified: ")


@pytest.mark.parametrize(
    ("mark", "end"), [(70.0, 200), (199.0, 200), (100.0, 120)], ids=["earlier", "later", "lasting"]
)
def test_verifier_is_silent_without_a_mark_inside_an_ended_episode(
    store: Repository, stage: Stage, mark: float, end: float
) -> None:
    assert verdict_after(store, stage, mark, end) is None


def test_mark_of_an_episode_is_its_last_one(store: Repository, stage: Stage) -> None:
    polled(store, stage, 100, 170)
    marked(store, 110)
    last = marked(store, 141)
    (episode,) = store.episodes.between(DB, at(0), at(999)).items
    assert mark_of(store, episode) == last
