"""Small work in the background, off the path of every poll: one thread per job, which a trouble never ends."""

import logging
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from threading import Event, Thread

from collectors.scenarios import scenarios
from service.history.baselines import BaselineCache
from service.history.demo_marks import DemoMarks
from service.history.verifier import Verifier
from service.state.board import Board
from service.store.repository import Repository
from service.store.schema.engine import brief

log = logging.getLogger("latchscope.jobs")


class Job:
    """Calls `do(now)` every so many seconds until it is stopped. What it raises is logged once, and tried again."""

    def __init__(self, name: str, every: float, do: Callable[[datetime], object]) -> None:
        self._name = name
        self._every = every
        self._do = do
        self._stopping = Event()
        self._last_error: str | None = None
        self._thread = Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin; the first round comes after one pause."""
        self._thread.start()

    def stop(self, timeout: float = 2.0) -> None:
        """End after the round at hand."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(timeout)

    def once(self, now: datetime) -> None:
        """One round."""
        try:
            self._do(now)
            self._last_error = None
        except Exception as error:  # noqa: BLE001  the store may be down; the next round tries again
            if (said := f"{type(error).__name__}: {brief(error)}") != self._last_error:
                log.warning("%s: not done: %s", self._name, said)
            self._last_error = said

    def _run(self) -> None:
        while not self._stopping.wait(self._every):
            self.once(datetime.now(UTC))


def jobs_of(store: Repository, board: Board, began: datetime) -> list[Job]:
    """The jobs of a service whose scripted databases began at `began`; what is usual reaches the board by them."""
    usuals = BaselineCache(store, (watched.name for watched in board))
    known = scenarios()
    scripts = {
        database.name: known[name] for database in board if (name := database.settings.scripted) in known and name
    }
    for watched in board:
        watched.usual = partial(usuals.of, watched.name)
    return [
        Job("verdicts on marks", 10.0, Verifier(store).do),
        Job("baselines", 30.0, usuals.do),
        Job("marks of the scripts", 1.0, DemoMarks(store, scripts, began).do),
    ]
