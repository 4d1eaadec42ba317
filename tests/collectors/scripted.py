"""Polls of scripted databases at moments of their script, and the changes between two of them."""

from datetime import UTC, datetime

from collectors.delta import between
from collectors.demo.database import ScriptedDatabase
from collectors.demo.scenarios import scenarios
from collectors.model import Delta, Snapshot
from collectors.poll import poll

BEGAN = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


def poll_at(name: str, at: float, refused: tuple[str, ...] = (), previous: Snapshot | None = None) -> Snapshot:
    """One poll, `at` seconds after the scenario began."""
    return poll(name, ScriptedDatabase(scenarios()[name], BEGAN, lambda: at, refused), previous)


def delta_from(name: str, begin: float, end: float, refused: tuple[str, ...] = ()) -> Delta:
    """The change between two polls."""
    delta = between(poll_at(name, begin, refused), poll_at(name, end, refused))
    assert isinstance(delta, Delta)
    return delta
