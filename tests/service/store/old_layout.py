"""Makes a store as a release before schema 0009 left it: a row for each figure."""

from typing import Any

from service.store.figures import OLD, Tier
from service.store.repository import Repository
from service.store.rows import insert_raw, table_of
from service.store.upkeep import figure_lines

NEW = {"poll": "figures", "5m": "figures_5m", "1h": "figures_1h"}
WIDTH = {"poll": 1, "5m": 7, "1h": 28}
DAY = 86_400_000


def as_of_old(store: Repository, *tiers: Tier) -> None:
    """Move the figures of these tiers, or of all, into the tables of the older layout."""
    for tier in tiers or ("poll", "5m", "1h"):
        table = table_of(OLD[tier])
        with store.engine.begin() as connection:
            rows: list[list[Any]] = list(figure_lines(connection, tier, None))
            names = [column.name for column in table.columns]
            if store.engine.dialect.name == "postgresql":
                width = WIDTH[tier] * DAY
                for begin in {row[names.index("at")] // width * width for row in rows}:
                    connection.exec_driver_sql(
                        f"create table if not exists {table.name[4:]}_{_day(begin)} partition of {table.name} "
                        f"for values from ({begin}) to ({begin + width})"
                    )
            connection.exec_driver_sql(f"delete from {NEW[tier]}")
            insert_raw(connection, table, rows)


def _day(at: int) -> str:
    from service.store.tables import moment

    return f"{moment(at):%Y%m%d}"
