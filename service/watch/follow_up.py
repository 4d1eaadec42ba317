"""What follows a poll on its session: confirming queries, who holds what sessions hang on, what changed, samples."""

import logging
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

from collectors.errors import SessionError, SessionKept, StatementError
from collectors.model import Missing, Reading, Row, Rows, Snapshot, number
from collectors.ondemand.blockers import (
    AGAIN_SECONDS,
    JOBS_OF_MANY,
    LATER,
    SESSIONS,
    VIEW,
    look_at_chains,
    look_elsewhere,
    look_for_blockers,
    not_looked,
    warm_up,
)
from collectors.ondemand.changes import (
    CONTAINERS,
    MANY,
    RARE_SECONDS,
    WAITED,
    kept,
    not_read,
    read_changes,
    read_rarely,
    why_none_in_containers,
)
from collectors.ondemand.check import read
from collectors.ondemand.sampling import Burst
from collectors.poll import Connection
from rules.cause import catalogue
from rules.changes import from_readings
from rules.cost import LASTING_SECONDS
from rules.model import Severity
from rules.samples import blocker_of
from rules.waiting_sessions import HANGING_SECONDS, ended, stuck, waiting_at
from rules.waiting_sessions import WAITING_SESSIONS as WAITING
from service.config.logs import Audit
from service.state import episodes
from service.state.board import ChangeLog, MonitoredDatabase, Published

log = logging.getLogger("latchscope.loop")


YOUNG = timedelta(minutes=5)
"""While a problem is younger, each poll has its own samples."""


