"""`latchscope top`: the fleet, then one database, live in a terminal.

The screen is a function of a state, which keys and answers change. Requests run beside it, so that keys always answer.
"""

import logging
import os
import re
import select
import shutil
import signal
import sys
import tempfile
import termios
import time
import tty
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from math import inf
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Annotated, Any, NamedTuple
from urllib.parse import quote, unquote

import typer
from rich import get_console
from rich.console import Console, Group, RenderableType
from rich.layout import Layout
from rich.live import Live
from rich.table import Table
from rich.text import Text

from collectors.demo.scenarios import scenarios
from rules.hangs.model import OLDEST_SECONDS
from rules.hangs.words import CHECK, NO_COMMAND_NOW, ONLY_IF
from service.cli.common import CONFIG, ConfigOption, TokenFileOption, a_number
from service.cli.messages import fail
from service.client import ServiceClient, ServiceRefused, token_of
from service.config import load
from service.config.settings import BadSettings, Settings
from service.escape import visible
from service.fleet.build import build_fleet
from service.state.board import Board, MonitoredDatabase
from service.store.build import build_store
from service.store.engine import StoreError
from service.watch.connect import Connector
from service.web import presenters

# What is shown: JSON of REST, from a service, or from databases that this process polls itself.

Json = dict[str, Any]
Source = Callable[[str], Any]
"""Answers a path below /api/v1, as ServiceClient.get does. It raises ServiceRefused."""
SEEN = ("", "diagnosis", "latches", "caches")
STOP_SECONDS = 1.0


@contextmanager
def own_folder() -> Iterator[str]:
    """A folder that is gone afterwards, even if a poll that ends late still writes into it for a moment."""
    folder = tempfile.mkdtemp(prefix="latchscope-top-")
    try:
        yield folder
    finally:
        for _ in range(50):
            shutil.rmtree(folder, ignore_errors=True)
            if not os.path.exists(folder):
                break
            time.sleep(0.1)


@contextmanager
def polled(settings: Settings) -> Iterator[Source]:
    """The databases of a configuration, polled as the service does. Nothing is kept. Raises StoreError."""
    with own_folder() as folder:
        own = settings.model_copy(update={"store": f"sqlite:///{folder}/top.db"})
        board = Board([MonitoredDatabase(each, own.interval_of(each)) for each in own.databases])
        store = build_store(own)
        fleet = build_fleet(own, store, board, Connector(own.oracle, own.defaults))
        shown = (presenters.database_out, presenters.diagnosis_of, presenters.latches_out, presenters.caches_out)

        def answer(path: str) -> Any:
            _, _, name, part, *_ = f"{path}//".split("/")
            if not name:
                return [presenters.database_out(each).model_dump(mode="json") for each in board]
            if (watched := board.get(unquote(name))) is None:
                raise ServiceRefused(f"no database named {unquote(name)}")
            return shown[SEEN.index(part)](watched).model_dump(mode="json")

        try:
            store.start()
            fleet.coordinator.start()
            yield answer
        finally:
            fleet.coordinator.stop(STOP_SECONDS)
            fleet.scheduler.stop()
            with suppress(Exception):
                store.stop()
            fleet.backend.close()
            store.repository.close()


class View(NamedTuple):
    """One database, as the four answers of SEEN."""

    state: Json
    diagnosis: Json
    latches: Json
    caches: Json
    asked: tuple[float, float] = (0.0, 0.0)
    """time.monotonic() and time.time() when it was asked for."""

    @property
    def age(self) -> float:
        """Seconds since, by the clock that has run longer."""
        return max(time.monotonic() - self.asked[0], time.time() - self.asked[1])


