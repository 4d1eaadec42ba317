"""Signals of settings and of undo: parameters as numbers, retention, segments held against concurrency."""

from collectors.model import SCRIPT, Missing, number
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


def _newest_undo(context: SignalContext, column: str) -> float | None:
    rows = sorted(context.delta.rows("v$undostat"), key=lambda row: str(row.get("begin_time")))
    return number(rows[-1].get(column)) if rows else None


@signal(unit="ratio", of="v$undostat, v$parameter")
def tuned_retention_ratio(context: SignalContext, subject: Subject) -> SignalValue:
    """Undo retention Oracle tuned for, per second of the undo_retention that was asked for."""
    tuned = _newest_undo(context, "tuned_undoretention")
    asked = parameter_value(context, Subject(parameter="undo_retention"))
    if tuned is None:
        return context.why_unknown("v$undostat", "tuned_undoretention")
    if isinstance(asked, Unknown) or not asked.value:
        return context.why_unknown("v$parameter", "undo_retention")
    return Known(tuned / asked.value, f"{tuned:,.0f} s tuned, {asked.value:,.0f} s asked for")


@signal(unit="ratio", of="v$undostat")
def unexpired_share_of_undo(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of the undo blocks, active ones aside, that may not be reused yet."""
    unexpired, expired = _newest_undo(context, "unexpiredblks"), _newest_undo(context, "expiredblks")
    if unexpired is None or expired is None or unexpired + expired == 0:
        return context.why_unknown("v$undostat", "unexpiredblks")
    return Known(unexpired / (unexpired + expired), f"{unexpired:,.0f} of {unexpired + expired:,.0f} blocks")


@signal(unit="segments per transaction", of="v$rowcache, v$undostat")
def undo_segments_per_transaction(context: SignalContext, subject: Subject) -> SignalValue:
    """Entries of dc_rollback_segments per transaction of the busiest moment; above 20 segments are left over."""
    segments, most = (
        cache_sum(context, Subject(("dc_rollback_segments",)), "usage"),
        _newest_undo(context, "maxconcurrency"),
    )
    if isinstance(segments, Unknown):
        return segments
    if not most:
        return context.why_unknown("v$undostat", "maxconcurrency")
    return Known(segments.value / most, f"{segments.value:,.0f} entries, {most:,.0f} transactions at most")
