"""Fills stores with two days of twenty databases, by the release whose checkout it is run in, which is commit 337e20b.

    PYTHONPATH=. python <this file> <seconds between polls> <URL of a store> ...

Three scripted databases are polled, judged and made into records by that release; its writer keeps each record under the
names of six or seven databases, and its roll-up makes five minutes and hours of them.
"""

# ruff: noqa: I001  the modules are another release's: ruff cannot tell that they are ours
import sys
import tempfile
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from service.settings import DatabaseSettings
from service.store.record import record_of
from service.store.repository import Repository
from service.store.rollup import roll_up
from tests.service.stage import BEGAN, FOR_EVER, Kept, Stage

SCRIPTS = ("undo-storm", "users-mutex", "healthy-19c")
DATABASES = 20
SECONDS = 2 * 86400
AT_ONCE = 10


def names_of(script: str) -> list[str]:
    """The databases that use the polls of a scripted one."""
    return [f"{script}-{number}" for number in range(SCRIPTS.index(script), DATABASES, len(SCRIPTS))]


def main(every: int, urls: list[str]) -> None:
    """Fill the stores."""
    with tempfile.TemporaryDirectory() as folder:
        patch = pytest.MonkeyPatch()
        stage = Stage(patch, Path(folder))
        stage.watch(*(DatabaseSettings(name=name, dsn=f"demo:{name}", interval=every) for name in SCRIPTS))
        stores = [Repository(url, FOR_EVER) for url in urls]
        kept = stage.keeper = Kept([])
        for count, moment in enumerate(range(every, SECONDS + 1, every), 1):
            stage.poll_all(float(moment))
            if count % AT_ONCE == 0 or moment + every > SECONDS:
                write(stores, kept)
        last = BEGAN + timedelta(seconds=SECONDS)
        for store in stores:
            while roll_up(store.engine, store.partitions, last):
                pass
            store.close()
        stage.close()
        patch.undo()


def write(stores: list[Repository], kept: Kept) -> None:
    """Keep what was polled under every name, and forget it here."""
    records = []
    for poll, turn in zip(kept.polls, kept.turns, strict=True):
        record = record_of(*poll, turn)
        for name in names_of(record.database):
            episodes = [episode | {"database": name} for episode in record.episodes]
            records.append(replace(record, database=name, episodes=episodes, changes=[]))
    kept.polls.clear()
    kept.turns.clear()
    for store in stores:
        store.write(records)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
