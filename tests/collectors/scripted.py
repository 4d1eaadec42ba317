"""Polls of scripted databases at moments of their script, the changes between two of them, and a session of answers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from collectors.delta import between
from collectors.demo.database import ScriptedDatabase
from collectors.demo.scenarios import scenarios
from collectors.model import Binds, Delta, Row, Snapshot
from collectors.poll import Answer, poll
from collectors.registry import view_of

BEGAN = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


def poll_at(name: str, at: float, refused: tuple[str, ...] = (), previous: Snapshot | None = None) -> Snapshot:
    """One poll, `at` seconds after the scenario began."""
    return poll(name, ScriptedDatabase(scenarios()[name], BEGAN, lambda: at, refused), previous)


def delta_from(name: str, begin: float, end: float, refused: tuple[str, ...] = ()) -> Delta:
    """The change between two polls."""
    delta = between(poll_at(name, begin, refused), poll_at(name, end, refused))
    assert isinstance(delta, Delta)
    return delta


def one_row(cells: Row) -> Answer:
    """An answer of one row."""
    return Answer(tuple(cells), [tuple(cells.values())])


Given = Answer | Exception | Callable[[Binds], Answer]


@dataclass
class Asked:
    """A session that gives the answer to a view, or to a text that is of no view, or raises it, and keeps what it was asked."""

    answers: Mapping[str, Given] = field(default_factory=dict)
    other: Given = field(default_factory=lambda: Answer((), []))
    """The answer to what is not among them."""
    sent: list[tuple[str, Binds]] = field(default_factory=list)

    @property
    def asked(self) -> list[str]:
        """The views asked, in order, and texts that are of none."""
        return [view_of(sql) or sql for sql, _ in self.sent]

    def query(self, sql: str, binds: Binds) -> Answer:
        self.sent.append((sql, binds))
        found = self.answers.get(view_of(sql) or sql, self.other)
        if isinstance(found, Exception):
            raise found
        return found if isinstance(found, Answer) else found(binds)

    def close(self) -> None:
        raise AssertionError("the session is not its own to close")
