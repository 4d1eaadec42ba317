"""Signals per processor: a rate that drowns a host of four processors is nothing to one of 128."""

from rules.context import Known, SignalContext, SignalValue, Unknown
from rules.signals import Subject, already_enough, signal
from rules.signals.instance import load_per_cpu, waited_share_of_db_time, waits_to_row_cache
from rules.signals.work import logons_per_second

MOST_PROCESSORS = 256.0
"""A rate that is too much for this many processors is too much for nearly every host (our bound)."""


def _per_processor(context: SignalContext, rate: float, words: str, needs: str) -> SignalValue:
    """A rate per processor of the host. Without their number: its value for one processor and for very many."""
    if not context.cpus:
        bound = float(needs.split()[1]) if " " in needs else rate
        if rate < bound:
            return Known(rate, f"{words}, too few for a single processor")
        if rate / MOST_PROCESSORS >= bound:
            return Known(rate / MOST_PROCESSORS, f"{words}, too many for {MOST_PROCESSORS:g} processors")
        return context.why_unknown("v$osstat", "NUM_CPUS")
    return Known(rate / context.cpus, f"{words}, {context.cpus:g} processors", rate, context.cpus)


@signal(unit="per second and processor", of="v$sysstat, v$osstat")
def logons_per_processor(context: SignalContext, subject: Subject) -> SignalValue:
    """New sessions per second and processor of the host."""
    rate = logons_per_second(context, subject)
    return rate if isinstance(rate, Unknown) else _per_processor(context, rate.value, rate.derivation, subject.needs)


@signal(
    unit="sessions per processor",
    of="v$sys_time_model, v$osstat",
    called="sessions in a hard parse, for each processor",
)
def hard_parsing_sessions_per_processor(context: SignalContext, subject: Subject) -> SignalValue:
    """Sessions in a hard parse at any one time, on average, per processor of the host."""
    spent, seconds = context.seconds_of("hard parse elapsed time"), context.delta.basis.seconds
    if spent is None:
        return context.why_unknown("v$sys_time_model", "hard parse elapsed time")
    if not seconds:
        return Unknown("v$instance", f"{context.delta.basis} give no rate", "take two snapshots some seconds apart")
    return _per_processor(context, spent / seconds, f"{spent:,.1f} s in {seconds:,.1f} s", subject.needs)


@signal(unit="ratio", of="v$system_event, v$sys_time_model", called="waits under a resource plan, share of DB time")
def resource_manager_share_of_db_time(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of DB time in which sessions were kept off the processors by a resource plan (`resmgr:cpu quantum`)."""
    waited = context.waited_seconds(("resmgr:cpu quantum",))
    return waited_share_of_db_time(context, waited, "v$system_event", "time_waited_micro")


@signal(unit="ratio", of="v$system_event", called="waits under a resource plan for each second of row cache waits")
def resource_manager_waits_to_row_cache_waits(context: SignalContext, subject: Subject) -> SignalValue:
    """Time sessions were kept off the processors by a resource plan, per time waited for the row cache."""
    return waits_to_row_cache(context, ("resmgr:cpu quantum",))


@signal(unit="processes per processor", of="v$osstat", called="processes that want a processor, for each one")
def processor_demand(context: SignalContext, subject: Subject) -> SignalValue:
    """Processes that ran or waited for a processor, per processor: by OS_CPU_WAIT_TIME over the interval, by LOAD at its end.

    OS_CPU_WAIT_TIME is not kept on every platform, and it counts every process of the host, not only this instance's. Waits
    for a turn under a resource plan are in neither (resmgr:cpu quantum). The larger of the two counts.
    """
    waited, busy, idle = (context.host(name) for name in ("OS_CPU_WAIT_TIME", "BUSY_TIME", "IDLE_TIME"))
    by_load = load_per_cpu(context, subject)
    if "OS_CPU_WAIT_TIME" not in context.delta.column("v$osstat", "stat_name"):
        return by_load
    if waited is None or busy is None or idle is None or not busy + idle:
        enough = isinstance(by_load, Known) and already_enough(by_load.value, subject.needs)
        return by_load if enough else context.why_unknown("v$osstat", "BUSY_TIME or OS_CPU_WAIT_TIME")
    words = f"{waited / 100:,.1f} s of waiting and {busy / 100:,.1f} s on a processor in {(busy + idle) / 100:,.1f} s of them"
    by_time = Known((busy + waited) / (busy + idle), words)
    return by_load if isinstance(by_load, Known) and by_load.value > by_time.value else by_time
