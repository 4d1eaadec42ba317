"""The terminal view on 80 × 24, driven by keys: fleet, database, its parts, sorting, pausing, copying, and errors."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import DataTable, Static, TabbedContent

from service.client import ServiceRefused
from service.top.app import DatabaseScreen, FleetScreen, TopApp
from service.top.source import DatabaseView, Json
from service.web import presenters
from tests.service.stage import Stage

Drive = Callable[[Pilot[None], TopApp], Coroutine[Any, Any, None]]


class Scripted:
    """The stage's databases behind the interface of a source."""

    where = "the stage"

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.trouble: str | None = None
        self.asked = 0

    def fleet(self) -> list[Json]:
        self.asked += 1
        if self.trouble:
            raise ServiceRefused(self.trouble)
        return [presenters.database_out(each).model_dump(mode="json") for each in self.stage.board]

    def database(self, name: str) -> DatabaseView:
        self.asked += 1
        if self.trouble:
            raise ServiceRefused(self.trouble)
        watched = self.stage[name]
        parts = (presenters.database_out, presenters.diagnosis_of, presenters.latches_out, presenters.caches_out)
        return DatabaseView(*(part(watched).model_dump(mode="json") for part in parts))


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scripted]:
    with pytest.MonkeyPatch.context() as patch:
        stage = Stage(patch, tmp_path_factory.mktemp("top"))
        stage.poll_all(40, 42)
        yield Scripted(stage)
        stage.close()


@pytest.fixture(autouse=True)
def _well(source: Scripted) -> None:
    source.trouble = None


def run(source: Scripted, drive: Drive) -> None:
    """The app on a small terminal, with an hour between its own updates, so that only keys change it."""

    async def running() -> None:
        app = TopApp(source, interval=3600)
        async with app.run_test(size=(80, 24)) as pilot:
            await settled(pilot, app)
            await drive(pilot, app)

    asyncio.run(running())


async def settled(pilot: Pilot[None], app: TopApp) -> None:
    await app.workers.wait_for_complete()
    await pilot.pause()


def text(app: TopApp, which: str) -> str:
    return str(app.screen.query_one(which, Static).content)


def column(app: TopApp, which: str, place: int) -> list[str]:
    table = app.screen.query_one(which, DataTable)
    return [str(table.get_row_at(row)[place]) for row in range(table.row_count)]


def test_fleet_shows_the_worst_first_and_sorts_by_keys(source: Scripted) -> None:
    async def drive(pilot: Pilot[None], app: TopApp) -> None:
        assert isinstance(app.screen, FleetScreen)
        words = column(app, "#fleet", 0)
        ranks = ["CRITICAL", "WARNING", "NOTICE", "NO DATA", "fine"]
        assert words == sorted(words, key=ranks.index) and "CRITICAL" in words and "fine" in words
        names = column(app, "#fleet", 1)
        assert text(app, "#verdict") == column(app, "#fleet", 4)[0]
        assert "the stage" in text(app, "#status") and f"{len(names)} databases" in text(app, "#status")
        await pilot.press("down", "s")
        assert column(app, "#fleet", 1) == sorted(names) and "by name" in text(app, "#status")
        table = app.screen.query_one(DataTable)
        assert str(table.get_row_at(table.cursor_row)[1]) == names[1], "the cursor stays on its database"
        await pilot.press("f6", "f6")
        assert column(app, "#fleet", 1) == names

    run(source, drive)


def open_database(name: str, then: Drive) -> Drive:
    async def drive(pilot: Pilot[None], app: TopApp) -> None:
        table = app.screen.query_one(DataTable)
        table.move_cursor(row=column(app, "#fleet", 1).index(name))
        await pilot.press("enter")
        await settled(pilot, app)
        assert isinstance(app.screen, DatabaseScreen)
        await then(pilot, app)

    return drive


def test_database_shows_chain_children_caches_and_sql(source: Scripted) -> None:
    async def drive(pilot: Pilot[None], app: TopApp) -> None:
        assert "CRITICAL" in text(app, "#sentence") and "Too many undo segments" in text(app, "#sentence")
        assert text(app, "#chain-text").startswith("Hot child  Child 1 of latch#")
        tabs = app.screen.query_one(TabbedContent)
        await pilot.press("2")
        assert tabs.active == "children"
        assert (
            column(app, "#children-rows", 0)[0] == "1" and column(app, "#children-rows", 1)[0] == "dc_rollback_segments"
        )
        sleeps = [float(each.replace(",", "")) for each in column(app, "#children-rows", 4)]
        assert sleeps == sorted(sleeps, reverse=True)
        await pilot.press("s")
        gets = [float(each.replace(",", "")) for each in column(app, "#children-rows", 2)]
        assert gets == sorted(gets, reverse=True) and "by gets" in text(app, "#children-why")
        await pilot.press("3")
        assert tabs.active == "caches" and "dc_rollback_segments" in column(app, "#caches-rows", 0)
        await pilot.press("5")
        assert tabs.active == "sql" and text(app, "#sql-text").startswith("select count(*) from dba_rollback_segs")
        await pilot.press("c")
        assert app.clipboard == "select count(*) from dba_rollback_segs"
        await pilot.press("escape")
        assert isinstance(app.screen, FleetScreen)

    run(source, open_database("undo-storm", drive))


def test_database_of_mutexes_says_where_they_stand_and_who_waits(source: Scripted) -> None:
    async def drive(pilot: Pilot[None], app: TopApp) -> None:
        await pilot.press("2")
        assert not app.screen.query_one("#children-rows").display
        assert text(app, "#children-why").startswith("Mutexes guard the row cache here")
        await pilot.press("4")
        rows = app.screen.query_one("#waiters-rows", DataTable).row_count
        assert (
            rows or text(app, "#waiters-why") == "No session was seen waiting for the row cache in the last interval."
        )

    run(source, open_database("users-mutex", drive))


def test_pause_keeps_what_is_shown_and_refresh_asks_at_once(source: Scripted) -> None:
    async def drive(pilot: Pilot[None], app: TopApp) -> None:
        await pilot.press("p")
        await settled(pilot, app)
        assert "PAUSED" in text(app, "#status")
        before = source.asked
        app._due = 0.0
        app._tick()
        await settled(pilot, app)
        assert source.asked == before, "no request while it is paused"
        await pilot.press("r")
        await settled(pilot, app)
        assert source.asked == before + 1
        await pilot.press("p", "minus")
        assert app.interval == 1800 and "PAUSED" not in text(app, "#status")

    run(source, drive)


def test_service_that_is_gone_is_one_sentence_and_figures_stay(source: Scripted) -> None:
    async def drive(pilot: Pilot[None], app: TopApp) -> None:
        source.trouble = "http://x does not answer\x1b[2J: Connection refused"
        await pilot.press("r")
        await settled(pilot, app)
        assert text(app, "#status") == "http://x does not answer[U+001B][2J: Connection refused"
        assert app.screen.query_one(DataTable).row_count == len(list(source.stage.board))
        await pilot.press("enter")
        await settled(pilot, app)
        assert "Connection refused" in text(app, "#status")
        source.trouble = None
        await pilot.press("r")
        await settled(pilot, app)
        assert "over 2 s" in text(app, "#status")

    run(source, drive)
