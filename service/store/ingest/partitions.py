"""PostgreSQL keeps figures in partitions by time, created ahead and dropped as a whole. SQLite has no partitions."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection, Engine, text

from service.store.schema.history_tables import PARTITION_DAYS, millis, moment

DAY = 86_400_000
AHEAD = timedelta(days=2)
LOCK = 0x1A7C5C09F
"""Advisory lock for the creation of partitions: two writers may want the same one."""


class Partitions:
    """The partitions of one store; does nothing on SQLite."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._active = engine.dialect.name == "postgresql"
        self._known: set[tuple[str, int]] = set()

    def ensure(self, table: str, times: Iterable[int]) -> None:
        """Make sure that rows of these times (milliseconds) have a partition."""
        if not self._active:
            return
        width = PARTITION_DAYS[table] * DAY
        wanted = {at - at % width for at in times}
        for begin in sorted(wanted - {begin for name, begin in self._known if name == table}):
            with self._engine.begin() as connection:
                connection.execute(text(f"select pg_advisory_xact_lock({LOCK})"))
                connection.execute(
                    text(
                        f"create table if not exists {_name(table, begin)} partition of {table} "
                        f"for values from ({begin}) to ({begin + width})"
                    )
                )
            self._known.add((table, begin))

    def ahead(self, now: datetime) -> None:
        """Create the partitions of the coming days, so that no poll waits for one."""
        for table in PARTITION_DAYS:
            self.ensure(table, (millis(now), millis(now + AHEAD)))

    def drop_before(self, table: str, before: datetime, days: int | None = None) -> int:
        """Drop each partition, of this many days, that ends before this time. Returns their number."""
        if not self._active:
            return 0
        width = (days or PARTITION_DAYS[table]) * DAY
        dropped = 0
        with self._engine.begin() as connection:
            old = [(begin, name) for begin, name in _children(connection, table) if begin + width <= millis(before)]
        for begin, name in old:
            with self._engine.begin() as connection:
                connection.execute(text(f"drop table if exists {name}"))
            self._known.discard((table, begin))
            dropped += 1
        return dropped


def _name(table: str, begin: int) -> str:
    return f"{table}_{moment(begin).astimezone(UTC):%Y%m%d}"


def _children(connection: Connection, table: str) -> list[tuple[int, str]]:
    """The partitions of a table: the start of each in milliseconds, and its name, perhaps from an older release."""
    names = connection.scalars(
        text(
            "select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid "
            "where i.inhparent = to_regclass(:parent)"
        ),
        {"parent": table},
    )
    return [(millis(datetime.strptime(name.rpartition("_")[2], "%Y%m%d").replace(tzinfo=UTC)), name) for name in names]
