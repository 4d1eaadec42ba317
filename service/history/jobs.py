"""The background jobs of history: verdicts on change marks, usual figures, and the marks of the demo's scripts."""

from datetime import datetime
from functools import partial

from prometheus_client import CollectorRegistry

from collectors.demo.scenarios import scenarios
from service.history.baselines import BaselineCache
from service.history.demo_marks import DemoMarks
from service.history.outcomes import Outcomes
from service.history.verifier import Verifier
from service.periodic import PeriodicJob
from service.state.board import Board
from service.store.repository import Repository


def build_jobs(store: Repository, board: Board, began: datetime, registry: CollectorRegistry) -> list[PeriodicJob]:
    """The jobs of a service whose scripted databases began at `began`. They put the usual figures on the board.

    `registry` counts the results of marks.
    """
    outcomes = Outcomes(store, board)
    registry.register(outcomes)
    usual = BaselineCache(store, (watched.name for watched in board))
    known = scenarios()
    scripts = {
        database.name: known[name] for database in board if (name := database.settings.scripted) in known and name
    }
    for watched in board:
        watched.usual = partial(usual.of, watched.name)
    return [
        PeriodicJob("verdicts on marks", 10.0, Verifier(store, outcomes.verified).do),
        PeriodicJob("outcomes", 30.0, outcomes.do),
        PeriodicJob("baselines", 30.0, usual.do),
        PeriodicJob("marks of the scripts", 1.0, DemoMarks(store, scripts, began).do),
    ]
