"""Leases on a real PostgreSQL: exclusive, ended by the end of their session, and visible to all replicas."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from service.fleet.build import fleet_backend
from service.state.replicas import Lease, Leases, LeasesLost
from service.store.replicas import SharedLeases, key_of
from service.store.repository import Repository
from tests.oracle_standin.deadline import HANGS
from tests.service.standin import becomes
from tests.service.stores import Place
from tests.started import Started

DATABASES = ("erp", "crm", "dwh")
CUT = "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'latchscope-leases' and datname = '{}'"
Join = Callable[..., SharedLeases]


@pytest.fixture
def shared(shared: Place) -> Place:
    """A store on the PostgreSQL server."""
    Repository(shared.url).close()
    return shared


@pytest.fixture
def join(shared: Place) -> Iterator[Join]:
    """Make a replica."""
    joined: list[SharedLeases] = []

    def make(name: str, lasting: float = 10.0) -> SharedLeases:
        joined.append(SharedLeases(shared.url, name, None, lasting))
        joined[-1].look(DATABASES)
        return joined[-1]

    yield make
    for one in joined:
        one.close()


def test_lease_key_is_the_same_everywhere_and_never_changes() -> None:
    assert key_of("poll", "erp") == 1321479318506802095
    assert len({key_of(kind, name) for kind in ("poll", "act", "replica") for name in DATABASES}) == 9


def test_lease_and_action_are_exclusive_until_they_are_given_back(join: Join) -> None:
    a, b = join("a"), join("b")
    (erp,) = a.take(["erp"])
    assert [one.database for one in b.take(DATABASES)] == ["crm", "dwh"]
    fleet_backend = b.look(DATABASES)
    owners = {name: owner.name for name, owner in fleet_backend.owners.items() if owner}
    assert owners == {"erp": "a", "crm": "b", "dwh": "b"}
    assert [one.name for one in fleet_backend.replicas] == ["a", "b"]
    assert erp.held() and a.take(["erp"]) == (erp,), "the holder keeps it"
    a.give(erp)
    assert not erp.held()
    (taken,) = b.take(["erp"])
    a.give(erp)
    assert taken.held(), "an old lease gives nothing away"
    with a.acting("erp") as here, b.acting("erp") as there, b.acting("crm") as elsewhere:
        assert (here, there, elsewhere) == (True, False, True)
    with b.acting("erp") as there:
        assert there


def test_session_that_is_cut_loses_all_leases_at_once(join: Join, shared: Place) -> None:
    a = join("a")
    held = a.take(DATABASES)
    shared.execute(CUT.format(shared.name))
    assert not any(one.held() for one in held)
    b = join("b")
    assert len(b.take(DATABASES)) == 3
    fleet_backend = a.look(DATABASES)
    assert {one.name for one in fleet_backend.replicas} == {"a", "b"}, "it has joined again, with a new session"
    assert a.take(DATABASES) == () and not any(one.held() for one in held)
    assert len(shared.execute("select * from replicas")) == 2, "dead replicas are removed"


def test_lease_lost_and_taken_again_is_a_new_one(join: Join, shared: Place) -> None:
    a = join("a")
    (before,) = a.take(["erp"])
    shared.execute(CUT.format(shared.name))
    with pytest.raises(LeasesLost):
        a.look(DATABASES)
    a.look(DATABASES)
    (after,) = a.take(["erp"])
    assert after.held() and not before.held(), "a poll of the first term must not appear in the second"


def test_silent_replica_loses_its_lease_to_another(join: Join) -> None:
    silent = join("silent", lasting=0.3)
    (erp,) = silent.take(["erp"])
    other = join("other")
    taken: list[Lease] = []
    becomes(lambda: bool(taken.extend(other.take(["erp"])) or taken), "the server has ended the silent session")
    assert not erp.held()


def test_leases_are_not_given_while_the_store_is_away(join: Join, shared: Place) -> None:
    a = join("a")
    (erp,) = a.take(["erp"])
    with shared.away():
        assert not erp.held()
        with pytest.raises(LeasesLost):
            a.look(DATABASES)
        with pytest.raises(LeasesLost), a.acting("erp"):
            pass
    assert a.look(DATABASES).owners == {}


def test_lease_session_answers_many_threads(join: Join) -> None:
    leases = join("a").take(DATABASES)
    with ThreadPoolExecutor(20) as pool:
        assert list(pool.map(Lease.held, leases * 20)) == [True] * 60


def test_sqlite_store_gives_all_leases_to_its_one_process_and_refuses_a_second_in_one_line(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/store.db"
    store = Repository(url)
    mine = fleet_backend(url, store, "a", None, 15.0)
    assert isinstance(mine.leases, Leases) and mine.status_table is None
    assert [one.held() for one in mine.leases.take(DATABASES)] == [True] * 3
    assert set(mine.leases.look(DATABASES).owners) == set(DATABASES)
    databases = "databases: [{name: erp, dsn: 'demo:healthy-19c'}]"
    (tmp_path / "latchscope.yaml").write_text(f"listen: 127.0.0.1:0\nstore: {url}\n{databases}\n", encoding="utf-8")
    errors = tmp_path / "stderr.txt"
    words = ("-m", "service", "serve", "--config", str(tmp_path / "latchscope.yaml"))
    assert Started(*words, errors=errors).wait(HANGS) == 2
    told = errors.read_text().splitlines()
    assert len(told) == 1 and "in use by another latchscope" in told[0] and "PostgreSQL" in told[0]
    mine.close(), store.close()
