"""Results of confirming queries: what they gave, and how long they speak for a trouble."""

import time
from collections.abc import Mapping
from dataclasses import dataclass

from collectors.errors import StatementError
from collectors.ondemand.confirm import one_number
from collectors.poll import Connection
from rules.cause import Cause

VALID_SECONDS = 3600.0
"""A result speaks for the current trouble so long, and never across a restart."""


@dataclass(frozen=True, slots=True)
class Confirmed:
    """What a confirming query gave, and until when it counts."""

    cause: str
    sql: str
    value: float
    startup_time: str | None
    at: float
    """time.time()"""
    expires: float
    """time.monotonic()"""


def run(cause: Cause, connection: Connection, startup_time: str | None, release: str | None = None) -> Confirmed:
    """Run a cause's confirming query. Raises StatementError when there is none or it gives no number; SessionError."""
    if cause.confirm is None:
        raise StatementError(f"{cause.id} has no confirming query")
    if release is not None and not cause.releases.include(release):
        raise StatementError(f"{cause.id} is not known on {release}, and its query may not fit it")
    value = one_number(connection, cause.confirm.sql)
    return Confirmed(
        cause=cause.id,
        sql=cause.confirm.sql,
        value=value,
        startup_time=startup_time,
        at=time.time(),
        expires=time.monotonic() + VALID_SECONDS,
    )


def still_counting(results: Mapping[str, Confirmed], startup_time: str | None) -> dict[str, float]:
    """Results that still count, by cause: recent, and of this life of the instance."""
    now = time.monotonic()
    return {
        cause: result.value
        for cause, result in results.items()
        if result.expires > now and result.startup_time == startup_time
    }
