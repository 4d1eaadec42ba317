"""Signals of settings and of undo: parameters as numbers, retention, segments held against concurrency."""

from collections.abc import Sequence

from collectors.model import SCRIPT, Missing, Row, number
from rules.context import Known, SignalContext, SignalValue, Unknown
from rules.signals import Subject, signal
from rules.signals.caches import cache_sum

WORDS = {"TRUE": 1.0, "FALSE": 0.0, "FORCE": 1.0, "MANUAL": 0.0}
"""Values that are words: switched on is 1."""


@signal(unit="value", of="v$parameter")
def parameter_value(context: SignalContext, subject: Subject) -> SignalValue:
    """Value of the condition's parameter as a number; TRUE and FORCE are 1, FALSE and MANUAL 0, a hidden one nobody set 0."""
    if isinstance(context.delta.read("v$parameter"), Missing):
        return context.why_unknown("v$parameter")
    name = subject.parameter or ""
    value = next((row.get("value") for row in context.delta.rows("v$parameter") if row.get("name") == name), None)
    if value is None:
        if name.startswith("_"):
            return Known(0.0, f"{name} is not set")
        if context.printed:
            return Unknown("v$parameter", f"the report does not print {name}, as it was not set", SCRIPT)
        return Unknown("v$parameter", f"this release has no parameter {name}", "nothing to do on this release")
    setting = str(value).upper()
    try:
        return Known(WORDS[setting] if setting in WORDS else float(setting), f"{name} = {value}")
    except ValueError:
        return Unknown("v$parameter", f"{name} = {value} is no number", "read it yourself")


def _newest_undo(context: SignalContext) -> tuple[Row, ...]:
    """The newest row of v$undostat of each container; before 12.1, and with shared undo, there is but one."""
    rows = sorted(context.delta.rows("v$undostat"), key=lambda row: str(row.get("begin_time")))
    newest = {row.get("con_id"): row for row in rows}
    return tuple(newest.values())


def _of(row: Row, rows: Sequence[Row]) -> str:
    """Which container a figure is of, where there are several."""
    return f" in container {row.get('con_id')}" if len(rows) > 1 else ""


@signal(unit="ratio", of="v$undostat, v$parameter")
def tuned_retention_ratio(context: SignalContext, subject: Subject) -> SignalValue:
    """Undo retention Oracle tuned for, per second of the undo_retention that was asked for; of the container with the most."""
    rows = _newest_undo(context)
    tuned = [number(row.get("tuned_undoretention")) for row in rows]
    known = [retention for retention in tuned if retention is not None]
    asked = parameter_value(context, Subject(parameter="undo_retention"))
    if not known or len(known) < len(rows):
        return context.why_unknown("v$undostat", "tuned_undoretention")
    if isinstance(asked, Unknown) or not asked.value:
        return context.why_unknown("v$parameter", "undo_retention")
    where = _of(rows[known.index(max(known))], rows)
    return Known(max(known) / asked.value, f"{max(known):,.0f} s tuned{where}, {asked.value:,.0f} s asked for")


@signal(unit="ratio", of="v$undostat")
def unexpired_share_of_undo(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of the undo blocks, active ones aside, that may not be reused yet; of the container with the largest."""
    rows = _newest_undo(context)
    shares: list[Known] = []
    for row in rows:
        unexpired, expired = number(row.get("unexpiredblks")), number(row.get("expiredblks"))
        if unexpired is None or expired is None:
            return context.why_unknown("v$undostat", "unexpiredblks")
        if blocks := unexpired + expired:
            shares.append(Known(unexpired / blocks, f"{unexpired:,.0f} of {blocks:,.0f} blocks{_of(row, rows)}"))
    most = max(shares, key=lambda share: share.value, default=None)
    return context.why_unknown("v$undostat", "unexpiredblks") if most is None else most


@signal(unit="segments per transaction", of="v$rowcache, v$undostat")
def undo_segments_per_transaction(context: SignalContext, subject: Subject) -> SignalValue:
    """Entries of dc_rollback_segments per transaction of the busiest moment, containers added; above 20 some are left over."""
    segments = cache_sum(context, Subject(("dc_rollback_segments",)), "usage")
    most = context.sum_of(_newest_undo(context), "maxconcurrency")
    if isinstance(segments, Unknown):
        return segments
    if not most:
        return context.why_unknown("v$undostat", "maxconcurrency")
    return Known(segments.value / most, f"{segments.value:,.0f} entries, {most:,.0f} transactions at most")
