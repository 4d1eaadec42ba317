"""Three processes, one PostgreSQL:

exactly one of them polls each database, whatever happens to the others. Poll times come from the store, which receives every
poll of every replica. How soon a successor polls, and that nobody polls twice, depend on time: the long form tests them, and
test_leases proves that no two have a database at once.
"""

import signal
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from time import sleep

import pytest

from tests.oracle_standin.scripted import PASSWORD, USER
from tests.service.replicas import Replicas, gaps, replicas, stand_in
from tests.service.running import ASK
from tests.service.standin import becomes
from tests.service.state.test_replicas import CUT
from tests.service.stores import Place

pytestmark = pytest.mark.slow

NAMES = [f"db-{number:02}" for number in range(6)]
SESSIONS = "select pid from pg_stat_activity where application_name = 'latchscope-leases' and datname = '{}'"
SCRIPTS = ("undo-storm", "busy-but-fine", "parse-storm")


def judge(fleet: Replicas, since: datetime, interval: float) -> None:
    """What must hold for the polls in the store, whatever happened."""
    found = gaps(fleet.polls(), since)
    doubled = [one for one in found if one[0] < 0.45 * interval]  # a worker leaves half an interval after a late poll
    print(f"{len(found)} polls: longest gap {found[-1]}, {len(doubled)} doubled")  # noqa: T201  figures for `make soak`
    assert not doubled, "two replicas polled it, or one successor polled too soon"
    # The promise is two intervals. The second is for a machine that starts replicas and runs other tests.
    assert found[-1][0] <= 2 * interval + 1.0
    assert {name for _, name in found} == {one["name"] for one in fleet.databases}


def through(fleet: Replicas, goes_on: Callable[[], None]) -> None:
    """Replicas a, b and c are started; then a kill, a cut of all leases, a join, and an orderly end."""
    for name in "abc":
        fleet.start(name)
    fleet.even("a", "b", "c")
    goes_on()
    fleet.kill("b")
    fleet.even("a", "c")
    goes_on()
    before = leases(fleet.place)
    fleet.place.execute(CUT.format(fleet.place.name))
    becomes(lambda: leases(fleet.place).isdisjoint(before), "the replicas have new sessions for their leases")
    fleet.even("a", "c")
    goes_on()
    fleet.start("d")
    fleet.even("a", "c", "d")
    fleet.kill("a", signal.SIGTERM)
    fleet.even("c", "d")
    goes_on()


def test_replicas_share_databases_after_kill_cut_join_and_stop(shared: Place, tmp_path: Path) -> None:
    """The stories of replicas in docs/security.md, and a cut and a join."""
    databases = [
        {"name": name, "dsn": f"demo:{SCRIPTS[place % 3]}", "interval": "2s"} for place, name in enumerate(NAMES)
    ]
    with replicas(shared, tmp_path, databases) as fleet:

        def goes_on() -> None:
            polled_on(fleet)
            disjoint(fleet)
            if len(fleet.running) == 3:
                same_answers(fleet)

        through(fleet, goes_on)
    for name in "abcd":
        assert "Traceback" not in (tmp_path / f"{name}.txt").read_text()


@pytest.mark.soak
def test_replicas_poll_sixty_databases_through_the_driver(shared: Place, tmp_path: Path) -> None:
    """The long form: real logins, intervals as configured in life, and half a minute between two failures."""
    password = tmp_path / "password"
    password.write_text(PASSWORD, encoding="utf-8")
    with stand_in("tests.service.replicas:sixty", 60) as dsns:
        login = {"user": USER, "password_file": str(password), "interval": "10s"}
        databases = [{"name": name, "dsn": dsn, **login} for name, dsn in dsns.items()]
        # A busy machine makes polls expensive and so less frequent; that is another test's subject.
        with replicas(shared, tmp_path, databases, defaults={"budget": 1.0}) as fleet:
            began: list[datetime] = []

            def goes_on() -> None:
                began.append(datetime.now(UTC))
                sleep(30.0)  # the promise covers one failure at a time

            through(fleet, goes_on)
            judge(fleet, began[0], 10.0)


def leases(place: Place) -> set[object]:
    """The sessions that hold leases on the server."""
    return {pid for (pid,) in place.execute(SESSIONS.format(place.name))}


def polled_on(fleet: Replicas) -> None:
    """Every database is polled from now on, at least twice, by its present owner."""

    def counted() -> list[int]:
        polls = fleet.polls()
        return [len(polls.get(name, ())) for name in NAMES]

    before = counted()
    becomes(lambda: all(now >= then + 2 for now, then in zip(counted(), before, strict=True)), "each is polled on")


def disjoint(fleet: Replicas) -> None:
    """Exactly one replica exports each database, and all name the same one."""

    def once() -> bool:
        told = sorted((name, by) for by, one in fleet.running.items() for name in one.up())
        named = [
            sorted((name, by) for by, has in one.shares().items() for name in has) for one in fleet.running.values()
        ]
        return [name for name, _ in told] == NAMES and all(each == told for each in named)

    becomes(once, "each database is in one /metrics")


def same_answers(fleet: Replicas) -> None:
    """Every replica answers every request, and they agree within a poll."""
    for question in ("diagnosis", "latches", "caches", "capabilities", "episodes"):
        path = f"/api/v1/databases/{NAMES[0]}/{question}"

        def agree(path: str = path) -> bool:
            told = [one.json(path) for one in fleet.running.values()]
            return told.count(told[0]) == len(told)

        becomes(agree, f"all say the same of {path}")
    for one in fleet.running.values():
        here = f"{one.url}/api/v1/databases/{NAMES[0]}"
        assert ASK.get(f"{one.url}/db/{NAMES[0]}").status_code == 200
        assert ASK.post(f"{here}/samples").json() == {"database": NAMES[0], "asked": True}
        assert ASK.post(f"{here}/login/resume").json() == {"database": NAMES[0], "resumed": False}
        assert ASK.post(f"{here}/holders", json={"looks": 1}).status_code == 200
    probes = [ASK.get(f"{one.url}/probe?target={NAMES[0]}").status_code for one in fleet.running.values()]
    assert sorted(probes) == [200] + [404] * (len(probes) - 1), "only its owner exports it"
