"""Sessions that may hang unseen: many wait for something, and there was no look."""

from rules.context import SignalContext

CROWD_PER_CPU = 2.0
"""Waiting sessions on average, per processor. This many are some kind of trouble, of the row cache or another."""


def unseen_waiters(context: SignalContext) -> float | None:
    """Average number of sessions that wait for something, if they are many and there was no look. Otherwise None."""
    db_time, cpu, seconds = context.seconds_of("DB time"), context.seconds_of("DB CPU"), context.delta.basis.seconds
    if context.look is not None or context.printed or db_time is None or not seconds:
        return None
    waiting = (db_time - (cpu or 0.0)) / seconds
    return waiting if waiting >= CROWD_PER_CPU * (context.cpus or 1.0) else None
