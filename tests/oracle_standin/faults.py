"""The faults of a service. Any thread can set them while clients are connected."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum, auto
from threading import Lock
from typing import Any


class Stage(Enum):
    """Where a hang begins. It lasts until the client leaves or the listener stops, even after `clear`."""

    ACCEPT = auto()  # the connection is accepted, its first packet is never answered
    LOGIN = auto()  # the session is accepted and never authenticated
    EXECUTE = auto()  # a statement is never answered
    FETCH = auto()  # half of an answer with rows is sent


class Spoil(Enum):
    """What the client gets instead of an answer."""

    GARBAGE = auto()  # a well-framed packet of nonsense; the connection goes on
    NOISE = auto()  # bytes that are no packet, then the end of the connection
    HALF = auto()  # half of the answer, then the end of the connection
    CLOSE = auto()  # the end of the connection, as behind ORA-03113


@dataclass(frozen=True)
class Plan:
    """All faults of a service at one moment. `delay` is in seconds, before every answer to a call."""

    hang: Stage | None = None
    refuse: int | None = None
    login_error: int | None = None
    spoil: Spoil | None = None
    delay: float = 0.0
    statement_errors: tuple[tuple[Callable[[str], bool], int], ...] = ()

    def error_for(self, sql: str) -> int | None:
        """The ORA- code with which this statement fails."""
        return next((code for matches, code in self.statement_errors if matches(sql)), None)


class Faults:
    """The switches of one service. Each call changes one thing; `clear` ends all of it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._plan = Plan()
        self._generation = 0

    def now(self) -> Plan:
        """The plan in force."""
        with self._lock:
            return self._plan

    @property
    def generation(self) -> int:
        """How often sessions were killed: a session of an earlier generation is dead."""
        with self._lock:
            return self._generation

    def hang(self, stage: Stage) -> None:
        """Send nothing from `stage` on."""
        self._change(hang=stage)

    def refuse(self, code: int) -> None:
        """Let the listener refuse connections: 12514 unknown service, 12528 blocked, 12505 unknown SID, others."""
        self._change(refuse=code)

    def fail_logins(self, code: int) -> None:
        """Refuse logins whatever the password: 1033 starting, 1089 shutting down, others."""
        self._change(login_error=code)

    def fail_statements(self, matches: Callable[[str], bool], code: int) -> None:
        """Fail statements whose text `matches`: 942 missing view, 1031 missing privilege. Adds to earlier ones."""
        with self._lock:
            errors = (*self._plan.statement_errors, (matches, code))
            self._plan = replace(self._plan, statement_errors=errors)

    def spoil(self, what: Spoil) -> None:
        """Send `what` instead of the answers to calls."""
        self._change(spoil=what)

    def slow(self, seconds: float) -> None:
        """Wait before every answer to a call; a break ends the wait."""
        self._change(delay=seconds)

    def kill_sessions(self) -> None:
        """Every open session gets ORA-00028 on its next call and is dropped. Later sessions are unaffected."""
        with self._lock:
            self._generation += 1

    def clear(self) -> None:
        """End all faults. Killed sessions stay dead."""
        with self._lock:
            self._plan = Plan()

    def _change(self, **changes: Any) -> None:
        with self._lock:
            self._plan = replace(self._plan, **changes)
