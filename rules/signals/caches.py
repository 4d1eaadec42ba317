"""Signals of the dictionary caches: look-ups, misses, changes and entries of the caches a cause is about.

Requests are counted in look-ups: gets and fastgets together. Gets alone are the load on a latch or mutex.
"""

from collectors.model import SCRIPT, Missing
from rules.context import LOOKUPS, MINIMUM_CACHE_GETS, Known, SignalContext, SignalValue, Unknown, share
from rules.formatting import count
from rules.signals import Subject, signal

MINIMUM_MODIFICATIONS = 20
LEVELS = ("count", "usage", "fixed")
"""Columns that do not change without requests. A report leaves out caches without requests."""


def cache_sum(context: SignalContext, subject: Subject, column: str) -> SignalValue:
    """A column of v$rowcache, or `lookups`, summed over the subject's caches. Zero if the instance has no such cache.

    A report prints only caches with requests. Any other cache had no traffic, and its entries did not change.
    """
    if isinstance(context.delta.read("v$rowcache"), Missing):
        return context.why_unknown("v$rowcache", column)
    rows = context.rows_of(subject.caches)
    if not rows and context.printed and column in LEVELS:
        return Unknown(
            "v$rowcache",
            f"the report has no row of {' or '.join(subject.caches)}, because there were no requests",
            SCRIPT,
        )
    if not rows and (context.printed or context.lists_every_cache):
        return Known(0.0, f"no cache named {' or '.join(subject.caches)} here")
    if not rows:
        return context.why_unknown("v$rowcache", f"row of {' or '.join(subject.caches)}")
    total = context.sum_of(rows, column)
    return context.why_unknown("v$rowcache", column) if total is None else Known(total)


def all_dictionary_gets(context: SignalContext) -> SignalValue:
    """Gets of all dictionary caches together. Unknown if they are not readable, or too few for a share."""
    return _enough(context, "gets", "dictionary gets")


def all_lookups(context: SignalContext) -> SignalValue:
    """Look-ups in all dictionary caches together. Unknown if they are not readable, or too few for a share."""
    return _enough(context, LOOKUPS, "dictionary look-ups")


def _enough(context: SignalContext, column: str, words: str) -> SignalValue:
    total = context.sum_of_caches(column)
    if total is None:
        return context.why_unknown("v$rowcache", column)
    if total < MINIMUM_CACHE_GETS:
        why = f"too few events: {count(total)} {words}, at least {count(MINIMUM_CACHE_GETS)} are needed"
        return Unknown("v$rowcache", why, context.busier)
    return Known(total)


