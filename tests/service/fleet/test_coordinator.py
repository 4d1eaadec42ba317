"""Sharing: fair, stable once it is even, quick when a replica leaves, and never two replicas at one database."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, generate_latest

from service.config.settings import DatabaseSettings
from service.fleet.coordinator import FleetCoordinator, FleetMetrics
from service.state.board import Board, MonitoredDatabase
from service.state.replicas import Lease, LeasesLost, Ownership, Replica
from service.watch.worker import Worker as RealWorker
from tests.service.stage import Stage
from tests.service.standin import becomes
from tests.service.watch.test_worker import Dear


@dataclass
class Worker:
    """A worker. It ends on request, unless it hangs."""

    hangs: bool = False
    alive: bool = False
    told: list[str] = field(default_factory=list)

    def start(self) -> None:
        self.alive = True

    def stop(self) -> None:
        self.told.append("stop")
        self.alive = self.hangs

    def join(self, timeout: float) -> None:
        """Nothing to wait for."""


class Hub:
    """What PostgreSQL does in production: one place that knows which replica holds which lease."""

    def __init__(self) -> None:
        self.replicas: dict[str, Replica] = {}
        self.holders: dict[str, str] = {}
        self.moves = 0


class Held:
    """The leases of one replica of a hub."""

    def __init__(self, hub: Hub, name: str) -> None:
        self._hub = hub
        self.me = Replica(name, name, None)
        self.away = False
        self.alone = False

    def look(self, databases: Iterable[str]) -> Ownership:
        if self.away:
            raise LeasesLost("the store does not answer")
        self._hub.replicas[self.me.id] = self.me
        owners = {name: self._hub.replicas[holder] for name, holder in self._hub.holders.items()}
        return Ownership(tuple(self._hub.replicas.values()), owners)

    def take(self, names: Sequence[str]) -> list[Lease]:
        for name in names:
            self._hub.moves += name not in self._hub.holders
            self._hub.holders.setdefault(name, self.me.id)
        return [Lease(name, self._holds) for name in names if self._hub.holders[name] == self.me.id]

    def give(self, lease: Lease) -> None:
        if self._holds(lease):
            del self._hub.holders[lease.database]

    def lose(self) -> None:
        """Die, or lose the session: all leases are free."""
        self._hub.replicas.pop(self.me.id, None)
        self._hub.holders = {name: one for name, one in self._hub.holders.items() if one != self.me.id}

    @contextmanager
    def acting(self, database: str) -> Iterator[bool]:
        yield True

    logging_in = acting

    def close(self) -> None:
        self.lose()

    def _holds(self, lease: Lease) -> bool:
        return self._hub.holders.get(lease.database) == self.me.id


class Site:
    """Replicas that share this many databases, round by round."""

    def __init__(self, databases: int) -> None:
        self.hub = Hub()
        self.names = [f"db-{number}" for number in range(databases)]
        self.fleets: dict[str, FleetCoordinator] = {}
        self.boards: dict[str, Board] = {}
        self.leases: dict[str, Held] = {}
        self.workers: list[Worker] = []
        self.hangs = False

    def join(self, name: str) -> FleetCoordinator:
        board = Board(
            [MonitoredDatabase(DatabaseSettings(name=one, dsn="demo:undo-storm"), 15.0) for one in self.names]
        )
        board.share(lambda elsewhere, whole: None)
        self.boards[name], self.leases[name] = board, Held(self.hub, name)
        self.fleets[name] = FleetCoordinator(board, self.leases[name], self._make_workers)
        return self.fleets[name]

    def leave(self, name: str) -> None:
        self.leases[name].lose()
        del self.fleets[name], self.boards[name], self.leases[name]

    def rounds(self, number: int = 1) -> None:
        for _ in range(number):
            for fleet in self.fleets.values():
                fleet.step()

    def _make_workers(self, taken: Sequence[tuple[MonitoredDatabase, Lease]]) -> list[Worker]:
        self.workers += (made := [Worker(self.hangs) for _ in taken])
        return made

    def owned(self) -> dict[str, int]:
        return {name: fleet.owned for name, fleet in self.fleets.items()}

    def exported(self) -> list[str]:
        return sorted(one.name for board in self.boards.values() for one in board.own())


@given(st.integers(0, 40), st.lists(st.sampled_from("+-"), max_size=8))
def test_coordinator_shares_are_fair_complete_and_settle(databases: int, changes: list[str]) -> None:
    site = Site(databases)
    site.join("r0")
    for number, change in enumerate(changes, 1):
        if change == "+" or len(site.fleets) == 1:
            site.join(f"r{number}")
        else:
            site.leave(next(iter(site.fleets)))
        site.rounds(6)
        share = -(-databases // len(site.fleets))
        assert sum(site.owned().values()) == databases, "a replica polls each one"
        assert max(site.owned().values()) <= share, "no replica has more than the fair share"
        assert site.exported() == sorted(site.names), "one replica exports each one"
        first, *others = ({one.name: one.polled_by for one in board} for board in site.boards.values())
        assert all(told == first for told in others) and set(first.values()) <= set(site.fleets)
        moves = site.hub.moves
        site.rounds(5)
        assert site.hub.moves == moves, "no lease moves to and fro"


def test_coordinator_polls_a_taken_database_one_round_later() -> None:
    site = Site(2)
    fleet = site.join("a")
    site.rounds(1)
    assert (len(site.hub.holders), fleet.owned) == (2, 0), "the other's last poll may still be on its way to the store"
    site.hub.holders["db-0"] = "b"
    site.hub.replicas["b"] = Replica("b", "b", None)
    site.rounds(1)
    assert fleet.owned == 1 and fleet.worker("db-0") is None, "a lease that was lost again meanwhile begins nothing"


def test_coordinator_keeps_the_lease_of_a_hanging_worker_until_it_ends() -> None:
    site = Site(4)
    site.hangs = True
    first = site.join("a")
    site.rounds(3)
    second = site.join("b")
    site.rounds(4)
    assert first.owned == 2 and second.owned == 0, "a poll is still on its way"
    assert len(list(site.boards["a"].own())) == 2, "but no longer exported"
    for worker in site.workers:
        worker.alive = worker.told == []
    site.rounds(4)
    assert site.owned() == {"a": 2, "b": 2}


def test_coordinator_polls_and_exports_nothing_until_leases_return_and_survives_a_failed_round(
    caplog: pytest.LogCaptureFixture,
) -> None:
    site = Site(4)
    fleet = site.join("a")
    site.rounds(2)
    assert fleet.owned == 4
    site.leases["a"].away = True
    site.leases["a"].lose()
    site.rounds(2)
    assert fleet.owned == 0 and site.exported() == [] and all(one.told == ["stop"] for one in site.workers)
    site.leases["a"].away = False
    site.rounds(2)
    assert fleet.owned == 4 and len(site.workers) == 8
    site = Site(1)
    fleet = site.join("a")
    make_workers, fleet._make_workers = fleet._make_workers, lambda taken: 1 / 0  # type: ignore[assignment,return-value]
    site.rounds(2)
    assert "a round of sharing failed" in caplog.text and site.hub.holders == {}
    fleet._make_workers = make_workers
    site.rounds(2)
    assert fleet.owned == 1


def test_coordinator_takes_only_its_share_after_all_sessions_are_cut() -> None:
    site = Site(6)
    for name in "abc":
        site.join(name)
    site.rounds(6)
    assert site.owned() == {"a": 2, "b": 2, "c": 2}
    site.hub.replicas.clear(), site.hub.holders.clear()
    for leases in site.leases.values():
        leases.me = Replica(f"{leases.me.id}-again", leases.me.name, None)
    site.fleets["a"].step(), site.fleets["a"].step()
    assert len(site.hub.holders) == 2, "the other replicas will come back"
    hired = len(site.workers)
    site.rounds(4)
    assert site.owned() == {"a": 2, "b": 2, "c": 2}
    assert len(site.workers) - hired <= 6
    for leases in site.leases.values():
        leases.lose()
    for name in "bc":
        site.leave(name)
    site.leases["a"].me = Replica("a-third", "a", None)
    site.rounds(8)
    assert site.owned() == {"a": 6}, "if they do not, their leases are taken too"


def test_coordinator_replaces_a_worker_that_ended_by_itself_and_notices_a_lease_that_another_took() -> None:
    site = Site(2)
    fleet = site.join("a")
    site.rounds(2)
    site.workers[0].alive = False
    site.rounds(3)
    assert len(site.workers) == 3 and fleet.owned == 2
    site.hub.replicas["b"] = Replica("b", "b", None)
    site.hub.holders["db-0"] = "b"
    site.rounds(2)
    assert fleet.worker("db-0") is None and fleet.worker("db-1") is not None
    assert {one.name: one.polled_by for one in site.boards["a"]} == {"db-0": "b", "db-1": "a"}


def test_unowned_databases_are_counted_and_taken_beyond_the_share(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr("service.fleet.coordinator.time", SimpleNamespace(monotonic=lambda: now))
    site = Site(4)
    fleet = site.join("a")
    site.hub.replicas["idle"] = Replica("idle", "idle", None)  # lives, and takes no lease
    registry = CollectorRegistry()
    registry.register(FleetMetrics(fleet))
    site.rounds(2)
    assert (fleet.owned, fleet.unowned) == (2, 0), "half of them remain for the other replica"
    now += 14.0
    site.rounds(2)
    assert fleet.owned == 2
    now += 2.0
    site.rounds(2)
    assert (fleet.owned, fleet.unowned) == (4, 0), "an interval later one replica must"
    site.leases["a"].away = True
    site.rounds(2)
    now += 29.0
    assert fleet.unowned == 0
    now += 2.0
    assert fleet.unowned == 4
    assert b"latchscope_databases_owned 0.0" in generate_latest(registry)
    assert b"latchscope_databases_unowned 4.0" in generate_latest(registry)


def test_poll_in_flight_when_the_lease_is_lost_is_not_shown_and_without_it_nobody_connects(stage: Stage) -> None:
    watched, answers = stage["busy-but-fine"], [True, False]
    worker = RealWorker(watched, Dear(stage), stage.keeper, holds=lambda: answers.pop(0))
    worker.step()
    assert watched.published is None and stage.keeper.polls == []
    worker.start()
    becomes(lambda: not worker.alive, "it has stopped by itself")
    assert answers == [], "and has not even asked again"
    RealWorker(watched, None, stage.keeper, holds=lambda: False).step()  # type: ignore[arg-type]
    assert watched.failure is None, "not a failure of the database"
