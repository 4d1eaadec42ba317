"""Signals of the work done: logons, parses, commits, and the dictionary gets each of them takes."""

from rules.context import Known, SignalContext, SignalValue, Unknown
from rules.formatting import count
from rules.signals import Subject, signal
from rules.signals.caches import cache_sum
from rules.signals.instance import db_time_share


def _rate(scene: SignalContext, statistic: str) -> SignalValue:
    done, seconds = scene.work(statistic), scene.delta.basis.seconds
    if done is None:
        return scene.why_unknown("v$sysstat", statistic)
    if not seconds:
        return Unknown("v$instance", f"{scene.delta.basis} give no rate", "take two snapshots some seconds apart")
    return Known(done / seconds, f"{count(done)} in {seconds:,.1f} s")


def gets_per(scene: SignalContext, subject: Subject, statistic: str) -> SignalValue:
    """Gets of the subject's caches per unit of a statistic of v$sysstat."""
    gets, done = cache_sum(scene, subject, "gets"), scene.work(statistic)
    if isinstance(gets, Unknown):
        return gets
    if not done:
        return scene.why_unknown("v$sysstat", statistic)
    return Known(gets.value / done, f"{count(gets.value)} gets, {count(done)} {statistic}")


@signal(unit="per second", of="v$sysstat")
def logons_per_second(scene: SignalContext, subject: Subject) -> SignalValue:
    """New sessions per second."""
    return _rate(scene, "logons cumulative")


@signal(unit="per second", of="v$sysstat")
def hard_parses_per_second(scene: SignalContext, subject: Subject) -> SignalValue:
    """Hard parses per second."""
    return _rate(scene, "parse count (hard)")


@signal(unit="per second", of="v$sysstat")
def commits_per_second(scene: SignalContext, subject: Subject) -> SignalValue:
    """Commits by users per second."""
    return _rate(scene, "user commits")


@signal(unit="gets per logon", of="v$rowcache, v$sysstat")
def gets_per_logon(scene: SignalContext, subject: Subject) -> SignalValue:
    """Gets of the cause's caches per new session."""
    return gets_per(scene, subject, "logons cumulative")


@signal(unit="gets per commit", of="v$rowcache, v$sysstat")
def gets_per_commit(scene: SignalContext, subject: Subject) -> SignalValue:
    """Gets of the cause's caches per commit."""
    return gets_per(scene, subject, "user commits")


@signal(unit="parses per execution", of="v$sysstat")
def parses_per_execution(scene: SignalContext, subject: Subject) -> SignalValue:
    """Parse calls, soft and hard, per SQL execution: near 1 nothing is kept open between executions."""
    parses, executions = scene.work("parse count (total)"), scene.work("execute count")
    if parses is None or not executions:
        return scene.why_unknown("v$sysstat", "parse count (total)")
    return Known(parses / executions, f"{count(parses)} parses, {count(executions)} executions")


@signal(unit="ratio", of="v$sysstat")
def hard_share_of_parses(scene: SignalContext, subject: Subject) -> SignalValue:
    """Share of the parse calls that were hard."""
    hard, parses = scene.work("parse count (hard)"), scene.work("parse count (total)")
    if hard is None or not parses:
        return scene.why_unknown("v$sysstat", "parse count (hard)")
    return Known(hard / parses, f"{count(hard)} of {count(parses)} parses")


@signal(unit="ratio", of="v$sys_time_model")
def failed_parse_share_of_db_time(scene: SignalContext, subject: Subject) -> SignalValue:
    """Share of DB time spent in parses that failed."""
    return db_time_share(scene, "failed parse elapsed time")


@signal(unit="ratio", of="v$sys_time_model")
def connection_share_of_db_time(scene: SignalContext, subject: Subject) -> SignalValue:
    """Share of DB time spent connecting and disconnecting sessions."""
    return db_time_share(scene, "connection management call elapsed time")
