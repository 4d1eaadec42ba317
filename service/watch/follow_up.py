"""What follows a poll on its session: confirming queries, who holds what sessions hang on, what changed, samples."""

import logging
import time
from collections.abc import Mapping

from collectors.errors import SessionError, SessionKept, StatementError
from collectors.model import Missing, Reading, Rows, Snapshot, number
from collectors.ondemand.blockers import AGAIN_SECONDS, LATER, VIEW, look_for_blockers, not_looked, warm_up
from collectors.ondemand.changes import RARE_SECONDS, kept, not_read, read_changes, read_rarely
from collectors.ondemand.sampling import Burst
from collectors.poll import Connection
from rules.cause import catalogue
from rules.changes import from_readings
from rules.model import Diagnosis, Severity
from rules.waits import HANGING_SECONDS
from service.config.logs import Audit
from service.state import episodes
from service.state.board import ChangeLog, MonitoredDatabase, Published

log = logging.getLogger("latchscope.loop")


class FollowUp:
    """What one database is asked between two polls. The next poll takes the results."""

    def __init__(
        self,
        watched: MonitoredDatabase,
        look: "BlockerLook | None" = None,
        changes: "ChangesLook | None" = None,
        *,
        confirms: bool = False,
    ) -> None:
        """`changes`: reads what changed, by default nothing; `confirms`: whether the confirming query of each problem that
        begins is run."""
        self._watched = watched
        self._look = look or BlockerLook(Audit())
        self._changes = changes or ChangesLook(Audit(), enabled=False)
        self._confirms = confirms
        self._hourly = HourlyLook()
        self._burst: Burst | None = None
        self._asked = False

    def after(self, published: Published, connection: Connection) -> None:
        """Ask what this poll calls for. Raises SessionError if the session is lost."""
        self._confirm_what_began(published, connection)
        self._look_for_blockers(published, connection)
        self._hourly.after(published.snapshot, connection)
        self._look_for_changes(published, connection)
        costly = published.delta is not None and published.verdict.severity is not Severity.INFO
        self._burst = Burst(published.snapshot.release) if self._asked or costly else None
        self._asked = False

    @property
    def blockers(self) -> Mapping[str, Reading] | None:
        """Who holds what sessions hang on. None without a look."""
        return self._look.found

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
        """The waiting sessions that were sampled since the last poll. None if nothing called for it."""
        return self._burst.taken() if self._burst else None

    @property
    def sampling(self) -> bool:
        """Whether more samples are wanted."""
        return self._burst is not None and not self._burst.spent

    def ask_for_samples(self) -> None:
        """Sample after the next poll, whatever it shows."""
        self._asked = True

    def sample(self, connection: Connection) -> None:
        """One sample. Raises SessionError if the session is lost."""
        if self._burst is not None:
            self._burst.look(connection)

    def forget_samples(self) -> None:
        """After a failure: samples of an interval that no poll ends."""
        self._burst = None

    def _confirm_what_began(self, published: Published, connection: Connection) -> None:
        """A refusal is recorded."""
        began = [change.episode.cause for change in published.episode_changes if change.what == "begin"]
        for cause in map(catalogue().get, began if self._confirms else ()):
            if cause is None or cause.confirm is None:
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

    def _look_for_blockers(self, published: Published, connection: Connection) -> None:
        """The next diagnosis shows them."""
        try:
            instance = number(published.snapshot.instance.get("instance_number"))
            self._look.after(published.verdict, connection, instance=instance)
            self._look.warm(published.snapshot, connection)
        except SessionError as error:
            log.warning("%s: who holds what sessions hang on was not found: %s", self._watched.name, error)
            if not isinstance(error, SessionKept):
                raise

    def _look_for_changes(self, published: Published, connection: Connection) -> None:
        """The next poll stores what was found."""
        try:
            self._changes.after(published, connection, self._watched.timeline)
        except SessionError as error:
            log.warning("%s: what changed was not read: %s", self._watched.name, error)
            if not isinstance(error, SessionKept):
                raise


# When to look for blockers: once per hang, at most once a minute. Every look is in the audit log.
#
# The looks run once when a session begins, and again after an hour, so that a hang does not meet them unparsed.

