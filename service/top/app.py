"""The terminal view: the fleet, then one database. Requests run beside the screen, so that keys always answer."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Protocol, cast

from rich.text import Text
from textual import work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import Screen
from textual.widgets import DataTable, Footer, Static, TabbedContent, TabPane

from service.client import ServiceRefused
from service.escape import visible
from service.top.source import DatabaseView, Json, TopSource

# The cells of the terminal view's tables: figures from REST, made safe for a terminal.

COLOURS = {"critical": "bold red", "warning": "yellow", "notice": "cyan", "elsewhere": "cyan", "info": "green"}
WORDS = {"critical": "CRITICAL", "warning": "WARNING", "notice": "NOTICE", "elsewhere": "elsewhere", "info": "fine"}
RANKS = {"critical": 0, "warning": 1, "notice": 2, "info": 4}
NO_DATA = 3
"""Worse than fine: the state is unknown."""
LONGEST = 2000
"""Most characters of one text; names in a database may have any length."""

FLEET = ("Severity", "Database", "Release", "Age", "Verdict")
CHILDREN = ("Child", "Cache", "Gets/s", "Misses", "Sleeps", "% sleeps", "Hold µs")
CACHES = ("Cache", "Gets", "% gets", "Misses", "Modified", "Used", "Entries")
WAITERS = ("Waits for", "Cache", "Sessions", "SQL id", "Module", "Program")

FLEET_ORDERS: Mapping[str, Callable[[Json], Any]] = {
    "severity": lambda row: (fleet_rank(row), row["name"]),
    "name": lambda row: row["name"],
    "age": lambda row: -(row.get("data_age_seconds") or 1e12),
}
CHILD_ORDERS: Mapping[str, Callable[[Json], Any]] = {
    "sleeps": lambda row: -(row.get("sleeps") or 0.0),
    "gets": lambda row: -(row.get("gets") or 0.0),
    "misses": lambda row: -(row.get("misses") or 0.0),
    "child": lambda row: row["child"],
}
CACHE_ORDERS: Mapping[str, Callable[[Json], Any]] = {
    "gets": lambda row: -(row.get("gets") or 0.0),
    "misses": lambda row: -(row.get("getmisses") or 0.0),
    "modified": lambda row: -(row.get("modifications") or 0.0),
    "used": lambda row: -(row.get("entries_used") or 0.0),
    "name": lambda row: row["cache"],
}


def plain(value: object) -> Text:
    """Any text as a cell: no markup, no control characters, limited length."""
    return Text(visible(str(value))[:LONGEST])


def number(value: float | None, digits: int = 0) -> Text:
    """A figure, right-aligned. A dash if it is unknown, which is not zero."""
    return Text("–" if value is None else f"{value:,.{digits}f}", justify="right")


def share(value: float | None) -> Text:
    """A ratio in percent."""
    return Text("–" if value is None else f"{100 * value:.1f}", justify="right")


def severity(word: str | None, up: bool = True) -> Text:
    """A severity in its colour. No data if it is unknown or old."""
    if word is None or not up:
        return Text("NO DATA", style="bold magenta")
    return Text(WORDS.get(word, visible(word)), style=COLOURS.get(word, ""))


def graded(row: Json) -> Text:
    """The severity of a row of the fleet. Info reads as elsewhere where another wait has most of DB time."""
    return severity("elsewhere" if row.get("state") == "Elsewhere" else row["severity"], row["up"])


def fleet_rank(row: Json) -> int:
    """The worst first. Databases without data come before healthy ones."""
    return RANKS.get(row["severity"], NO_DATA) if row["up"] and row["severity"] else NO_DATA


def verdict(row: Json) -> Text:
    """The sentence of a database, or why there is none."""
    failure = row.get("failure")
    words = failure["why"] if failure and not row["up"] else row.get("headline") or "waiting for the first two polls"
    return plain(words)


def fleet_rows(databases: Sequence[Json], order: str) -> list[tuple[str, list[Text]]]:
    """Name of a database and its cells, in order."""

    def cells(row: Json) -> list[Text]:
        age = row.get("data_age_seconds")
        aged = Text("–" if age is None else f"{age:.0f} s", justify="right")
        return [
            graded(row),
            plain(row["name"]),
            plain(row.get("release") or "–"),
            aged,
            verdict(row),
        ]

    return [(row["name"], cells(row)) for row in sorted(databases, key=FLEET_ORDERS[order])]


def child_rows(view: DatabaseView, order: str) -> list[list[Text]]:
    """Child latches with gets."""
    children = [row for row in view.latches.get("children", ()) if row.get("gets") or row.get("sleeps")]
    return [
        [
            number(row["child"]),
            plain(row["cache"]),
            number(row.get("gets_per_second")),
            number(row.get("misses")),
            number(row.get("sleeps")),
            share(row.get("share_of_sleeps")),
            number(None if row.get("hold_seconds") is None else row["hold_seconds"] * 1e6, 2),
        ]
        for row in sorted(children, key=CHILD_ORDERS[order])
    ]


def cache_rows(view: DatabaseView, order: str) -> list[list[Text]]:
    """Dictionary caches, parents and subordinates."""
    return [
        [
            plain(row["cache"] if row.get("subordinate") is None else f"  {row['cache']} #{row['subordinate']}"),
            number(row.get("gets")),
            share(row.get("share_of_gets")),
            number(row.get("getmisses")),
            number(row.get("modifications")),
            number(row.get("entries_used")),
            number(row.get("entries")),
        ]
        for row in sorted(view.caches.get("caches", ()), key=CACHE_ORDERS[order])
    ]


def waiter_rows(view: DatabaseView) -> list[list[Text]]:
    """Who waits: sessions that hang first, then sampled ones."""
    hanging = [
        [
            plain(row["event"]),
            plain(row["cache"]),
            number(row["sessions"]),
            plain("–"),
            plain(f"{row['hanging']} hang, {row['longest_seconds']:.0f} s"),
            plain("–"),
        ]
        for row in view.diagnosis.get("waiting", ())
    ]
    sampled = [
        [
            plain(row["event"]),
            plain(row["cache"]),
            number(row["sessions"], 1),
            *(plain(row.get(name) or "–") for name in ("sql_id", "module", "program")),
        ]
        for row in view.diagnosis.get("who", ())
    ]
    return hanging + sampled


def chain(view: DatabaseView) -> Text:
    """The steps from the waits to the cause, as on the page."""
    lines = Text()
    for step in view.diagnosis.get("steps", ()):
        lines.append(visible(step["step"].capitalize()), style="bold")
        lines.append(f"  {visible(step['statement'])[:LONGEST]}\n")
    if not lines:
        lines.append("No chain to show: no interval yet, or nothing costs anything.\n")
    return lines


def sentence(view: DatabaseView) -> Text:
    """Severity and headline, and the time of the figures."""
    state, diagnosis = view.state, view.diagnosis
    lines = graded(state)
    lines.append(f"  {visible(diagnosis['headline'])[:LONGEST]}", style="bold")
    failure = state.get("failure")
    if failure:
        lines.append(f"\nLast poll failed: {visible(failure['why'])[:LONGEST]}", style="red")
    return lines


def sql_of(view: DatabaseView) -> str | None:
    """The SQL to run next: the confirming query of the first finding. None without one."""
    for finding in view.diagnosis.get("findings", ()):
        if confirm := finding.get("confirm"):
            return str(confirm["sql"])
    return None


def why_empty(view: DatabaseView, part: str) -> str:
    """Why a table has no rows, in a sentence."""
    if part == "waiters":
        return "No session was seen waiting for the row cache in the last interval."
    missing = (view.latches if part == "children" else view.caches).get("missing")
    if part == "children" and view.diagnosis.get("mechanism") == "mutex":
        return "Mutexes guard the row cache here; the chain (1) has their locations."
    return visible(str(missing or "Nothing was used in the last interval."))


# One database in the terminal: its verdict above; below, the chain, hot children, caches, who waits, and the SQL.

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
        self.query_one("#sentence", Static).update(sentence(view))
        self.query_one("#chain-text", Static).update(chain(view))
        sql = sql_of(view)
        told_sql = visible(
            f"{sql}\n\nc copies it. Run it as a user with the rights; it counts, and changes nothing.", keep="\n"
        )
        self.query_one("#sql-text", Static).update(Text(told_sql if sql else "No finding here has a confirming query."))
        self._fill("children", child_rows(view, self.orders["children"]))
        self._fill("caches", cache_rows(view, self.orders["caches"]))
        self._fill("waiters", waiter_rows(view))

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
        self.query_one(f"#{part}-why", Static).update(Text(order if found else why_empty(self.view, part)))

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
        sql = sql_of(self.view) if self.view is not None else None
        if sql is None:
            self.notify("no finding here has a confirming query", timeout=3)
            return
        self.app.copy_to_clipboard(sql)
        self.notify("copied; if the terminal does not allow it, see 5", timeout=3)


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
        status = f"{top.source.where}: {len(databases)} databases, {bad} with a problem, {silent} no data"
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
