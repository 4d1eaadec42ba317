"""Signals of the work done: logons, parses, commits, and the look-ups that each of them takes."""

from rules.context import Known, SignalContext, SignalValue, Unknown
from rules.formatting import count
from rules.lookups import LOOKUPS
from rules.signals import EITHER_WAY, Subject, signal
from rules.signals.caches import cache_sum
from rules.signals.instance import db_time_share


def _rate(context: SignalContext, statistic: str) -> SignalValue:
    done, seconds = context.work(statistic), context.delta.basis.seconds
    if done is None:
        return context.why_unknown("v$sysstat", statistic)
    if not seconds:
        return Unknown("v$instance", f"{context.delta.basis} give no rate", "take two snapshots some seconds apart")
    return Known(done / seconds, f"{count(done)} in {seconds:,.1f} s", done, seconds)


def lookups_per(context: SignalContext, subject: Subject, statistic: str) -> SignalValue:
    """Look-ups in the subject's caches, gets and fastgets together, per unit of a statistic of v$sysstat."""
    lookups, done = cache_sum(context, subject, LOOKUPS), context.work(statistic)
    if isinstance(lookups, Unknown):
        return lookups
    if not done:
        return context.why_unknown("v$sysstat", statistic)
    return Known(
        lookups.value / done, f"{count(lookups.value)} look-ups, {count(done)} {statistic}", lookups.value, done
    )


@signal(unit="per second", of="v$sysstat")
def logons_per_second(context: SignalContext, subject: Subject) -> SignalValue:
    """New sessions per second."""
    return _rate(context, "logons cumulative")


@signal(unit="per second", of="v$sysstat")
def hard_parses_per_second(context: SignalContext, subject: Subject) -> SignalValue:
    """Hard parses per second."""
    return _rate(context, "parse count (hard)")


@signal(unit="per second", of="v$sysstat")
def commits_per_second(context: SignalContext, subject: Subject) -> SignalValue:
    """Commits by users per second."""
    return _rate(context, "user commits")


@signal(unit="look-ups per logon", of="v$rowcache, v$sysstat")
def lookups_per_logon(context: SignalContext, subject: Subject) -> SignalValue:
    """Look-ups in the cause's caches per new session."""
    return lookups_per(context, subject, "logons cumulative")


@signal(unit="look-ups per commit", of="v$rowcache, v$sysstat")
def lookups_per_commit(context: SignalContext, subject: Subject) -> SignalValue:
    """Look-ups in the cause's caches per commit."""
    return lookups_per(context, subject, "user commits")


@signal(unit="parses per execution", of="v$sysstat", diluted=EITHER_WAY)
def parses_per_execution(context: SignalContext, subject: Subject) -> SignalValue:
    """Parse calls, soft and hard, per SQL execution. Near 1 nothing stays open between executions."""
    parses, executions = context.work("parse count (total)"), context.work("execute count")
    if parses is None or not executions:
        return context.why_unknown("v$sysstat", "parse count (total)")
    return Known(parses / executions, f"{count(parses)} parses, {count(executions)} executions", parses, executions)


@signal(unit="ratio", of="v$sysstat", diluted=EITHER_WAY)
def hard_share_of_parses(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of the parse calls that were hard."""
    hard, parses = context.work("parse count (hard)"), context.work("parse count (total)")
    if hard is None or not parses:
        return context.why_unknown("v$sysstat", "parse count (hard)")
    return Known(hard / parses, f"{count(hard)} of {count(parses)} parses", hard, parses)


@signal(unit="ratio", of="v$sys_time_model", called="failed parses, share of DB time")
def failed_parse_share_of_db_time(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of DB time spent in parses that failed."""
    return db_time_share(context, "failed parse elapsed time")


@signal(unit="ratio", of="v$sys_time_model", called="logging on and off, share of DB time")
def connection_share_of_db_time(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of DB time spent connecting and disconnecting sessions."""
    return db_time_share(context, "connection management call elapsed time")
