"""The undo storm with its remedy, polled into a store: the basis of tests of marks, comparisons and verdicts."""

from datetime import datetime, timedelta

from service.store.episodes import Mark
from service.store.repository import Repository
from tests.service.stage import BEGAN, AtOnce, Kept, Stage

DB = "undo-storm"
MARKED = 140.0
"""Seconds into the script at which the undo tablespace is recreated."""


def at(seconds: float) -> datetime:
    """A moment of the script."""
    return BEGAN + timedelta(seconds=seconds)


def polled(store: Repository, stage: Stage, begin: float = 0.0, end: float = 240.0, every: float = 2.0) -> None:
    """Poll the undo storm into the store."""
    kept = stage.keeper = Kept([])
    moment = begin
    while moment <= end:
        stage.poll(DB, moment)
        moment += every
    kept.write_to(store)
    stage.keeper = AtOnce(store)


def marked(store: Repository, seconds: float = MARKED, text: str = "undo tablespace recreated") -> Mark:
    """Set a mark."""
    return store.marks.add(DB, at(seconds), text, "a test")
