"""Episodes: an episode opens after two polls, ends after three, and does not flap."""

import logging
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from time import monotonic
from types import SimpleNamespace

import pytest

from collectors.demo.database import ScriptedDatabase
from collectors.demo.scenarios import scenarios
from collectors.errors import SessionError, StatementError, ViewRefused
from collectors.model import Binds
from collectors.poll import Answer
from collectors.registry import views_of
from rules.cause import catalogue
from rules.model import Diagnosis, Finding, Impact, Severity, Surface, Trouble, Undetermined
from service.config.settings import DatabaseSettings
from service.state import episodes
from service.state.board import MonitoredDatabase
from service.state.episodes import EpisodeChange, Episodes, told
from service.watch.follow_up import FollowUp
from service.watch.worker import Worker
from service.web.pages.words import outcome
from tests.service.stage import BEGAN, Kept, Stage

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

    def cannot_tell(self, *troubles: Trouble) -> list[EpisodeChange]:
        one = Undetermined(cause=CAUSE, missing="v$latch", why="refused", way_out="grant it")
        return self._take(findings=(), undetermined=(one,), troubles=troubles, surfaces=())

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


def test_poll_that_cannot_judge_an_episode_says_so_at_the_severity_of_its_waits(polls: Polls) -> None:
    polls.found(), polls.found(Severity.CRITICAL)
    polls.cannot_tell(trouble(1.0))
    (one,) = polls.episodes.open
    assert (one.missing, one.severity, one.peak_severity) == ("v$latch", Severity.WARNING, Severity.CRITICAL)
    for _ in range(5):
        assert polls.cannot_tell() == [], "as bad as it was where the waits are unknown too"
    assert polls.episodes.open == (one,)
    assert [what(polls.quiet()) for _ in range(3)] == [[], [], ["end"]], "only a judgement ends it"


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


# Results of confirming queries: one number, for an hour, in this life of the instance, and once per episode.


UNDO, SEQUENCES = catalogue()["undo-segments"], catalogue()["sequence-nocache"]


class Storm:
    """The storm of undo-storm, 42 s in and two seconds later at each poll. It records every statement."""

    def __init__(self, refused: tuple[str, ...] = (), fault: Exception | None = None) -> None:
        self.at = 40.0
        self.asked: list[str] = []
        self.closed = 0
        self.fault = fault
        self._script = ScriptedDatabase(scenarios()["undo-storm"], BEGAN, lambda: self.at, refused)

    def query(self, sql: str, binds: Binds) -> Answer:
        views = views_of(sql)
        self.at += 2 if "v$instance" in views else 0
        self.asked += sorted(views) or ["confirm"]
        if not views and self.fault:
            raise self.fault
        return self._script.query(sql, binds)

    def close(self) -> None:
        self.closed += 1


def worker_on(database: Storm, confirms: bool = True) -> Worker:
    watched = MonitoredDatabase(DatabaseSettings(name="undo-storm", dsn="demo:undo-storm"), 2.0)
    door = SimpleNamespace(open=lambda _: database, credential=lambda _: "secret")
    return Worker(watched, door, Kept([]), 1.0, follow_up=FollowUp(watched, confirms=confirms))


def test_confirmation_says_what_was_asked_and_how_long_it_counts() -> None:
    told = episodes.run(UNDO, Storm(), "2026-02-20")
    assert (told.cause, told.value, told.startup_time) == ("undo-segments", 14838, "2026-02-20")
    assert UNDO.confirm is not None and told.sql == UNDO.confirm.text(None)
    assert told.expires == pytest.approx(monotonic() + episodes.VALID_SECONDS, abs=5)


class Root:
    """A session in a container of 19c that answers every query, and records the statements."""

    def __init__(
        self,
        place: tuple[str, int] = ("CDB$ROOT", 1),
        fails: Callable[[str], Exception | None] = lambda _: None,
        number: int = 37,
    ) -> None:
        self.place, self.fails, self.number, self.asked = place, fails, number, list[str]()

    def query(self, sql: str, binds: Binds) -> Answer:
        self.asked.append(sql)
        if error := self.fails(sql):
            raise error
        if sql.endswith("rownum <= 5"):
            return Answer(("con_id", "sequence_name", "last_number"), [(3, "ORDERS_SEQ", 4711)])
        return Answer(("count", "con_name", "con_id"), [(self.number, *self.place)])

    def close(self) -> None:
        """Nothing to give back."""


NEVER = re.compile(r"\b(v\$sql|v\$sqlarea|dba_audit_session|unified_audit_trail|sys\.aud\$)(?![\w$])", re.IGNORECASE)


@pytest.mark.parametrize("release", ["11.1.0.7.0", "11.2.0.4.0", "12.1.0.2.0", "19.0.0.0.0", "23.0.0.0.0"])
def test_no_confirmation_scans_the_library_cache_or_an_audit_trail(release: str) -> None:
    session = Root()
    for cause in catalogue().values():
        if cause.confirm and cause.releases.include(release):
            with suppress(StatementError):
                episodes.run(cause, session, None, release)
    assert session.asked and [sql for sql in session.asked if NEVER.search(sql)] == []


