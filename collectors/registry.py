"""Every collector of `collectors/views`, found by scanning. A wrong module stops the start with an error."""

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from types import ModuleType

from collectors import views
from collectors.model import Collector, ColumnKind
from collectors.release import as_sent, parts


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
        raise BadCollector(f"{collector.view} has no key column, so latchscope cannot follow a row from poll to poll")
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
