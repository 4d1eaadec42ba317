"""A profile of holders:

one statement after a short trial, with limits on time and looks, and refused where mutexes guard the row cache.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from collectors.demo.database import ScriptedDatabase
from collectors.demo.scenarios import scenarios
from collectors.errors import NotApplicable, SessionError, StatementError, ViewRefused
from collectors.model import ROW_CACHE_LATCH, Binds, Value, number
from collectors.ondemand.holders import MOST_LOOKS, MOST_SECONDS, STATEMENT, TRIAL_LOOKS, Holder, profile
from collectors.poll import Answer
from collectors.registry import view_of
from tests.collectors.scripted import BEGAN

COLUMNS = ("sid", "laddr", "sql_id", "module", "program", "username", "met", "holds")
BILLING = (312, "07A8", "0y080mnfqzaq7", "BILLING", "billing@app", "BILLING")
ORDERS = (97, "07A8", "4m7m0t6fjcs5x", "ORDERS", "orders@app", "ORDERS")
LATCHES: list[tuple[Value, ...]] = [("row cache lock",), ("latch: row cache objects",)]
MUTEXES: list[tuple[Value, ...]] = [("row cache lock",), ("row cache mutex",)]


@dataclass
class Session:
    """Answers with the same holders every time. Each look takes the database this many seconds."""

    rows: list[tuple[Value, ...]] = field(default_factory=list)
    per_look: float = 20e-6
    release: str = "11.2.0.4.0"
    events: list[tuple[Value, ...]] | Exception = field(default_factory=lambda: LATCHES)
    fault: Exception | None = None
    now: float = 0.0
    looks: list[int] = field(default_factory=list)

    def query(self, sql: str, binds: Binds) -> Answer:
        if view_of(sql) == "v$instance":
            return Answer(("instance_number", "version"), [(1, self.release)])
        if view_of(sql) == "v$event_name":
            if isinstance(self.events, Exception):
                raise self.events
            return Answer(("name",), self.events)
        assert sql == STATEMENT and binds["latch"] == ROW_CACHE_LATCH
        self.looks.append(int(number(binds["looks"]) or 0))
        if self.fault:
            raise self.fault
        self.now += self.looks[-1] * self.per_look
        return Answer(COLUMNS, self.rows)

    def clock(self) -> float:
        return self.now

    def close(self) -> None:
        raise AssertionError("the session is not its own to close")


def profiled(session: Session, seconds: float = 2.0, looks: int = MOST_LOOKS):  # type: ignore[no-untyped-def]
    return profile(session, ROW_CACHE_LATCH, seconds, looks, clock=session.clock)


def test_profile_takes_all_looks_in_one_statement_after_a_trial() -> None:
    session = Session()
    found = profiled(session)
    assert session.looks == [TRIAL_LOOKS, round((2.0 - TRIAL_LOOKS * session.per_look) / session.per_look)]
    assert (found.latch, found.looks, found.held, found.note) == (ROW_CACHE_LATCH, session.looks[1], (), None)
    assert found.seconds == pytest.approx(found.looks * session.per_look)


def test_profile_of_few_looks_is_one_statement() -> None:
    session = Session()
    assert profiled(session, looks=70).looks == 70
    assert session.looks == [70]


@pytest.mark.parametrize("per_look", [1e-6, 20e-6, 200e-6, 1e-3])
@pytest.mark.parametrize("seconds", [0.5, 2.0, 1e9])
def test_profile_never_exceeds_its_bounds_however_slow_a_look_is(per_look: float, seconds: float) -> None:
    session = Session(per_look=per_look)
    found = profiled(session, seconds=seconds, looks=10**9)
    assert found.looks <= MOST_LOOKS
    assert session.now <= max(min(seconds, MOST_SECONDS), TRIAL_LOOKS * per_look) + 1e-6


def test_trial_that_uses_up_the_time_is_the_profile() -> None:
    session = Session([(*BILLING, 250, 5)], per_look=3e-3)
    found = profiled(session, seconds=2.0)
    assert session.looks == [TRIAL_LOOKS]
    assert (found.looks, found.held[0].looks) == (TRIAL_LOOKS, 250)


def test_average_hold_is_the_time_met_over_the_distinct_holds() -> None:
    session = Session([(*BILLING, 30_000, 1500), (*ORDERS, 2000, 2000)])
    found = profiled(session, looks=50_000)
    assert found.looks == 50_000
    assert found.held == (
        Holder(*BILLING, 30_000, 1500, pytest.approx(400.0)),
        Holder(*ORDERS, 2000, 2000, pytest.approx(20.0)),
    )


def test_profile_whose_looks_all_agree_tells_no_average() -> None:
    session = Session([(*BILLING, 900, 1)])
    found = profiled(session, looks=900)
    assert found.note is not None and "is unknown" in found.note
    assert [held.average_microseconds for held in found.held] == [None]
    assert profiled(Session([(*BILLING, 899, 1)]), looks=900).note is None
    assert profiled(Session([(*BILLING, 900, 2)]), looks=900).note is None


def test_holder_without_a_session_is_kept_with_what_is_known() -> None:
    (held,) = profiled(Session([(0, "07A8", None, None, None, None, 9, 3)]), looks=100).held
    assert held == Holder(0, "07A8", None, None, None, None, 9, 3, held.average_microseconds)


@pytest.mark.parametrize(
    ("release", "events"),
    [("19.0.0.0.0", MUTEXES), ("12.1.0.2.0", MUTEXES), ("12.2.0.1.0", ViewRefused("ORA-00942: no"))],
    ids=["19c", "event on an old release", "release alone"],
)
def test_profile_is_refused_where_mutexes_guard(release: str, events: list[tuple[Value, ...]] | Exception) -> None:
    session = Session(release=release, events=events)
    with pytest.raises(NotApplicable, match="mutexes guard the row cache of this instance"):
        profiled(session)
    assert session.looks == []


def test_profile_is_not_refused_where_the_mechanism_is_unknown() -> None:
    assert profiled(Session(release="", events=ViewRefused("ORA-00942: no")), looks=10).looks == 10


@pytest.mark.parametrize(
    "error", [ViewRefused("ORA-00942: no"), StatementError("ORA-00904: no"), SessionError("ORA-03113: no")]
)
def test_profile_ends_at_once_on_an_error(error: Exception) -> None:
    session = Session(fault=error)
    with pytest.raises(type(error), match=str(error)):
        profiled(session)
    assert len(session.looks) == 1


def ticks() -> Iterator[float]:
    now = 0.0
    while True:
        yield now
        now += 0.2


@pytest.mark.parametrize(
    ("at", "sids", "averages"), [(60.0, [611, 618], [620, 400]), (2.0, [], [])], ids=["storm", "calm"]
)
def test_scripted_database_has_the_holders_of_its_hour(at: float, sids: list[int], averages: list[float]) -> None:
    database, clock = ScriptedDatabase(scenarios()["undo-storm"], BEGAN, lambda: at), ticks()
    found = profile(database, ROW_CACHE_LATCH, seconds=4, looks=10_000, clock=lambda: next(clock))
    assert (found.looks, [held.sid for held in found.held]) == (10_000, sids)
    for held, share, average in zip(found.held, (0.52, 0.21), averages, strict=False):
        assert held.looks / found.looks == pytest.approx(share, abs=0.01)
        assert held.average_microseconds == pytest.approx(average, rel=0.05)


def test_scripted_database_with_mutexes_refuses() -> None:
    database = ScriptedDatabase(scenarios()["users-mutex"], BEGAN, lambda: 60.0)
    with pytest.raises(NotApplicable):
        profile(database, ROW_CACHE_LATCH, seconds=1, looks=100)
