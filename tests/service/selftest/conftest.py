"""A disposable database for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.oracle_standin.selftest import disposable
from tests.oracle_standin.server import Listener
from tests.service.disposable import SPEED, Disposable


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Disposable]:
    """A database that nobody needs. The folder of the test has no configuration."""
    monkeypatch.chdir(tmp_path)
    with Listener({"free": disposable(SPEED)}) as listener:
        yield Disposable(listener, tmp_path)
        assert not listener.problems
