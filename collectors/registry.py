"""Every collector of `collectors/views` and every group of them, found by scanning. A wrong module stops the start."""

import importlib
import pkgutil
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from types import ModuleType

from collectors import views
from collectors.model import Collector, ColumnKind, Row, Value
from collectors.release import as_sent, floor_for, parts


class BadCollector(Exception):
    """A module below collectors/views that does not hold exactly one sound Collector."""


@cache
def collectors() -> Mapping[str, Collector]:
    """View name → collector. Every collector comes after those it needs."""
    found: dict[str, Collector] = {}
    for module in pkgutil.iter_modules(views.__path__, f"{views.__name__}."):
        collector = _only_collector(importlib.import_module(module.name))
        if collector.view in found:
            raise BadCollector(f"{module.name} declares {collector.view} a second time; keep one")
        found[collector.view] = collector
    return {view: found[view] for view in _in_order(found)}


@cache
def view_of(sql: str) -> str | None:
    """The view that one of our statements reads, by its exact text. None for any other text."""
    for view, collector in collectors().items():
        texts = [as_sent(text) for text in collector.statements.values()]
        if sql in texts or (collector.formerly and sql in [under_older_name(collector, text) for text in texts]):
            return view
    return None


def under_older_name(collector: Collector, text: str) -> str:
    """A collector's text for the name that older releases of latchscope granted."""
    return text.replace(collector.granted_on, collector.formerly)


def _only_collector(module: ModuleType) -> Collector:
    own = [value for value in vars(module).values() if isinstance(value, Collector)]
    if len(own) != 1:
        raise BadCollector(f"{module.__name__} holds {len(own)} collectors; each module of views holds exactly one")
    check(own[0])
    return own[0]


def check(collector: Collector) -> None:
    """Raise BadCollector if a declaration cannot work: no key, repeated names, no text, text without our mark."""
    names = [column.name for column in collector.columns]
    for repeated in {name for name in names if names.count(name) > 1}:
        raise BadCollector(f"{collector.view} declares column {repeated} twice")
    if not collector.key:
        raise BadCollector(f"{collector.view} has no key column; make one ColumnKind.KEY, or select a constant last")
    if (collector.once or collector.every_seconds) and any(c.kind is ColumnKind.COUNTER for c in collector.columns):
        raise BadCollector(f"{collector.view} is carried over and has a counter, which would seem to stand still")
    if not collector.statements:
        raise BadCollector(f"{collector.view} has no statement")
    for release, statement in collector.statements.items():
        if not parts(release):
            raise BadCollector(f"{collector.view} has a statement for {release!r}, which is not a release")
        if marker(collector.view) not in statement:
            raise BadCollector(f"{collector.view} for {release} lacks the comment {marker(collector.view)}")


def marker(view: str) -> str:
    """The comment in each of our statements. It tells a DBA who sent it."""
    return f"/* latchscope {view} */"


def _in_order(found: Mapping[str, Collector]) -> tuple[str, ...]:
    for view, collector in found.items():
        for needed in set(collector.after) - set(found):
            raise BadCollector(f"{view} comes after {needed}, which no module collects")
    try:
        return tuple(TopologicalSorter({view: sorted(found[view].after) for view in sorted(found)}).static_order())
    except CycleError as error:
        raise BadCollector(f"collectors wait for each other: {' → '.join(error.args[1])}") from None


# The groups: every `NAME-RELEASE.sql` in this folder. `make docs` writes them from the statements of their views.
#
# Each row of the answer names its view, then has as many texts and numbers as the widest view needs. The SQL itself says
# once per view which cell is which column, so nothing here repeats it.

_BRANCH = re.compile(r"select '([^']+)'(?: as of_view)?,([^()]*(?:\(null\)[^()]*)*?)\bfrom \(", re.DOTALL)
"""The start of a view's part: its name, then the content of each cell."""


@dataclass(frozen=True, slots=True)
class GroupText:
    """The statement of a group for one release and later ones."""

    sql: str
    columns: tuple[str, ...]
    """The columns of the answer, `of_view` first."""
    views: Mapping[str, tuple[tuple[str, int], ...]]
    """View → its columns, each with its place in a row of the answer."""

    def united(self, of: Mapping[str, Iterable[Row]]) -> list[tuple[Value, ...]]:
        """The answer that the database would build from the rows of its views."""
        united: list[tuple[Value, ...]] = []
        for view, columns in self.views.items():
            for row in of.get(view, ()):
                cells: list[Value] = [view, *[None] * (len(self.columns) - 1)]
                for name, place in columns:
                    cells[place] = row.get(name)
                united.append(tuple(cells))
        return united


@dataclass(frozen=True, slots=True)
class Group:
    """Views with the same needs, read by one statement. `texts`: lowest release → statement, as in a collector."""

    name: str
    texts: Mapping[str, GroupText]
    views: frozenset[str] = field(init=False)
    """Every view of the group."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "views", frozenset(view for text in self.texts.values() for view in text.views))

    def text(self, release: str | None) -> GroupText | None:
        """The statement for a release. None if every text is for a newer one."""
        floor = floor_for(self.texts, release)
        return None if floor is None else self.texts[floor]


@cache
def groups() -> Mapping[str, Group]:
    """Name → group. Raises BadCollector if a file is wrong."""
    texts: dict[str, dict[str, GroupText]] = {}
    for file in sorted((Path(__file__).parent / "groups").glob("*.sql")):
        name, _, release = file.stem.partition("-")
        texts.setdefault(name, {})[release] = parsed(file.read_text(encoding="utf-8").strip(), file.name)
    return {
        name: Group(name, dict(sorted(found.items(), key=lambda entry: parts(entry[0]))))
        for name, found in texts.items()
    }


def parsed(sql: str, file: str) -> GroupText:
    """A statement with the place of each column in its answer. Raises BadCollector."""
    head = sql.partition("*/")[2].partition("from")[0]
    columns = tuple(name.strip() for name in head.split(","))
    views: dict[str, tuple[tuple[str, int], ...]] = {}
    for view, listed in _BRANCH.findall(sql):
        cells = [cell.strip().partition(" as ")[0] for cell in listed.split(",")]
        if view not in collectors() or len(cells) != len(columns) - 1:
            raise BadCollector(
                f"{file} has {len(cells)} cells of {view}, and {len(columns) - 1} columns; run make docs"
            )
        views[view] = tuple((cell, place) for place, cell in enumerate(cells, 1) if "null" not in cell)
    if columns[0] != "of_view" or len(views) < 2:
        raise BadCollector(f"{file} holds no group of views; run make docs")
    return GroupText(sql, columns, views)


@cache
def group_text_of(sql: str) -> GroupText | None:
    """The group's statement of exactly this text."""
    return next((text for group in groups().values() for text in group.texts.values() if text.sql == sql), None)


def views_of(sql: str) -> frozenset[str]:
    """The views that one of our statements reads, alone or in a group. Empty for any other text."""
    text, view = group_text_of(sql), view_of(sql)
    return frozenset(text.views) if text else frozenset({view} if view else ())