@signal(unit="ratio", of="v$rowcache", diluted=(">=",), called="look-ups of the cache")
def share_of_lookups(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of the dictionary look-ups, gets and fastgets together, that went to the cause's caches.

    If other caches are in trouble as well, their look-ups are left out of the whole.
    """
    others = context.hot_caches.beside(subject.surfaces, subject.caches)
    elsewhere = cache_sum(context, Subject(others), LOOKUPS) if others else Known(0.0)
    total = all_lookups(context)
    if isinstance(total, Unknown) or isinstance(elsewhere, Unknown):
        return total
    return share(cache_sum(context, subject, LOOKUPS), Known(total.value - elsewhere.value))


def _per_lookup(context: SignalContext, subject: Subject, column: str) -> SignalValue:
    """A column per look-up. Zero without look-ups, unknown if the column is unknown."""
    part, lookups = cache_sum(context, subject, column), cache_sum(context, subject, LOOKUPS)
    if isinstance(part, Known) and isinstance(lookups, Known) and lookups.value == 0:
        return Known(0.0, "no look-ups")
    return share(part, lookups)


@signal(unit="ratio", of="v$rowcache", diluted=(">=",), called="changes for each look-up", share_of="look-ups")
def modification_ratio(context: SignalContext, subject: Subject) -> SignalValue:
    """Modifications per look-up in the cause's caches: DDL, sequences, undo segments going online."""
    return _per_lookup(context, subject, "modifications")


@signal(unit="ratio", of="v$rowcache", called="look-ups that had to load the entry", share_of="look-ups")
def getmiss_ratio(context: SignalContext, subject: Subject) -> SignalValue:
    """Look-ups in the cause's caches that had to load the entry, per look-up."""
    return _per_lookup(context, subject, "getmisses")


@signal(unit="entries", of="v$rowcache", called="entries in the cache")
def entries_used(context: SignalContext, subject: Subject) -> SignalValue:
    """Entries with valid data in the cause's caches. For dc_rollback_segments about the number of undo segments."""
    return cache_sum(context, subject, "usage")


@signal(unit="look-ups per execution", of="v$rowcache, v$sysstat", diluted=(">=",))
def lookups_per_execution(context: SignalContext, subject: Subject) -> SignalValue:
    """Look-ups in the cause's caches per SQL execution."""
    lookups = cache_sum(context, subject, LOOKUPS)
    executions = context.work("execute count")
    if isinstance(lookups, Unknown):
        return lookups
    if not executions:
        return context.why_unknown("v$sysstat", "execute count")
    return Known(
        lookups.value / executions,
        f"{count(lookups.value)} look-ups in {count(executions)} executions",
        lookups.value,
        executions,
    )


@signal(unit="ratio", of="v$rowcache", diluted=(">=",), called="changes of the cache")
def share_of_modifications(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of all changes of dictionary entries that were made in the cause's caches."""
    total = context.sum_of(context.delta.rows("v$rowcache"), "modifications")
    if total is None:
        return context.why_unknown("v$rowcache", "modifications")
    if total < MINIMUM_MODIFICATIONS:
        why = f"too few events: {count(total)} modifications, at least {MINIMUM_MODIFICATIONS} are needed"
        return Unknown("v$rowcache", why, context.busier)
    return share(cache_sum(context, subject, "modifications"), Known(total))


@signal(unit="ratio", of="v$rowcache", share_of="cluster requests")
def cluster_conflict_ratio(context: SignalContext, subject: Subject) -> SignalValue:
    """Cluster lock conflicts per request of the cause's caches; filled up to 12.1 only."""
    if next(iter(context.delta.rows("v$instance")), {}).get("parallel") == "NO":
        return Known(0.0, "a single instance, no cluster")
    requests = cache_sum(context, subject, "dlm_requests")
    if isinstance(requests, Known) and requests.value < MINIMUM_MODIFICATIONS:
        why = f"too few events: {count(requests.value)} cluster lock requests"
        return Unknown("v$rowcache", why, "nothing to do outside a cluster, or from 12.2 on")
    return share(cache_sum(context, subject, "dlm_conflicts"), requests)


@signal(unit="ratio", of="v$rowcache", called="look-ups for each one in the next busiest cache")
def lookups_to_next_cache(context: SignalContext, subject: Subject) -> SignalValue:
    """Look-ups in the cause's caches per look-up in the busiest other cache. Near 1 they are requested together."""
    own, total = cache_sum(context, subject, LOOKUPS), all_lookups(context)
    if isinstance(own, Unknown) or isinstance(total, Unknown):
        return own if isinstance(own, Unknown) else total
    others = [name for name in context.by_name(LOOKUPS) if name not in subject.caches]
    if not others or not (most := context.by_name(LOOKUPS)[others[0]]):
        return Known(own.value, f"{count(own.value)} look-ups, and none in another cache")
    return Known(own.value / most, f"{count(own.value)} look-ups, {count(most)} in {others[0]}", own.value, most)


@signal(unit="ratio", of="v$rowcache")
def evenness_of_lookups(context: SignalContext, subject: Subject) -> SignalValue:
    """Look-ups in the least used of the cause's caches per look-up in the most used. Near 1 they are requested together."""
    each = [cache_sum(context, Subject((name,)), LOOKUPS) for name in subject.caches]
    unknown = next((value for value in each if isinstance(value, Unknown)), None)
    if unknown is not None:
        return unknown
    lookups = [value.value for value in each if isinstance(value, Known)]
    most = max(lookups, default=0.0)
    parts = " and ".join(count(number) for number in lookups)
    return Known(min(lookups) / most, parts) if most else Known(0.0, "no look-ups")


@signal(unit="per second", of="v$rowcache")
def modifications_per_second(context: SignalContext, subject: Subject) -> SignalValue:
    """Changes of entries in the cause's caches per second. It is a rate, so that other look-ups do not hide it."""
    changes, seconds = cache_sum(context, subject, "modifications"), context.delta.basis.seconds
    if isinstance(changes, Unknown):
        return changes
    if not seconds:
        return Unknown("v$instance", f"{context.delta.basis} give no rate", "take two snapshots some seconds apart")
    return Known(changes.value / seconds, f"{count(changes.value)} in {seconds:,.1f} s", changes.value, seconds)


@signal(unit="numbers", of="v$rowcache")
def cache_for_ten_seconds(context: SignalContext, subject: Subject) -> SignalValue:
    """Numbers that last ten seconds at this rate of fetches, where a sequence has no cache now; at least 1,000."""
    rate = modifications_per_second(context, subject)
    return rate if isinstance(rate, Unknown) else Known(max(1_000.0, 10 * rate.value), rate.derivation)