PAUSE_SECONDS = 60.0
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
        self._looked_at: float | None = None
        self._cold: Mapping[str, Missing] = {}
        self._warmed: Connection | None = None
        self._warmed_at = 0.0

    @property
    def found(self) -> Mapping[str, Reading] | None:
        """The result of this hang's look, else the looks that are cold. None without either."""
        if self._found is None and self._cold:
            return {**not_looked(), **self._cold}
        return self._found

    def warm(self, snapshot: Snapshot, connection: Connection, now: float | None = None) -> None:
        """Run the looks once on this session, and again after an hour, if no session hangs. Raises SessionError.

        Not while it is unknown who waits: then the looks may not be read either.
        """
        now = time.monotonic() if now is None else now
        fresh = connection is self._warmed and now - self._warmed_at < AGAIN_SECONDS
        if not self._enabled or fresh or _may_hang(snapshot):
            return
        self._warmed, self._warmed_at = connection, now
        self._cold = warm_up(connection, snapshot, wait_chains=self._wait_chains)
        for view, reading in self._cold.items():
            log.warning("%s: %s: %s", snapshot.database, view, reading.why)

    def after(
        self, diagnosis: Diagnosis, connection: Connection, now: float | None = None, *, instance: float | None = None
    ) -> None:
        """Look, if sessions hang and there was no look yet. Raises SessionError.

        A look that found nothing is repeated after a minute, while the hang lasts. `now`: time.monotonic(); `instance`:
        number of the polled instance, without which no other instance is read.
        """
        if not any(group.hanging and group.event != "latch free" for group in diagnosis.waiting):
            self._found = None
            return
        now = time.monotonic() if now is None else now
        early = self._looked_at is not None and now - self._looked_at < PAUSE_SECONDS
        held = None if self._found is None else self._found[VIEW]
        if not self._enabled or early or _known(held, diagnosis):
            return
        self._looked_at = now
        try:
            self._found = look_for_blockers(
                connection,
                diagnosis.release,
                _elsewhere(diagnosis, instance),
                cold=connection is not self._warmed,
                wait_chains=self._wait_chains,
            )
        except SessionError as error:
            lost = Missing(VIEW, "failed", f"{VIEW}: the session was lost in the look: {error}", LATER)
            self._found = {VIEW: lost}
            self._audit.record(CALLER, ACTION, diagnosis.database, lost.why)
            raise
        self._audit.record(CALLER, ACTION, diagnosis.database, _outcome(self._found[VIEW]))


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


# When to read what changed: when a problem begins and once an hour, never while sessions hang. Each reading is in the audit log.

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
        self, published: Published, connection: Connection, timeline: ChangeLog, now: float | None = None
    ) -> None:
        """Read if it is time, and add what is found to the timeline. Raises SessionError. `now`: time.monotonic()."""
        now = time.monotonic() if now is None else now
        self._due |= any(change.what == "begin" for change in published.episode_changes)
        hourly = self._looked_at is None or now - self._looked_at >= AGAIN_SECONDS
        problem = self._due and (self._problem_at is None or now - self._problem_at >= PAUSE_SECONDS)
        wanted = hourly or problem
        snapshot = published.snapshot
        if not self._enabled or not wanted or _may_hang(snapshot):
            return
        self._problem_at = now if problem else self._problem_at
        self._due, self._looked_at = False, now
        try:
            found = read_changes(connection, snapshot.release)
        except SessionError as error:
            self._audit.record(CALLER, CHANGES_ACTION, snapshot.database, f"the session was lost: {error}")
            raise
        new = timeline.add(from_readings(found, snapshot))
        self.readings = kept(found, snapshot.taken_at)
        unread = [
            view for view, reading in found.items() if isinstance(reading, Missing) and reading.kind != "not_asked"
        ]
        outcome = "; not read: ".join((f"new changes found: {new}", *([", ".join(unread)] if unread else [])))
        self._audit.record(CALLER, CHANGES_ACTION, snapshot.database, outcome)


def _may_hang(snapshot: Snapshot) -> bool:
    """Whether a session hangs on the row cache at this poll, or nobody knows."""
    waiting = snapshot.read("waiting_sessions")
    if isinstance(waiting, Missing):
        return True
    waits = (number(row.get("wait_time_micro")) for row in waiting.rows if row.get("event") != "latch free")
    return any(wait is None or wait >= HANGING_SECONDS * 1e6 for wait in waits)


def _outcome(held: Reading) -> str:
    found = held.why if isinstance(held, Missing) else f"holders found: {len(held.rows)}"
    return "; ".join((found, *held.notes)) if isinstance(held, Rows) else found


def _elsewhere(diagnosis: Diagnosis, instance: float | None) -> list[tuple[int, int]]:
    """Instance and SID of the blockers on other instances with an unknown serial number."""
    named = diagnosis.blockers.blockers if diagnosis.blockers else ()
    return [
        (blocker.instance, blocker.sid)
        for blocker in named
        if instance is not None
        and blocker.serial is None
        and blocker.sid is not None
        and blocker.instance not in (None, int(instance))
    ]


def _known(held: Reading | None, diagnosis: Diagnosis) -> bool:
    """Whether another look would bring nothing: the known holder still holds, or the view may not be read."""
    if isinstance(held, Missing):
        return held.kind in ("refused", "not_asked")
    chains = diagnosis.blockers.chains if diagnosis.blockers else ()
    ends = [chain.end for chain in chains[:1] if not chain.disagreements]
    return held is not None and any(end is not None and end.serial is not None for end in ends)