def ask(source: Source, database: str | None, answers: SimpleQueue[tuple[str | None, object]]) -> None:
    """Put the fleet, one database, or the error into the queue."""
    try:
        at, asked = f"/databases/{quote(database or '', safe='')}", (time.monotonic(), time.time())
        if database is None:
            answers.put((database, source("/databases")))
        else:
            state, diagnosis, latches, caches = (source(f"{at}/{part}".rstrip("/")) for part in SEEN)
            answers.put((database, View(state, diagnosis, latches, caches, asked)))
    except Exception as error:  # noqa: BLE001  the thread of the screen raises what it does not expect
        answers.put((database, error))


# Cells and texts. Names in a database may have any length and any character.

STATES = {
    "Critical": ("CRITICAL", "bold red"),
    "Warning": ("WARNING", "yellow"),
    "Notice": ("NOTICE", "cyan"),
    "No data": ("NO DATA", "bold magenta"),
    "Elsewhere": ("elsewhere", "cyan"),
    "Quiet": ("quiet", "dim"),
    "Fine": ("fine", "green"),
}
"""The worst first. An unknown state is worse than a good one."""
RANKS = {state: place for place, state in enumerate(STATES)}
LONGEST = 2000


def plain(value: object, style: str = "", keep: str = "") -> Text:
    """A text of limited length, without markup and control characters."""
    return Text(visible(str(value), keep)[:LONGEST], style)


def severity(row: Json) -> Text:
    """The state of a database in its colour."""
    return Text(*STATES.get(row["state"], STATES["No data"]))


def verdict(row: Json) -> str:
    """The sentence of a database, or why there is none."""
    failed = row["failure"]["why"] if row.get("failure") and not row["up"] else None
    return str(failed or row.get("headline") or "waiting for the first two polls")


def chain(view: View) -> Text:
    """The steps from the waits to the cause, as on the page."""
    steps = view.diagnosis.get("steps", ())
    told = [Text("  ").join((plain(step["step"].capitalize(), "bold"), plain(step["statement"]))) for step in steps]
    told += [plain(line, "" if fresh else "dim") for line, fresh in commands(view)]
    return Text("\n").join(told or [Text("No chain to show: no interval yet, or nothing costs anything.")])


def commands(view: View | None) -> Iterator[tuple[str, bool]]:
    """The command of a wait chain below its check, and whether the look for it is young enough. Else the check alone."""
    blockers = (view.diagnosis.get("blockers") if view else None) or {}
    for each in blockers.get("chains", ()):
        action, age = each.get("action") or {}, each.get("age_seconds")
        if view is None or "check" not in action:  # an older service has none, and no age
            continue
        fresh = age is not None and age + view.age <= OLDEST_SECONDS
        yield f"{CHECK}: {action['check']}", fresh
        yield (f"{ONLY_IF.format(action['still'])}: {action['command']}", True) if fresh else (NO_COMMAND_NOW, False)


def sql_of(view: View | None) -> str | None:
    """The SQL to run next: the confirming query of the first finding that has one."""
    findings = view.diagnosis.get("findings", ()) if view else ()
    return next((str(each["confirm"]["sql"]) for each in findings if each.get("confirm")), None)


def sql(view: View) -> Text:
    """The SQL to run next, and how."""
    how = "c copies it. Run it as a user with the rights; it counts, and changes nothing."
    found = sql_of(view)
    return plain(f"{found}\n\n{how}" if found else "No finding here has a confirming query.", keep="\n")


# The parts of the view. A table has headings and orders, a heading the member of JSON below it.

