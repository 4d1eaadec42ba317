"""Who waits, as totals: by statement and by module, of all waiters in all looks."""

from collections import Counter
from collections.abc import Iterable

from rules.context import SignalContext
from rules.model import WaiterTotal, WaiterTotals
from rules.waiters import SampledWaiters

MOST = 10


def waiter_totals(context: SignalContext) -> WaiterTotals | None:
    """The totals. None without samples."""
    crowd = context.crowd
    if crowd is None:
        return None
    return WaiterTotals(
        looks=crowd.looks,
        waiters=len(crowd.waiters),
        by_sql_id=_totals(crowd, (waiter.sql_id for waiter in crowd.waiters)),
        by_module=_totals(crowd, (waiter.module for waiter in crowd.waiters)),
    )


def _totals(crowd: SampledWaiters, names: Iterable[str]) -> tuple[WaiterTotal, ...]:
    counted = sorted(Counter(names).items(), key=lambda item: (-item[1], item[0]))
    return tuple(
        WaiterTotal(name=name or None, waiters=times, share=times / len(crowd.waiters), sessions=times / crowd.looks)
        for name, times in counted[:MOST]
    )
