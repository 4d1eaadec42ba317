"""The file of a selftest, which a person may send back: figures, verdicts and releases. It has no name of a user, host or object.

Only names that Oracle or latchscope gave are in it: events, caches, causes, views, codes of errors.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from collectors.model import Delta, Missing, Snapshot, number
from rules.model import Diagnosis
from service.selftest.session import Tally, code_of
from service.selftest.statements import Load

MOST_ROWS = 8
"""Events of a poll that cost most, caches that were asked most, and caches that changed most."""


@dataclass(frozen=True, slots=True)
class Polled:
    """One good poll of the main path. `change` is None before the second poll."""

    snapshot: Snapshot
    change: Delta | None
    diagnosis: Diagnosis
    at: float
    """time.monotonic() of its end."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class WaitSeen(_Part):
    """Finished waits for one event in the interval."""

    event: str
    waits: float | None
    seconds_waited: float | None


class CacheSeen(_Part):
    """What one dictionary cache did in the interval, parent and subordinate rows apart."""

    cache: str
    type: str
    gets: float | None
    getmisses: float | None
    modifications: float | None


class FindingSeen(_Part):
    """A cause that latchscope found."""

    cause: str
    surface: str
    cache: str | None
    severity: str
    confidence: str
    cause_status: str | None


class WaitingSeen(_Part):
    """Sessions that still waited when the poll was taken."""

    event: str
    cache: str
    sessions: int
    longest_seconds: float


class PollSeen(_Part):
    """One poll whose whole interval lies within the load."""

    interval_seconds: float | None
    statement_seconds: float = Field(description="time from the requests of this poll to their last rows")
    state: str
    severity: str
    share_of_db_time: float | None = Field(description="0 to 1; null if unknown")
    waiting_sessions: float | None
    findings: tuple[FindingSeen, ...]
    troubles: tuple[str, ...] = Field(description="kinds of wait with a problem")
    candidates: tuple[str, ...] = Field(description="causes of the handbook to check beside the findings")
    waiting: tuple[WaitingSeen, ...]
    blockers_found: int | None = Field(
        description="sessions that hold what others wait for; null without a look for them"
    )
    library_cache_waiting: int | None = Field(
        description="sessions that waited for library cache lock or pin at the poll; null if they could not be read"
    )
    waits: tuple[WaitSeen, ...] | None = Field(description="null if v$system_event could not be read")
    caches: tuple[CacheSeen, ...] | None = Field(description="null if v$rowcache could not be read")
    db_time_seconds: float | None
    missing: Mapping[str, str] = Field(description="views that could not be read: refused or failed")


class LoadSeen(_Part):
    """One load: what it did, and what latchscope said meanwhile."""

    load: str
    about: str
    expected: tuple[str, ...] = Field(description="causes of which one should be found")
    outcome: Literal["as expected", "another cause", "no cause", "not judged", "not made"]
    error: str | None = Field(description="code of the error for which the load could not be made")
    seconds: float
    done: int = Field(description="statements and logons that ended well")
    errors: Mapping[str, int] = Field(description="statements and logons that failed, by code")
    polls: tuple[PollSeen, ...]
    confirmations: Mapping[str, float | None] = Field(
        {}, description="numbers of confirming queries by cause; null if the query was refused"
    )


class ViewSeen(_Part):
    """How a view could be read."""

    rows: int | None
    missing: str | None = Field(description="why it gave nothing: refused, not_asked, failed or unread")


class SelftestResult(_Part):
    """The whole file."""

    kind: Literal["latchscope selftest"] = "latchscope selftest"
    format: Literal[1] = 1
    latchscope: str
    oracle: str | None = Field(description="release of the database")
    mechanism: str | None
    processors: float | None
    container: float | None = Field(
        description="number of the container that the monitoring user reads from: 1 is the root; null if unknown"
    )
    views: Mapping[str, ViewSeen]
    poll_round_trips: int | None = Field(description="of the last poll")
    loads: tuple[LoadSeen, ...]

    @property
    def as_expected(self) -> bool:
        """Whether every load was diagnosed as expected."""
        return all(load.outcome == "as expected" for load in self.loads)


def load_seen(
    load: Load,
    seconds: float,
    tally: Tally,
    polls: Iterable[Polled],
    confirmations: Mapping[str, float | None],
    error: Exception | None = None,
) -> LoadSeen:
    """A load with the polls that lie within it."""
    seen = tuple(_poll_seen(one, one.change) for one in polls if one.change is not None)
    findings = [finding for poll in seen for finding in poll.findings]
    found = {finding.cause for finding in findings}
    outcome: Literal["as expected", "another cause", "no cause", "not judged", "not made"] = "no cause"
    if error is not None:
        outcome = "not made"
    elif not seen:
        outcome = "not judged"
    elif found & set(load.causes):
        outcome = "as expected"
    elif any(finding.severity != "info" for finding in findings):
        outcome = "another cause"
    return LoadSeen(
        load=load.name,
        about=load.about,
        expected=load.causes,
        outcome=outcome,
        error=None if error is None else code_of(error),
        seconds=round(seconds, 1),
        done=tally.done,
        errors=dict(sorted(tally.errors.items())),
        polls=seen,
        confirmations={cause: value for cause, value in confirmations.items() if cause in found},
    )


