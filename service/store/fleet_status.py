"""The messages between replicas in the store: the state of each database, and requests to its owner."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from sqlalchemy import Engine, delete, insert, select, text
from sqlalchemy.dialects.postgresql import insert as upsert

from collectors.model import Snapshot
from service.state.confirmations import Confirmed
from service.state.episodes import Episode
from service.state.status import DatabaseStatus, OwnerRequest
from service.store.queries.stored_json import read
from service.store.repository import Repository
from service.store.schema.fleet_tables import StoredRequest, StoredStatus

TOO_OLD = timedelta(minutes=1)
"""A request that is older than this is not carried out: its caller no longer waits."""


class FleetStatusTable:
    """The tables `standings` and `requests`. Raises SQLAlchemyError when the store is down."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def put(self, statuses: Sequence[DatabaseStatus]) -> None:
        """Replace the state of these databases."""
        rows = [{"database": status.database, "body": status.model_dump_json()} for status in statuses]
        write = upsert(StoredStatus)
        write = write.on_conflict_do_update(index_elements=["database"], set_={"body": write.excluded.body})
        if rows:
            with self._engine.begin() as connection:
                connection.execute(write, rows)

    def all(self) -> dict[str, DatabaseStatus]:
        """The latest state of every database."""
        with self._engine.connect() as connection:
            bodies = connection.scalars(select(StoredStatus.body))
            return {status.database: status for status in (read(DatabaseStatus, body) for body in bodies)}

    def of(self, database: str) -> DatabaseStatus | None:
        """The latest state of one database."""
        with self._engine.connect() as connection:
            body = connection.scalar(select(StoredStatus.body).where(StoredStatus.database == database))
            return None if body is None else read(DatabaseStatus, body)

    def ask(self, request: OwnerRequest) -> None:
        """Leave a request for the replica that polls the database."""
        row = {"database": request.database, "body": request.model_dump_json(), "asked_at": datetime.now(UTC)}
        with self._engine.begin() as connection:
            connection.execute(insert(StoredRequest), [row])

    def asked(self, databases: Sequence[str]) -> list[OwnerRequest]:
        """Requests about these databases, each returned once."""
        if not databases:
            return []
        mine = delete(StoredRequest).where(StoredRequest.database.in_(databases))
        with self._engine.begin() as connection:
            rows = connection.execute(mine.returning(StoredRequest.body, StoredRequest.asked_at)).all()
        oldest = datetime.now(UTC) - TOO_OLD
        return [read(OwnerRequest, body) for body, at in rows if at >= oldest]


_POLLED = text(
    "select name, (select max(taken_at) from snapshots where database = name) from unnest(cast(:names as text[])) as name"
)


class FleetReader:
    """Reads for followers and for a replica that takes over. Every method raises SQLAlchemyError if the store is down."""

    def __init__(self, store: Repository, status_table: FleetStatusTable) -> None:
        self._store = store
        self._status_table = status_table

    def statuses(self) -> Mapping[str, DatabaseStatus]:
        """The latest state of every database."""
        return self._status_table.all()

    def status(self, database: str) -> DatabaseStatus | None:
        """The latest state of one database."""
        return self._status_table.of(database)

    def latest(self, database: str) -> Sequence[Snapshot]:
        """Its two newest snapshots, newest first."""
        return self._store.latest(database, 2)

    def polled(self, databases: Sequence[str]) -> Mapping[str, datetime]:
        """The newest kept poll of each, by the database's own clock."""
        with self._store.engine.connect() as connection:
            rows = connection.execute(_POLLED, {"names": list(databases)}).all()
        return {name: at for name, at in rows if at is not None}

    def episodes(self, database: str) -> Sequence[Episode]:
        """Its episodes, open ones and the last that ended."""
        return self._store.episodes.recent(database)

    def confirmed(self, database: str) -> Mapping[str, Confirmed]:
        """Results of confirming queries that are still valid, by cause."""
        return self._store.confirmations.live(datetime.now(UTC)).get(database, {})
