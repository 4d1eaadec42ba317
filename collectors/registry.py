"""The groups: every `NAME-RELEASE.sql` in this folder. `make docs` writes them from the statements of their views.

Each row of the answer names its view, then has as many texts and numbers as the widest view needs. The SQL itself says once
per view which cell is which column, so nothing here repeats it.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from operator import itemgetter
from pathlib import Path

from collectors.model import Row, Value
from collectors.registry import BadCollector, collectors, view_of
from collectors.release import parts, text_for

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
    cells: Mapping[str, tuple[tuple[str, ...], Callable[[Sequence[Value]], tuple[Value, ...]]]] = field(
        init=False, repr=False, compare=False
    )
    """View → the names of its columns, and what takes their cells out of a row."""

    def __post_init__(self) -> None:
        cells = {
            view: (tuple(name for name, _ in columns), itemgetter(*(place for _, place in columns)))
            for view, columns in self.views.items()
        }
        object.__setattr__(self, "cells", cells)

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
        sql = text_for({floor: text.sql for floor, text in self.texts.items()}, release)
        return next((text for text in self.texts.values() if text.sql == sql), None)


@cache
def groups() -> Mapping[str, Group]:
    """Name → group. Raises BadCollector if a file is wrong."""
    texts: dict[str, dict[str, GroupText]] = {}
    for file in sorted(Path(__file__).parent.glob("*.sql")):
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
