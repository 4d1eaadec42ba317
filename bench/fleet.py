"""What a replica costs: processor time per poll, a round of sharing, a question about somebody else's database.

Processor seconds of this process, so that a busy machine changes little; rounds and writes also by the clock, for there
PostgreSQL works too.
"""

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from rich.table import Table

from collectors.scenarios import scenarios
from collectors.simulator.database import ScriptedDatabase
from service.config.settings import DatabaseSettings
from service.fleet.remote import publication
from service.metrics.exposition import exposition
from service.state.board import MonitoredDatabase
from service.state.status import status_of
from service.store.fleet_status import FleetStatusTable
from service.store.queries.leases import SharedLeases
from service.store.repository import Repository
from service.watch.pipeline import run_poll
from tests.service.stores import Place, Postgres

NAME = "undo-storm"
POLLS = 200
FLEETS = (1000, 5000)


def figures() -> Table:
    """All of them."""
    table = Table("what", "processor ms", "clock ms", title="One replica of several, on one PostgreSQL")
    with _note_owners() as location:
        store = Repository(location.url)
        watched = MonitoredDatabase(DatabaseSettings(name=NAME, dsn=f"demo:{NAME}"), 15.0)
        began = datetime.now(UTC) - timedelta(hours=2)
        moments = iter(range(40, 10**6, 15))

        def once() -> None:
            at = float(next(moments))
            run_poll(watched, ScriptedDatabase(scenarios()[NAME], began, lambda: at), store)

        once()
        _row(table, "a poll, scripted, with its diagnosis, metrics and write", POLLS, once)
        published = watched.published
        assert published is not None
        snapshots = store.latest(NAME, 2)
        _row(
            table,
            "whole answer about a database of another replica",
            50,
            lambda: publication(store.latest(NAME, 2), {}, 0.0),
        )
        _row(table, "  of which reading two snapshots", 50, lambda: store.latest(NAME, 2))
        table.add_row("series of the database", "", str(exposition([watched], None)[0].count(b'{db="')))
        table.add_row("bytes of its page", "", f"{len(exposition([watched], None)[0]):,}")
        body = location.execute("select avg(length(body)) from snapshots")[0][0]
        table.add_row("bytes of a kept snapshot", "", f"{float(body):,.0f}")
        assert snapshots
        for databases in FLEETS:
            _shared(table, location, store, watched, databases)
        store.close()
    return table


def _shared(table: Table, location: Place, store: Repository, watched: MonitoredDatabase, databases: int) -> None:
    names = [f"db-{number}" for number in range(databases)]
    leases, status_table = SharedLeases(location.url, "bench", None, 60.0), FleetStatusTable(store.engine)
    leases.look(names)
    _row(table, f"take {databases:,} leases at once", 1, lambda: leases.take(names))
    (lease,) = leases.take(names[:1])
    _row(table, f"a round: who lives, who holds what of {databases:,}", 20, lambda: leases.look(names))
    _row(table, "ask whether one lease holds", 200, lease.held)
    statuses = [status_of(watched).model_copy(update={"database": name}) for name in names]
    _row(table, f"tell how {databases:,} databases stand", 3, lambda: status_table.put(statuses))
    _row(table, f"hear how {databases:,} databases stand", 5, status_table.all)
    leases.close()


def _row(table: Table, what: str, times: int, call: Callable[[], object]) -> None:
    clock, processor = time.perf_counter(), time.process_time()
    for _ in range(times):
        call()
    spent = (time.process_time() - processor, time.perf_counter() - clock)
    table.add_row(what, *(f"{1000 * seconds / times:.2f}" for seconds in spent))


@contextmanager
def _note_owners() -> Iterator[Place]:
    server = Postgres()
    with tempfile.TemporaryDirectory() as folder:
        location = Place("postgresql", Path(folder), server)
        try:
            yield location
        finally:
            server.stop()
