"""A hard limit for one call into the driver, which may otherwise wait without end."""

from collections.abc import Callable
from threading import Thread
from typing import TypeVar

HANGS = 120.0
"""Seconds after which an event will never come. It bounds a hang; no test fails because a machine is slow."""

Result = TypeVar("Result")


class StillRunningError(Exception):
    """The call did not end in time. Its thread goes on and dies with the process."""


def within(seconds: float, call: Callable[[], Result]) -> Result:
    """The result or the exception of `call`, or `StillRunningError` after this many seconds."""
    results: list[Result] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(call())
        except BaseException as error:  # noqa: BLE001 - it is raised again in the thread that waits
            errors.append(error)

    thread = Thread(target=run, name="deadline", daemon=True)
    thread.start()
    thread.join(seconds)
    if errors:
        raise errors[0]
    if not results:
        raise StillRunningError(f"not over after {seconds} s")
    return results[0]
