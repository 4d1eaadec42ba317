"""A database that answers a column of a view with what no such column holds: odd for itself, and for nobody else."""

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import count, product
from typing import Any

import pytest

from collectors.demo.database import ScriptedDatabase
from collectors.demo.scenarios import scenarios
from collectors.ondemand.blockers import views_of_look
from collectors.ondemand.check import asked
from collectors.ondemand.sampling import VIEW as SAMPLED
from collectors.poll import Answer, Grouping
from collectors.registry import collectors
from service.config.settings import DatabaseSettings
from service.store.repository import Repository
from service.watch.pipeline import PollContext, run_poll
from tests.service.stage import BEGAN, Kept, Stage

ODD: tuple[Any, ...] = (
    None, 0, -1, 0.1, 2**31, 2**63, 2**64, -(10**18), 10**30, 10**120, 10**400, 1.5e308, -1.5e308, float("nan"), float("inf"),
    float("-inf"), True, "", "x", "777646", "1e999", "x" * 4000, "\x00\x1b[2J\r\n", "\ud800", "<img src=x>日本", b"\xff",
    datetime.min, datetime.max, datetime(2026, 3, 1, tzinfo=UTC), Decimal("1E+400"),  # noqa: DTZ901  the driver gives no zone
)  # fmt: skip
Change = tuple[str, str, Any]
EVERY: Sequence[Change] = [
    (view, column.name, odd) for (view, one), odd in product(collectors().items(), ODD) for column in one.columns
]
KNOWN: Sequence[Change] = [("v$instance", "uptime_seconds", odd) for odd in (10**30, 1.5e308, "777646")]
"""What ended the pages of all databases, and what was kept in a form that could not be read again."""
WELL = ("undo-storm", "parse-storm", "healthy-19c")
SHARED = ("/", "/find", "/causes", "/api/v1/databases", "/api/v1/overview", "/metrics", "/api/v1/episodes")
OWN = (
    "/db/sick", "/db/sick?at={at}", "/db/sick/history", "/db/sick/export.html", "/db/sick/export.md", "/probe?target=sick",
    *(f"/api/v1/databases/sick{each}" for each in (
        "", "/diagnosis", "/diagnosis?at={at}", "/blockers", "/latches", "/caches", "/capabilities", "/episodes", "/changes",
    )),
)  # fmt: skip


class OddDatabase(ScriptedDatabase):
    """A scripted one, with a column that holds an odd value in all its rows; in one row where the view has none."""

    change: Change | None = None

    def view(self, name: str) -> Answer:
        whole = super().view(name)
        if self.change is None or name != self.change[0] or self.change[1] not in whole.columns:
            return whole
        place = whole.columns.index(self.change[1])
        some = whole.rows or [tuple([None] * len(whole.columns))]
        return replace(whole, rows=[(*row[:place], self.change[2], *row[place + 1 :]) for row in some])


class FourDatabases:
    """Four databases on a stage, of which one gets odd; with a store of its polls."""

    def __init__(self, stage: Stage) -> None:
        self._stage, self._moments = stage, count(42, 2)
        stage.watch(*(DatabaseSettings(name=name, dsn=f"demo:{name}") for name in (*WELL, "sick")))
        for name in WELL:
            stage.poll(name, 38), stage.poll(name, 40)
        self._client = stage.app()
        self._store = Repository(f"sqlite:///{stage.folder}/store.db")
        self._sick = {
            name: OddDatabase(scenarios()[name], BEGAN, lambda: stage.at) for name in ("undo-storm", "ddl-hang")
        }

    def answer(self, path: str) -> str:
        """What an address shows."""
        answer = self._client.get(path.format(at=f"{BEGAN + timedelta(seconds=self._stage.at):%Y-%m-%dT%H:%M:%SZ}"))
        assert answer.status_code < 500, f"{path}: {answer.status_code} {answer.text[:200]}"
        return answer.text

    def with_change(self, change: Change, scenario: str, paths: Sequence[str]) -> None:
        """Poll it before the change and twice with it, keep all of it, and ask these addresses."""
        watched, database, kept = self._stage["sick"], self._sick[scenario], Kept([])
        release = database.scenario.release
        watched.forget()
        for database.change in (None, change, change):
            self._stage.at = next(self._moments)
            beside = PollContext(
                asked(database, SAMPLED, release),
                lambda *_: {view: asked(database, view, release) for view in views_of_look(wait_chains=True)},
                grouping=Grouping("sick"),
                clock=lambda: self._stage.at,
            )
            run_poll(watched, database, kept, beside)
        kept.write_to(self._store)
        for path in paths:
            text = self.answer(path)
            if path == "/api/v1/databases":
                assert {each["name"] for each in json.loads(text) if each["release"]} >= {*WELL}


@pytest.mark.parametrize(
    "every", [3000, pytest.param(100, marks=pytest.mark.slow), pytest.param(1, marks=pytest.mark.soak)]
)
def test_odd_value_of_a_database_is_its_own(stage: Stage, every: int) -> None:
    """One of so many combinations of column and value, drawn with a fixed seed; every address is asked in turn."""
    four, draw = FourDatabases(stage), random.Random(61)
    for number, change in enumerate([*KNOWN, *draw.sample(EVERY, len(EVERY) // every)]):
        paths = (*SHARED[number % 4 :: 4], *OWN[number % 7 :: 7])
        four.with_change(change, ("undo-storm", "ddl-hang")[number % 2], paths)
