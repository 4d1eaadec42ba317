"""Whether a store is whole: what the engine itself says, rows that belong to nothing, gaps between polls, wrong roll-ups."""

from collections.abc import Iterator

from sqlalchemy import Connection, Engine, text

from service.store.schema.history_tables import moment

MOST = 20
"""Problems of a kind that are told one by one."""

_ORPHANS = {
    "rows of deltas have no poll": """
        select count(*) from (select distinct database_id, at from deltas) d
         where not exists (select 1 from polls p where p.database_id = d.database_id and p.at = d.at)""",
    "items of deltas are not in items": """
        select count(*) from (select distinct item_id from deltas) d where item_id not in (select id from items)""",
    "items of five_minutes are not in items": """
        select count(*) from (select distinct item_id from five_minutes) d where item_id not in (select id from items)""",
    "items of hours are not in items": """
        select count(*) from (select distinct item_id from hours) d where item_id not in (select id from items)""",
    "databases of polls are not in databases": """
        select count(*) from (select distinct database_id from polls) d
         where database_id not in (select id from databases)""",
    "databases of buckets are not in databases": """
        select count(*) from (select distinct database_id from buckets) d
         where database_id not in (select id from databases)""",
}

_GAPS = """
    select d.name, p.at, p.gap
      from (select database_id, at, at - seconds * 1000 - lag(at) over (partition by database_id order by at) as gap
              from polls) p
      join databases d on d.id = p.database_id
     where abs(p.gap) > 5
     order by p.at"""
"""Every interval begins where the poll before it ended, to the millisecond or so; else a poll was lost, or counts twice."""

_ROLLED = """
    with whole as (
      select b.database_id, b.at from buckets b
       where b.width = {width}
         and b.polls = (select {count} from {source} s where s.database_id = b.database_id
                           and s.at >= b.at and s.at < b.at + {ms} {only})
         and not exists (select 1 from unrolled u where u.database_id = b.database_id
                            and (u.width = {width} and u.at = b.at
                                 or u.width < {width} and u.at >= b.at and u.at < b.at + {ms})))
    select d.name, s.bucket, s.item_id, s.fine, s.rolled
      from (select database_id, bucket, item_id, sum(fine) as fine, sum(rolled) as rolled
              from (select database_id, at - at % {ms} as bucket, item_id, {value} as fine, 0.0 as rolled from {finer}
                    union all
                    select database_id, at, item_id, 0.0, total from {coarser}) both_of_them
             where item_id in (select id from items where not gauge)
             group by database_id, bucket, item_id) s
      join whole w on w.database_id = s.database_id and w.at = s.bucket
      join databases d on d.id = s.database_id
     where abs(s.fine - s.rolled) > 0.000001 + 0.000000001 * abs(s.fine)
     order by s.bucket"""

_NOT_ROLLED = """
    select d.name, p.bucket
      from (select database_id, at - at % 300000 as bucket, count(*) as polls from polls group by 1, 2) p
      join databases d on d.id = p.database_id
      left join buckets b on b.width = 300 and b.database_id = p.database_id and b.at = p.bucket
      left join unrolled u on u.width = 300 and u.database_id = p.database_id and u.at = p.bucket
     where u.at is null and p.polls > coalesce(b.polls, 0)"""


def problems(engine: Engine) -> Iterator[str]:
    """What is wrong with the store, a line each; nothing where it is whole. Raises SQLAlchemyError."""
    with engine.connect() as connection:
        yield from _sqlite(connection) if engine.dialect.name == "sqlite" else _postgresql(connection)
        for said, query in _ORPHANS.items():
            count = connection.scalar(text(query))
            if count:
                yield f"{count} {said}"
        yield from _shortened(
            f"{name}: {_gap(gap)} before {_time(at)}" for name, at, gap in connection.execute(text(_GAPS))
        )
        yield from _rollups(connection)


def _sqlite(connection: Connection) -> Iterator[str]:
    for (said,) in connection.exec_driver_sql("pragma integrity_check"):
        if said != "ok":
            yield f"SQLite: {said}"
    for row in connection.exec_driver_sql("pragma foreign_key_check"):
        yield f"SQLite: a row of {row[0]} refers to nothing"


def _postgresql(connection: Connection) -> Iterator[str]:
    for (name,) in connection.execute(text("select conname from pg_constraint where not convalidated")):
        yield f"PostgreSQL: constraint {name} is not validated"
    for (name,) in connection.execute(text("select indexrelid::regclass::text from pg_index where not indisvalid")):
        yield f"PostgreSQL: index {name} is not valid"


def _rollups(connection: Connection) -> Iterator[str]:
    five = {"width": 300, "ms": 300_000, "count": "count(*)", "source": "polls", "only": ""}
    hour = {"width": 3600, "ms": 3_600_000, "count": "sum(s.polls)", "source": "buckets", "only": "and s.width = 300"}
    for members in (
        five | {"value": "value", "finer": "deltas", "coarser": "five_minutes"},
        hour | {"value": "total", "finer": "five_minutes", "coarser": "hours"},
    ):
        rows = connection.execute(text(_ROLLED.format(**members)))
        yield from _shortened(
            f"{name}: {members['coarser']} at {_time(at)} has {rolled:g} of item {item}, {members['finer']} sum to {fine:g}"
            for name, at, item, fine, rolled in rows
        )
    late = connection.execute(text(_NOT_ROLLED))
    yield from _shortened(f"{name}: polls of {_time(at)} are in no roll-up and not due for one" for name, at in late)


def _shortened(lines: Iterator[str]) -> Iterator[str]:
    """The first of the problems of a kind, and how many more there are."""
    for shown, line in enumerate(lines):
        if shown >= MOST:
            yield f"… and {1 + sum(1 for _ in lines)} more of this kind"
            return
        yield line


def _gap(milliseconds: float) -> str:
    if milliseconds > 0:
        return f"{milliseconds / 1000:.1f} s are missing"
    return f"{-milliseconds / 1000:.1f} s count twice"


def _time(at: int) -> str:
    return f"{moment(int(at)):%Y-%m-%d %H:%M:%S} UTC"
