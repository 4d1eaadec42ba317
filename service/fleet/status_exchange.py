"""The exchange between replicas: the state of our databases, and requests about them."""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

from service.state.board import MonitoredDatabase
from service.state.confirmations import VALID_SECONDS
from service.state.status import DatabaseStatus, OwnerRequest, status_of
from service.watch.worker import Worker

log = logging.getLogger("latchscope.fleet")


class StatusStore(Protocol):
    """Where messages for other replicas are left."""

    def put(self, statuses: Sequence[DatabaseStatus]) -> None:
        """Replace the state of these databases. Raises what the store raises."""
        ...

    def asked(self, databases: Sequence[str]) -> Sequence[OwnerRequest]:
        """Requests about these databases, each returned once. Raises what the store raises."""
        ...


class StatusExchange:
    """Acts for one replica, once per round."""

    def __init__(self, store: StatusStore, errors: tuple[type[Exception], ...]) -> None:
        """`errors`: what the store raises when it is in trouble."""
        self._store = store
        self._errors = errors
        self._published: dict[str, DatabaseStatus] = {}

    def publish(self, own: Sequence[MonitoredDatabase], worker: Callable[[str], Worker | None]) -> None:
        """Publish what changed about our databases, and carry out requests.

        Store errors are reported by the writer.
        """
        now = {database.name: status_of(database) for database in own}
        try:
            self._store.put([status for name, status in now.items() if self._published.get(name) != status])
            self._published = now
            for request in self._store.asked(list(now)):
                self._carry_out(
                    request, {database.name: database for database in own}[request.database], worker(request.database)
                )
        except self._errors as error:
            log.info("the state cannot be published to other replicas: %s", error)

    @staticmethod
    def _carry_out(request: OwnerRequest, watched: MonitoredDatabase, worker: Worker | None) -> None:
        if request.confirmed is not None:
            left = VALID_SECONDS - (time.time() - request.confirmed.at)
            result = replace(request.confirmed, expires=time.monotonic() + left)
            watched.confirmed[result.cause] = result
        elif worker is not None and request.do == "samples":
            worker.ask_for_samples()
        elif worker is not None:
            worker.resume_login()
