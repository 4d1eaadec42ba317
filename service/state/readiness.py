"""The answer of /readyz: whether the store takes polls, and whether this process keeps up with its databases."""

from dataclasses import dataclass

LONG_QUEUE_SECONDS = 5.0
"""As in the alert LatchscopePollsQueue."""


@dataclass(frozen=True, slots=True)
class Readiness:
    """`ready` is false only if another replica would do better. `status` is for people."""

    ready: bool
    status: str


def readiness(trouble: str | None, queue_seconds: float) -> Readiness:
    """`trouble`: of the store or of one of our threads.

    A database that is down does not make latchscope unready, nor do too many of them: polls go on, less often.
    """
    if trouble is not None:
        return Readiness(False, trouble)
    if queue_seconds > LONG_QUEUE_SECONDS:
        return Readiness(
            True,
            f"ok, but polls wait up to {queue_seconds:.0f} s for their turn, so every database is polled less often: share the "
            "databases with another replica, or set a longer defaults.interval",
        )
    return Readiness(True, "ok")
