"""Signals of what sessions were doing while they waited: the time of an activity holds the waits that are made in it.

Other work beside the trouble makes these ratios larger, never smaller, so a small one speaks against a cause for certain.
"""

from rules.context import Known, SignalContext, SignalValue, Unknown
from rules.signals import Subject, already_enough, signal


def _time_to_waits(context: SignalContext, subject: Subject, statistic: str) -> SignalValue:
    """Seconds of a statistic of v$sys_time_model per second lost on the cause's surfaces for its caches."""
    spent, waited = context.seconds_of(statistic), context.hot_caches.waited_for(subject.surfaces, subject.caches)
    if spent is None:
        return context.why_unknown("v$sys_time_model", statistic)
    if waited is None or context.lost.untold(subject.surfaces):
        return context.why_unknown("v$system_event", "time_waited_micro")
    if waited == 0:
        return Unknown("v$system_event", "nobody waited for the row cache", context.busier)
    ratio = Known(spent / waited, f"{spent:,.1f} s against {waited:,.1f} s of waits", spent, waited)
    if _parts_are_known(context, subject) or already_enough(ratio.value, subject.needs):
        return ratio
    return context.why_unknown("v$latch_children", "sleeps")  # of the waits of all caches it is at least this much


def _parts_are_known(context: SignalContext, subject: Subject) -> bool:
    """Whether it was captured which part of the sleeps on the latch some caches have; where it was not, all count as theirs."""
    names = context.hot_caches.waited_as(subject.caches)
    if not names or "latch" not in subject.surfaces or "latch" not in context.surfaces or context.printed:
        return True
    return context.children_sleeps is not None and bool(context.map.guarding(names))


@signal(
    unit="ratio",
    of="v$sys_time_model, v$system_event",
    diluted=("<=",),
    called="time of parsing for each second waited",
)
def parse_time_to_waits(context: SignalContext, subject: Subject) -> SignalValue:
    """Time spent parsing per time waited for the cause's caches; well below 1 they are not waited for while parsing."""
    return _time_to_waits(context, subject, "parse time elapsed")


@signal(
    unit="ratio",
    of="v$sys_time_model, v$system_event",
    diluted=("<=",),
    called="time of hard parsing for each second waited",
)
def hard_parse_time_to_waits(context: SignalContext, subject: Subject) -> SignalValue:
    """Time spent in hard parses per time waited for the cause's caches; well below 1 they are not waited for in these."""
    return _time_to_waits(context, subject, "hard parse elapsed time")


@signal(
    unit="ratio",
    of="v$sys_time_model, v$system_event",
    diluted=("<=",),
    called="time of failed parses for each second waited",
)
def failed_parse_time_to_waits(context: SignalContext, subject: Subject) -> SignalValue:
    """Time spent in parses that failed per time waited for the cause's caches."""
    return _time_to_waits(context, subject, "failed parse elapsed time")


@signal(
    unit="ratio",
    of="v$sys_time_model, v$system_event",
    diluted=("<=",),
    called="time of logging on for each second waited",
)
def connection_time_to_waits(context: SignalContext, subject: Subject) -> SignalValue:
    """Time spent logging on and off per time waited for the cause's caches."""
    return _time_to_waits(context, subject, "connection management call elapsed time")


@signal(
    unit="ratio",
    of="v$sys_time_model, v$system_event",
    diluted=("<=",),
    called="time of fetching sequence ranges for each second waited",
)
def sequence_load_time_to_waits(context: SignalContext, subject: Subject) -> SignalValue:
    """Time spent fetching ranges of sequence numbers per time waited for the cause's caches."""
    return _time_to_waits(context, subject, "sequence load elapsed time")
