"""What replicas tell each other through the store: how each database stands, and what its owner is asked to do."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from sqlalchemy import Engine, delete, insert, select
from sqlalchemy.dialects.postgresql import insert as upsert

from service.state.status import Request, Standing
from service.store.schema.fleet_tables import StoredRequest, StoredStanding

TOO_OLD = timedelta(minutes=1)
"""A request nobody took for so long is not carried out any more: its caller has long gone on."""


class Standings:
    """The tables `standings` and `requests`. Raises SQLAlchemyError when the store is down."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def put(self, standings: Sequence[Standing]) -> None:
        """Replace what is known of these databases."""
        rows = [{"database": one.database, "body": one.model_dump_json()} for one in standings]
        write = upsert(StoredStanding)
        write = write.on_conflict_do_update(index_elements=["database"], set_={"body": write.excluded.body})
        if rows:
            with self._engine.begin() as connection:
                connection.execute(write, rows)

    def all(self) -> dict[str, Standing]:
        """The last word about every database."""
        with self._engine.connect() as connection:
            bodies = connection.scalars(select(StoredStanding.body))
            return {one.database: one for one in map(Standing.model_validate_json, bodies)}

    def of(self, database: str) -> Standing | None:
        """The last word about one."""
        with self._engine.connect() as connection:
            body = connection.scalar(select(StoredStanding.body).where(StoredStanding.database == database))
            return None if body is None else Standing.model_validate_json(body)

    def ask(self, request: Request) -> None:
        """Leave a request for whoever polls the database."""
        row = {"database": request.database, "body": request.model_dump_json(), "asked_at": datetime.now(UTC)}
        with self._engine.begin() as connection:
            connection.execute(insert(StoredRequest), [row])

    def asked(self, databases: Sequence[str]) -> list[Request]:
        """Requests about these databases, each given once."""
        if not databases:
            return []
        mine = delete(StoredRequest).where(StoredRequest.database.in_(databases))
        with self._engine.begin() as connection:
            rows = connection.execute(mine.returning(StoredRequest.body, StoredRequest.asked_at)).all()
        oldest = datetime.now(UTC) - TOO_OLD
        return [Request.model_validate_json(body) for body, at in rows if at >= oldest]
