"""diagnosis_at(): the diagnosis of a past moment, rebuilt from the store, for a permanent address."""

from datetime import datetime, timedelta

from collectors.model import NotComparable
from rules.engine import cannot_tell, diagnose
from rules.model import Diagnosis
from service.history.baselines import usual_at
from service.store.queries.series import Poll
from service.store.repository import Repository

LOOK_BACK = timedelta(minutes=10)
"""An older poll says nothing about the moment."""
ROLLED = timedelta(minutes=5)
"""The length of its interval if polls are gone and roll-ups are left."""
SLACK = timedelta(milliseconds=50)


def diagnosis_at(store: Repository, database: str, at: datetime) -> Diagnosis:
    """The findings over the interval that ended at a moment or last before it. Its notes give its source.

    Raises what the store does.
    """
    polls = store.history.polls(database, at - LOOK_BACK, at + SLACK)
    last = polls[-1] if polls else None
    if last is not None and not last.seconds:
        why = last.why or "this poll has no interval"
        gap = NotComparable(database, None, why, "choose a later time", kind=last.kind or "not_comparable")
        return cannot_tell(gap, more_to_come=False)
    begin, end = _interval(last, at)
    change = store.changes.delta_over(database, begin, end)
    if isinstance(change, NotComparable):
        return cannot_tell(change, more_to_come=False)
    return diagnose(change, usual=usual_at(store, database, end))


def _interval(last: Poll | None, at: datetime) -> tuple[datetime, datetime]:
    """The interval of the poll, else the five minutes before."""
    if last is None:
        return at - ROLLED, at
    return last.at - timedelta(seconds=last.seconds or 0.0) - SLACK, last.at + SLACK
