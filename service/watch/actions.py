"""Actions on a database beyond its polls: a confirming query, a profile of holders. Each is short and audited.

An action has its own session, so that polls go on. In the whole fleet each database has at most one action at a time, so
that we never have more than two sessions on it. It runs on the replica that got the request. What only the worker of a
database can do is passed to the replica that polls it.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from collectors.model import ROW_CACHE_LATCH
from collectors.ondemand.holders import HolderProfile, profile
from collectors.poll import Connection
from rules.cause import Cause
from service.state import episodes
from service.state.board import MonitoredDatabase
from service.state.episodes import ConfirmationRefused, Confirmed
from service.state.replicas import Leases, LeasesLost, OwnerRequest
from service.store.engine import STORE_ERRORS
from service.store.replicas import FleetStatusTable
from service.watch.connect import ConnectionOpener, open_session, refuse_without_login
from service.watch.worker import Worker


class ActionRunning(Exception):
    """Another action runs on the database; its session must end first."""


class OwnerUnreachable(Exception):
    """The replica that polls the database could not be reached."""


class OperatorActions:
    """The actions that this replica can do for a caller."""

    def __init__(
        self,
        opener: ConnectionOpener,
        leases: Leases,
        worker: Callable[[str], Worker | None],
        messenger: FleetStatusTable | None,
    ) -> None:
        """`worker`: the worker of a database here; `messenger`: requests to other replicas, None without them."""
        self._opener = opener
        self._leases = leases
        self._worker = worker
        self._messenger = messenger

    def confirm(self, watched: MonitoredDatabase, cause: Cause, *, names: bool = False) -> Confirmed:
        """Run a cause's confirming query. Its result, or its refusal, counts in the next diagnoses.

        Raises ActionRunning, OwnerUnreachable, LoginStopped, StatementError, SessionError.
        """
        snapshot = watched.published.snapshot if watched.published else None
        started, release = (snapshot.startup_time, snapshot.release) if snapshot else (None, None)
        try:
            with self._session(watched) as connection:
                result = episodes.run(cause, connection, started, release, names=names)
        except ConfirmationRefused as refusal:
            self._counts(watched, refusal.result)
            raise
        self._counts(watched, result)
        return result

    def _counts(self, watched: MonitoredDatabase, result: Confirmed) -> None:
        watched.confirmed[result.cause] = result
        if not watched.owned:
            self._pass_on(OwnerRequest(database=watched.name, do="confirmed", confirmed=result))

    def profile(self, watched: MonitoredDatabase, seconds: float, looks: int) -> HolderProfile:
        """Profile who holds the row cache latch.

        Raises ActionRunning, NotApplicable, LoginStopped, StatementError, SessionError.
        """
        with self._session(watched) as connection:
            return profile(connection, ROW_CACHE_LATCH, seconds, looks)

    def sample(self, watched: MonitoredDatabase) -> None:
        """Sample waiting sessions after the next poll. Raises LoginStopped, OwnerUnreachable."""
        refuse_without_login(watched)
        worker = self._worker(watched.name)
        if worker is not None:
            worker.ask_for_samples()
        else:
            self._pass_on(OwnerRequest(database=watched.name, do="samples"))

    def resume_login(self, watched: MonitoredDatabase) -> bool:
        """Try the same password once more. False if login was not stopped. Raises OwnerUnreachable."""
        worker = self._worker(watched.name)
        if worker is not None:
            return worker.resume_login()
        stopped = watched.login.resume()
        self._pass_on(OwnerRequest(database=watched.name, do="resume"))
        return stopped or (watched.failure is not None and watched.failure.kind == "credential")

    def _pass_on(self, request: OwnerRequest) -> None:
        if self._messenger is None:
            return
        try:
            self._messenger.ask(request)
        except STORE_ERRORS:
            why = "another replica polls it, and cannot be reached while the store does not answer"
            raise OwnerUnreachable(f"{request.database}: {why}") from None

    @contextmanager
    def _session(self, watched: MonitoredDatabase) -> Iterator[Connection]:
        busy = ActionRunning(f"another action runs on {watched.name}; try again when it has ended")
        if not watched.action_lock.acquire(blocking=False):
            raise busy
        try:
            with ExitStack() as ends:
                try:
                    granted = ends.enter_context(self._leases.acting(watched.name))
                except LeasesLost:
                    why = "is unknown while the store does not answer"
                    raise ActionRunning(f"whether another replica acts on {watched.name} {why}") from None
                if not granted:
                    raise busy
                connection = open_session(watched, self._opener)
                ends.callback(connection.close)
                yield connection
        finally:
            watched.action_lock.release()
