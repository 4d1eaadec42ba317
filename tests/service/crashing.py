"""A process that polls two scripted databases as fast as it can into a store, until it is killed.

`python -m tests.service.crashing URL FOLDER BEGAN`: it notes each poll in FOLDER/polls.txt as soon as its keeper has taken
it. Everything between the poll and the disk is the product's own code.
"""

import os
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

from collectors.demo.database import ScriptedDatabase
from collectors.demo.scenarios import scenarios
from service.background import PeriodicJob
from service.config.settings import DatabaseSettings
from service.fleet.build import resume
from service.state.board import Board, MonitoredDatabase
from service.store.build import Maintenance
from service.store.disk_queue import DiskQueue
from service.store.repository import Repository
from service.store.writer import Writer
from service.watch.pipeline import run_poll

NAMES = ("undo-storm", "parse-storm")


def main(url: str, folder: Path, began: float) -> None:
    """Poll for ever."""
    store = Repository(url)
    writer = Writer(store, DiskQueue(folder / "spool", 2**30))
    board = Board([MonitoredDatabase(DatabaseSettings(name=name, dsn=f"demo:{name}"), 1.0) for name in NAMES])
    writer.catch_up()
    resume(board, store, writer)
    writer.start()
    PeriodicJob("maintenance", 0.3, Maintenance(store).do).start()
    noted = os.open(folder / "polls.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    start = datetime.fromtimestamp(began, UTC)

    def watch(watched: MonitoredDatabase) -> None:
        # A day passes in minutes, so that buckets close during the life of the process.
        database = ScriptedDatabase(scenarios()[watched.name], start, lambda: 100 * (time.time() - began), ())
        while True:
            published = run_poll(watched, database, writer)
            os.write(noted, f"{watched.name} {published.snapshot.taken_at.isoformat()}\n".encode())  # type: ignore[union-attr]
            time.sleep(0.05)

    threads = [threading.Thread(target=watch, args=(watched,), daemon=True) for watched in board]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), float(sys.argv[3]))
