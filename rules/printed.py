"""The limits of a printed report in words: the way out of a gap, and a remark for every figure in it."""

from collections.abc import Mapping
from typing import Literal

from collectors.model import SCRIPT

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


DeltaSource = Literal["views", "report"]


def busier(source: DeltaSource) -> str:
    """The way out if there were too few events."""
    return "take a report of a busier hour" if source == "report" else "wait for a busier interval"


def another(source: DeltaSource) -> str:
    """The way out if a counter misbehaved."""
    return "take a report of another hour" if source == "report" else "wait for the next interval"


def more_of(source: DeltaSource, view: str, what: str) -> str:
    """The way out if a view is there but incomplete."""
    return SCRIPT if source == "report" else f"capture {what} of {view} as well"
