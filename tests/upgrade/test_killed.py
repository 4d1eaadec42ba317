"""A store of the old release upgrades in place while it is polled, and is killed twice on the way: nothing is lost."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from service.store.figures import Tier, Values, once, read
from service.store.repository import Repository
from tests.ports import free_port
from tests.service.cli.test_store import latchscope
from tests.service.running import answering
from tests.service.stores import ENGINES, Place, Postgres
from tests.started import ROOT, Started

RELEASE = "337e20b"
EVERY = 300
"""Seconds between the polls of two days."""
DATABASES, POLLS = 20, 2 * 86400 // EVERY
OLD: dict[Tier, str] = {
    "poll": "select item_id, at, value, value from deltas",
    "5m": "select item_id, at, total, most from five_minutes",
    "1h": "select item_id, at, total, most from hours",
}
KEPT = {"snapshots": "taken_at", "diagnoses": "taken_at", "frames": "day", "episodes": "cause"}
FOR_EVER = dict.fromkeys(("polls", "five_minutes", "hourly", "snapshots", "diagnoses", "episodes"), 3e9)
ITEMS, END = 2**20, 2**42
Figures = tuple[NDArray[np.int64], Values]
"""Item and milliseconds as one number, ascending; total and highest of each."""


@pytest.fixture(scope="module")
def two_days(postgres: Postgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Place]]:
    """A store of each engine with two days of twenty databases, written by the code of the old release."""
    folder = tmp_path_factory.mktemp("two-days")
    tree = folder / RELEASE
    tree.mkdir()
    archived = subprocess.run(["git", "archive", RELEASE], cwd=ROOT, capture_output=True, check=False)
    assert archived.returncode == 0, f"the clone has no commit {RELEASE}; `git fetch --unshallow` brings it"
    subprocess.run(["tar", "-x"], cwd=tree, input=archived.stdout, check=True)
    places = {kind: Place(kind, folder, postgres if kind == "postgresql" else None, bare=True) for kind in ENGINES}
    maker = str(Path(__file__).with_name("two_days.py"))
    words = [sys.executable, maker, str(EVERY), *(place.url for place in places.values())]
    subprocess.run(words, cwd=tree, env=os.environ | {"PYTHONPATH": str(tree)}, check=True, timeout=3600)
    yield places
    places["postgresql"].close()


def packed(items: NDArray[np.int64], at: NDArray[np.int64], totals: Values, mosts: Values) -> Figures:
    """Figures in a fixed order, to compare as arrays."""
    assert not len(items) or (items.max() < ITEMS and at.max() < END)
    keys = items * END + at
    order = np.argsort(keys)
    return keys[order], np.stack([totals, mosts])[:, order]


def as_the_old_release_left_it(place: Place, number: int, tier: Tier) -> Figures:
    """The figures of a database in the old release's own tables, without roll-ups that are due for a new computation."""
    query = f"{OLD[tier]} where database_id = {number}"
    if tier != "poll":
        query += f" and at not in (select at from unrolled where database_id = {number})"
    rows = np.array(place.execute(query), float).reshape(-1, 4)
    return packed(rows[:, 0].astype(np.int64), rows[:, 1].astype(np.int64), rows[:, 2], rows[:, 3])


def lost_or_changed(store: Repository, number: int, tier: Tier, before: Figures) -> int:
    """How many earlier figures are missing or different."""
    with store.engine.connect() as connection:
        found = once(read(connection, tier, number, 0, END))
    keys, values = packed(found.items, found.at, found.totals, found.mosts)
    wanted, told = before
    places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    same = (keys[places] == wanted) & np.isclose(values[:, places], told, rtol=1e-9, atol=0).all(axis=0)
    return int((~same).sum())


def polls_in(place: Place) -> set[tuple[int, int]]:
    return {(database, at) for database, at in place.execute("select database_id, at from polls")}


def kept_in(place: Place) -> dict[str, set[tuple[str, str]]]:
    """What is kept beside figures."""
    return {
        table: {(name, str(key)) for name, key in place.execute(f'select database, {column} from "{table}"')}
        for table, column in KEPT.items()
    }


@pytest.mark.soak
@pytest.mark.parametrize("kind", ENGINES)
def test_two_days_that_are_polled_and_killed_twice_while_they_upgrade_lose_nothing(
    two_days: dict[str, Place], kind: str, tmp_path: Path
) -> None:
    place = two_days[kind]
    names = dict(place.execute("select id, name from databases"))
    before = {(number, tier): as_the_old_release_left_it(place, number, tier) for number in names for tier in OLD}
    beside, confirmed = kept_in(place), polls_in(place)
    assert len(names) == DATABASES and len(confirmed) == DATABASES * POLLS
    hours = int(place.execute("select count(*) from hours")[0][0])
    port, log, config = free_port(), tmp_path / "stderr.txt", tmp_path / "served.yaml"
    databases = [{"name": name, "dsn": "demo:undo-storm", "interval": 2} for name in names.values()]
    served = {"listen": f"127.0.0.1:{port}", "store": place.url, "history": FOR_EVER, "databases": databases}
    config.write_text(json.dumps(served))

    def left() -> int:
        return int(place.execute("select count(*) from old_hours")[0][0])

    for at_most in (hours - 1, hours // 2, 0):
        known = polls_in(place)
        process = Started("-m", "service", "serve", "--config", str(config), errors=log)
        with answering(process, port, log) as running:
            running.wait(lambda at_most=at_most: left() <= at_most, 900.0)  # type: ignore[misc]
            running.wait(lambda known=known: len(polls_in(place) - known) >= 2 * DATABASES)  # type: ignore[misc]
            confirmed |= polls_in(place)
            if at_most:
                assert left() > 0, "it is killed while it converts"
            running.stop(signal.SIGKILL if at_most else signal.SIGTERM)
    assert not confirmed - polls_in(place)
    for table, rows in kept_in(place).items():
        assert not beside[table] - rows, f"{table}: {len(beside[table] - rows)} rows are gone"
    store = Repository(place.url)
    wrong = {which: count for which, told in before.items() if (count := lost_or_changed(store, *which, told))}
    store.close()
    assert not wrong, f"figures lost or changed by database and tier: {wrong}"
    told = latchscope(tmp_path, place.url, "check")
    assert (told.exit_code, told.stderr) == (0, "the store is whole\n")
    figures = {tier: sum(len(before[number, tier][0]) for number in names) for tier in OLD}
    others = {table: len(rows) for table, rows in beside.items()}
    print(f"{kind}: {figures} old figures, {others}, {len(confirmed)} polls confirmed, 2 kills, 0 lost")  # noqa: T201  figures for `make soak`
