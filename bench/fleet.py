"""What one of several replicas costs on one PostgreSQL: leases, its row about each database, an answer about another
replica's database. Figures are milliseconds of processor of this process and of the server, and of the clock, which means
little on a busy machine. `bench poll` measures a poll, `bench history` a write, `bench leases` a takeover.
"""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from rich.table import Table

from bench._options import counts, parser
from bench._processor import spent
from bench._stores import store_place
from collectors.demo.database import ScriptedDatabase
from collectors.demo.scenarios import scenarios
from service.config.settings import DatabaseSettings
from service.fleet.exchange import publication
from service.state.board import MonitoredDatabase
from service.state.replicas import status_of
from service.store.replicas import FleetStatusTable, SharedLeases
from service.store.repository import Repository
from service.watch.pipeline import run_poll
from tests.service.stores import Place

NAME = "undo-storm"
TINY = "--databases 5 --times 1"


@dataclass(frozen=True, slots=True)
class _Bench:
    """The list for the figures, and the first process of the server."""

    table: Table
    server: int
    most: int
    """Times a call is made at most."""

    def row(self, what: str, times: int, call: Callable[[], object]) -> None:
        """Call this many times. Adds the means of processor and the median of the clock."""
        times = min(times, self.most)
        server, here, clock = self._served(), time.process_time(), []
        for _ in range(times):
            began = time.perf_counter()
            call()
            clock.append(time.perf_counter() - began)
        here = time.process_time() - here
        server = self._served() - server
        each = (here / times, server / times, statistics.median(clock))
        self.table.add_row(what, *(f"{1000 * seconds:.2f}" for seconds in each))

    def _served(self) -> float:
        """Seconds of the server. The measurement excludes this call, because it reads every process of the machine."""
        return spent(self.server) - spent(None)


def figures(options: Sequence[str] = ()) -> Table:
    """All of them."""
    asked = parser("fleet", __doc__)
    asked.add_argument("--databases", type=counts, default="1000,5000", help="of the fleet, several by commas")
    asked.add_argument("--times", type=int, default=200, help="times a call is made at most")
    given = asked.parse_args(options)
    table = Table("what", "here, ms", "server, ms", "clock, ms", title="One replica of several, on one PostgreSQL")
    with store_place("postgresql") as (location, server):
        assert server is not None
        bench = _Bench(table, server, given.times)
        store = Repository(location.url)
        watched = _polled(store)
        bench.row(
            "whole answer about a database of another replica",
            50,
            lambda: publication(store.latest(NAME, 2), {}, 0.0),
        )
        bench.row("  of which reading two snapshots", 50, lambda: store.latest(NAME, 2))
        for databases in given.databases:
            _shared(bench, location, store, watched, databases)
        store.close()
    return table


def _polled(store: Repository) -> MonitoredDatabase:
    """A database in a storm, with a few polls in the store."""
    watched = MonitoredDatabase(DatabaseSettings(name=NAME, dsn=f"demo:{NAME}"), 15.0)
    began = datetime.now(UTC) - timedelta(hours=2)
    for at in (40.0, 55.0, 70.0):
        run_poll(watched, ScriptedDatabase(scenarios()[NAME], began, lambda at=at: at), store)  # type: ignore[misc]
    return watched


def _shared(bench: _Bench, location: Place, store: Repository, watched: MonitoredDatabase, databases: int) -> None:
    names = [f"db-{number}" for number in range(databases)]
    leases, status_table = SharedLeases(location.url, "bench", None, 60.0), FleetStatusTable(store.engine)
    leases.look(names)
    bench.row(f"take {databases:,} leases at once", 1, lambda: leases.take(names))
    (lease,) = leases.take(names[:1])
    bench.row(f"a round: who lives, who holds what of {databases:,}", 20, lambda: leases.look(names))
    bench.row("ask whether one lease holds", 200, lease.held)
    statuses = [status_of(watched).model_copy(update={"database": name}) for name in names]
    bench.row(f"tell how {databases:,} databases stand", 5, lambda: status_table.put(statuses))
    bench.row(f"hear how {databases:,} databases stand", 5, status_table.all)
    leases.close()
