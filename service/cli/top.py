"""`latchscope top`: the fleet, then one database, live in a terminal.

The screen is a function of a state, which keys and answers change. Requests run beside it, so that keys always answer.
"""

import logging
import os
import re
import select
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
from math import inf
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Annotated, Any, NamedTuple
from urllib.parse import quote, unquote

import typer
from rich import get_console
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.segment import Segment, SegmentLines
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

Json = Mapping[str, Any]
Source = Callable[[str], Any]
"""Answers a path below /api/v1, as ServiceClient.get does. It raises ServiceRefused."""
SEEN = ("", "diagnosis", "latches", "caches")
STOP_SECONDS = 1.0


@contextmanager
def polled(settings: Settings) -> Iterator[Source]:
    """The databases of a configuration, polled as the service does. Nothing is kept. Raises StoreError."""
    with tempfile.TemporaryDirectory(prefix="latchscope-top-", ignore_cleanup_errors=True) as folder:
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


# Cells. Names in a database may have any length and any character.

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
LONGEST = 2000
Columns = Mapping[str, str]
"""Heading → member of the JSON."""
FLEET = {"Severity": "state", "Database": "name", "Release": "release", "Age": "data_age_seconds", "Verdict": "verdict"}
WAITERS = {
    "Waits for": "event", "Cache": "cache", "Sessions": "sessions", "SQL id": "sql_id", "Module": "module", "Program": "program"
}  # fmt: skip
CHILDREN = {
    "Child": "child", "Cache": "cache", "Gets/s": "gets_per_second", "Misses": "misses", "Sleeps": "sleeps",
    "% sleeps": "share_of_sleeps", "Hold µs": "hold_seconds",
}  # fmt: skip
CACHES = {
    "Cache": "cache", "Gets": "gets", "% gets": "share_of_gets", "Misses": "getmisses", "Modified": "modifications",
    "Used": "entries_used", "Entries": "entries",
}  # fmt: skip
FORMS = {"Age": ("{:.0f} s", 1), "Sessions": ("{:.1f}", 1), "Hold µs": ("{:,.2f}", 1e6)}
FORMS |= dict.fromkeys(("% sleeps", "% gets"), ("{:.1f}", 100))
"""How a figure is written, and what it is multiplied by."""
SHARES = {"Verdict": 1, "Cache": 4, "Waits for": 4, "Module": 3, "Program": 2}
"""These columns share the width that the others leave."""
WORDS = {"Severity", "Database", "Release", "SQL id", *SHARES}
"""All other columns are figures, which end at the right."""
MOST_ROWS = 20
"""Rows of a table of one database."""


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


def cell(row: Json, heading: str, member: str) -> Text:
    """A name, or a figure. A dash if it is unknown, which is not zero."""
    if heading == "Severity":
        return severity(row)
    value = verdict(row) if heading == "Verdict" else row.get(member)
    if value is None or isinstance(value, str):
        return plain("–" if value is None else value)
    form, times = FORMS.get(heading, ("{:,.0f}", 1))
    return Text(form.format(value * times))


