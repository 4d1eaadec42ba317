"""Which replica polls what: session-level advisory locks of PostgreSQL, on one separate connection per replica.

A lock lasts exactly as long as its session. A killed process ends its session at once. If the process hangs, or its host
is gone, the server ends it after `idle_session_timeout`, which the session sets for itself.
"""

import hashlib
import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from sqlalchemy import Connection, Engine, NullPool, create_engine, delete, event, insert, select, text
from sqlalchemy.exc import SQLAlchemyError

from service.state.replicas import DatabaseStatus, Lease, Leases, LeasesLost, OwnerRequest, Ownership, Replica
from service.store.record import read
from service.store.repository import Repository
from service.store.rows import upsert
from service.store.tables import REQUESTS, STANDINGS

# The messages between replicas in the store: the state of each database, and requests to its owner.

TOO_OLD = timedelta(minutes=1)
"""A request that is older than this is not carried out: its caller no longer waits."""


class FleetStatusTable:
    """The tables `standings` and `requests`. Raises SQLAlchemyError when the store is down."""

    def __init__(self, store: Repository) -> None:
        self.store, self._engine = store, store.engine

    def put(self, statuses: Sequence[DatabaseStatus]) -> None:
        """Replace the state of these databases."""
        rows = [{"database": status.database, "body": status.model_dump_json()} for status in statuses]
        if rows:
            with self._engine.begin() as connection:
                upsert(connection, STANDINGS, rows)

    def all(self) -> dict[str, DatabaseStatus]:
        """The latest state of every database."""
        with self._engine.connect() as connection:
            bodies = connection.scalars(select(STANDINGS.c.body))
            return {status.database: status for status in (read(DatabaseStatus, body) for body in bodies)}

    def of(self, database: str) -> DatabaseStatus | None:
        """The latest state of one database."""
        with self._engine.connect() as connection:
            body = connection.scalar(select(STANDINGS.c.body).where(STANDINGS.c.database == database))
            return None if body is None else read(DatabaseStatus, body)

    def ask(self, request: OwnerRequest) -> None:
        """Leave a request for the replica that polls the database."""
        row = {"database": request.database, "body": request.model_dump_json(), "asked_at": datetime.now(UTC)}
        with self._engine.begin() as connection:
            connection.execute(insert(REQUESTS), row)

    def asked(self, databases: Sequence[str]) -> list[OwnerRequest]:
        """Requests about these databases, each returned once."""
        if not databases:
            return []
        mine = delete(REQUESTS).where(REQUESTS.c.database.in_(databases))
        with self._engine.begin() as connection:
            rows = connection.execute(mine.returning(REQUESTS.c.body, REQUESTS.c.asked_at)).all()
        oldest = datetime.now(UTC) - TOO_OLD
        return [read(OwnerRequest, body) for body, at in rows if at >= oldest]


log = logging.getLogger("latchscope.fleet")

CONNECT_SECONDS = 5
_LOCKS = text(
    "select classid::bigint << 32 | objid::bigint, pid from pg_locks where locktype = 'advisory' and granted"
    " and objsubid = 1 and database = (select oid from pg_database where datname = current_database())"
)
_TAKE = text("select key from unnest(cast(:keys as bigint[])) as key where pg_try_advisory_lock(key)")
_GIVE = text("select pg_advisory_unlock(:key)")
_JOIN = text("insert into replicas (id, name, url) values (:id, :name, :url)")
_REPLICAS = text("select id, name, url from replicas")
_FORGET = text("delete from replicas where id = any(cast(:gone as text[]))")
_SESSION = {
    "application_name": "latchscope-leases",
    "idle_session_timeout": "{ms}ms",
    "statement_timeout": "{ms}ms",
}


def key_of(kind: str, name: str) -> int:
    """The number of a lock: 64 bits, the same on every host and in every release."""
    return int.from_bytes(hashlib.blake2b(f"latchscope {kind} {name}".encode(), digest_size=8).digest(), signed=True)