class FollowUp:
    """What one database is asked between two polls. The next poll takes the results."""

    def __init__(
        self,
        watched: MonitoredDatabase,
        look: "BlockerLook | None" = None,
        changes: "ChangesLook | None" = None,
        *,
        confirms: bool = False,
        each_judged: bool = False,
    ) -> None:
        """`changes`: reads what changed, by default nothing; `confirms`: whether the confirming query of each problem that
        begins is run; `each_judged`: whether each poll judges its causes again."""
        self._watched = watched
        self._look = look or BlockerLook(Audit())
        self._changes = changes or ChangesLook(Audit(), enabled=False)
        self._confirms = confirms
        self._hourly = HourlyLook()
        self.each_judged = each_judged
        self._burst: Burst | None = None
        self._seen: Rows | None = None
        """The samples of an earlier interval, which stand for this one while a problem lasts unchanged."""
        self._asked = False

    def after(self, published: Published, connection: Connection) -> None:
        """Ask what this poll calls for. Raises SessionError if the session is lost."""
        self._hourly.after(published.snapshot, connection)
        snapshot, containers = published.snapshot, (self._hourly.found or {}).get(CONTAINERS)
        why_not = why_none_in_containers(snapshot, containers, waited=False)
        self._look.instead = JOBS_OF_MANY if why_not == MANY else {}
        self._go_on(connection, published)
        severity = published.examined.told.severity
        dear = published.delta is None or severity in (Severity.WARNING, Severity.CRITICAL)
        why_not = why_none_in_containers(snapshot, containers, waited=dear or bool(snapshot.rows(WAITING)))
        self._confirm_what_began(published, connection, why_not)
        self._look_for_changes(published, connection, why_not)
        costly = published.delta is not None and severity is not Severity.INFO
        seen = self.samples
        old = isinstance(seen, Rows) and seen.read_at is not None
        self._seen = (
            replace(seen, read_at=seen.read_at or published.snapshot.taken_at) if isinstance(seen, Rows) else None
        )
        wanted = self._asked or (costly and not self._may_rest(published, old=old))
        self._burst = Burst(published.snapshot.release) if wanted else None
        self._seen, self._asked = self._seen if costly else None, False

    def _may_rest(self, published: Published, *, old: bool) -> bool:
        """Whether the next poll will judge no causes, so that the last samples stand. `old`: they did for this poll."""
        at, judged_at = published.snapshot.taken_at, published.verdict.judged_at
        sampled = self._seen.read_at if self._seen else None
        if self.each_judged or self.hangs or None in (at, judged_at, sampled) or (old and judged_at == at):
            return False
        assert at and judged_at and sampled
        age = (at - min(sampled, judged_at)).total_seconds() + 1.5 * (self._watched.pace or self._watched.interval)
        return age < LASTING_SECONDS and self._watched.episodes.settled(published.verdict, at - YOUNG)

    def blockers(self, polled: Snapshot, connection: Connection) -> Mapping[str, Reading] | None:
        """Who holds what sessions of this poll hang on. None without a look."""
        before = self._watched.published
        return self._look.of(polled, connection, before=before.snapshot if before else None)

    @property
    def hangs(self) -> bool:
        """Whether sessions hung at the last poll."""
        return self._look.hangs

    @property
    def rarely(self) -> Mapping[str, Reading] | None:
        """The installed patches and the names of containers as they were read last. None if they were not read yet."""
        return self._hourly.found

    @property
    def changed(self) -> Mapping[str, Reading]:
        """What is known of the last reading of changes."""
        return self._changes.readings

    @property
    def samples(self) -> Reading | None:
        """The waiting sessions that were sampled since the last poll, or stand for it. None if nothing called for it."""
        return self._burst.taken() if self._burst else self._seen

    @property
    def sampling(self) -> bool:
        """Whether more samples are wanted."""
        return self._burst is not None and not self._burst.spent

    def ask_for_samples(self) -> None:
        """Sample after the next poll, whatever it shows, and judge again with them."""
        self._asked = self._watched.anew = True

    def sample(self, connection: Connection) -> None:
        """One sample. Raises SessionError if the session is lost."""
        if self._burst is not None:
            self._burst.look(connection)

    def forget_samples(self) -> None:
        """After a failure: samples of an interval that no poll ends."""
        self._burst, self._seen = None, None

    def _confirm_what_began(self, published: Published, connection: Connection, why_not: str | None) -> None:
        """A refusal is recorded. A query that reads all containers waits for somebody to ask, where there is a reason against."""
        began = [change.episode.cause for change in published.episode_changes if change.what == "begin"]
        for cause in map(catalogue().get, began if self._confirms else ()):
            if cause is None or cause.confirm is None:
                continue
            if why_not and any(view.startswith("cdb_") for view in cause.confirm.views(published.snapshot.release)):
                log.info("%s: %s: its confirming query was %s", self._watched.name, cause.id, why_not)
                continue
            try:
                started, release = published.snapshot.startup_time, published.snapshot.release
                self._watched.confirmed[cause.id] = episodes.run(cause, connection, started, release)
            except (StatementError, SessionError) as error:
                log.warning("%s: %s was not confirmed: %s", self._watched.name, cause.id, error)
                if isinstance(error, episodes.ConfirmationRefused):
                    self._watched.confirmed[cause.id] = error.result
                if isinstance(error, SessionKept):
                    return
                if isinstance(error, SessionError):
                    raise

    def _go_on(self, connection: Connection, published: Published) -> None:
        """After a look. Raises SessionError if the session was lost in it."""
        lost, self._look.lost = self._look.lost, None
        try:
            if lost is not None:
                raise lost
            self._look.warm(published.snapshot, connection)
        except SessionError as error:
            log.warning("%s: who holds what sessions hang on was not found: %s", self._watched.name, error)
            if not isinstance(error, SessionKept):
                raise

    def _look_for_changes(self, published: Published, connection: Connection, why_not: str | None) -> None:
        """The next poll stores what was found."""
        try:
            self._changes.after(published, connection, self._watched.timeline, why_not)
        except SessionError as error:
            log.warning("%s: what changed was not read: %s", self._watched.name, error)
            if not isinstance(error, SessionKept):
                raise


# When to look for blockers: at the poll that shows a hang, and again as soon as one of its waiters waits no longer, or after five
# minutes. Meanwhile each poll that finds the same waiters in the same wait proves that what they wait for is still held. A look
# is part of the poll, so no verdict stands on one that the poll contradicts. Every look is in the audit log.
#
# The looks run once when a session begins, and again after an hour, so that a hang does not meet them unparsed.

