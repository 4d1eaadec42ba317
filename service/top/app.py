"""The terminal view: the fleet, then one database. Requests run beside the screen, so that keys always answer."""

import time
from typing import ClassVar, cast

from rich.text import Text
from textual import work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import DataTable, Footer, Static

from service.characters import visible
from service.client import ServiceRefused
from service.top.database import DatabaseScreen
from service.top.rows import FLEET, FLEET_ORDERS, fleet_rank, fleet_rows, verdict
from service.top.source import Json, TopSource

INTERVAL = 2.0


class FleetScreen(Screen[None]):
    """Every database, the worst first."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "open", priority=True),
        Binding("s,f6", "sort", "sort"),
        Binding("q,f10", "app.quit", "quit"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.order = next(iter(FLEET_ORDERS))
        self._databases: list[Json] = []

    def compose(self) -> ComposeResult:
        yield Static(id="status")
        yield DataTable(id="fleet", cursor_type="row", zebra_stripes=True)
        yield Static(id="verdict")
        yield Footer()

    def on_mount(self) -> None:
        self.query_one(DataTable).add_columns(*FLEET)

    def on_screen_resume(self) -> None:
        cast("TopApp", self.app).action_refresh_now()

    @work(thread=True, exclusive=True)
    def refresh_figures(self) -> None:
        """Read the fleet, in a separate thread."""
        top = cast("TopApp", self.app)
        try:
            found = top.source.fleet()
        except ServiceRefused as error:
            top.call_from_thread(self.show_trouble, str(error))
        else:
            top.call_from_thread(self.show, found)

    def show_trouble(self, why: str) -> None:
        """Show the error. The last known figures stay."""
        if not self.is_attached:  # the answer came after the user left the screen
            return
        self.query_one("#status", Static).update(Text(visible(why), style="bold red"))

    def show(self, databases: list[Json]) -> None:
        """Fill the table, with the cursor on the database it was on."""
        if not self.is_attached:
            return
        top = cast("TopApp", self.app)
        self._databases = databases
        table = self.query_one(DataTable)
        chosen = self._chosen()
        table.clear()
        rows = fleet_rows(databases, self.order)
        for name, cells in rows:
            table.add_row(*cells, key=name)
        names = [name for name, _ in rows]
        if chosen in names:
            table.move_cursor(row=names.index(chosen))
        bad = sum(fleet_rank(row) < 3 for row in databases)
        silent = sum(fleet_rank(row) == 3 for row in databases)
        status = f"{top.source.where}: {len(databases)} databases, {bad} in trouble, {silent} no data"
        self.query_one("#status", Static).update(Text(f"{visible(status)}  {top.moment()}  by {self.order}"))
        self.on_data_table_row_highlighted()

    def on_data_table_row_highlighted(self) -> None:
        """Below the table, the whole verdict of the database under the cursor."""
        chosen = self._chosen()
        found = [row for row in self._databases if row["name"] == chosen]
        self.query_one("#verdict", Static).update(verdict(found[0]) if found else "")

    def _chosen(self) -> str | None:
        table = self.query_one(DataTable)
        if not table.row_count:
            return None
        return str(table.coordinate_to_cell_key(table.cursor_coordinate).row_key.value)

    def action_open(self) -> None:
        """Show the database under the cursor."""
        if (name := self._chosen()) is not None:
            self.app.push_screen(DatabaseScreen(name))

    def action_sort(self) -> None:
        """Sort by the next order."""
        orders = list(FLEET_ORDERS)
        self.order = orders[(orders.index(self.order) + 1) % len(orders)]
        self.show(self._databases)


class TopApp(App[None]):
    """The application of `latchscope top`."""

    TITLE = "latchscope top"
    ENABLE_COMMAND_PALETTE = False
    CSS = """
    #status { height: 1; background: $panel; }
    #sentence { height: auto; max-height: 4; padding: 0 1; }
    #verdict { height: auto; max-height: 5; padding: 0 1; background: $panel; }
    DataTable { height: 1fr; overflow-x: hidden; }
    TabbedContent { height: 1fr; }
    TabPane { padding: 0; }
    .chain { height: 1fr; padding: 0 1; }
    .why { padding: 0 1; height: auto; color: $text-muted; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("p,space", "pause", "pause"),
        Binding("r,f5", "refresh_now", "refresh"),
        Binding("plus", "slower", "slower", show=False),
        Binding("minus", "faster", "faster", show=False),
    ]

    def __init__(self, source: TopSource, interval: float = INTERVAL) -> None:
        """`interval`: seconds between two looks."""
        super().__init__()
        self.source = source
        self.interval = interval
        self.paused = False
        self._due = time.monotonic() + interval

    def on_mount(self) -> None:
        self.push_screen(FleetScreen())
        self.set_interval(0.2, self._tick)

    def moment(self) -> str:
        """The time of the figures, for a status line."""
        return f"{time.strftime('%H:%M:%S')}{'  PAUSED' if self.paused else f'  every {self.interval:g} s'}"

    def _tick(self) -> None:
        if not self.paused and time.monotonic() >= self._due:
            self.action_refresh_now()

    def action_refresh_now(self) -> None:
        """Refresh now, even while paused."""
        self._due = time.monotonic() + self.interval
        if isinstance(self.screen, FleetScreen | DatabaseScreen):
            self.screen.refresh_figures()

    def action_pause(self) -> None:
        """Pause, or continue."""
        self.paused = not self.paused
        self.action_refresh_now()

    def action_slower(self) -> None:
        """Refresh half as often, at least once a minute."""
        self.interval = min(60.0, self.interval * 2)
        self.action_refresh_now()

    def action_faster(self) -> None:
        """Refresh twice as often, at most once a second."""
        self.interval = max(1.0, self.interval / 2)
        self.action_refresh_now()
