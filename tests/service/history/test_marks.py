"""Whether a mark ended a trouble: stored when the trouble ends, with its reason."""

from datetime import timedelta
from types import SimpleNamespace

import pytest
from prometheus_client import CollectorRegistry

from collectors.demo.scenarios import scenarios
from service.history import marks
from service.history.comparison import diagnosis_at
from service.history.marks import DemoMarks, Outcomes, Verifier, mark_of
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


def test_verifier_says_it_is_too_early_and_looks_again_later(store: Repository, stage: Stage) -> None:
    told = verdict_after(store, stage, 150, end=164)
    assert told is not None and told == "not verified yet: too early to tell; checked again with each poll"
    polled(store, stage, 166, 200)
    Verifier(store).do(at(200))
    (episode,) = store.episodes.between(DB, at(0), at(999)).items
    assert episode.verdict is not None and episode.verdict.startswith("verified: ")


@pytest.mark.parametrize(
    ("mark", "end", "begins"),
    [
        (110.0, 165, "not verified because after the change sleeps"),
        (70.0, 200, None),
        (199.0, 200, None),
        (100.0, 120, None),
    ],
    ids=["without effect", "earlier", "later", "lasting"],
)
def test_verifier_verifies_only_a_change_with_effect_inside_an_ended_episode(
    store: Repository, stage: Stage, mark: float, end: float, begins: str | None
) -> None:
    told = verdict_after(store, stage, mark, end)
    assert told is None if begins is None else told is not None and told.startswith(begins)


def test_mark_of_an_episode_is_its_last_one(store: Repository, stage: Stage) -> None:
    polled(store, stage, 100, 170)
    marked(store, 110)
    last = marked(store, 141)
    (episode,) = store.episodes.between(DB, at(0), at(999)).items
    assert mark_of(store, episode) == last


SCRIPT = scenarios()[DB]


def found(store: Repository) -> list[float]:
    marks = store.marks.between(DB, at(0), at(9999)).items
    return sorted((one.at - at(0)).total_seconds() for one in marks)


def test_demo_marks_mark_each_loop_once(store: Repository) -> None:
    marks = DemoMarks(store, dict(scenarios()), at(0))
    for moment, expected in ((139, []), (140, [MARKED]), (141, [MARKED]), (SCRIPT.length + 139, [MARKED])):
        marks.do(at(moment))
        assert found(store) == expected
    marks.do(at(2 * SCRIPT.length + 150))
    assert found(store) == [MARKED, MARKED + SCRIPT.length, MARKED + 2 * SCRIPT.length]


def test_demo_marks_catch_up_after_a_failed_round(store: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    marks = DemoMarks(store, {DB: SCRIPT}, at(0))
    with monkeypatch.context() as broken:
        broken.setattr(store.marks, "add", lambda *mark: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            marks.do(at(200))
    marks.do(at(200) + timedelta(seconds=1))
    assert found(store) == [MARKED]


def test_demo_marks_of_a_clock_that_jumps_by_a_year_are_bounded(store: Repository) -> None:
    marks = DemoMarks(store, {DB: SCRIPT}, at(0))
    marks.do(at(86_400 * 400))
    last = store.marks.between(DB, at(0), at(86_400 * 401), limit=1000).items
    assert 0 < len(last) <= 86_400 / SCRIPT.length + 1


def test_demo_mark_is_at_the_turn_of_the_script() -> None:
    from collectors.demo.load import ScenarioState

    before, after = (ScenarioState(SCRIPT, second, at(0)).load for second in (MARKED - 1, MARKED + 16))
    assert before.children[1].sleeps > 100 * after.children[1].sleeps
    assert SCRIPT.length > MARKED


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
    stage[DB].episodes.restore(store.episodes.recent(DB))
    *_, counts, seconds = outcomes.collect()
    assert [sample.value for family in (counts, seconds) for sample in family.samples] == [0.0, 0.0], "not absent"


def test_database_that_left_the_configuration_is_said_to_be_retired_for_eight_days(
    store: Repository, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    polled(store, stage, 80, 81)
    store.names.databases(["gone"])
    outcomes, clock = Outcomes(store, stage.board), SimpleNamespace()
    monkeypatch.setattr(marks, "datetime", clock)
    for days, left in ((0, [{"db": "gone"}]), (7.9, [{"db": "gone"}]), (8.1, [])):
        clock.now = lambda _, days=days: at(0) + timedelta(days=days)
        outcomes.do(at(0))
        _, retired, *_ = outcomes.collect()
        assert [sample.labels for sample in retired.samples] == left
    assert set(store.names.all()) > {watched.name for watched in stage.board}, "known before they answer"