PAUSE_SECONDS = 60.0
LOOK_AGAIN_SECONDS = 300.0
LEAST_WAITERS = 3
"""Fewer that name one session are no reason to look at it."""
HANG_INTERVAL = 30.0
"""The longest time between two polls while sessions hang."""
CALLER = "latchscope"
ACTION = "look for blockers"


class BlockerLook:
    """The blockers of one database, kept while it hangs."""

    def __init__(self, audit: Audit, enabled: bool = True, *, wait_chains: bool = False) -> None:
        """`wait_chains`: whether Oracle's own analysis of the hang is read too."""
        self._audit = audit
        self._enabled = enabled
        self._wait_chains = wait_chains
        self._found: Mapping[str, Reading] | None = None
        self._waiters: Sequence[Row] = ()
        """Those that hung when it was last proven who holds what they wait for, and those behind the same sessions."""
        self._looked_at = 0.0
        self._cold: Mapping[str, Missing] = {}
        self._warmed: Connection | None = None
        self._warmed_at = 0.0
        self.hangs = False
        self.instead: Mapping[str, Reading] = {}
        """What stands for a view that no look is to ask."""
        self.lost: SessionError | None = None
        """What the last look lost its session by."""

    def warm(self, snapshot: Snapshot, connection: Connection, now: float | None = None) -> None:
        """Run the looks once on this session, and again after an hour, if no session hangs. Raises SessionError.

        Not while it is unknown who waits: then the looks may not be read either.
        """
        now = time.monotonic() if now is None else now
        fresh = connection is self._warmed and now - self._warmed_at < AGAIN_SECONDS
        if not self._enabled or fresh or _may_hang(snapshot):
            return
        self._warmed, self._warmed_at = connection, now
        self._cold = warm_up(connection, snapshot, wait_chains=self._wait_chains, instead=self.instead)
        for view, reading in self._cold.items():
            log.warning("%s: %s: %s", snapshot.database, view, reading.why)

    def of(
        self, polled: Snapshot, connection: Connection, now: float | None = None, before: Snapshot | None = None
    ) -> Mapping[str, Reading] | None:
        """Who holds what the sessions of this poll hang on, each reading with the time it is true of. None if nobody hangs.

        Where nobody hangs and half of those who wait name one session, that session alone. Raises nothing: a session that is lost
        is `lost`, and the poll goes on. `now`: time.monotonic(); `before`: the poll before, by which waits in slices are known.
        """
        now = time.monotonic() if now is None else now
        rows = waiting_at(before, polled)
        hanging = stuck(rows)
        self.hangs = bool(hanging)
        if not hanging:
            self._found = None
        elif self._enabled:
            try:
                self._look(polled, rows, connection, now)
            except SessionError as error:
                lost = Missing(VIEW, "failed", f"{VIEW}: the session was lost in the look: {error}", LATER)
                self._found, self.lost = {VIEW: lost}, error
                self._audit.record(CALLER, ACTION, polled.database, lost.why)
        self._waiters = _beside(hanging, rows)
        if self._enabled and not hanging and (named := self._named(polled, rows, connection)):
            return named
        return {**not_looked(), **self._cold} if self._found is None and self._cold else self._found

    def _named(self, polled: Snapshot, rows: Sequence[Row], connection: Connection) -> Mapping[str, Reading] | None:
        """The session that half of those who wait name. None without one."""
        named = Counter(blocker_of(row) for row in rows if row.get("event") != "latch free")
        most = max((times for session, times in named.items() if session), default=0)
        if named.total() < LEAST_WAITERS or most < named.total() / 2:
            return None
        try:
            return {**not_looked(), SESSIONS: read(connection, SESSIONS, polled.release)}
        except SessionError as error:
            self.lost = error
            return None

    def _look(self, polled: Snapshot, rows: Sequence[Row], connection: Connection, now: float) -> None:
        """Prove again what is known, or look again. Raises SessionError."""
        known = self._found is not None and not self._due(rows, polled, now)
        if known and (again := self._sessions_again(polled, rows, connection)) is not None:
            self._found = again
            return
        self._looked_at = now
        looked = look_for_blockers(
            connection,
            polled.release,
            _elsewhere(stuck(rows), polled),
            cold=connection is not self._warmed,
            wait_chains=self._wait_chains,
            instead=self.instead,
        )
        self._found = _as_of(looked, polled)
        self._audit.record(CALLER, ACTION, polled.database, _outcome(self._found[VIEW]))

    def _due(self, rows: Sequence[Row], polled: Snapshot, now: float) -> bool:
        """Whether a new look is due. Not where the view may not be read: the sessions are all that can be known."""
        held, since = (self._found or {})[VIEW], now - self._looked_at
        if isinstance(held, Missing):
            return held.kind == "failed" and since >= PAUSE_SECONDS
        before, at = held.read_at, polled.taken_at
        apart = 0.0 if before is None or at is None else (at - before).total_seconds()
        if apart <= 0 or since >= LOOK_AGAIN_SECONDS or any(ended(self._waiters, rows, 0.9 * apart)):
            return True
        return not any(number(row.get("serial#")) for row in held.rows) and since >= PAUSE_SECONDS

    def _sessions_again(
        self, polled: Snapshot, rows: Sequence[Row], connection: Connection
    ) -> Mapping[str, Reading] | None:
        """The same with the sessions as they are now. None if a holder is not among them, whose state would be an old one."""
        before = {**(self._found or {}), **self.instead}
        held = before[VIEW]
        holders = held.rows if isinstance(held, Rows) else ()
        here = [row for row in holders if row.get("cache#") is not None]
        elsewhere = _elsewhere(stuck(rows), polled) if len(here) < len(holders) else []
        far, _ = look_elsewhere(connection, polled.release, elsewhere)
        more = look_at_chains(connection, polled.release, [*here, *far], before, wait_chains=self._wait_chains)
        sessions = more[SESSIONS]
        now = {_session(row): row for row in sessions.rows} if isinstance(sessions, Rows) else {}
        if any(row.get("sid") is not None and _session(row) not in now for row in here):
            return None
        fresh = (*({**row, **now.get(_session(row), {})} for row in here), *far)
        held = replace(held, rows=fresh) if isinstance(held, Rows) else held
        return {**before, **_as_of({**more, VIEW: held}, polled)}


