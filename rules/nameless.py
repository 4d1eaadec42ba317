"""Views with gaps: a row without its key, or a child or cache that the map names and the view lacks.

A sum or look-up over such a view is incomplete, so the view counts as not read.
"""

from collections.abc import Mapping

from collectors.model import Delta, Missing
from rules.cache_map import identifier

NAMED_BY: Mapping[str, tuple[str, ...]] = {
    "v$event_name": ("name",),
    "v$latch": ("name",),
    "v$latch_children": ("child#",),
    "v$latch_misses": ("parent_name", "location"),
    "v$latchname": ("name",),
    "v$mutex_sleep": ("location",),
    "v$osstat": ("stat_name",),
    "v$parameter": ("name",),
    "v$rowcache": ("cache#", "type", "parameter"),
    "v$sga_resize_ops": ("component",),
    "v$sgastat": ("name",),
    "v$sys_time_model": ("stat_name",),
    "v$sysstat": ("name",),
    "v$system_event": ("event",),
    "x$kqrst": ("child#", "cache#", "type"),
}
"""View → its key columns. A row of v$session without an event is a look that found nobody."""


def gaps_of(delta: Delta) -> Mapping[str, Missing]:
    """The views with a row that has no name. Reports print no ids, and totals few."""
    if delta.source == "report" or delta.basis.kind == "totals":
        return {}
    named = (_nameless(delta, view, columns) for view, columns in NAMED_BY.items())
    gaps = {gap.view: gap for gap in named if gap is not None}
    for gap in (_childless(delta), _unlisted(delta)):
        if gap is not None:
            gaps.setdefault(gap.view, gap)
    return gaps


def _nameless(delta: Delta, view: str, columns: tuple[str, ...]) -> Missing | None:
    column = next((name for name in columns if None in delta.column(view, name)), None)
    if column is None and "type" in columns and _numberless(delta, view):
        column = "subordinate#"
    if column is None:
        return None
    why = f"{view} has a row without its {column}"
    return Missing(view, "unread", why, f"capture {column} of {view} as well")


def _numberless(delta: Delta, view: str) -> bool:
    """Whether a subordinate cache does not say which of its parent's it is."""
    kinds, numbers = delta.column(view, "type"), delta.column(view, "subordinate#")
    return ("SUBORDINATE", None) in zip(kinds, numbers, strict=True)


def _childless(delta: Delta) -> Missing | None:
    """Whether every child that x$kqrst names has a row in v$latch_children, unless that was not captured whole."""
    view = "v$latch_children"
    read = set(delta.column(view, "child#"))
    lacking = set(delta.column("x$kqrst", "child#")) - read
    if not read or not lacking:
        return None
    why = f"{view} has no row of child {min(lacking, key=str)}, which x$kqrst names"
    return Missing(view, "unread", why, f"capture every row of {view}")


def _unlisted(delta: Delta) -> Missing | None:
    """Whether every cache that x$kqrst names has a row in v$rowcache, unless that was not captured whole."""
    view = "v$rowcache"
    read = {identifier(row) for row in delta.rows(view)}
    lacking = {identifier(row) for row in delta.rows("x$kqrst")} - read
    if not read or not lacking:
        return None
    cache, kind, _ = min(lacking, key=str)
    why = f"{view} has no row of cache# {cache} ({kind.lower()}), which x$kqrst names"
    return Missing(view, "unread", why, f"capture every row of {view}")
