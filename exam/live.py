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

AHEAD = 60.0
"""Seconds of its script that a database has behind it when the listener starts, so that its trouble is there."""


class Clock:
    """The seconds of a script, which can be moved ahead once it has begun."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> float:
        return monotonic() + self.ahead


def listener(keys: Iterable[Key], port: int = 0) -> Listener:
    """A listener on 127.0.0.1 with a service for each live question. Use it as a context manager."""
    return Listener({key.id: _service(key) for key in keys if key.kind == "live"}, port)


def _service(key: Key) -> Service:
    clock = Clock()
    backend = ScriptedBackend(scenarios()[key.origin], clock)
    clock.ahead = AHEAD
    return Service(backend, {USER: Account(PASSWORD)}, ORACLE_12_1)
