"""What the store knows of databases that other replicas poll."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from sqlalchemy import text

from collectors.model import Snapshot
from service.state.confirmations import Confirmed
from service.state.episodes import Episode
from service.state.status import Standing
from service.store.fleet_status import Standings
from service.store.repository import Repository

_POLLED = text(
    "select name, (select max(taken_at) from snapshots where database = name) from unnest(cast(:names as text[])) as name"
)


class Archive:
    """Reads for followers and for whoever takes over. Every method raises SQLAlchemyError when the store is down."""

    def __init__(self, store: Repository, words: Standings) -> None:
        self._store = store
        self._words = words

    def standings(self) -> Mapping[str, Standing]:
        """The last word about every database."""
        return self._words.all()

    def standing(self, database: str) -> Standing | None:
        """The last word about one."""
        return self._words.of(database)

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
        """Results of confirming queries that still count, by cause."""
        return self._store.confirmations.live(datetime.now(UTC)).get(database, {})