FLEET = "fleet"
DATABASE = "database"
PARTS = {"chain": "1 Chain", "children": "2 Hot", "caches": "3 Caches", "waiters": "4 Waiters", "sql": "5 SQL"}
TEXTS: Mapping[str, Callable[[View], Text]] = {"chain": chain, "sql": sql}
TABLES = {
    FLEET: ("Severity", "Database", "Release", "Age", "Verdict"),
    "children": ("Child", "Cache", "Gets/s", "Misses", "Sleeps", "% sleeps", "Hold µs"),
    "caches": ("Cache", "Gets", "% gets", "Misses", "Modified", "Used", "Entries"),
    "waiters": ("Waits for", "Cache", "Sessions", "SQL id", "Module", "Program"),
}
ORDERS = {
    FLEET: ("Severity", "Database", "Age"),
    "children": ("Sleeps", "Gets/s", "Misses", "Child"),
    "caches": ("Gets", "Misses", "Modified", "Used", "Cache"),
}
MEMBERS = {
    "Database": "name",
    "Age": "data_age_seconds",
    "Gets/s": "gets_per_second",
    "% sleeps": "share_of_sleeps",
    "Hold µs": "hold_seconds",
    "% gets": "share_of_gets",
    "Modified": "modifications",
    "Used": "entries_used",
    "Waits for": "event",
}
"""Heading → member; of every other heading it is the same word."""
FORMS = {"Age": "{:.0f} s", "% sleeps": "{:.1%}", "% gets": "{:.1%}", "Hold µs": "{:,.2f}", "Sessions": "{:.1f}"}
SHARES = {"Verdict": 1, "Cache": 4, "Waits for": 4, "Module": 3, "Program": 2}
"""These columns share the width that the others leave."""
WORDS = {"Severity", "Database", "Release", "SQL id", *SHARES}
"""All other columns are figures, which end at the right."""


def value(row: Json, heading: str) -> Any:
    """What stands below a heading. None: unknown."""
    if heading == "Verdict":
        return verdict(row)
    if heading == "Misses" and "getmisses" in row:
        return row["getmisses"]
    found = row.get(MEMBERS.get(heading, heading.lower().replace(" ", "_")))
    return found * 1e6 if heading == "Hold µs" and found is not None else found


def cell(row: Json, heading: str) -> Text:
    """A figure, or a name. A dash if it is unknown, which is not zero."""
    if heading == "Severity":
        return severity(row)
    found = value(row, heading)
    if found is None:
        return Text("–")
    if heading == "Cache" and row.get("subordinate") is not None:  # it stands below its parent
        return plain(f"  {found} #{row['subordinate']}")
    if isinstance(found, str):
        return plain(found)
    return Text(FORMS.get(heading, "{:,.0f}").format(found).rstrip("%"))


def order(row: Json, heading: str) -> Any:
    """The key by which rows are sorted: the worst, the oldest and the most first."""
    found = value(row, heading)
    if heading == "Severity":
        return RANKS.get(row["state"], RANKS["No data"]), row["name"]
    if heading in ("Database", "Cache", "Child"):
        return found
    return -inf if found is None and heading == "Age" else -(found or 0.0)


# The state, and what answers and keys do to it.


