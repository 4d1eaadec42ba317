"""The last change mark and remedies that were verified, as metrics."""

from prometheus_client import CollectorRegistry

from service.history.outcomes import Outcomes
from service.history.verifier import Verifier
from service.store.repository import Repository
from tests.service.marked import DB, MARKED, at, marked, polled
from tests.service.stage import Stage


def test_outcomes_tell_the_last_mark_and_a_remedy_once_verified(store: Repository, stage: Stage) -> None:
    outcomes, registry = Outcomes(store, stage.board), CollectorRegistry()
    registry.register(outcomes)
    polled(store, stage, 80, 200)
    marked(store, 90)
    marked(store, MARKED)
    for _ in range(2):
        outcomes.do(at(200))
        Verifier(store, outcomes.verified).do(at(200))
    (episode,) = store.episodes.between(DB, at(0), at(999)).items
    assert episode.end is not None
    here = {"db": DB, "rac": ""}
    of_cause = {**here, "cause": episode.cause}
    lasted = (episode.end - episode.begin).total_seconds()
    assert registry.get_sample_value("latchscope_change_mark_timestamp_seconds", here) == at(MARKED).timestamp()
    assert registry.get_sample_value("latchscope_verified_remedies_total", of_cause) == 1, (
        "counted once, looked at twice"
    )
    assert registry.get_sample_value("latchscope_verified_remedy_seconds_total", of_cause) == lasted > 0


def test_outcomes_count_no_remedy_that_was_not_verified(store: Repository, stage: Stage) -> None:
    outcomes = Outcomes(store, stage.board)
    polled(store, stage, 80, 165)
    marked(store, 110)
    Verifier(store, outcomes.verified).do(at(165))
    assert all(not one.samples for one in outcomes.collect())
