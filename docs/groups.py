"""Writes the statements of groups, `collectors/groups/*.sql`, from those of their views."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from textwrap import indent

import sqlglot
from sqlglot import exp

from collectors.registry import BadCollector, collectors
from collectors.release import parts, text_for

COUNTERS: tuple[str, ...] = (
    "v$latch",
    "v$latch_misses",
    "v$mutex_sleep",
    "v$osstat",
    "v$rowcache",
    "v$sys_time_model",
    "v$sysstat",
    "v$system_event",
)
SESSIONS = ("waiting_sessions", "library_cache_sessions")
CONTAINERS = "v$con_system_event"
LEVELS = ("v$sga_resize_ops", "v$sgastat", "v$undostat")
MEMBERS: Mapping[str, tuple[str, ...]] = {
    "containers": (*SESSIONS, CONTAINERS),
    "counters": COUNTERS,
    "counters_and_levels": (*COUNTERS, *LEVELS),
    "sessions": SESSIONS,
    "waits": ("v$latch_children", *SESSIONS),
    "waits_and_containers": ("v$latch_children", *SESSIONS, CONTAINERS),
}
"""Group → its views: what every poll reads; the same with what is due once a minute; the looks at sessions; the same with the
children of the latch, which a database with mutexes is not asked. Those with the waits of containers are tried first, and set
aside where they are refused (`collectors.poll.Grouping`)."""
TEXTS = {
    *("name", "parent_name", "location", "mutex_type", "stat_name", "type", "parameter", "component", "start_time"),
    *("oper_type", "pool", "event", "begin_time", "addr", "p1raw", "sql_id", "module", "program", "username"),
    *("action", "machine"),
}
"""Columns that hold text; all others of these views hold numbers."""
WIDTH = 110


def statements(root: Path) -> dict[Path, str]:
    """File → statement."""
    found: dict[Path, str] = {}
    for group, views in MEMBERS.items():
        for release in sorted({release for view in views for release in collectors()[view].statements}, key=parts):
            texts = {view: text_for(collectors()[view].statements, release) or "" for view in views}
            if not all(texts.values()):
                continue  # an older release lacks a view, and reads the others by a smaller group
            found[root / "collectors" / "groups" / f"{group}-{release}.sql"] = _statement(group, texts)
    return found


def _statement(group: str, texts: Mapping[str, str]) -> str:
    given = {view: _columns(view, text) for view, text in texts.items()}
    most_texts = max(sum(name in TEXTS for name in names) for names in given.values())
    most_numbers = max(sum(name not in TEXTS for name in names) for names in given.values())
    slots = [
        *(f"t{place}" for place in range(1, most_texts + 1)),
        *(f"n{place}" for place in range(1, most_numbers + 1)),
    ]
    branches = [
        f"select {_cells(view, given[view], slots, first=place == 0)}\n  from (\n{indent(text, ' ' * 8)})"
        for place, (view, text) in enumerate(texts.items())
    ]
    united = "\nunion all\n".join(branches)
    return f"select /* latchscope {group} */ {_wrapped(['of_view', *slots])}\n  from (\n{indent(united, ' ' * 6)}\n)\n"


def _columns(view: str, text: str) -> list[str]:
    selects = sqlglot.parse_one(text, read="oracle").assert_is(exp.Query).selects
    if isinstance(selects[0].unalias(), exp.Literal):
        raise BadCollector(
            f"{view}: its first column is a constant, which in a group is the name of a view; put it last"
        )
    return [one.alias_or_name.lower() for one in selects]


def _cells(view: str, names: list[str], slots: list[str], *, first: bool) -> str:
    """What a view puts into each slot; the first view says of what type the empty ones are."""
    filled = dict(
        zip([slot for slot in slots if slot[0] == "t"], (name for name in names if name in TEXTS), strict=False)
    )
    filled |= zip(
        [slot for slot in slots if slot[0] == "n"], (name for name in names if name not in TEXTS), strict=False
    )
    empty = {"t": "to_char(null)", "n": "to_number(null)"}

    def cells() -> Iterator[str]:
        yield f"'{view}' as of_view" if first else f"'{view}'"
        for slot in slots:
            yield f"{filled.get(slot, empty[slot[0]])} as {slot}" if first else filled.get(slot, "null")

    return _wrapped(list(cells()))


def _wrapped(cells: list[str]) -> str:
    lines = [""]
    for cell in cells:
        if len(lines[-1]) + len(cell) > WIDTH:
            lines.append("")
        lines[-1] += f"{cell}, "
    return "\n       ".join(line.rstrip() for line in lines).rstrip(", ")
