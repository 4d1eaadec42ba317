"""Outages: a database that gives no figures for a while. It is news of its own kind, since nothing was diagnosed."""

from dataclasses import replace
from datetime import UTC, datetime

from rules.model import Severity
from service.state.board import Failure, MonitoredDatabase
from service.state.episodes import Episode

AT_LEAST_SECONDS = 120.0
MISSED_POLLS = 3
"""People hear of an outage after all of these, since a false alarm is worse than a late one."""
OUTAGE = "no-answer"
"""Where an episode has its cause. No cause of the catalogue has this id."""
CORRECT_PASSWORD = "Correct the password. Then let latchscope log in once more."
NOT_UNTIL_RIGHT = "Do not let it log in again before the password is right. Refused logins can lock the account."


def lasts(watched: MonitoredDatabase, now: datetime) -> bool:
    """Whether a database has failed for long enough that people should know."""
    failure = watched.failure
    bound = max(AT_LEAST_SECONDS, MISSED_POLLS * watched.interval)
    return failure is not None and now.timestamp() - failure.since >= bound


def outage_of(database: str, failure: Failure, now: datetime) -> Episode:
    """The news of a failure, in the form of an episode. Times are latchscope's, as the database tells none."""
    stopped = failure.next_attempt is None
    return Episode(
        database=database,
        cause=OUTAGE,
        cache=None,
        title="The login is stopped" if stopped else "The database does not answer",
        begin=datetime.fromtimestamp(failure.since, UTC),
        last_seen=now,
        end=None,
        severity=Severity.WARNING,
        peak_severity=Severity.WARNING,
        peak_at=now,
        peak_share_of_db_time=None,
        headline=failure.why,
        do_now=CORRECT_PASSWORD if stopped else f"Look from here what is wrong: latchscope check {database}",
        do_not=NOT_UNTIL_RIGHT if stopped else "",
    )


def over(outage: Episode, end: datetime) -> Episode:
    """The news that it answers again."""
    return replace(outage, end=max(end, outage.begin), last_seen=end)
