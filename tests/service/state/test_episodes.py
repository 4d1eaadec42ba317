"""Episodes: an episode opens after two polls, ends after three, and does not flap."""

from dataclasses import replace
from datetime import timedelta

import pytest

from rules.model import Diagnosis, Impact, Severity, Surface, Trouble, Undetermined
from service.state.episodes import EpisodeChange, Episodes, told
from service.web.pages.words import outcome
from tests.service.stage import Stage

CAUSE = "undo-segments"


def trouble(
    sessions: float, cache: str = "dc_rollback_segments", surface: Surface = "latch", causes: tuple[str, ...] = ()
) -> Trouble:
    """Waits on a surface, for one cache."""
    return Trouble(surface=surface, cache=cache, causes=causes, share_of_db_time=None, waiting_sessions=sessions)


class Polls:
    """Diagnoses of one database, a minute apart, as variations of a real one."""

    def __init__(self, shown: Diagnosis) -> None:
        assert shown.basis is not None and shown.basis.end is not None
        self._shown = shown
        self._at = self.began = shown.basis.end
        self.episodes = Episodes()

    def _take(self, **changed: object) -> list[EpisodeChange]:
        basis = self._shown.basis.model_copy(update={"end": self._at})  # type: ignore[union-attr]
        self._at += timedelta(minutes=1)
        return self.episodes.update(self._shown.model_copy(update={"basis": basis, **changed}))

    def found(
        self, severity: Severity = Severity.WARNING, share: float = 0.1, headline: str = "h"
    ) -> list[EpisodeChange]:
        (one,) = [each for each in self._shown.findings if each.cause == CAUSE]
        finding = one.model_copy(update={"severity": severity, "do_now": f"Do it: {headline}."})
        impact = Impact(share_of_db_time=share, waiting_sessions=1.0)
        waits = (trouble(10.0, causes=(CAUSE,)),)
        return self._take(findings=(finding,), undetermined=(), impact=impact, headline=headline, troubles=waits)

    def quiet(self) -> list[EpisodeChange]:
        return self._take(findings=(), undetermined=(), troubles=())

    def waits(self, *troubles: Trouble) -> list[EpisodeChange]:
        """A poll without a cause, while sessions wait."""
        return self._take(findings=(), undetermined=(), troubles=troubles)

    def cannot_tell(self) -> list[EpisodeChange]:
        one = Undetermined(cause=CAUSE, missing="v$latch", why="refused", way_out="grant it")
        return self._take(findings=(), undetermined=(one,))

    def without_interval(self) -> list[EpisodeChange]:
        return self.episodes.update(self._shown.model_copy(update={"basis": None, "findings": ()}))


@pytest.fixture
def polls(stage: Stage) -> Polls:
    stage.poll("undo-storm", at=40)
    return Polls(stage.poll("undo-storm", at=42).diagnosis)


def what(changes: list[EpisodeChange]) -> list[str]:
    return [one.what for one in changes]


def test_episode_begins_at_the_first_poll_and_ends_at_its_last_sighting(polls: Polls) -> None:
    assert polls.found() == [] and polls.episodes.open == ()
    assert what(polls.found()) == ["begin"]
    (one,) = polls.episodes.open
    assert (one.cause, one.begin, one.end) == (CAUSE, polls.began, None)
    assert one.last_seen == polls.began + timedelta(minutes=1)
    assert polls.quiet() == [] and polls.quiet() == []
    assert len(polls.episodes.open) == 1
    (change,) = polls.quiet()
    assert change.what == "end" and polls.episodes.open == ()
    assert change.episode.end == polls.began + timedelta(minutes=1)
    assert polls.episodes.all == (change.episode,)


@pytest.mark.parametrize(
    ("kinds", "changes"),
    [
        ("fq" * 10, "." * 20),
        ("ff" + "qf" * 10, ".b" + "." * 20),
        ("ff" + "qqf" * 4, ".b" + "." * 12),
        ("ffqq" + "un" * 5 + "q", ".b.." + "." * 10 + "e"),
        ("iiii", "...."),
        ("ffqqq" * 2, ".b..e" * 2),
    ],
    ids=["now and then", "comes and goes", "two quiet polls", "cannot tell", "info", "twice"],
)
def test_episode_opens_at_the_second_poll_ends_at_the_third_quiet_one_and_does_not_flap(
    polls: Polls, kinds: str, changes: str
) -> None:
    """f: found, q: quiet, u: undetermined, n: no interval, i: found as info; b and e are begin and end."""
    poll = {
        "f": polls.found, "q": polls.quiet, "u": polls.cannot_tell, "n": polls.without_interval,
        "i": lambda: polls.found(Severity.INFO),
    }  # fmt: skip
    made = [poll[kind]() for kind in kinds]
    assert "".join(one[0].what[0] if one else "." for one in made) == changes
    assert len(polls.episodes.open) == changes.count("b") - changes.count("e")
    begins = [one.begin for one in polls.episodes.all]
    assert len(begins) == changes.count("b") and begins == sorted(begins, reverse=True), "the newest first"