@dataclass
class State:
    """What was answered, and what the user chose."""

    where: str
    interval: float
    size: tuple[int, int] = (80, 24)
    databases: Sequence[Json] = ()
    database: str | None = None
    """The open one. None: the fleet."""
    view: View | None = None
    part: str = "chain"
    orders: dict[str, str] = field(default_factory=lambda: {part: headings[0] for part, headings in ORDERS.items()})
    at: dict[str, int] = field(default_factory=dict)
    """Part → the row of the cursor, or the first line shown."""
    chosen: str | None = None
    """The database that the cursor stays on."""
    filter: str = ""
    typing: bool = False
    copied: str | None = None
    telling: bool = False
    """Until the next key, what was copied stands below the rows."""
    paused: bool = False
    due: float = 0.0
    asked: set[str | None] = field(default_factory=set)
    taken: str = ""
    trouble: str | None = None
    ended: bool = False

    @property
    def shown(self) -> str:
        """The part on the screen."""
        return FLEET if self.database is None else self.part

    def rows(self) -> Sequence[Any]:
        """The rows of the part on the screen, in order: JSON for a table, else lines of text."""
        view, part = self.view, self.shown
        if part == FLEET:
            found = [row for row in self.databases if self.filter.lower() in row["name"].lower()]
        elif view is None:
            return ()
        elif part in TEXTS:
            return list(TEXTS[part](view).wrap(get_console(), self.size[0]))
        elif part == "waiters":  # sessions that hang first, then sampled ones
            hang = "{hanging} hang, {longest_seconds:.0f} s"
            hanging = [{**row, "module": hang.format_map(row)} for row in view.diagnosis.get("waiting", ())]
            return [*hanging, *view.diagnosis.get("who", ())]
        elif part == "children":
            found = [row for row in view.latches.get("children", ()) if row.get("gets") or row.get("sleeps")]
        else:
            found = view.caches.get("caches", [])
        return sorted(found, key=partial(order, heading=self.orders[part]))

    def cursor(self, rows: Sequence[Any]) -> int:
        """The row of the cursor. The last line of a text stays at the end of the screen."""
        if self.shown == FLEET:
            return next((place for place, row in enumerate(rows) if row["name"] == self.chosen), 0)
        return max(0, min(self.at.get(self.shown, 0), len(rows) - (room(self) if self.shown in TEXTS else 1)))

    def take(self, asked: str | None, answer: object) -> None:
        """An answer. After a refusal the last figures stay. Any other error is ours."""
        self.asked.discard(asked)
        if isinstance(answer, Exception) and not isinstance(answer, ServiceRefused):
            raise answer
        if asked != self.database:  # the user has left what was asked
            return
        self.trouble = str(answer) if isinstance(answer, ServiceRefused) else None
        if isinstance(answer, View):
            self.view = answer
        elif isinstance(answer, list):
            self.databases = answer
        self.taken = self.taken if self.trouble else time.strftime("%H:%M:%S")

    def press(self, key: str) -> None:
        """What a key does."""
        self.telling = False
        if self.typing and (key == "backspace" or (len(key) == 1 and key.isprintable())):
            self.filter = self.filter[:-1] if key == "backspace" else self.filter + key
            return
        for keys, _, where, act in KEYS:
            if key in keys and where in (None, DATABASE if self.database else FLEET):
                act(self)
                return

    def move(self, lines: float, pages: int = 0) -> None:
        """The cursor of a table, or a text. `lines` may be infinite."""
        rows = self.rows()
        at = int(max(0, min(self.cursor(rows) + lines + pages * room(self), len(rows) - 1)))
        self.at[self.shown] = at
        if self.shown == FLEET and rows:
            self.chosen = rows[at]["name"]

    def enter(self) -> None:
        """Open the database under the cursor. After a filter was typed, only end typing."""
        if not self.typing and (rows := self.rows()):
            self.database = self.chosen = rows[self.cursor(rows)]["name"]
            self.view, self.part, self.at, self.trouble, self.due = None, "chain", {}, None, 0.0
        self.typing = False

    def back(self) -> None:
        """To the fleet. There, to all of it."""
        if self.database is None:
            self.filter, self.typing = "", False
        self.database, self.trouble, self.due = None, None, 0.0

    def turn(self, step: int) -> None:
        """The next part, or the one before."""
        self.part = list(PARTS)[(list(PARTS).index(self.part) + step) % len(PARTS)]

    def sort(self) -> None:
        """The next order of the table on the screen."""
        if (part := self.shown) in ORDERS:
            at = ORDERS[part].index(self.orders[part]) + 1
            self.orders[part] = ORDERS[part][at % len(ORDERS[part])]

    def copy(self) -> None:
        """The SQL to the clipboard, and below the screen: a terminal does not tell whether it has a clipboard."""
        self.copied, self.telling = sql_of(self.view), True

    def pause(self) -> None:
        """Pause, or continue."""
        self.paused, self.due = not self.paused, 0.0

    def pace(self, times: float) -> None:
        """Refresh more or less often: once a second to once a minute."""
        self.interval, self.due = min(60.0, max(1.0, self.interval * times)), 0.0


def put(state: State, **values: Any) -> None:
    """What a key does that only chooses."""
    for name, chosen in values.items():
        setattr(state, name, chosen)


