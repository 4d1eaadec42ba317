"""Sessions that may hang unseen: many wait for something, and nobody looked for what."""

from rules.context import SignalContext

CROWD_PER_CPU = 2.0
"""Sessions that wait on average, per processor: so many are a trouble of some kind, of the row cache or another."""


def unseen_waiters(context: SignalContext) -> float | None:
    """Sessions that wait for something on average, where they are many and nobody looked for what; else None."""
    db_time, cpu, seconds = context.seconds_of("DB time"), context.seconds_of("DB CPU"), context.delta.basis.seconds
    if context.look is not None or context.printed or db_time is None or not seconds:
        return None
    waiting = (db_time - (cpu or 0.0)) / seconds
    return waiting if waiting >= CROWD_PER_CPU * (context.cpus or 1.0) else None
