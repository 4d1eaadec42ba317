"""Results of confirming queries: their numbers, and how long they are valid for a trouble."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

from collectors.errors import StatementError, ViewRefused
from collectors.model import ConfirmationResult
from collectors.ondemand.check import counted, first_names
from collectors.poll import Connection
from rules.cause import Cause
from rules.judge import missing_grant

VALID_SECONDS = 3600.0
"""A result is valid for the current trouble this long, and never across a restart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmed(ConfirmationResult):
    """The result of a confirming query, and its end of validity."""

    cause: str
    sql: str
    startup_time: str | None
    at: float
    """time.time()"""
    expires: float
    """time.monotonic()"""


class ConfirmationRefused(ViewRefused):
    """The user may not read the views of a confirming query. `result` says so in the next diagnoses."""

    def __init__(self, words: str, result: Confirmed) -> None:
        super().__init__(f"{words}; {missing_grant(result.refused)}")
        self.result = result


def run(
    cause: Cause,
    connection: Connection,
    startup_time: str | None,
    release: str | None = None,
    *,
    names: bool = False,
) -> Confirmed:
    """Run the text of a cause's confirming query for a release.

    `names`: whether to read what was counted as well, if the number is above zero. Raises ConfirmationRefused,
    StatementError if there is no text or no number, SessionError.
    """
    query = cause.confirm
    if query is None:
        raise StatementError(f"{cause.id} has no confirming query")
    if release is not None and not cause.releases.include(release):
        raise StatementError(f"{cause.id} is unknown on {release}, and its query may not fit")
    sql = query.text(release)
    if sql is None:
        raise StatementError(f"the query of {cause.id} is written for {query.since} and newer, and this is {release}")
    result = Confirmed(
        value=None,
        cause=cause.id,
        sql=sql,
        startup_time=startup_time,
        at=time.time(),
        expires=time.monotonic() + VALID_SECONDS,
    )
    try:
        answer = counted(connection, sql, release)
    except ViewRefused as error:
        raise ConfirmationRefused(str(error), replace(result, refused=query.views(release))) from None
    result = replace(result, value=answer.number, container=answer.container, con_id=answer.con_id)
    naming = query.naming(release)
    if not names or naming is None or not answer.number:
        return result
    try:
        return replace(result, names=first_names(connection, naming))
    except StatementError as error:
        return replace(result, unnamed=str(error))


def still_counting(results: Mapping[str, Confirmed], startup_time: str | None) -> dict[str, ConfirmationResult]:
    """Results that are still valid, by cause: recent, and from this life of the instance."""
    now = time.monotonic()
    return {
        cause: result
        for cause, result in results.items()
        if result.expires > now and result.startup_time == startup_time
    }
