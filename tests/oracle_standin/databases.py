"""One service of the listener: its backend, its users, its faults, and what its clients did."""

from collections import deque
from dataclasses import dataclass, field
from itertools import count
from threading import Lock
from typing import Literal

from .accounts import Account, Accounts
from .backend import Backend
from .faults import Faults
from .packets import Link
from .profiles import ORACLE_19C, Profile

_REMEMBERED = 1000  # limits of kept sessions and problems; a soak run must not grow without end


CounterName = Literal["connections", "logins", "failed_logins", "parses", "statements", "round_trips"]


class Counters:
    """Counts of a service. Reading one number is safe at any time.

    `connections` accepted, `logins` attempted, `failed_logins`, `parses`: statements sent with their text, `statements`
    executed, `round_trips`: requests answered since the connection was accepted, the login included.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self.connections = 0
        self.logins = 0
        self.failed_logins = 0
        self.parses = 0
        self.statements = 0
        self.round_trips = 0

    def add(self, name: CounterName) -> None:
        """One more of `name`."""
        with self._lock:
            setattr(self, name, getattr(self, name) + 1)


@dataclass
class SessionRecord:
    """What the database knows about one session; the marks are the last ones the client set."""

    session_id: int
    user: str
    program: str
    machine: str
    driver: str
    generation: int
    module: str = ""
    action: str = ""
    client_identifier: str = ""
    client_info: str = ""
    operation: str = ""
    open_cursors: int = 0
    in_transaction: bool = False
    ended: bool = False


@dataclass(frozen=True)
class Problem:
    """An event that no test wanted: an unknown statement, a message not understood, a backend that broke."""

    service: str
    what: str


@dataclass
class Problems:
    """The listener's problems, newest last."""

    found: deque[Problem] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))

    def report(self, service: str, what: str) -> None:
        """Records one; a deque takes appends from any thread."""
        self.found.append(Problem(service, what))


class Service:
    """A database behind the listener."""

    def __init__(self, backend: Backend, accounts: dict[str, Account], profile: Profile = ORACLE_19C) -> None:
        self.backend = backend
        self.accounts = Accounts(accounts)
        self.profile = profile
        self.faults = Faults()
        self.counters = Counters()
        self.texts: set[str] = set()
        """Every text of SQL that a client sent, within a login or after it."""
        self.sessions: deque[SessionRecord] = deque(maxlen=_REMEMBERED)
        self.session_ids = count(1)
        self._lock = Lock()
        self._links: set[Link] = set()

    def enter(self, link: Link) -> None:
        """A connection has chosen this service."""
        with self._lock:
            self._links.add(link)

    def leave(self, link: Link) -> None:
        """A connection has ended."""
        with self._lock:
            self._links.discard(link)

    def drop_connections(self) -> None:
        """Closes every connection at once, idle or not, without a goodbye."""
        with self._lock:
            links = list(self._links)
        for link in links:
            link.close()
