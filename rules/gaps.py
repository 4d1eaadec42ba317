"""Views with gaps: a row without its key, or a child or cache that the map names and the view lacks.

A sum or look-up over such a view is incomplete, so the view counts as not read. And what a printed report has instead of a view.
"""

from collections.abc import Mapping, Set

from collectors.model import ROW_CACHE_LATCH, Delta, Missing, Value, number
from rules.cache_map import identifiers

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


def gaps_of(delta: Delta, *, all_named: bool = False) -> Mapping[str, Missing]:
    """The views with a row that has no name. Reports print no ids, and totals few. `all_named`: whether all have."""
    if delta.source == "report" or delta.basis.kind == "totals":
        return {}
    named = (_nameless(delta, view, columns) for view, columns in ({} if all_named else NAMED_BY).items())
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
    """Whether every child that x$kqrst names has a row in v$latch_children, unless that was captured in part on purpose."""
    view, lacking = "v$latch_children", _children_that_lack(delta)
    if not delta.rows(view) or not lacking or _without_zeros(delta, view, len(lacking)) or _adds_up(delta):
        return None
    why = f"{view} has no row of child {min(lacking, key=str)}, which x$kqrst names"
    return Missing(view, "unread", why, f"capture every row of {view}")


def _unlisted(delta: Delta) -> Missing | None:
    """Whether every cache that x$kqrst names has a row in v$rowcache, unless that was captured in part on purpose."""
    view, lacking = "v$rowcache", _caches_that_lack(delta)
    if not delta.rows(view) or not lacking or _without_zeros(delta, view, len(lacking)):
        return None
    cache, kind, _ = min(lacking, key=str)
    why = f"{view} has no row of cache# {cache} ({kind.lower()}), which x$kqrst names"
    return Missing(view, "unread", why, f"capture every row of {view}")


def _children_that_lack(delta: Delta) -> Set[Value]:
    return set(delta.column("x$kqrst", "child#")) - set(delta.column("v$latch_children", "child#"))


def _caches_that_lack(delta: Delta) -> Set[tuple[int, str, int | None]]:
    return {*identifiers(delta.rows("x$kqrst"))} - {*identifiers(delta.rows("v$rowcache"))}


FEWEST_CUT = 2
"""One row that lacks may be lost. A capture without rows of zeros lacks several (our bound)."""
ADDS_UP = 0.99
"""The children have at least this share of what the whole latch counted. The two views are read one after the other."""


def _without_zeros(delta: Delta, view: str, lacking: int) -> bool:
    """Whether a capture left out the rows of zeros: several lack, and every other one counted something."""
    counters = ("gets", "misses", "sleeps") if view == "v$latch_children" else ("gets", "fastgets", "getmisses")
    return lacking >= FEWEST_CUT and all(any(number(row.get(name)) for name in counters) for row in delta.rows(view))


def _adds_up(delta: Delta) -> bool:
    """Whether the children in v$latch_children have all gets and sleeps of the latch, so that one that lacks has none."""
    for column in ("gets", "sleeps"):
        whole = delta.cell("v$latch", "name", ROW_CACHE_LATCH, column)
        parts = [number(cell) for cell in delta.column("v$latch_children", column)]
        if whole is None or None in parts or sum(part or 0.0 for part in parts) < ADDS_UP * whole:
            return False
    return True


def cut_notes(delta: Delta) -> tuple[str, ...]:
    """That rows which x$kqrst names were left out of a view, and what they count as. Empty for a view that is not read."""
    lacking = {"v$latch_children": len(_children_that_lack(delta)), "v$rowcache": len(_caches_that_lack(delta))}
    return tuple(
        f"{view} has no row of {many} {'caches' if view == 'v$rowcache' else 'child latches'} that x$kqrst names; "
        "the capture left out rows of zeros, so they count as idle"
        for view, many in lacking.items()
        if many and delta.rows(view) and delta.source == "views" and delta.basis.kind != "totals"
    )


# The limits of a printed report in words: the way out of a gap, and a remark for every figure in it.

REMEMBER = (
    "judged from a printed report: figures are rounded, times are the host's local time, a cache and its subordinates "
    "share one row, and no child latch is linked to a cache"
)

SECTIONS: Mapping[str, str] = {
    "v$instance": "head of the report",
    "v$latch": "Latch Activity, Latch Sleep Breakdown",
    "v$latch_children": "Child Latch Statistics",
    "v$latch_misses": "Latch Miss Sources",
    "v$mutex_sleep": "Mutex Sleep Summary",
    "v$osstat": "Operating System Statistics",
    "v$parameter": "init.ora Parameters",
    "v$rowcache": "Dictionary Cache Stats",
    "v$sga_resize_ops": "Memory Resize Ops",
    "v$sgastat": "SGA breakdown difference",
    "v$sys_time_model": "Time Model Statistics",
    "v$sysstat": "Instance Activity Stats",
    "v$system_event": "Wait Events",
    "v$undostat": "Undo Segment Stats",
}
"""The section of a report that replaces a view."""


def section_of(views: str) -> str:
    """Where a report prints the figures of some views: 'v$latch, v$sysstat' → the names of its sections."""
    return ", ".join(SECTIONS.get(view, view) for view in views.split(", "))
