"""The restart of an instance on its page: when, the state before, how long nobody watched, and what is lost."""

from dataclasses import dataclass
from datetime import timedelta

from rules.model import Diagnosis
from service.history.past_diagnosis import diagnosis_at
from service.state.board import MonitoredDatabase
from service.state.last_hour import LAST_HOUR
from service.store.repository import Repository
from service.web.fleet_schemas import DatabaseOut
from service.web.pages import words
from service.web.pages.layout import address_at

SLACK = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class RestartNote:
    """The facts about a restart. `before_link` leads to the page as it was."""

    at: str
    ago: str
    before_state: str
    before_title: str
    before_cost: str
    before_link: str
    unwatched: str


def restart_note(store: Repository, watched: MonitoredDatabase, out: DatabaseOut) -> RestartNote | None:
    """The restart of the last hour. None if we saw none. Raises what the store does."""
    now = watched.published.snapshot.taken_at if watched.published else None
    if now is None:
        return None
    seen = [gap for gap in store.history.breaks(watched.name, now - LAST_HOUR, now + SLACK) if gap.kind == "restart"]
    polls = store.history.polls(watched.name, seen[-1].at - LAST_HOUR, seen[-1].at) if seen else ()
    if not polls:
        return None
    last, first = polls[-1].at, seen[-1].at
    began = out.started_at if out.started_at and last <= out.started_at <= first else first
    before = diagnosis_at(store, watched.name, last)
    share = before.impact.share_of_db_time if before.impact else None
    return RestartNote(
        at=words.clock(began, now),
        ago=words.length((now - began).total_seconds()),
        before_state=words.state_of(before.severity, up=before.basis is not None),
        before_title=_title(before),
        before_cost="" if share is None else words.share(share),
        before_link=address_at(watched.name, last),
        unwatched=words.length((first - last).total_seconds()),
    )


def _title(before: Diagnosis) -> str:
    if before.findings:
        return before.findings[0].title
    return before.headline