class SharedLeases(Leases):
    """The leases of one replica. Any thread may use it; one statement runs at a time, for at most `lasting` seconds."""

    alone = False

    def __init__(self, url: str, name: str, address: str | None, lasting: float) -> None:
        """`lasting`: seconds of silence after which the server gives the leases of a replica to others."""
        self._engine = _engine(url, lasting)
        self._name = name
        self._address = address
        self._lasting = lasting
        self._lock = threading.RLock()
        self._connection: Connection | None = None
        self._held: dict[str, Lease] = {}
        self.me = Replica("", name, address)

    def look(self, databases: Iterable[str]) -> Ownership:
        """Joins, or joins again, if needed."""
        with self._session() as session:
            if not self.me.id:
                self._join(session)
            known = {row.id: Replica(row.id, row.name, row.url) for row in session.execute(_REPLICAS)}
            holders = {int(key): int(pid) for key, pid in session.execute(_LOCKS)}
        pids = {
            holders[key]: replica for replica in known.values() if (key := key_of("replica", replica.id)) in holders
        }
        if gone := [replica for replica in known if key_of("replica", replica) not in holders]:
            self._quietly(lambda session: session.execute(_FORGET, {"gone": gone}))
        owners = {name: pids.get(holders[key]) for name in databases if (key := key_of("poll", name)) in holders}
        return Ownership(tuple(sorted(pids.values(), key=lambda replica: (replica.name, replica.id))), owners)

    def take(self, names: Sequence[str]) -> tuple[Lease, ...]:
        """A lock for each, in one statement."""
        with self._session() as session:
            wanted = {key_of("poll", name): name for name in names if name not in self._held}
            for key in session.scalars(_TAKE, {"keys": list(wanted)}):
                name = wanted[key]
                self._held[name] = Lease(name, self._holds)
            return tuple(self._held[name] for name in names if name in self._held)

    def give(self, lease: Lease) -> None:
        """Unlock it, unless it is of a term that is over."""
        with self._lock:
            if self._held.get(lease.database) is not lease:
                return
            del self._held[lease.database]
            self._quietly(lambda session: session.execute(_GIVE, {"key": key_of("poll", lease.database)}))

    def acting(self, database: str) -> AbstractContextManager[bool]:
        """Only one replica may at a time."""
        return self._alone_at(key_of("act", database))

    def logging_in(self, account: str) -> AbstractContextManager[bool]:
        """Only one replica may at a time."""
        return self._alone_at(key_of("login", account))

    @contextmanager
    def _alone_at(self, key: int) -> Iterator[bool]:
        with self._session() as session:
            granted = bool(session.scalars(_TAKE, {"keys": [key]}).all())
        try:
            yield granted
        finally:
            if granted:
                self._quietly(lambda session: session.execute(_GIVE, {"key": key}))

    def close(self) -> None:
        with self._lock:
            self._quietly(lambda session: session.execute(_FORGET, {"gone": [self.me.id]}))
            self._lose()
        self._engine.dispose()

    def _holds(self, lease: Lease) -> bool:
        """Whether the lease is held now. Only the server knows, so it is asked."""
        try:
            with self._session() as session:
                session.execute(text("select 1"))
                return self._held.get(lease.database) is lease
        except LeasesLost:
            return False

    @contextmanager
    def _session(self) -> Iterator[Connection]:
        """The only connection, for one statement after another. Raises LeasesLost if it cannot answer in time."""
        began = time.monotonic()
        if not self._lock.acquire(timeout=self._lasting):
            raise LeasesLost("the store does not answer")
        try:
            if self._connection is None:
                self._connection = self._engine.connect()
            yield self._connection
            # A late answer is about a time when the session still existed.
            if time.monotonic() - began > self._lasting:
                raise LeasesLost("the store answered too late")
        except (SQLAlchemyError, LeasesLost) as error:
            self._lose()
            raise LeasesLost(str(getattr(error, "orig", None) or error).splitlines()[0]) from None
        finally:
            self._lock.release()

    def _join(self, session: Connection) -> None:
        """Become a live replica: the lock first, so that a row without a lock always belongs to a dead one."""
        me = Replica(uuid4().hex, self._name, self._address)
        session.execute(_TAKE, {"keys": [key_of("replica", me.id)]})
        session.execute(_JOIN, {"id": me.id, "name": me.name, "url": me.url})
        self.me = me

    def _quietly(self, ask: Callable[[Connection], object]) -> None:
        try:
            with self._session() as session:
                ask(session)
        except LeasesLost:
            log.info("the store did not answer; with the session ended what was to be given back")

    def _lose(self) -> None:
        self._held.clear()
        self.me = Replica("", self._name, self._address)
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(SQLAlchemyError):
                connection.invalidate()
                connection.close()


def _engine(url: str, lasting: float) -> Engine:
    """Creates sessions that the server ends after this many seconds of silence, and that we give up as soon."""
    whole = max(1, round(lasting))
    timeouts = {"connect_timeout": CONNECT_SECONDS, "keepalives_idle": whole, "tcp_user_timeout": whole * 1000}
    engine = create_engine(url, poolclass=NullPool, isolation_level="AUTOCOMMIT", connect_args=timeouts)

    @event.listens_for(engine, "connect")
    def _bounded(connection: Any, record: object) -> None:
        for setting, value in _SESSION.items():
            connection.execute(f"set {setting} = '{value.format(ms=round(lasting * 1000))}'")

    return engine
