"""Signals of a cluster: which caches its instances lock across each other (filled up to 12.1)."""

from rules.context import SignalContext, SignalValue, Unknown
from rules.signals import Subject, share, signal
from rules.signals.caches import MINIMUM_MODIFICATIONS, cache_sum


@signal(unit="ratio", of="v$rowcache")
def share_of_cluster_requests(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of all cluster lock requests for dictionary entries that were for the cause's caches; up to 12.1 only."""
    total = cache_sum(
        context, Subject(tuple({str(row.get("parameter")) for row in context.delta.rows("v$rowcache")})), "dlm_requests"
    )
    if not isinstance(total, Unknown) and total.value < MINIMUM_MODIFICATIONS:
        why = f"too few events: {total.value:.0f} cluster lock requests"
        return Unknown("v$rowcache", why, "nothing to do outside a cluster, or from 12.2 on")
    return share(cache_sum(context, subject, "dlm_requests"), total)