KEYS: Sequence[tuple[tuple[str, ...], str, str | None, Callable[[State], None]]] = (
    (("enter",), "Enter open", FLEET, State.enter),
    (("/",), "/ filter", FLEET, partial(put, typing=True)),
    (("escape",), "", FLEET, State.back),
    (("escape", "backspace"), "Esc back", DATABASE, State.back),
    *(((str(place),), "", DATABASE, partial(put, part=part)) for place, part in enumerate(PARTS, 1)),
    (("tab", "right"), "Tab part", DATABASE, partial(State.turn, step=1)),
    (("shift-tab", "left"), "", DATABASE, partial(State.turn, step=-1)),
    (("s", "f6"), "s sort", None, State.sort),
    (("c",), "c copy SQL", DATABASE, State.copy),
    (("p", " "), "p pause", None, State.pause),
    (("r", "f5"), "r refresh", None, partial(put, due=0.0)),
    (("+",), "+- pace", None, partial(State.pace, times=2.0)),
    (("-",), "", None, partial(State.pace, times=0.5)),
    (("up",), "", None, partial(State.move, lines=-1)),
    (("down",), "", None, partial(State.move, lines=1)),
    (("home",), "", None, partial(State.move, lines=-inf)),
    (("end",), "", None, partial(State.move, lines=inf)),
    (("page up",), "", None, partial(State.move, lines=0, pages=-1)),
    (("page down",), "", None, partial(State.move, lines=0, pages=1)),
    (("q", "f10", "ctrl-q", "ctrl-c"), "q quit", None, partial(put, ended=True)),
)
"""Keys, their words in the last line of the screen, where they work (None: everywhere), and what they do."""

# The screen.


def wrapped(text: Text, state: State, at_most: int = 1) -> list[Text]:
    """The first lines of a text."""
    return list(text.wrap(get_console(), state.size[0]))[:at_most]


