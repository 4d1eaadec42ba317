"""Signals of a cluster: whether it is one, which process carries its locks, which caches its instances lock across each other."""

import re

from collectors.model import Missing, text
from rules.blockers import VIEW, blockers_of, process
from rules.context import Known, SignalContext, SignalValue, Unknown, share
from rules.signals import Subject, signal
from rules.signals.caches import MINIMUM_MODIFICATIONS, cache_sum

CLUSTER_PROCESS = re.compile(r"LCK\d")


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


@signal(unit="value", of="v$instance", called="instance of a cluster")
def in_cluster(context: SignalContext, subject: Subject) -> SignalValue:
    """1 if the instance is one of a cluster (RAC), 0 if it is single."""
    parallel = next((text(row.get("parallel")) for row in context.delta.rows("v$instance")), None)
    if parallel is None:
        return context.why_unknown("v$instance", "parallel")
    return Known(float(parallel == "YES"), f"v$instance.parallel = {parallel}")


@signal(unit="ratio", of=VIEW, called="sessions that wait for LCK0", share_of="sessions that hang")
def share_behind_cluster_process(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of the hanging sessions that wait for LCK0, which carries the locks of a cluster, at the look for blockers."""
    found = blockers_of(context)
    if isinstance(context.delta.read(VIEW), Missing):
        return context.why_unknown(VIEW)
    known = [blocker for blocker in found.blockers if blocker.background is not None] if found else []
    if not known:
        return Unknown(VIEW, "no holder with a known process was found", "see the blockers of the diagnosis")
    if any(blocker.background and blocker.program is None for blocker in known):
        return context.why_unknown(VIEW, "program")
    behind = {blocker: float(blocker.waiters or 1) for blocker in known}
    messengers = [blocker for blocker in known if CLUSTER_PROCESS.fullmatch(process(blocker.program))]
    met = ", ".join(f"session {blocker.sid} is {process(blocker.program)}" for blocker in messengers)
    return Known(sum(behind[blocker] for blocker in messengers) / sum(behind.values()), met)