@pytest.mark.parametrize(
    ("place", "kept"), [(("ERP1", 3), True), (("CDB$ROOT", 1), False)], ids=["in a PDB", "over all containers"]
)
def test_number_that_misses_its_bound_lowers_confidence_only_where_all_was_seen(
    place: tuple[str, int], kept: bool, stage: Stage
) -> None:
    stage.poll("parse-storm", at=40)
    before = hard_parses(stage.poll("parse-storm", at=42).diagnosis)
    session = Root(place, number=0)
    stage["parse-storm"].confirmed["hard-parse-storm"] = episodes.run(
        catalogue()["hard-parse-storm"], session, stage.poll("parse-storm", at=44).snapshot.startup_time, "12.1.0.2.0"
    )
    after = hard_parses(stage.poll("parse-storm", at=46).diagnosis)
    assert (after.confidence == before.confidence) is kept
    assert after.confirm is not None and after.confirm.result == 0


def hard_parses(diagnosis: Diagnosis) -> Finding:
    return next(finding for finding in diagnosis.findings if finding.cause == "hard-parse-storm")


def test_confirmation_tells_its_container_and_names_what_it_counted_when_wanted() -> None:
    session = Root()
    told = episodes.run(SEQUENCES, session, None, "19.0.0.0.0", names=True)
    assert [("cdb_sequences" in sql, "dba_sequences" in sql) for sql in session.asked] == [(True, False)] * 2
    assert (told.value, told.container, told.con_id) == (37.0, "CDB$ROOT", 1)
    assert told.names == ({"con_id": 3.0, "sequence_name": "ORDERS_SEQ", "last_number": 4711.0},)
    session = Root()
    assert episodes.run(SEQUENCES, session, None, "19.0.0.0.0").names == ()
    assert len(session.asked) == 1
    none = Root(number=0)
    assert episodes.run(SEQUENCES, none, None, "19.0.0.0.0", names=True).value == 0
    assert len(none.asked) == 1
    slow = Root(fails=lambda sql: StatementError("ORA-01013: cancelled") if sql.endswith("<= 5") else None)
    told = episodes.run(SEQUENCES, slow, None, "19.0.0.0.0", names=True)
    assert (told.value, told.names, told.unnamed) == (37.0, (), "ORA-01013: cancelled")


def test_refused_confirmation_names_the_views_and_one_without_a_text_is_not_tried() -> None:
    closed = Root(fails=lambda sql: ViewRefused("ORA-00942: table or view does not exist"))
    with pytest.raises(
        episodes.ConfirmationRefused, match=r"ORA-00942.*needs read or select on cdb_sequences"
    ) as caught:
        episodes.run(SEQUENCES, closed, None, "19.0.0.0.0")
    assert (caught.value.result.value, caught.value.result.refused) == (None, ("cdb_sequences",))
    session = Root()
    with pytest.raises(StatementError, match=r"written for 9\.2 and newer, and this is 8\.1\.7\.4"):
        episodes.run(SEQUENCES, session, None, "8.1.7.4")
    assert session.asked == []
    with pytest.raises(StatementError, match="no confirming query"):
        episodes.run(UNDO.model_copy(update={"confirm": None}), Storm(), None)


def test_confirmation_expires_after_an_hour_or_an_instance_restart(stage: Stage) -> None:
    started = stage.poll("undo-storm", at=40).snapshot.startup_time
    watched = stage["undo-storm"]
    one = replace(episodes.run(UNDO, Storm(), started), expires=1000.0 + stage.at + 3600)
    watched.confirmed["undo-segments"] = one
    assert watched.confirmations() == {"undo-segments": one} and one.value == 14838
    watched.confirmed["undo-segments"] = replace(one, startup_time="another life")
    assert watched.confirmations() == {}
    watched.confirmed["undo-segments"] = one
    stage.at += 3601
    assert watched.confirmations() == {}


@pytest.mark.parametrize("confirms", [True, False])
def test_confirmation_runs_once_as_an_episode_begins_if_configured(confirms: bool) -> None:
    database = Storm()
    worker = worker_on(database, confirms)
    counts = []
    for _ in range(6):
        worker.step()
        counts.append(database.asked.count("confirm"))
    assert counts == ([0, 0, 1, 1, 1, 1] if confirms else [0] * 6)
    published = worker.watched.published
    assert published is not None
    query = published.diagnosis.findings[0].confirm
    assert query is not None and query.result == (14838 if confirms else None)


@pytest.mark.parametrize(
    ("fault", "sessions_lost"), [(StatementError("ORA-00942: no"), 0), (SessionError("ORA-03113: gone"), 1)]
)
def test_confirmation_failure_is_logged_and_polls_continue(
    fault: StatementError | SessionError, sessions_lost: int, caplog: pytest.LogCaptureFixture
) -> None:
    database = Storm(fault=fault)
    worker = worker_on(database)
    with caplog.at_level(logging.WARNING, "latchscope.loop"):
        for _ in range(5):
            worker.step()
    assert database.asked.count("confirm") == 1
    assert f"undo-segments was not confirmed: {fault}" in caplog.text
    assert (database.closed, worker.watched.confirmed) == (sessions_lost, {})
    assert worker.watched.failure is None and worker.watched.published is not None
