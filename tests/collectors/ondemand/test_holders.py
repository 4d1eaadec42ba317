"""A profile of holders: bounded in time and in looks, equal holders counted together, errors passed on."""

from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from collectors.errors import SessionError, StatementError, ViewRefused
from collectors.model import ROW_CACHE_LATCH, Binds, Value
from collectors.ondemand import holders
from collectors.ondemand.holders import MOST_LOOKS, MOST_SECONDS, Holder, profile
from collectors.poll import Answer
from collectors.scenarios import scenarios
from collectors.simulator.database import ScriptedDatabase
from tests.collectors.scripted import BEGAN

COLUMNS = ("sid", "laddr", "sql_id", "module", "program", "username")
NOBODY: list[tuple[Value, ...]] = []
BILLING = (312, "07A8", "0y080mnfqzaq7", "BILLING", "billing@app", "BILLING")
ORDERS = (97, "07A8", "4m7m0t6fjcs5x", "ORDERS", "orders@app", "ORDERS")


@dataclass
class Session:
    """Gives the answers in turn, the last one for ever, and remembers what it was asked."""

    answers: list[list[tuple[Value, ...]] | Exception]
    columns: tuple[str, ...] = COLUMNS
    asked: list[tuple[str, Binds]] = field(default_factory=list)

    def query(self, sql: str, binds: Binds) -> Answer:
        rows = self.answers[min(len(self.asked), len(self.answers) - 1)]
        self.asked.append((sql, binds))
        if isinstance(rows, Exception):
            raise rows
        return Answer(self.columns, rows)

    def close(self) -> None:
        raise AssertionError("the session is not its own to close")


@pytest.fixture(autouse=True)
def paused(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses that would have been made; no test waits for them."""
    pauses: list[float] = []
    monkeypatch.setattr(holders, "time", SimpleNamespace(sleep=pauses.append))
    return pauses


def ticking(seconds: float) -> Callable[[], float]:
    """A clock that goes on by so much at every glance."""
    glances = iter(range(10**9))
    return lambda: next(glances) * seconds


def still() -> float:
    """A clock that stands."""
    return 0.0


def test_profile_ends_when_the_looks_are_used_up() -> None:
    session = Session([NOBODY])
    found = profile(session, ROW_CACHE_LATCH, seconds=5, looks=7, clock=still)
    assert (found.looks, len(session.asked), found.held) == (7, 7, ())


def test_profile_ends_when_the_time_is_used_up() -> None:
    session = Session([NOBODY])
    found = profile(session, ROW_CACHE_LATCH, seconds=5, looks=2000, clock=ticking(1.0))
    assert found.looks == len(session.asked) == 4
    assert found.seconds >= 5


def test_profile_never_exceeds_its_bounds_whatever_is_asked() -> None:
    session = Session([NOBODY])
    found = profile(session, ROW_CACHE_LATCH, seconds=1e9, looks=10 * MOST_LOOKS, clock=still)
    assert found.looks == MOST_LOOKS == 2000
    found = profile(session, ROW_CACHE_LATCH, seconds=1e9, looks=10**9, clock=ticking(0.5))
    assert found.looks < MOST_SECONDS / 0.5
    assert MOST_SECONDS <= found.seconds <= MOST_SECONDS + 1


def test_profile_pauses_after_every_look(paused: list[float]) -> None:
    profile(Session([NOBODY]), ROW_CACHE_LATCH, seconds=5, looks=9, clock=still)
    assert paused == [holders.PAUSE_SECONDS] * 9
    assert holders.PAUSE_SECONDS > 0


def test_profile_takes_no_look_when_none_is_allowed() -> None:
    session = Session([NOBODY])
    assert profile(session, ROW_CACHE_LATCH, seconds=5, looks=0, clock=still).looks == 0
    assert profile(session, ROW_CACHE_LATCH, seconds=0, looks=5, clock=still).looks == 0
    assert session.asked == []


def test_profile_sends_the_same_statement_for_one_latch_at_each_look() -> None:
    session = Session([NOBODY])
    assert profile(session, "row cache objects", seconds=5, looks=3, clock=still).latch == "row cache objects"
    assert session.asked == [(holders.STATEMENT, {"latch": "row cache objects"})] * 3


def test_holders_that_are_equal_are_counted_together_most_frequent_first() -> None:
    session = Session([[ORDERS], [BILLING, ORDERS], NOBODY, [BILLING], [BILLING]])
    found = profile(session, ROW_CACHE_LATCH, seconds=5, looks=5, clock=still)
    assert found.held == ((Holder(*BILLING), 3), (Holder(*ORDERS), 2))
    assert found.looks == 5


@pytest.mark.parametrize("place", range(len(COLUMNS)), ids=COLUMNS)
def test_holders_that_differ_in_any_field_are_counted_apart(place: int) -> None:
    other = (*BILLING[:place], 9 if place == 0 else "OTHER", *BILLING[place + 1 :])
    found = profile(Session([[BILLING], [other]]), ROW_CACHE_LATCH, seconds=5, looks=2, clock=still)
    assert [times for _, times in found.held] == [1, 1]


def test_holder_without_a_session_is_kept_with_what_is_known() -> None:
    found = profile(Session([[(0, "07A8", None, None, None, None)]]), ROW_CACHE_LATCH, 5, 1, clock=still)
    assert found.held == ((Holder(0, "07A8", None, None, None, None), 1),)
    found = profile(Session([NOBODY], columns=("sid", "laddr")), ROW_CACHE_LATCH, 5, 1, clock=still)
    assert found.held == ()


@pytest.mark.parametrize(
    "error", [ViewRefused("ORA-00942: no"), StatementError("ORA-00904: no"), SessionError("ORA-03113: no")]
)
def test_profile_ends_at_once_on_an_error(error: Exception) -> None:
    session = Session([[BILLING], error])
    with pytest.raises(type(error), match=str(error)):
        profile(session, ROW_CACHE_LATCH, seconds=5, looks=100, clock=still)
    assert len(session.asked) == 2


@pytest.mark.parametrize(("began", "sids"), [(60.0, [611, 618]), (2.0, [])], ids=["storm", "calm"])
def test_scripted_database_has_the_holders_of_its_hour(began: float, sids: list[int]) -> None:
    glances = iter(range(10**6))
    database = ScriptedDatabase(scenarios()["undo-storm"], BEGAN, lambda: began + next(glances) * 0.013)
    found = profile(database, ROW_CACHE_LATCH, seconds=5, looks=300, clock=still)
    assert (found.looks, [one.sid for one, _ in found.held]) == (300, sids)
    for (_, times), share in zip(found.held, (0.52, 0.21), strict=False):
        assert times / 300 == pytest.approx(share, abs=0.1)