def above(state: State) -> list[Text]:
    """What is watched and how old its figures are. Of one database its verdict too, and the parts."""
    lines: list[Text] = []
    pace = f"{state.taken}  {'PAUSED' if state.paused else f'every {state.interval:g} s'}"
    if state.database is None:
        count = Counter(row["state"] for row in state.databases)
        bad = count["Critical"] + count["Warning"] + count["Notice"]
        many = "1 database" if len(state.databases) == 1 else f"{len(state.databases)} databases"
        what = f"{many}, {bad} with a problem, {count['No data']} no data"
        status = f"{what}  {pace}  {state.where}"
        if state.filter or state.typing:
            lines = wrapped(plain(f"filter: {state.filter}{'_' if state.typing else ''}"), state)
    else:
        name = plain(state.database)
        name.truncate(state.size[0] // 3, overflow="ellipsis")
        status = f"{name}  {pace}"
        if (view := state.view) is not None:
            over = (view.diagnosis.get("basis") or {}).get("seconds")
            release, mechanism = view.state.get("release"), view.diagnosis.get("mechanism")
            what = f"{release or 'release unknown'}, {mechanism or 'mechanism unknown'}"
            status = f"{name}  {what}  {f'over {over:.0f} s' if over else 'no interval yet'}  {pace}"
            headline = plain(view.diagnosis["headline"], "bold")
            lines = wrapped(Text("  ").join((severity(view.state), headline)), state, state.size[1] // 5)
            if failure := view.state.get("failure"):
                lines += wrapped(plain(f"Last poll failed: {failure['why']}", "red"), state, 2)
        tabs = [Text(f" {tab} ", "reverse" if part == state.part else "") for part, tab in PARTS.items()]
        lines += wrapped(Text(" ").join(tabs), state)
    trouble = plain(state.trouble, "bold red") if state.trouble else None
    return wrapped(trouble or plain(status), state, 2 if trouble else 1) + lines


def below(state: State) -> list[Text]:
    """The SQL that was copied, or the whole verdict of the database under the cursor. Last, the keys."""
    places = (None, FLEET if state.database is None else DATABASE)
    keys = wrapped(Text("  ".join(words for _, words, where, _ in KEYS if words and where in places), "dim"), state)
    if state.telling:
        told = f"Copied, if this terminal has a clipboard; else select it here:\n{state.copied}"
        shown = plain(told if state.copied else "No finding here has a confirming query.", "bold", keep="\n")
        return wrapped(shown, state, state.size[1] // 3) + keys
    rows = state.rows() if state.database is None else ()
    return (wrapped(plain(verdict(rows[state.cursor(rows)])), state, state.size[1] // 5) if rows else []) + keys


def room(state: State) -> int:
    """How many rows fit between what is above and below."""
    return max(1, state.size[1] - len(above(state)) - len(below(state)) - (state.shown in TABLES))


def why_empty(state: State) -> str:
    """Why a table has no rows."""
    view, part = state.view, state.shown
    if part == FLEET and state.filter:
        return f"No database has {state.filter} in its name."
    if part == FLEET or view is None:
        return ""
    if part == "waiters":
        return "No session was seen waiting for the row cache in the last interval."
    if part == "children" and view.diagnosis.get("mechanism") == "mutex":
        return "Mutexes guard the row cache here; the chain (1) has their locations."
    missing = (view.latches if part == "children" else view.caches).get("missing")
    return str(missing or "Nothing was used in the last interval.")


def body(state: State) -> RenderableType:
    """The rows around the cursor of a table, or the lines of a text."""
    rows, fit, part = state.rows(), room(state), state.shown
    at = state.cursor(rows)
    if part in TEXTS:
        return Group(*rows[at : at + fit])
    if not rows:
        return plain(why_empty(state))
    first = max(0, min(at - fit // 2, len(rows) - fit))
    table = Table(box=None, expand=True, padding=(0, 1, 0, 0))
    for heading in TABLES[part]:
        told = f"{heading}▾" if heading == state.orders.get(part) else heading
        table.add_column(
            told,
            justify="left" if heading in WORDS else "right",
            ratio=SHARES.get(heading),
            max_width=state.size[0] // 3,
            no_wrap=True,
        )
    for place, row in enumerate(rows[first : first + fit], first):
        table.add_row(*(cell(row, heading) for heading in TABLES[part]), style="reverse" if place == at else "")
    return table


def screen(state: State) -> Layout:
    """All lines of the terminal."""
    layout, top, bottom = Layout(), above(state), below(state)
    parts = (Layout(Group(*top), size=len(top)), Layout(Group(body(state))), Layout(Group(*bottom), size=len(bottom)))
    layout.split_column(*parts)
    return layout


# The terminal.

CODES = dict(zip("ABCDEHFZ", ("up", "down", "right", "left", "f5", "home", "end", "shift-tab"), strict=True))
CODES |= {"1~": "home", "4~": "end", "5~": "page up", "6~": "page down", "15~": "f5", "17~": "f6", "21~": "f10"}
CHARACTERS = {"\r": "enter", "\n": "enter", "\t": "tab", "\x1b": "escape", "\x7f": "backspace", "\b": "backspace"}
CHARACTERS |= {"\x03": "ctrl-c", "\x11": "ctrl-q"}
TYPED = re.compile(r"\x1b(?:\[\[?|O)(?:1;\d+(?=[A-Z]))?([\d;]*[A-Za-z~])|(.)", re.DOTALL)
UNFINISHED = re.compile(r"\x1b(\[[\d;]*|O)?$")
"""The begin of a key that a slow line delivers in parts. Alone it is Escape."""


def typed(seconds: float) -> list[str]:
    """The keys of the next moment, by name. A terminal that is gone is the key that ends."""
    text = ""
    while select.select([sys.stdin], [], [], seconds)[0]:
        if not (read := os.read(sys.stdin.fileno(), 4096)):
            return ["ctrl-c"]
        text += read.decode(errors="ignore")
        if not UNFINISHED.search(text):
            break
        seconds = 0.05
    return [CODES.get(code, "") if code else CHARACTERS.get(one, one) for code, one in TYPED.findall(text)]


@contextmanager
def keyboard() -> Iterator[None]:
    """Each key arrives at once and unseen, Ctrl-C too. Whatever happens, the terminal is as before afterwards."""
    before = termios.tcgetattr(sys.stdin)
    try:
        tty.setcbreak(sys.stdin)
        mode = termios.tcgetattr(sys.stdin)
        mode[0] &= ~termios.IXON  # else Ctrl-S would stop the screen, and Ctrl-Q not arrive
        mode[3] &= ~termios.ISIG
        termios.tcsetattr(sys.stdin, termios.TCSANOW, mode)
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSAFLUSH, before)


def watch(source: Source, where: str, interval: float) -> None:
    """Show the source until the user ends it. `interval`: seconds between two looks."""
    console, answers = get_console(), SimpleQueue[tuple[str | None, object]]()
    state = State(where, interval, (console.width, console.height))
    with keyboard(), Live(console=console, screen=True, auto_refresh=False, redirect_stdout=False) as live:
        changed, told = True, list(commands(None))
        while not state.ended:
            changed |= told != (told := list(commands(state.view)))  # a command that has grown too old goes by itself
            if changed:
                live.update(screen(state), refresh=True)
            now = time.monotonic()
            if now >= state.due and state.database not in state.asked and not state.telling:
                state.asked.add(state.database)
                state.due = inf if state.paused else now + state.interval
                Thread(target=ask, args=(source, state.database, answers), daemon=True).start()
            pressed, size = typed(0.1), (console.width, console.height)
            changed = bool(pressed) or not answers.empty() or size != state.size
            state.size = size
            while not answers.empty():
                state.take(*answers.get())
            for key in pressed:
                state.press(key)
                if state.telling and state.copied:
                    sys.stdout.write(f"\x1b]52;c;{b64encode(state.copied.encode()).decode()}\a")
    if state.copied:
        console.print(plain(state.copied, keep="\n"))


# The command: a live view of a service, or of databases that it polls itself.


def top(
    url: Annotated[
        str | None, typer.Option(help="address of a running service; without it, this command polls the databases")
    ] = None,
    token_file: TokenFileOption = None,
    demo: Annotated[bool, typer.Option("--demo", help="scripted databases, to try it out")] = False,
    interval: Annotated[
        float, typer.Option(min=1, max=60, callback=a_number, help="seconds between two refreshes")
    ] = 2.0,
    config: ConfigOption = CONFIG,
) -> None:
    """Watch in the terminal: the fleet, then a database with its chain, hot children, caches and who waits."""
    try:
        where, opened = _source(url, token_file, demo, config)
        if not (sys.stdin.isatty() and sys.stdout.isatty()) or Console().is_dumb_terminal:
            fail("`top` needs a terminal, and here is none; a script reads /api/v1/databases of `latchscope serve`")
        for ending in (signal.SIGTERM, signal.SIGHUP):  # they restore the terminal and delete the files too
            signal.signal(ending, lambda *_: sys.exit(0))
        logging.getLogger().addHandler(logging.NullHandler())  # log lines would run across the screen
        with opened as source:
            watch(source, where, interval)
    except (ServiceRefused, BadSettings, StoreError) as error:
        fail(str(error))


def _source(
    url: str | None, token_file: Path | None, demo: bool, config: Path
) -> tuple[str, AbstractContextManager[Source]]:
    """What to watch, in words, and where it is asked. A service answers once first, so that a mistake is one line."""
    if url is not None:
        client = ServiceClient(url, token_of(token_file))
        client.get("/databases")
        return client.url.partition("://")[2], nullcontext(client.get)
    settings = load.demo(list(scenarios()), 0, "sqlite://", 2.0) if demo else load.read(config)
    if not settings.databases:
        fail(f"{config} names no database; add one under `databases`, or try it with --demo")
    return "demo" if demo else str(config), polled(settings)