def _session(row: Row) -> tuple[object, ...]:
    return tuple(row.get(name) for name in ("instance", "sid", "serial#"))


def _as_of(readings: Mapping[str, Reading], polled: Snapshot) -> Mapping[str, Reading]:
    """The readings, true of the poll whose waiters they were compared with."""
    return {
        view: replace(reading, read_at=polled.taken_at) if isinstance(reading, Rows) else reading
        for view, reading in readings.items()
    }


BLOCKER = ("blocking_instance", "blocking_session", "final_blocking_instance", "final_blocking_session")


def _beside(hanging: Sequence[Row], rows: Sequence[Row]) -> list[Row]:
    """Sessions that hang, and those that wait for the same session since less."""
    behind = {tuple(row.get(name) for name in BLOCKER) for row in hanging} - {(None,) * len(BLOCKER)}
    more = [row for row in rows if tuple(row.get(name) for name in BLOCKER) in behind]
    return [*hanging, *(row for row in more if row not in hanging)]


class HourlyLook:
    """What one database is asked after its first poll and then once an hour, while no session hangs."""

    def __init__(self) -> None:
        self.found: Mapping[str, Reading] | None = None
        self._again_at = 0.0

    def after(self, snapshot: Snapshot, connection: Connection, now: float | None = None) -> None:
        """Ask, if it is due. Raises SessionError. A view that fails keeps what was read before; `now`: time.monotonic()."""
        now = time.monotonic() if now is None else now
        if (self.found is not None and now < self._again_at) or _may_hang(snapshot):
            return
        self._again_at = now + RARE_SECONDS
        before = self.found or {}
        self.found = {
            view: before.get(view, reading) if isinstance(reading, Missing) and reading.kind == "failed" else reading
            for view, reading in read_rarely(connection, snapshot.release).items()
        }


