"""The cells of the terminal view's tables: figures from REST, made safe for a terminal."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rich.text import Text

from service.characters import visible
from service.top.source import DatabaseView, Json

COLOURS = {"critical": "bold red", "warning": "yellow", "notice": "cyan", "info": "green"}
WORDS = {"critical": "CRITICAL", "warning": "WARNING", "notice": "NOTICE", "info": "fine"}
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
            severity(row["severity"], row["up"]),
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
    lines = severity(state["severity"], state["up"])
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
