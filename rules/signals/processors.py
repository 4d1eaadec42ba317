"""Signals held against the processors: a rate that drowns a host of four is nothing to one of a hundred and twenty-eight."""

from rules.context import Known, SignalContext, SignalValue, Unknown
from rules.signals import Subject, signal
from rules.signals.instance import waited_share_of_db_time
from rules.signals.work import logons_per_second


def _per_processor(context: SignalContext, rate: float, told: str) -> SignalValue:
    """A rate over the processors of the host."""
    if not context.cpus:
        return context.why_unknown("v$osstat", "NUM_CPUS")
    return Known(rate / context.cpus, f"{told}, {context.cpus:g} processors")


@signal(unit="per second and processor", of="v$sysstat, v$osstat")
def logons_per_processor(context: SignalContext, subject: Subject) -> SignalValue:
    """New sessions per second and processor of the host."""
    rate = logons_per_second(context, subject)
    return rate if isinstance(rate, Unknown) else _per_processor(context, rate.value, rate.derivation)


@signal(unit="sessions per processor", of="v$sys_time_model, v$osstat")
def hard_parsing_sessions_per_processor(context: SignalContext, subject: Subject) -> SignalValue:
    """Sessions in a hard parse at any one time, on average, per processor of the host."""
    spent, seconds = context.seconds_of("hard parse elapsed time"), context.delta.basis.seconds
    if spent is None:
        return context.why_unknown("v$sys_time_model", "hard parse elapsed time")
    if not seconds:
        return Unknown("v$instance", f"{context.delta.basis} give no rate", "take two snapshots some seconds apart")
    return _per_processor(context, spent / seconds, f"{spent:,.1f} s in {seconds:,.1f} s")


@signal(unit="ratio", of="v$system_event, v$sys_time_model")
def resource_manager_share_of_db_time(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of DB time in which sessions were kept off the processors by a resource plan (`resmgr:cpu quantum`)."""
    waited = context.waited_seconds(("resmgr:cpu quantum",))
    return waited_share_of_db_time(context, waited, "v$system_event", "time_waited_micro")
