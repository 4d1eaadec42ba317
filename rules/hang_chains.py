"""The wait chains of a Delta: the looks of its poll, and the place that they were taken on."""

from collectors.model import Delta, Missing, text
from rules.context import SignalContext
from rules.memoize import remembered
from rules.wait_chain.forest import Forest, wait_chains
from rules.wait_chain.graph import ChainLooks, whole
from rules.waits import cache_namer

WAITERS, HOLDERS, SESSIONS = "waiting_sessions", "row_cache_blockers", "chain_sessions"
BESIDE = {
    "chains": "v$wait_chains",
    "hangs": "v$hang_info",
    "hang_sessions": "v$hang_session_info",
    "slaves": "v$px_session",
    "locks": "v$lock",
    "jobs": "running_jobs",
    "transactions": "v$transaction",
}


@remembered
def chains_of(context: SignalContext) -> Forest:
    """The chains of the sessions that hang, the largest first. Without any if none hangs."""
    delta = context.delta
    waiting = delta.rows(WAITERS)
    alone = next((text(row.get("parallel")) for row in delta.rows("v$instance")), None)
    looks = ChainLooks(
        own=next((whole(row.get("instance_number")) for row in delta.rows("v$instance")), None),
        clustered=None if alone is None else alone == "YES",
        cache_of=cache_namer(delta, context.map, context.child_by_address),
        waiters=waiting,
        met=max((whole(row.get("met")) or 0 for row in waiting), default=0),
        holders=delta.rows(HOLDERS),
        sessions=delta.rows(SESSIONS),
        read=frozenset(view for view in BESIDE.values() if not isinstance(delta.read(view), Missing)),
        **{name: delta.rows(view) for name, view in BESIDE.items()},
    )
    return wait_chains(looks, platform_of(delta))


def platform_of(delta: Delta) -> str | None:
    """rds or autonomous, where people may do less. None elsewhere, or if it is not known."""
    place = next(iter(delta.rows("sys_context")), {})
    if text(place.get("cdb_name")) == "RDSCDB":
        return "rds"
    service = text(place.get("cloud_service"))
    return "autonomous" if service and service.upper() != "PAAS" else None
