"""Signals of parsing and logging on: what each parse asks of the dictionary, who waits before running a statement."""

from collectors.model import ROW_CACHE_LOCK_EVENT, Missing, number
from rules.context import Known, SignalContext, SignalValue, Unknown
from rules.formatting import part_of
from rules.signals import Subject, signal
from rules.signals.work import lookups_per
from rules.waiters import MINIMUM_WAITERS


@signal(unit="look-ups per parse", of="v$rowcache, v$sysstat", diluted=(">=",))
def lookups_per_parse(context: SignalContext, subject: Subject) -> SignalValue:
    """Look-ups in the cause's caches per parse call, soft or hard."""
    return lookups_per(context, subject, "parse count (total)")


@signal(unit="ratio", of="v$sysstat", diluted=(">=",))
def failed_share_of_parses(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of the parse calls that failed: syntax errors, objects that do not exist, missing privileges."""
    failed, parses = context.work("parse count (failures)"), context.work("parse count (total)")
    if failed is None or not parses:
        return context.why_unknown("v$sysstat", "parse count (failures)")
    return Known(failed / parses, f"{part_of(failed, parses)} parses", failed, parses)


@signal(unit="ratio", of="v$session", surface="lock")
def lock_waiters_without_statement(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of the sampled waiters for row cache lock that run no statement yet, as during a logon."""
    rows = [row for row in context.delta.rows("v$session") if row.get("event") == ROW_CACHE_LOCK_EVENT]
    if isinstance(context.delta.read("v$session"), Missing) or any("sql_id" not in row for row in rows):
        return context.why_unknown("v$session", "sql_id")
    if len(rows) < MINIMUM_WAITERS:
        why = f"too few waiters: {len(rows)} seen waiting for row cache lock, at least {MINIMUM_WAITERS} are needed"
        return Unknown("v$session", why, "ask for a longer burst, or wait for a busier interval")
    without = sum(1 for row in rows if not row.get("sql_id"))
    return Known(without / len(rows), f"{part_of(without, len(rows))} waiters", without, len(rows))


@signal(unit="release update", of="v$instance")
def release_update(context: SignalContext, subject: Subject) -> SignalValue:
    """Number of the release update, such as 7 of 19.7. v$instance has it from 18c on."""
    full = next(iter(context.delta.rows("v$instance")), {}).get("version_full")
    numbers = str(full or "").split(".")
    update = number(int(numbers[1])) if len(numbers) > 1 and numbers[1].isdigit() else None
    return context.why_unknown("v$instance", "version_full") if update is None else Known(update, f"release {full}")
