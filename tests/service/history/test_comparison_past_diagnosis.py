"""The diagnosis of a past moment: that of the poll then, with its chain, or why there is none."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from service.history.comparison import diagnosis_at
from service.store.repository import Repository
from tests.service.marked import DB, at, polled
from tests.service.stage import Stage


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Repository]:
    """A SQLite store."""
    opened = Repository(f"sqlite:///{tmp_path}/store.db")
    yield opened
    opened.close()


def test_past_moment_has_the_verdict_of_the_poll_before_it_with_reasons(store: Repository, stage: Stage) -> None:
    polled(store, stage, 60, 200, 10)
    sick, well = diagnosis_at(store, DB, at(127)), diagnosis_at(store, DB, at(200))
    assert sick.basis is not None and well.basis is not None
    assert (sick.basis.end, sick.state) == (at(120), "Critical")
    assert sick.findings[0].cause == "undo-segments"
    assert [link.kind for link in sick.chain] == ["wait", "place", "cache", "holder", "cause"]
    assert well.basis.end == at(200)
    assert well.state != "Critical"


def test_past_moment_that_nobody_watched_cannot_be_told(store: Repository, stage: Stage) -> None:
    polled(store, stage, 60, 80, 10)
    first, long_ago = diagnosis_at(store, DB, at(61)), diagnosis_at(store, DB, at(0) - timedelta(days=3))
    for told in (first, long_ago):
        assert (told.basis, told.state) == (None, "No data")
        assert told.headline.startswith("Cannot tell: ")
    assert "is kept between" in long_ago.headline
