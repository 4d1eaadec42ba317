"""Signals of the dictionary caches that are more than a quotient: beside other caches, evenly used, locked across a cluster."""

from collectors.model import text
from rules.context import LOOKUPS, MINIMUM_CACHE_GETS, Known, SignalContext, SignalValue, Unknown
from rules.formatting import count
from rules.signals import SIGNALS
from rules.signals.quantities import Subject, caches, enough, enough_of_all, share

FEWEST_REQUESTS = 20


def share_of_lookups(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of the dictionary look-ups, gets and fastgets together, that went to the cause's caches.

    If other caches are in trouble as well, it is the share of what these leave.
    """
    others = context.hot_caches.beside(subject.surfaces, subject.caches)
    elsewhere = caches(context, Subject(others), LOOKUPS) if others else Known(0.0)
    total = enough_of_all(context, LOOKUPS)
    if isinstance(total, Unknown) or isinstance(elsewhere, Unknown):
        return total
    left = Known(total.value - elsewhere.value)
    whole = enough(context, left, MINIMUM_CACHE_GETS, "dictionary look-ups", "v$rowcache")
    return share(caches(context, subject, LOOKUPS), whole, others)


def lookups_to_next_cache(context: SignalContext, subject: Subject) -> SignalValue:
    """Look-ups in the cause's caches per look-up in the busiest other cache. Near 1 they are requested together."""
    own, total = caches(context, subject, LOOKUPS), enough_of_all(context, LOOKUPS)
    if isinstance(own, Unknown) or isinstance(total, Unknown):
        return own if isinstance(own, Unknown) else total
    others = [name for name in context.by_name(LOOKUPS) if name not in subject.caches]
    if not others or not (most := context.by_name(LOOKUPS)[others[0]]):
        return Known(own.value, f"{count(own.value)} look-ups, and none in another cache")
    return Known(own.value / most, f"{count(own.value)} look-ups, {count(most)} in {others[0]}", own.value, most)


def evenness_of_lookups(context: SignalContext, subject: Subject) -> SignalValue:
    """Look-ups in the least used of the cause's caches per look-up in the most used. Near 1 they are requested together."""
    each = [caches(context, Subject((name,)), LOOKUPS) for name in subject.caches]
    unknown = next((value for value in each if isinstance(value, Unknown)), None)
    if unknown is not None:
        return unknown
    lookups = [value.value for value in each if isinstance(value, Known)]
    most = max(lookups, default=0.0)
    parts = " and ".join(count(number) for number in lookups)
    return Known(min(lookups) / most, parts) if most else Known(0.0, "no look-ups")


def cache_for_ten_seconds(context: SignalContext, subject: Subject) -> SignalValue:
    """Numbers that last ten seconds at this rate of fetches, where a sequence has no cache now; at least 1,000."""
    rate = SIGNALS["modifications_per_second"].read(context, subject)
    return rate if isinstance(rate, Unknown) else Known(max(1_000.0, 10 * rate.value), rate.derivation)


# Locks of a cluster on dictionary entries; counted up to 12.1 only.


def cluster_conflict_ratio(context: SignalContext, subject: Subject) -> SignalValue:
    """Cluster lock conflicts per request of the cause's caches; filled up to 12.1 only."""
    if next(iter(context.delta.rows("v$instance")), {}).get("parallel") == "NO":
        return Known(0.0, "a single instance, no cluster")
    return share(caches(context, subject, "dlm_conflicts"), _requests(context, subject))


def share_of_cluster_requests(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of all cluster lock requests for dictionary entries that were for the cause's caches; up to 12.1 only."""
    names = {text(row.get("parameter")) or "None" for row in context.delta.rows("v$rowcache")}
    total = _requests(context, Subject(tuple(names)))
    return total if isinstance(total, Unknown) else share(caches(context, subject, "dlm_requests"), total)


def _requests(context: SignalContext, subject: Subject) -> SignalValue:
    requests = caches(context, subject, "dlm_requests")
    if isinstance(requests, Unknown) or requests.value >= FEWEST_REQUESTS:
        return requests
    why = f"too few events: {count(requests.value)} cluster lock requests"
    return Unknown("v$rowcache", why, "nothing to do outside a cluster, or from 12.2 on")
