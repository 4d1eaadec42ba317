"""The diagnosis of each demo database: two polls 15 s apart, and a look a second at waiting sessions in between."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache

import pytest

from collectors.delta import between
from collectors.demo.database import ScriptedDatabase
from collectors.demo.scenarios import scenarios
from collectors.model import Delta
from collectors.ondemand.sampling import Burst
from collectors.poll import poll
from rules.engine import diagnose
from rules.model import Diagnosis, Severity
from tests.collectors.scripted import BEGAN

SECONDS = 15


@cache
def diagnosed(name: str, at: float = 30.0, looks: int = SECONDS) -> Diagnosis:
    """The Diagnosis of a scripted database from two polls, with `looks` at its sessions between them."""
    now = [at]
    scenario = scenarios()[name]
    database = ScriptedDatabase(scenario, BEGAN, lambda: now[0])
    earlier, burst = poll(name, database), Burst(scenario.release)
    for second in range(looks):
        now[0] = at + (second + 0.5) * SECONDS / looks
        poll_clock(database)
        burst.look(database)
    now[0] = at + SECONDS
    later = poll(name, database, earlier)
    later = replace(later, readings={**later.readings, "v$session": burst.taken()})
    delta = between(earlier, later)
    assert isinstance(delta, Delta)
    return diagnose(delta)


def poll_clock(database: ScriptedDatabase) -> None:
    """A scripted database takes its time from the poll. A look between polls has to set the time itself."""
    poll("clock", database)


def above_info(got: Diagnosis) -> Sequence[str]:
    return [one.cause for one in got.findings if one.severity is not Severity.INFO]


VERDICTS = {
    "users-mutex": ("logon-storm", "dc_users"),
    "nocache-sequence-1": ("sequence-nocache", "dc_sequences"),
    "nocache-sequence-2": ("sequence-nocache", "dc_sequences"),
    "ads-result-cache": ("result-cache-adaptive", None),
    "undo-storm": ("undo-segments", "dc_rollback_segments"),
    "parse-storm": ("hard-parse-storm", None),
    "ddl-hang": ("row-cache-lock-hang", "dc_objects"),
}
SICK_AT = {"undo-storm": 60.0, "ddl-hang": 72.0}


@pytest.mark.parametrize("name", VERDICTS)
def test_sick_database_gets_its_one_cause_and_its_cache(name: str) -> None:
    got = diagnosed(name, SICK_AT.get(name, 30.0))
    cause, cache_name = VERDICTS[name]
    assert above_info(got) == [cause]
    top = got.findings[0]
    assert (top.cause, top.cache) == (cause, cache_name)
    assert top.name in got.headline
    assert got.notes == ()
    assert name == "parse-storm" or (got.severity.rank >= Severity.WARNING.rank and top.confidence.rank >= 1)


def test_verdicts_cover_every_demo_database() -> None:
    assert {*VERDICTS, "busy-but-fine", "healthy-19c"} == set(scenarios())


@pytest.mark.parametrize(
    ("name", "at"), [("healthy-19c", 30.0), ("busy-but-fine", 30.0), ("undo-storm", 2.0), ("ddl-hang", 30.0)]
)
def test_healthy_database_has_nothing_above_info(name: str, at: float) -> None:
    got = diagnosed(name, at)
    assert (above_info(got), got.severity, got.candidates) == ([], Severity.INFO, ())
    if name == "healthy-19c":
        assert (got.findings, got.undetermined, got.who, got.mechanism) == ((), (), (), "mutex")
        assert got.headline.startswith("Nothing to do about the row cache")


def lines(name: str) -> Iterator[str]:
    got = diagnosed(name, SICK_AT.get(name, 30.0))
    yield f"{got.state}: {got.headline}"
    for top in got.findings[:1]:
        said = {"title": top.title, "lede": top.lede, "do": top.do_now, "check": top.check_first, "do not": top.do_not}
        yield f"{top.cause} on {top.cache}, {top.identity}, {top.confidence}"
        yield from (f"{part}: {words}" for part, words in said.items() if words)
    for group in got.who[:1]:
        yield f"who: {', '.join(f'{part} {told}' for part, told in group.model_dump(exclude_none=True).items())}"


def test_what_is_said_of_each_demo_database(golden: Callable[[str, str], None]) -> None:
    golden("demo.txt", "\n".join(line for name in scenarios() for line in (f"== {name}", *lines(name), "")))


@pytest.mark.parametrize("name", ["users-mutex", "nocache-sequence-1", "ads-result-cache", "undo-storm"])
def test_sampled_groups_match_the_scripted_ones_in_proportion(name: str) -> None:
    got, load = (
        diagnosed(name, SICK_AT.get(name, 30.0), 60),
        scenarios()[name].loop[-1 if name != "undo-storm" else 6][1],
    )
    waiting = sorted(load.waiting, key=lambda one: -one.sessions)
    assert [(one.sql_id, one.module) for one in got.who] == [(one.sql_id, one.module) for one in waiting]
    for group, one in zip(got.who, waiting, strict=True):
        assert group.sessions == pytest.approx(one.sessions, abs=0.35)


def test_ddl_hang_costs_nothing_once_its_waits_have_ended() -> None:
    assert diagnosed("ddl-hang", 136.0).severity is Severity.INFO
    ending = diagnosed("ddl-hang", 125.0).impact
    assert ending is not None and ending.waiting_sessions is not None
    assert pytest.approx(ending.waiting_sessions, rel=0.01) == 10 / 15 * 38


def test_no_step_ends_a_session_while_the_chain_lacks_a_fact() -> None:
    diagnosis = diagnosed("ddl-hang", SICK_AT.get("ddl-hang", 30.0))
    assert diagnosis.blockers is not None and [chain.action for chain in diagnosis.blockers.chains] == [None]
    (found,) = (each for each in diagnosis.findings if each.cause == "row-cache-lock-hang")
    assert [step.do for step in found.remedy_steps if step.from_chain or "End the session" in step.do] == []
    assert "End the session" not in found.remedy