# When to read what changed: when a problem begins and once an hour, never while sessions hang; in the root without the cdb_ views
# as long as the row cache is waited for, and for good where many containers are open. Each reading is in the audit log.

CHANGES_ACTION = "look for changes"


class ChangesLook:
    """The readings of changes of one database."""

    def __init__(self, audit: Audit, enabled: bool = True) -> None:
        self._audit = audit
        self._enabled = enabled
        self._due = False
        self._looked_at: float | None = None
        self._problem_at: float | None = None
        """The last reading for a problem. The hourly one, which a session begins with, does not put it off."""
        self.readings: Mapping[str, Reading] = not_read(enabled=enabled)
        """What is known of the last reading, without its rows."""

    def after(
        self, published: Published, connection: Connection, timeline: ChangeLog, why_not: str | None = None
    ) -> None:
        """Read if it is time, and add what is found to the timeline. Raises SessionError. `why_not`: against all cdb_ views."""
        now = time.monotonic()
        self._due |= any(change.what == "begin" for change in published.episode_changes)
        hourly = self._looked_at is None or now - self._looked_at >= AGAIN_SECONDS
        problem = self._due and (self._problem_at is None or now - self._problem_at >= PAUSE_SECONDS)
        wanted = hourly or problem
        snapshot = published.snapshot
        unknown = why_not == WAITED and published.delta is None  # the next poll knows what the row cache costs
        if not self._enabled or not wanted or unknown or _may_hang(snapshot):
            return
        self._problem_at = now if problem else self._problem_at
        self._due, self._looked_at = False, now
        try:
            found = read_changes(connection, snapshot.release, why_not)
        except SessionError as error:
            self._audit.record(CALLER, CHANGES_ACTION, snapshot.database, f"the session was lost: {error}")
            raise
        if why_not == WAITED:  # the rest follows when nobody waits
            self._due, self._problem_at = True, now
        new = timeline.add(from_readings(found, snapshot))
        self.readings = kept(found, snapshot.taken_at)
        unread = [
            view for view, reading in found.items() if isinstance(reading, Missing) and reading.kind != "not_asked"
        ]
        outcome = "; not read: ".join((f"new changes found: {new}", *([", ".join(unread)] if unread else [])))
        # It comes every hour: without news it is in the audit file alone.
        level = logging.INFO if new or unread else logging.DEBUG
        self._audit.record(CALLER, CHANGES_ACTION, snapshot.database, outcome, level)


def _may_hang(snapshot: Snapshot) -> bool:
    """Whether a session hangs on the row cache at this poll, or nobody knows."""
    waiting = snapshot.read(WAITING)
    if isinstance(waiting, Missing):
        return True
    waits = [number(row.get("wait_time_micro")) for row in waiting.rows if row.get("event") != "latch free"]
    return any(wait is None or wait >= HANGING_SECONDS * 1e6 for wait in waits)


def _outcome(held: Reading) -> str:
    found = held.why if isinstance(held, Missing) else f"holders found: {len(held.rows)}"
    return "; ".join((found, *held.notes)) if isinstance(held, Rows) else found


def _elsewhere(rows: Iterable[Row], polled: Snapshot) -> list[tuple[int, int]]:
    """Instance and SID of the sessions of other instances that the waiting ones name as the end of their chain."""
    own = number(polled.instance.get("instance_number"))
    named = dict.fromkeys(
        (number(row.get("final_blocking_instance")), number(row.get("final_blocking_session"))) for row in rows
    )
    return [
        (int(at), int(sid)) for at, sid in named if own is not None and at not in (None, own) and at and sid is not None
    ]
