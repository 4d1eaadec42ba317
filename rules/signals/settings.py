"""Signals of settings and of undo: parameters as numbers, retention, segments compared with concurrency."""

from collections.abc import Mapping, Sequence

from collectors.model import SCRIPT, Missing, Row, number
from rules.ages import aged
from rules.context import Known, SignalContext, SignalValue, Unknown
from rules.signals import Subject, signal
from rules.signals.caches import cache_sum

WORDS = {"TRUE": 1.0, "FALSE": 0.0, "FORCE": 1.0, "FORCE_TEMP": 1.0, "MANUAL": 0.0, "MANUAL_TEMP": 0.0}
"""Values that are words: switched on is 1."""
INHERITED = 0
"""The con_id of values for containers without a setting of their own; also the con_id without containers."""
MOST_CONTAINERS = 5


@signal(unit="value", of="v$parameter", called="value of the parameter")
def parameter_value(context: SignalContext, subject: Subject) -> SignalValue:
    """Value of the condition's parameter as a number. TRUE and FORCE are 1, FALSE and MANUAL 0, an unset hidden one 0.

    If containers differ, the value closest to what the condition needs.
    """
    if isinstance(context.delta.read("v$parameter"), Missing):
        return context.why_unknown("v$parameter")
    name = subject.parameter or ""
    if any("value" not in row for row in context.delta.rows("v$parameter") if row.get("name") == name):
        return context.why_unknown("v$parameter", f"value of {name}")
    values = _values(context, name)
    if not values:
        if name.startswith("_"):
            return Known(0.0, f"{name} is not set")
        if context.printed:
            return Unknown("v$parameter", f"the report does not print {name}, because it was not set", SCRIPT)
        return Unknown("v$parameter", f"this release has no parameter {name}", "nothing to do on this release")
    numbers = {con_id: _as_number(value) for con_id, value in values.items()}
    known = [number for number in numbers.values() if number is not None]
    if len(known) < len(numbers):
        wrong = next(values[con_id] for con_id, number in numbers.items() if number is None)
        return Unknown("v$parameter", f"{name} = {wrong} is not a number", "read it yourself")
    closest = min(known) if subject.needs.startswith("<=") else max(known)
    first = [con_id for con_id, number in numbers.items() if number == closest]
    return Known(closest, f"{name} = {_by_container(values, first)}")


def _values(context: SignalContext, name: str) -> dict[int, str]:
    """The values of a parameter, by container. A capture of an older release has no containers."""
    rows = [
        row for row in context.delta.rows("v$parameter") if row.get("name") == name and row.get("value") is not None
    ]
    return {int(number(row.get("con_id")) or INHERITED): str(row.get("value")) for row in rows}


def _as_number(value: str) -> float | None:
    setting = value.upper()
    try:
        return WORDS[setting] if setting in WORDS else float(setting)
    except ValueError:
        return None


def _by_container(values: Mapping[int, str], first: Sequence[int]) -> str:
    """The values and their containers, `first` first: FORCE in con_id 3, MANUAL in con_id 0."""
    grouped: dict[str, list[int]] = {}
    for con_id in sorted(values, key=lambda con_id: (con_id not in first, con_id)):
        grouped.setdefault(values[con_id], []).append(con_id)
    if len(grouped) == 1:
        return next(iter(grouped))
    return ", ".join(f"{value} in con_id {_listed(con_ids)}" for value, con_ids in grouped.items())


def _listed(con_ids: Sequence[int]) -> str:
    more = len(con_ids) - MOST_CONTAINERS
    listed = " and ".join(str(con_id) for con_id in con_ids[:MOST_CONTAINERS])
    return f"{listed} and {more} more" if more > 0 else listed


def _newest_undo(context: SignalContext) -> tuple[Row, ...]:
    """The newest row of v$undostat of each container. Before 12.1, and with shared undo, there is only one."""
    rows = sorted(context.delta.rows("v$undostat"), key=lambda row: str(row.get("begin_time")))
    newest = {row.get("con_id"): row for row in rows}
    return tuple(newest.values())


def _of(row: Row, rows: Sequence[Row]) -> str:
    """The container of a figure, if there are several."""
    return f" in container {row.get('con_id')}" if len(rows) > 1 else ""


@signal(unit="ratio", of="v$undostat, v$parameter", called="tuned undo retention, times what was asked for")
def tuned_retention_ratio(context: SignalContext, subject: Subject) -> SignalValue:
    """Undo retention that Oracle tuned for, per second of the requested undo_retention. Of the container with the most."""
    rows, asked = _newest_undo(context), _values(context, "undo_retention")
    ratios: list[Known] = []
    for row in rows:
        tuned = number(row.get("tuned_undoretention"))
        wanted = asked.get(int(number(row.get("con_id")) or INHERITED), asked.get(INHERITED))
        retention = None if wanted is None else _as_number(wanted)
        if tuned is None:
            return context.why_unknown("v$undostat", "tuned_undoretention")
        if not retention:
            return context.why_unknown("v$parameter", "undo_retention")
        derivation = aged(
            context.delta, "v$undostat", f"{tuned:,.0f} s tuned{_of(row, rows)}, {retention:,.0f} s asked for"
        )
        ratios.append(Known(tuned / retention, derivation))
    most = max(ratios, key=lambda ratio: ratio.value, default=None)
    return context.why_unknown("v$undostat", "tuned_undoretention") if most is None else most


@signal(unit="ratio", of="v$undostat")
def unexpired_share_of_undo(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of the undo blocks, active ones excluded, that may not be reused yet. Of the container with the largest."""
    rows = _newest_undo(context)
    shares: list[Known] = []
    for row in rows:
        unexpired, expired = number(row.get("unexpiredblks")), number(row.get("expiredblks"))
        if unexpired is None or expired is None:
            return context.why_unknown("v$undostat", "unexpiredblks")
        if blocks := unexpired + expired:
            derivation = f"{unexpired:,.0f} of {blocks:,.0f} blocks{_of(row, rows)}"
            shares.append(Known(unexpired / blocks, aged(context.delta, "v$undostat", derivation)))
    most = max(shares, key=lambda share: share.value, default=None)
    return context.why_unknown("v$undostat", "unexpiredblks") if most is None else most


@signal(unit="segments per transaction", of="v$rowcache, v$undostat")
def undo_segments_per_transaction(context: SignalContext, subject: Subject) -> SignalValue:
    """Entries of dc_rollback_segments per transaction of the busiest moment, over all containers. Above 20 some are left over."""
    segments = cache_sum(context, Subject(("dc_rollback_segments",)), "usage")
    most = context.sum_of(_newest_undo(context), "maxconcurrency")
    if isinstance(segments, Unknown):
        return segments
    if not most:
        return context.why_unknown("v$undostat", "maxconcurrency")
    derivation = aged(context.delta, "v$undostat", f"{segments.value:,.0f} entries, {most:,.0f} transactions at most")
    return Known(segments.value / most, derivation, segments.value, most)
