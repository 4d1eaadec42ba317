"""Separate threads for routes that must answer while all others wait for the store."""

from collections.abc import Awaitable, Callable
from functools import partial, wraps
from typing import ParamSpec, TypeVar

from anyio import CapacityLimiter
from anyio.to_thread import run_sync

Given = ParamSpec("Given")
Told = TypeVar("Told")


class Bulkhead:
    """A number of threads that its routes share with no others.

    The routes of the framework share 40. A store that hangs holds all of them, and the next request waits in line.
    """

    def __init__(self, threads: int) -> None:
        self._limiter = CapacityLimiter(threads)

    def __call__(self, route: Callable[Given, Told]) -> Callable[Given, Awaitable[Told]]:
        """The route, run in one of these threads."""

        @wraps(route)
        async def in_own_thread(*args: Given.args, **members: Given.kwargs) -> Told:
            return await run_sync(partial(route, *args, **members), limiter=self._limiter)

        return in_own_thread
