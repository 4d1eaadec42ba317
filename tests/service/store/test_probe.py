"""Whether a store answers: a store that hangs delays nobody, and the next question follows its answer."""

import threading

import pytest

from service.store import probe as module
from service.store.probe import Probe
from tests.service.standin import becomes


def test_store_that_hangs_is_asked_once_and_holds_up_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.01)
    hangs, asked = threading.Event(), []

    def ask() -> bool:
        asked.append(1)
        hangs.wait()
        return True

    probe = Probe(ask)
    assert [probe.answers() for _ in range(3)] == [False, False, False]
    assert len(asked) == 1
    hangs.set()
    monkeypatch.setattr(module, "PATIENCE", 60.0)
    becomes(probe.answers, "it answers again")
