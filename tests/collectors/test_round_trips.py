"""The statements and round trips of polls and profiles, counted by the listener. `pytest -s` prints the figures."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import pytest

from collectors.demo.scenarios import scenarios
from collectors.model import ROW_CACHE_LATCH
from collectors.ondemand.holders import profile
from collectors.oracle import ConnectTarget, OracleConnection, prepare
from collectors.poll import Grouping, poll
from collectors.registry import collectors, groups
from tests.oracle_standin.accounts import Account
from tests.oracle_standin.databases import Service
from tests.oracle_standin.deadline import HANGS, within
from tests.oracle_standin.profiles import ORACLE_12_1, PROFILES, Profile
from tests.oracle_standin.scripted import PASSWORD, USER, ScriptedBackend
from tests.oracle_standin.server import Listener


@dataclass
class Wired:
    """A scripted database behind the listener, on a clock that only the test moves, and a session on it."""

    service: Service
    connection: OracleConnection
    at: float = 0.0

    def cost(self) -> tuple[int, int]:
        """Statements and round trips so far."""
        return self.service.counters.statements, self.service.counters.round_trips


@contextmanager
def wired(name: str, profile: Profile = ORACLE_12_1) -> Iterator[Wired]:
    prepare("thin")
    clock: list[Wired] = []
    backend = ScriptedBackend(scenarios()[name], lambda: clock[0].at if clock else 0.0)
    service = Service(backend, {USER: Account(PASSWORD)}, profile)
    with Listener({name: service}) as listener:
        target = ConnectTarget(listener.dsn(name), USER, PASSWORD)
        clock.append(Wired(service, within(HANGS, lambda: OracleConnection(name, target))))
        yield clock[0]
        clock[0].connection.close()
    assert not listener.problems


@pytest.mark.parametrize("grouped", [True, False], ids=["grouped", "alone"])
@pytest.mark.parametrize(("name", "of_sessions"), [("undo-storm", "waits"), ("users-mutex", "containers")])
def test_later_polls_ask_only_what_changes(name: str, of_sessions: str, grouped: bool) -> None:
    """Without groups a poll asks for each view of a group by itself."""
    names = ("counters", "counters_and_levels", of_sessions)
    counters, levels, sessions = (len(groups()[one].views) - 1 for one in names)
    often, by_minute = (0, 0) if grouped else (counters + sessions, levels + sessions)
    first, later, with_parameters = 8 + by_minute, 3 + often, 4 + by_minute
    grouping = Grouping(name) if grouped else None
    with wired(name) as database:
        snapshot, counted = None, []
        for database.at in (0.0, 15.0, 30.0, 299.0, 314.0):
            before = database.cost()
            snapshot = within(HANGS, partial(poll, name, database.connection, snapshot, grouping=grouping))
            counted.append(tuple(now - then for now, then in zip(database.cost(), before, strict=True)))
    print(f"\n{name}: statements and round trips of polls at 0, 15, 30, 299 and 314 s: {counted}")  # noqa: T201
    assert counted == [(each, each) for each in (first, later, later, with_parameters, later)]


@pytest.mark.parametrize("profile", PROFILES.values(), ids=list(PROFILES))
def test_each_statement_is_parsed_once_and_costs_what_the_poll_says(profile: Profile) -> None:
    with wired("undo-storm", profile) as database:
        counters, parsed, snapshot = database.service.counters, list[int](), None
        for database.at in (0.0, 15.0, 30.0):
            before = counters.round_trips
            snapshot = within(HANGS, partial(poll, "undo-storm", database.connection, snapshot))
            assert counters.round_trips - before == sum(cost.round_trips for cost in snapshot.costs.values())
            parsed.append(counters.parses)
    assert len(snapshot.costs) == sum(cost.round_trips for cost in snapshot.costs.values())
    assert parsed[1] == parsed[2], "each is in the driver's cache from the second poll on"
    assert not {view for view, one in collectors().items() if one.once} & snapshot.costs.keys()


def test_profile_of_holders_is_one_statement_after_its_trial() -> None:
    with wired("undo-storm") as database:
        database.at = 60.0
        before = database.cost()
        found = within(HANGS, lambda: profile(database.connection, ROW_CACHE_LATCH, 4.0, 5000))
        asked = [now - then for now, then in zip(database.cost(), before, strict=True)]
    assert asked == [4, 4], "release, mechanism, trial, profile"
    assert (found.looks, found.held[0].sid) == (5000, 611)
    assert (found.held[0].looks, found.held[0].holds) == (2600, 84)
