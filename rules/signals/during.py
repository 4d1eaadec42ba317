"""Signals of what sessions did while they waited: the time of an activity includes the waits in it.

Other work only makes these ratios larger, so a small one is certain to speak against a cause.
"""

from rules.context import Known, SignalContext, SignalValue, Unknown
from rules.formatting import PER_WAITED
from rules.signals import Subject, already_enough, signal


def _time_to_waits(context: SignalContext, subject: Subject, statistic: str) -> SignalValue:
    """Seconds of a statistic of v$sys_time_model per second lost on the cause's surfaces for its caches."""
    spent, waited = context.seconds_of(statistic), context.hot_caches.waited_for(subject.surfaces, subject.caches)
    if spent is None:
        return context.why_unknown("v$sys_time_model", statistic)
    if waited is None or context.lost.untold(subject.surfaces):
        return context.why_unknown("v$system_event", "time_waited_micro")
    if waited == 0:
        return Unknown("v$system_event", "no session waited for the row cache", context.busier)
    ratio = Known(spent / waited, f"{spent:,.1f} s against {waited:,.1f} s of waits", spent, waited)
    if _parts_are_known(context, subject) or already_enough(ratio.value, subject.needs):
        return ratio
    return context.why_unknown("v$latch_children", "sleeps")  # for the waits of all caches it is at least this much


def _parts_are_known(context: SignalContext, subject: Subject) -> bool:
    """Whether the capture shows which part of the sleeps on the latch belongs to some caches. If not, all count as theirs."""
    names = context.hot_caches.waited_as(subject.caches)
    if not names or "latch" not in subject.surfaces or "latch" not in context.surfaces or context.printed:
        return True
    return context.children_sleeps is not None and bool(context.map.guarding(names))


@signal(
    unit=PER_WAITED,
    of="v$sys_time_model, v$system_event",
    diluted=("<=",),
    called="time of parsing for each second waited",
)
def parse_time_to_waits(context: SignalContext, subject: Subject) -> SignalValue:
    """Time spent parsing per time waited for the cause's caches. Well below 1, the waits are not part of parsing."""
    return _time_to_waits(context, subject, "parse time elapsed")


@signal(
    unit=PER_WAITED,
    of="v$sys_time_model, v$system_event",
    diluted=("<=",),
    called="time of hard parsing for each second waited",
)
def hard_parse_time_to_waits(context: SignalContext, subject: Subject) -> SignalValue:
    """Time spent in hard parses per time waited for the cause's caches. Well below 1, the waits are not part of hard parses."""
    return _time_to_waits(context, subject, "hard parse elapsed time")


@signal(
    unit=PER_WAITED,
    of="v$sys_time_model, v$system_event",
    diluted=("<=",),
    called="time of failed parses for each second waited",
)
def failed_parse_time_to_waits(context: SignalContext, subject: Subject) -> SignalValue:
    """Time spent in parses that failed per time waited for the cause's caches."""
    return _time_to_waits(context, subject, "failed parse elapsed time")


@signal(
    unit=PER_WAITED,
    of="v$sys_time_model, v$system_event",
    diluted=("<=",),
    called="time of logging on for each second waited",
)
def connection_time_to_waits(context: SignalContext, subject: Subject) -> SignalValue:
    """Time spent logging on and off per time waited for the cause's caches."""
    return _time_to_waits(context, subject, "connection management call elapsed time")


@signal(
    unit=PER_WAITED,
    of="v$sys_time_model, v$system_event",
    diluted=("<=",),
    called="time of fetching sequence ranges for each second waited",
)
def sequence_load_time_to_waits(context: SignalContext, subject: Subject) -> SignalValue:
    """Time spent fetching ranges of sequence numbers per time waited for the cause's caches."""
    return _time_to_waits(context, subject, "sequence load elapsed time")
