"""The live questions: scripted databases behind the listener of tests/oracle_standin, each under the name of its question."""

from collections.abc import Iterable
from time import monotonic

from collectors.demo.scenarios import scenarios
from exam.draw import Key
from tests.oracle_standin.accounts import Account
from tests.oracle_standin.databases import Service
from tests.oracle_standin.profiles import ORACLE_12_1
from tests.oracle_standin.scripted import PASSWORD, USER, ScriptedBackend
from tests.oracle_standin.server import Listener

BEGIN = 40.0
"""Where in its script a database is when somebody first asks it, so that its trouble is there however slow the machine is."""


class Clock:
    """The seconds of a script. They begin to run when the first question comes, not when the listener starts."""

    def __init__(self) -> None:
        self._zero: float | None = None
        self._made = False

    def __call__(self) -> float:
        if not self._made:  # the script asks once for its beginning
            self._made = True
            return 0.0
        if self._zero is None:
            self._zero = monotonic()
        return BEGIN + monotonic() - self._zero


def listener(keys: Iterable[Key], port: int = 0) -> Listener:
    """A listener on 127.0.0.1 with a service for each live question. Use it as a context manager."""
    return Listener({key.id: _service(key) for key in keys if key.kind == "live"}, port)


def _service(key: Key) -> Service:
    return Service(ScriptedBackend(scenarios()[key.origin], Clock()), {USER: Account(PASSWORD)}, ORACLE_12_1)