def test_peak_is_kept_when_the_episode_eases(polls: Polls) -> None:
    polls.found(), polls.found(share=0.1)
    assert polls.found(share=0.3, headline="peak") == [], "more of the same severity is not worse"
    polls.found(Severity.NOTICE, share=0.02)
    (one,) = polls.episodes.open
    assert (one.severity, one.peak_severity) == (Severity.NOTICE, Severity.WARNING)
    assert (one.peak_share_of_db_time, one.headline) == (0.3, "peak")
    assert one.peak_at == polls.began + timedelta(minutes=2)


@pytest.mark.parametrize("share", [0.05, 0.5])
def test_higher_severity_is_worse_whatever_its_share(polls: Polls, share: float) -> None:
    polls.found(), polls.found(share=0.1)
    assert what(polls.found(Severity.CRITICAL, share)) == ["worse"]
    (one,) = polls.episodes.open
    assert (one.peak_severity, one.peak_share_of_db_time) == (Severity.CRITICAL, share)
    assert (one.do_now, one.confidence) == ("Do it: h.", "high"), "as the poll advises that showed it"
    assert polls.found(Severity.CRITICAL, share) == [], "one change, announced once"


def test_episode_lasts_while_the_waits_that_it_left_fall(polls: Polls) -> None:
    polls.found(), polls.found()
    told = [polls.waits(trouble(sessions)) for sessions in (9.9, 8.3, 7.0, 5.6, 3.4, 1.7, 0.4)]
    assert told == [[]] * 7
    (one,) = polls.episodes.open
    assert (one.waits, one.severity, one.peak_severity) == ("falling", Severity.NOTICE, Severity.WARNING)
    assert one.last_seen == polls.began + timedelta(minutes=1), "the last poll with the cause was no later"
    told = [polls.quiet() for _ in range(3)]
    assert [what(changes) for changes in told] == [[], [], ["end"]]
    assert told[2][0].episode.end == polls.began + timedelta(minutes=8), "the last poll with waits"


def test_waits_that_do_not_fall_do_not_keep_an_episode(polls: Polls) -> None:
    polls.found(), polls.found()
    polls.waits(trouble(8.0))
    told = [polls.waits(trouble(sessions)) for sessions in (8.1, 7.9, 8.0)]
    assert [what(changes) for changes in told] == [[], [], ["end"]]
    assert told[2][0].episode.end == polls.began + timedelta(minutes=2), "the last poll at which they fell"


@pytest.mark.parametrize(
    "other",
    [
        trouble(5.0, cache="dc_users"),
        trouble(5.0, surface="lock"),
        trouble(5.0, causes=("sequence-nocache",)),
    ],
    ids=["cache", "surface", "explained"],
)
def test_waits_elsewhere_or_of_another_cause_keep_no_episode(polls: Polls, other: Trouble) -> None:
    polls.found(), polls.found()
    assert [what(polls.waits(other)) for _ in range(3)] == [[], [], ["end"]]
    assert polls.episodes.all[0].end == polls.began + timedelta(minutes=1)


def test_trouble_that_returns_is_the_same_episode_and_one_from_the_store_has_waits_that_go_on(polls: Polls) -> None:
    polls.found(), polls.found()
    told = [polls.waits(trouble(sessions)) for sessions in (8.0, 6.0, 5.0, 4.0)]
    assert [*told, polls.found(), polls.found()] == [[]] * 6, "no second announcement"
    (one,) = polls.episodes.open
    assert (one.begin, one.waits) == (polls.began, None)
    kept = [replace(one, surface=None) for one in polls.episodes.open]
    polls.episodes = Episodes()
    polls.episodes.restore(kept)
    polls.waits(trouble(8.0))
    assert polls.episodes.open[0].waits == "lasting", "one poll does not show a fall"
    polls.waits(trouble(6.0))
    assert polls.episodes.open[0].waits == "falling"


def test_verdict_reads_like_the_outcome_of_its_mark() -> None:
    stored = {
        "verified: after the change sleeps fell.": "Verified. After the change sleeps fell.",
        "not verified because after it the load went too": "Not verified. After it the load went too",
        "not verified yet: too early to tell; wait": "Not verified yet. Too early to tell; wait",
        "": "",
    }
    assert {verdict: told(verdict) for verdict in stored} == stored
    kinds = ("helped", "did not help", "too early to tell", "not judged", "trouble lasts")
    said = [said.partition(".")[0] for said in stored.values()]
    assert [outcome(kind) for kind in kinds] == [*said, "Trouble lasts"]