def table(columns: Columns, rows: Sequence[Json], width: int, marked: int | None = None) -> Table:
    """Rows on one line each."""
    drawn = Table(box=None, expand=True, padding=(0, 1, 0, 0))
    for heading in columns:
        side: Any = "left" if heading in WORDS else "right"
        drawn.add_column(heading, justify=side, ratio=SHARES.get(heading), max_width=width // 3, no_wrap=True)
    for place, row in enumerate(rows):
        drawn.add_row(*(cell(row, *column) for column in columns.items()), style="reverse" if place == marked else "")
    return drawn


# One database: its parts below each other. The page scrolls.


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


def parts(view: View, width: int) -> Iterator[RenderableType]:
    """The steps from the waits to the cause with the commands of a hang, who waits, the SQL, hot children, caches."""
    diagnosis, (children, caches) = view.diagnosis, (view.latches.get("children", ()), view.caches.get("caches", ()))
    steps = [(step["step"].capitalize(), step["statement"]) for step in diagnosis.get("steps", ())]
    yield from (Text("  ").join((plain(step, "bold"), plain(statement))) for step, statement in steps)
    yield from (plain(line, "" if fresh else "dim") for line, fresh in commands(view))
    if not steps:
        yield "No chain to show: no interval yet, or nothing costs anything."
    hang = "{hanging} hang, {longest_seconds:.0f} s"
    hanging = [{**row, "module": hang.format_map(row)} for row in diagnosis.get("waiting", ())]
    waiters = [*hanging, *diagnosis.get("who", ())]
    yield from ("", table(WAITERS, waiters, width) if waiters else "No session was seen waiting for the row cache.")
    if query := sql_of(view):
        yield plain(
            f"\n{query}\nc copies it. Run it as a user with the rights; it counts, and changes nothing.", keep="\n"
        )
    hot = sorted((row for row in children if row.get("sleeps")), key=lambda row: -row["sleeps"])
    mutexes = "Mutexes guard the row cache here; the steps have their locations."
    none = mutexes if diagnosis.get("mechanism") == "mutex" else view.latches.get("missing") or "No child latch slept."
    yield from ("", table(CHILDREN, hot[:MOST_ROWS], width) if hot else plain(none))
    below = "  {cache} #{subordinate}"
    named = [row if row.get("subordinate") is None else {**row, "cache": below.format_map(row)} for row in caches]
    used = sorted(named, key=lambda row: -(row.get("gets") or 0.0))[:MOST_ROWS]
    yield from ("", table(CACHES, used, width) if used else plain(view.caches.get("missing") or "No cache was used."))


# The state, and what answers and keys do to it.

MOVES = {
    "up": (-1.0, 0),
    "down": (1.0, 0),
    "home": (-inf, 0),
    "end": (inf, 0),
    "page up": (0.0, -1),
    "page down": (0.0, 1),
}
"""Key → rows or lines, and screens."""
KEYS = {
    True: "Enter open  / filter  r refresh  q quit",
    False: "Esc back  c copy SQL  r refresh  q quit",
}
"""The last line: in the fleet, and in a database."""


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
    at: int = 0
    """The first line of its page that is shown."""
    chosen: str | None = None
    """The database that the cursor stays on."""
    filter: str = ""
    typing: bool = False
    copied: str | None = None
    copy_shown: bool = False
    """Until the next key, what was copied stands below the page."""
    due: float = 0.0
    asked: set[str | None] = field(default_factory=set)
    taken: str = ""
    trouble: str | None = None
    ended: bool = False

    @property
    def rows(self) -> Sequence[Json]:
        """The databases that pass the filter, the worst first."""
        found = [row for row in self.databases if self.filter.lower() in row["name"].lower()]
        ranks = {state: place for place, state in enumerate(STATES)}
        return sorted(found, key=lambda row: (ranks.get(row["state"], ranks["No data"]), row["name"]))

    @property
    def cursor(self) -> int:
        """The row of the chosen database."""
        return next((place for place, row in enumerate(self.rows) if row["name"] == self.chosen), 0)

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
        self.copy_shown = False
        if self.typing and (key == "backspace" or (len(key) == 1 and key.isprintable())):
            self.filter = self.filter[:-1] if key == "backspace" else self.filter + key
        elif key == "q":
            self.ended = True
        elif key == "r":
            self.due = 0.0
        elif key in MOVES:
            self.move(*MOVES[key])
        elif self.database is None:
            self.press_in_fleet(key)
        elif key in ("escape", "backspace"):
            self.open(None)
        elif key == "c":
            self.copied, self.copy_shown = sql_of(self.view), True

    def press_in_fleet(self, key: str) -> None:
        """Enter opens the database of the cursor; while a filter is typed it ends typing, and Escape ends the filter."""
        if key == "enter" and not self.typing and self.rows:
            self.open(self.rows[self.cursor]["name"])
        elif key == "escape":
            self.filter = ""
        self.typing = key == "/"

    def open(self, database: str | None) -> None:
        """One database, or None: the fleet again."""
        self.chosen = database or self.chosen
        self.database, self.view, self.at, self.trouble, self.due = database, None, 0, None, 0.0

    def move(self, rows: float, screens: int) -> None:
        """The cursor of the fleet, or the page of a database. `rows` may be infinite."""
        by = rows + screens * room(self)
        if self.database is not None:
            self.at = int(max(0, min(self.at + by, len(page(self)) - room(self))))
        elif self.rows:
            self.chosen = self.rows[int(max(0, min(self.cursor + by, len(self.rows) - 1)))]["name"]


# The screen, as lines of the terminal.

Lines = list[list[Segment]]


def laid(part: RenderableType, width: int, at_most: int | None = None) -> Lines:
    """The first lines of a part."""
    console = get_console()
    return console.render_lines(part, console.options.update(width=width, height=None), pad=False)[:at_most]


def above(state: State) -> Lines:
    """What is watched and how old its figures are. Of one database its verdict too."""
    width, height = state.size
    pace, lines = f"{state.taken}  every {state.interval:g} s", Lines()
    if state.database is None:
        count = Counter(row["state"] for row in state.databases)
        bad = count["Critical"] + count["Warning"] + count["Notice"]
        many = "1 database" if len(state.databases) == 1 else f"{len(state.databases)} databases"
        status = f"{many}, {bad} with a problem, {count['No data']} no data  {pace}  {state.where}"
        if state.filter or state.typing:
            lines = laid(plain(f"filter: {state.filter}{'_' if state.typing else ''}"), width, 1)
    else:
        named = plain(state.database)
        named.truncate(width // 3, overflow="ellipsis")
        status = f"{named}  {pace}"
        if (view := state.view) is not None:
            over = (view.diagnosis.get("basis") or {}).get("seconds")
            release, mechanism = view.state.get("release"), view.diagnosis.get("mechanism")
            what = f"{release or 'release unknown'}, {mechanism or 'mechanism unknown'}"
            status = f"{named}  {what}  {f'over {over:.0f} s' if over else 'no interval yet'}  {pace}"
            headline = plain(view.diagnosis["headline"], "bold")
            lines = laid(Text("  ").join((severity(view.state), headline)), width, height // 5)
            if failure := view.state.get("failure"):
                lines += laid(plain(f"Last poll failed: {failure['why']}", "red"), width, 2)
    trouble = plain(state.trouble, "bold red") if state.trouble else None
    return laid(trouble or plain(status), width, 2 if trouble else 1) + lines


def below(state: State) -> Lines:
    """The SQL that was copied, or the whole verdict of the database under the cursor. Last, the keys."""
    width, height = state.size
    lines = Lines()
    if state.copy_shown:
        told = f"Copied, if this terminal has a clipboard; else select it here:\n{state.copied}"
        shown = plain(told if state.copied else "No finding here has a confirming query.", "bold", keep="\n")
        lines = laid(shown, width, height // 3)
    elif state.database is None and state.rows:
        lines = laid(plain(verdict(state.rows[state.cursor])), width, height // 5)
    return lines + laid(Text(KEYS[state.database is None], "dim"), width, 1)


def room(state: State) -> int:
    """How many lines fit between what is above and below; of the fleet, how many rows."""
    return max(1, state.size[1] - len(above(state)) - len(below(state)) - (state.database is None))


def page(state: State) -> Lines:
    """All lines of the open database."""
    return laid(Group(*parts(state.view, state.size[0])), state.size[0]) if state.view else []


def screen(state: State) -> SegmentLines:
    """All lines of the terminal."""
    fit, rows, width = room(state), state.rows, state.size[0]
    if state.database is not None:
        lines = page(state)
        at = max(0, min(state.at, len(lines) - fit))
        body = lines[at : at + fit]
    elif rows:
        first = max(0, min(state.cursor - fit // 2, len(rows) - fit))
        body = laid(table(FLEET, rows[first : first + fit], width, state.cursor - first), width, fit + 1)
    else:
        body = laid(plain(f"No database has {state.filter} in its name." if state.filter else ""), width, fit)
    top, bottom = above(state), below(state)
    blank = [[Segment("")]] * (state.size[1] - len(top) - len(body) - len(bottom))
    return SegmentLines([*top, *body, *blank, *bottom], new_lines=True)


# The terminal.

CODES = dict(zip("ABHF", ("up", "down", "home", "end"), strict=True))
CODES |= {"1~": "home", "4~": "end", "5~": "page up", "6~": "page down"}
CHARACTERS = {"\r": "enter", "\n": "enter", "\x1b": "escape", "\x7f": "backspace", "\b": "backspace", "\x03": "q"}
TYPED = re.compile(r"\x1b(?:\[\[?|O)(?:1;\d+(?=[A-Z]))?([\d;]*[A-Za-z~])|(.)", re.DOTALL)
UNFINISHED = re.compile(r"\x1b(\[[\d;]*|O)?$")
"""The begin of a key that a slow line delivers in parts. Alone it is Escape."""


def typed(seconds: float) -> list[str]:
    """The keys of the next moment, by name. A terminal that is gone is the key that ends."""
    text = ""
    while select.select([sys.stdin], [], [], seconds)[0]:
        if not (read := os.read(sys.stdin.fileno(), 4096)):
            return ["q"]
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
        mode[3] &= ~termios.ISIG
        termios.tcsetattr(sys.stdin, termios.TCSANOW, mode)
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSAFLUSH, before)


def watch(source: Source, where: str, interval: float) -> None:
    """Show the source until the user ends it. `interval`: seconds between two requests."""
    console, answers = get_console(), SimpleQueue[tuple[str | None, object]]()
    state = State(where, interval, (console.width, console.height))
    with keyboard(), Live(console=console, screen=True, auto_refresh=False, redirect_stdout=False) as live:
        changed, offered = True, list(commands(None))
        while not state.ended:
            changed |= offered != (offered := list(commands(state.view)))  # one that has grown too old goes by itself
            if changed:
                live.update(screen(state), refresh=True)
            now = time.monotonic()
            if now >= state.due and state.database not in state.asked and not state.copy_shown:
                state.asked.add(state.database)
                state.due = now + state.interval
                Thread(target=ask, args=(source, state.database, answers), daemon=True).start()
            pressed, size = typed(0.1), (console.width, console.height)
            changed = bool(pressed) or not answers.empty() or size != state.size
            state.size = size
            while not answers.empty():
                state.take(*answers.get())
            for key in pressed:
                state.press(key)
                if state.copy_shown and state.copied:
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
