"""The closed loop of `bench capacity`, a process of its own:

workers poll as fast as they can, and nothing is written. It prints a line once it is warm. For each number of seconds that
it reads it polls for so long, then rests, and prints a line of JSON: polls and processor seconds.
"""

import argparse
import json
import os
import resource
import sys
import threading
import time
from typing import Any

from collectors.model import Snapshot
from collectors.oracle import prepare
from rules.model import Diagnosis
from service.background import collect_rarely
from service.config.settings import DatabaseSettings, OracleSettings
from service.state.board import MonitoredDatabase, PollRecord
from service.store.record import CompleteDiagnoses, record_of
from service.watch.connect import Connector
from service.watch.scheduler import PollScheduler
from service.watch.worker import Worker
from tests.oracle_standin.scripted import PASSWORD, USER

WARM_POLLS = 6
RESTING = 3600.0
"""Seconds until a worker is due again while all rest; it is hastened when they go on."""
SETTLING = 0.25
"""Seconds before a window counts, and after it, for the polls that have begun."""


class Keeper:
    """Builds the record that the store would take from each poll, as the writer does, and counts it."""

    def __init__(self) -> None:
        self.polls = 0
        self._complete = CompleteDiagnoses()
        self._lock = threading.Lock()

    def keep(self, snapshot: Snapshot, diagnosis: Diagnosis, poll_record: PollRecord | None = None) -> None:
        record_of(snapshot, diagnosis, poll_record, complete=self._complete.due(snapshot, diagnosis))
        with self._lock:
            self.polls += 1


class Tireless(Worker):
    """A worker that is due again at once, except while all rest."""

    rest = threading.Event()

    def take_turn(self) -> float | None:
        if self._stopping:
            return None
        if self.rest.is_set():
            return time.monotonic() + RESTING
        self.step()
        self._burst = None  # this loop excludes looks between polls
        return time.monotonic()


def main() -> None:
    """Poll in turns of as many seconds as each line of input says."""
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("databases", type=int)
    parser.add_argument("--statements", default="grouped")
    given = parser.parse_args()
    prepare("thin")
    os.environ["BENCH_PASSWORD"] = PASSWORD
    keeper, scheduler = Keeper(), PollScheduler()
    connector = Connector(OracleSettings())
    workers = [_worker(number, given, connector, keeper, scheduler) for number in range(given.databases)]
    for worker in workers:
        worker.start()
    while keeper.polls < WARM_POLLS * given.databases:
        time.sleep(0.05)
    collect_rarely()  # as the service does
    Tireless.rest.set()
    time.sleep(SETTLING)
    print("warm", flush=True)
    for line in sys.stdin:
        Tireless.rest.clear()
        for worker in workers:
            scheduler.hasten(worker)
        time.sleep(SETTLING)
        told = json.dumps(_window(float(line), keeper))
        Tireless.rest.set()
        time.sleep(SETTLING)
        print(told, flush=True)
    os._exit(0)  # no goodbyes: the stand-in ends with us


def _window(seconds: float, keeper: Keeper) -> dict[str, Any]:
    """What so many seconds come to."""
    polls, spent, began = keeper.polls, _processor(), time.monotonic()
    time.sleep(seconds)
    return {
        "polls": keeper.polls - polls,
        "processor": _processor() - spent,
        "seconds": time.monotonic() - began,
        "threads": threading.active_count(),
    }


def _worker(
    number: int, given: argparse.Namespace, connector: Connector, keeper: Keeper, scheduler: PollScheduler
) -> Worker:
    name = f"db-{number:04}"
    dsn = f"127.0.0.1:{given.port}/{name}"
    database = DatabaseSettings(name=name, dsn=dsn, user=USER, password_env="BENCH_PASSWORD")
    watched, grouped = MonitoredDatabase(database, 15.0), given.statements == "grouped"
    return Tireless(watched, connector, keeper, scheduler=scheduler, grouped=grouped)


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