def result_of(version: str, last: Polled | None, loads: Iterable[LoadSeen]) -> SelftestResult:
    """The file; `last` is the last poll, None if there was none."""
    snapshot = last.snapshot if last else None
    return SelftestResult(
        latchscope=version,
        oracle=snapshot.release if snapshot else None,
        mechanism=last.diagnosis.mechanism if last else None,
        processors=_processors(snapshot) if snapshot else None,
        container=next((number(row.get("con_id")) for row in snapshot.rows("sys_context")), None) if snapshot else None,
        views={view: _view_seen(snapshot, view) for view in sorted(snapshot.readings)} if snapshot else {},
        poll_round_trips=sum(cost.round_trips for cost in snapshot.costs.values()) if snapshot else None,
        loads=tuple(loads),
    )


def _processors(snapshot: Snapshot) -> float | None:
    for row in snapshot.rows("v$osstat"):
        if row.get("stat_name") == "NUM_CPUS":
            return number(row.get("level_now"))
    return None


def _view_seen(snapshot: Snapshot, view: str) -> ViewSeen:
    reading = snapshot.read(view)
    if isinstance(reading, Missing):
        return ViewSeen(rows=None, missing=reading.kind)
    return ViewSeen(rows=len(reading.rows), missing=None)


def _poll_seen(polled: Polled, delta: Delta) -> PollSeen:
    verdict, impact = polled.diagnosis, polled.diagnosis.impact
    return PollSeen(
        interval_seconds=delta.basis.seconds,
        statement_seconds=round(sum(cost.seconds for cost in polled.snapshot.costs.values()), 3),
        state=verdict.state,
        severity=verdict.severity.value,
        share_of_db_time=impact.share_of_db_time if impact else None,
        waiting_sessions=impact.waiting_sessions if impact else None,
        findings=tuple(
            FindingSeen(
                cause=one.cause,
                surface=one.surface,
                cache=one.cache,
                severity=one.severity.value,
                confidence=one.confidence.value,
                cause_status=one.status,
            )
            for one in verdict.findings
        ),
        troubles=tuple(dict.fromkeys(trouble.surface for trouble in verdict.troubles)),
        candidates=tuple(one.cause for one in verdict.candidates),
        waiting=tuple(
            WaitingSeen(
                event=one.event, cache=one.cache, sessions=one.sessions, longest_seconds=round(one.longest_seconds, 1)
            )
            for one in verdict.waiting
        ),
        blockers_found=len(verdict.blockers.blockers) if verdict.blockers else None,
        library_cache_waiting=verdict.library_cache.met if verdict.library_cache else None,
        waits=_waits(delta),
        caches=_caches(delta),
        db_time_seconds=_in_seconds(delta.cell("v$sys_time_model", "stat_name", "DB time", "value")),
        missing={
            view: reading.kind
            for view, reading in sorted(polled.snapshot.readings.items())
            if isinstance(reading, Missing) and reading.kind in ("refused", "failed")
        },
    )


def _waits(delta: Delta) -> tuple[WaitSeen, ...] | None:
    if isinstance(delta.read("v$system_event"), Missing):
        return None
    seen = [
        WaitSeen(
            event=str(row["event"]),
            waits=number(row.get("total_waits")),
            seconds_waited=_in_seconds(row.get("time_waited_micro")),
        )
        for row in delta.rows("v$system_event")
    ]
    return tuple(sorted(seen, key=lambda one: -(one.seconds_waited or 0.0))[:MOST_ROWS])


def _caches(delta: Delta) -> tuple[CacheSeen, ...] | None:
    if isinstance(delta.read("v$rowcache"), Missing):
        return None
    seen = [
        CacheSeen(
            cache=str(row["parameter"]),
            type=str(row["type"]),
            gets=number(row.get("gets")),
            getmisses=number(row.get("getmisses")),
            modifications=number(row.get("modifications")),
        )
        for row in delta.rows("v$rowcache")
    ]
    asked = sorted(seen, key=lambda one: one.gets or 0.0, reverse=True)[:MOST_ROWS]
    changed = sorted(seen, key=lambda one: one.modifications or 0.0, reverse=True)[:MOST_ROWS]
    return (*asked, *(one for one in changed if one.modifications and one not in asked))


def _in_seconds(microseconds: object) -> float | None:
    known = number(microseconds) if isinstance(microseconds, int | float) else None
    return None if known is None else round(known / 1e6, 3)
