"""Signals of the dictionary caches themselves: gets, misses, changes and entries of the caches a cause is about."""

from collectors.model import SCRIPT, Missing, Row
from rules.context import MINIMUM_CACHE_GETS, Known, SignalContext, SignalValue, Unknown
from rules.formatting import count
from rules.signals import Subject, share, signal

MINIMUM_MODIFICATIONS = 20
LEVELS = ("count", "usage", "fixed")
"""Columns that stay as they are while nobody asks; a report leaves out caches nobody asked."""


def _cache_rows(context: SignalContext, subject: Subject) -> tuple[Row, ...]:
    return tuple(row for row in context.delta.rows("v$rowcache") if row.get("parameter") in subject.caches)


def cache_sum(context: SignalContext, subject: Subject, column: str) -> SignalValue:
    """A column of v$rowcache summed over the subject's caches; zero when the instance has no such cache.

    A report prints the caches that were asked for something: another one had no traffic, and as many entries as ever.
    """
    if isinstance(context.delta.read("v$rowcache"), Missing):
        return context.why_unknown("v$rowcache", column)
    rows = _cache_rows(context, subject)
    if not rows and context.printed and column in LEVELS:
        return Unknown("v$rowcache", f"the report has no row of {' or '.join(subject.caches)}, as nobody asked", SCRIPT)
    if not rows:
        return Known(0.0, f"no cache named {' or '.join(subject.caches)} here")
    total = context.sum_of(rows, column)
    return context.why_unknown("v$rowcache", column) if total is None else Known(total)


def all_dictionary_gets(context: SignalContext) -> SignalValue:
    """Gets of all dictionary caches together, or Unknown: not readable, or fewer than a share can be made of."""
    gets = context.sum_of(context.delta.rows("v$rowcache"), "gets")
    if gets is None:
        return context.why_unknown("v$rowcache", "gets")
    if gets < MINIMUM_CACHE_GETS:
        why = f"too few events: {count(gets)} dictionary gets, at least {count(MINIMUM_CACHE_GETS)} are needed"
        return Unknown("v$rowcache", why, context.busier)
    return Known(gets)


@signal(unit="ratio", of="v$rowcache")
def share_of_dictionary_gets(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of all dictionary gets that went to the cause's caches."""
    return share(cache_sum(context, subject, "gets"), all_dictionary_gets(context))


def _per_get(context: SignalContext, subject: Subject, column: str) -> SignalValue:
    """A column per get; zero where there were no gets, and unknown where the column is."""
    part, gets = cache_sum(context, subject, column), cache_sum(context, subject, "gets")
    if isinstance(part, Known) and isinstance(gets, Known) and gets.value == 0:
        return Known(0.0, "no gets")
    return share(part, gets)


@signal(unit="ratio", of="v$rowcache")
def modification_ratio(context: SignalContext, subject: Subject) -> SignalValue:
    """Modifications per get of the cause's caches: DDL, sequences, undo segments going online."""
    return _per_get(context, subject, "modifications")


@signal(unit="ratio", of="v$rowcache")
def getmiss_ratio(context: SignalContext, subject: Subject) -> SignalValue:
    """Gets of the cause's caches that had to load the entry, per get."""
    return _per_get(context, subject, "getmisses")


@signal(unit="entries", of="v$rowcache")
def entries_used(context: SignalContext, subject: Subject) -> SignalValue:
    """Entries with valid data in the cause's caches; for dc_rollback_segments about the number of undo segments."""
    return cache_sum(context, subject, "usage")


@signal(unit="gets per execution", of="v$rowcache, v$sysstat")
def gets_per_execution(context: SignalContext, subject: Subject) -> SignalValue:
    """Gets of the cause's caches per SQL execution."""
    gets = cache_sum(context, subject, "gets")
    executions = context.work("execute count")
    if isinstance(gets, Unknown):
        return gets
    if not executions:
        return context.why_unknown("v$sysstat", "execute count")
    return Known(gets.value / executions, f"{count(gets.value)} gets in {count(executions)} executions")


@signal(unit="ratio", of="v$rowcache")
def share_of_modifications(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of all changes of dictionary entries that were made in the cause's caches."""
    total = context.sum_of(context.delta.rows("v$rowcache"), "modifications")
    if total is None:
        return context.why_unknown("v$rowcache", "modifications")
    if total < MINIMUM_MODIFICATIONS:
        why = f"too few events: {count(total)} modifications, at least {MINIMUM_MODIFICATIONS} are needed"
        return Unknown("v$rowcache", why, context.busier)
    return share(cache_sum(context, subject, "modifications"), Known(total))


@signal(unit="ratio", of="v$rowcache")
def cluster_conflict_ratio(context: SignalContext, subject: Subject) -> SignalValue:
    """Cluster lock conflicts per request of the cause's caches; filled up to 12.1 only."""
    if next(iter(context.delta.rows("v$instance")), {}).get("parallel") == "NO":
        return Known(0.0, "a single instance, no cluster")
    requests = cache_sum(context, subject, "dlm_requests")
    if isinstance(requests, Known) and requests.value < MINIMUM_MODIFICATIONS:
        why = f"too few events: {count(requests.value)} cluster lock requests"
        return Unknown("v$rowcache", why, "nothing to do outside a cluster, or from 12.2 on")
    return share(cache_sum(context, subject, "dlm_conflicts"), requests)


@signal(unit="ratio", of="v$rowcache")
def evenness_of_gets(context: SignalContext, subject: Subject) -> SignalValue:
    """Gets of the least used of the cause's caches per get of the most used: near 1 they are looked up together."""
    each = [cache_sum(context, Subject((name,)), "gets") for name in subject.caches]
    unknown = next((value for value in each if isinstance(value, Unknown)), None)
    if unknown is not None:
        return unknown
    gets = [value.value for value in each if isinstance(value, Known)]
    most = max(gets, default=0.0)
    return Known(min(gets) / most, " and ".join(count(number) for number in gets)) if most else Known(0.0, "no gets")
