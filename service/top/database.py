"""One database in the terminal: its verdict above; below, the chain, hot children, caches, who waits, and the SQL."""

from typing import Any, ClassVar, Protocol, cast

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import Screen
from textual.widgets import DataTable, Footer, Static, TabbedContent, TabPane

from service.characters import visible
from service.client import ServiceRefused
from service.top import rows
from service.top.rows import CACHE_ORDERS, CACHES, CHILD_ORDERS, CHILDREN, WAITERS
from service.top.source import DatabaseView, TopSource

PARTS = ("chain", "children", "caches", "waiters", "sql")
NAMES = ("1 Chain", "2 Hot", "3 Caches", "4 Waiters", "5 SQL")


class TopHost(Protocol):
    """The interface of the app for its screens."""

    source: TopSource

    def moment(self) -> str:
        """The time of the figures, for a status line."""
        ...

    def action_refresh_now(self) -> None:
        """Request what the screen shows."""
        ...


class DatabaseScreen(Screen[None]):
    """One database, until Escape."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,backspace", "app.pop_screen", "back"),
        *(Binding(str(place), f"part('{part}')", part, show=False) for place, part in enumerate(PARTS, 1)),
        Binding("s,f6", "sort", "sort"),
        Binding("c", "copy", "copy SQL"),
        Binding("q,f10", "app.quit", "quit"),
    ]

    def __init__(self, name: str) -> None:
        super().__init__()
        self.database = name
        self.view: DatabaseView | None = None
        self.orders = {"children": next(iter(CHILD_ORDERS)), "caches": next(iter(CACHE_ORDERS))}

    @property
    def host(self) -> TopHost:
        """The app."""
        return cast("TopHost", self.app)

    def compose(self) -> ComposeResult:
        yield Static(id="status")
        yield Static(id="sentence")
        with TabbedContent(initial="chain"):
            for part, name in zip(PARTS, NAMES, strict=True):
                with TabPane(name, id=part):
                    if part in ("chain", "sql"):
                        with VerticalScroll(classes="chain"):
                            yield Static(id=f"{part}-text")
                    else:
                        yield Static(id=f"{part}-why", classes="why")
                        yield DataTable(id=f"{part}-rows", cursor_type="row", zebra_stripes=True)
        yield Footer()

    def on_mount(self) -> None:
        for part, columns in (("children", CHILDREN), ("caches", CACHES), ("waiters", WAITERS)):
            self.query_one(f"#{part}-rows", DataTable).add_columns(*columns)

    def on_screen_resume(self) -> None:
        self.host.action_refresh_now()

    @work(thread=True, exclusive=True)
    def refresh_figures(self) -> None:
        """Read the database, in a separate thread."""
        try:
            found = self.host.source.database(self.database)
        except ServiceRefused as error:
            self.app.call_from_thread(self.show_trouble, str(error))
        else:
            self.app.call_from_thread(self.show, found)

    def show_trouble(self, why: str) -> None:
        """Show the error. The last known figures stay."""
        if not self.is_attached:  # the answer came after the user left the screen
            return
        self.query_one("#status", Static).update(Text(visible(why), style="bold red"))

    def show(self, view: DatabaseView) -> None:
        """Put the figures on the screen."""
        if not self.is_attached:
            return
        self.view = view
        basis = view.diagnosis.get("basis") or {}
        over = f"over {basis['seconds']:.0f} s" if basis.get("seconds") else "no interval yet"
        release = f"{view.state.get('release') or 'release unknown'}, {view.diagnosis.get('mechanism') or 'mechanism unknown'}"
        status = f"{self.database}  {release}  {over}  {self.host.moment()}"
        self.query_one("#status", Static).update(Text(visible(status)))
        self.query_one("#sentence", Static).update(rows.sentence(view))
        self.query_one("#chain-text", Static).update(rows.chain(view))
        sql = rows.sql_of(view)
        told_sql = visible(
            f"{sql}\n\nc copies it. Run it as a user with the rights; it counts, and changes nothing.", keep="\n"
        )
        self.query_one("#sql-text", Static).update(Text(told_sql if sql else "No finding here has a confirming query."))
        self._fill("children", rows.child_rows(view, self.orders["children"]))
        self._fill("caches", rows.cache_rows(view, self.orders["caches"]))
        self._fill("waiters", rows.waiter_rows(view))

    def _fill(self, part: str, found: list[list[Text]]) -> None:
        """The rows of a table, with the cursor where it was, or why there are none."""
        table: DataTable[Any] = self.query_one(f"#{part}-rows", DataTable)
        at = table.cursor_row
        table.clear()
        for cells in found:
            table.add_row(*cells)
        table.move_cursor(row=min(at, max(0, len(found) - 1)))
        table.display = bool(found)
        order = f"by {self.orders[part]}; s sorts by the next" if part in self.orders else "hanging sessions first"
        assert self.view is not None
        self.query_one(f"#{part}-why", Static).update(Text(order if found else rows.why_empty(self.view, part)))

    def action_part(self, part: str) -> None:
        """Show one of the five parts."""
        tabs = self.query_one(TabbedContent)
        tabs.active = part
        where = self.query_one("#chain-text" if part == "chain" else "#sql-text" if part == "sql" else f"#{part}-rows")
        (where if where.can_focus else tabs).focus()

    def action_sort(self) -> None:
        """The visible table, sorted by the next order."""
        part = str(self.query_one(TabbedContent).active)
        if part in self.orders and self.view is not None:
            orders = list(CHILD_ORDERS if part == "children" else CACHE_ORDERS)
            self.orders[part] = orders[(orders.index(self.orders[part]) + 1) % len(orders)]
            self.show(self.view)

    def action_copy(self) -> None:
        """Copy the SQL to the clipboard, if the terminal allows it. Part 5 has it in any case."""
        sql = rows.sql_of(self.view) if self.view is not None else None
        if sql is None:
            self.notify("no finding here has a confirming query", timeout=3)
            return
        self.app.copy_to_clipboard(sql)
        self.notify("copied; if the terminal does not allow it, see 5", timeout=3)
