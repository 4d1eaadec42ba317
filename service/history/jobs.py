"""The background jobs of history: verdicts on change marks, what is usual, and the marks that the demo's scripts set."""

from datetime import datetime
from functools import partial

from collectors.scenarios import scenarios
from service.history.baselines import BaselineCache
from service.history.demo_marks import DemoMarks
from service.history.verifier import Verifier
from service.periodic import PeriodicJob
from service.state.board import Board
from service.store.repository import Repository


def build_jobs(store: Repository, board: Board, began: datetime) -> list[PeriodicJob]:
    """The jobs of a service whose scripted databases began at `began`; what is usual reaches the board by them."""
    usual = BaselineCache(store, (watched.name for watched in board))
    known = scenarios()
    scripts = {
        database.name: known[name] for database in board if (name := database.settings.scripted) in known and name
    }
    for watched in board:
        watched.usual = partial(usual.of, watched.name)
    return [
        PeriodicJob("verdicts on marks", 10.0, Verifier(store).do),
        PeriodicJob("baselines", 30.0, usual.do),
        PeriodicJob("marks of the scripts", 1.0, DemoMarks(store, scripts, began).do),
    ]
