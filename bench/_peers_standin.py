"""The databases of `bench peers`, a process of its own: prints its port as its first line, then serves until its input ends."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from bench._capacity_standin import FRAMES, STEP, Film, Page, Player, encoded_once, steady
from collectors.demo.database import ScriptedDatabase
from collectors.demo.load import Scenario
from collectors.demo.scenarios import scenarios
from collectors.model import Column, ColumnKind, Rows, Value
from collectors.poll import poll
from collectors.registry import collectors, views_of
from tests.oracle_standin import calls
from tests.oracle_standin.accounts import Account
from tests.oracle_standin.backend import Answer, Backend, OracleError, OracleType, ResultColumn
from tests.oracle_standin.databases import Service
from tests.oracle_standin.profiles import ORACLE_12_1
from tests.oracle_standin.scripted import PASSWORD, USER
from tests.oracle_standin.server import Listener

FIGURES = (ColumnKind.COUNTER, ColumnKind.GAUGE)
VIEWS = ("v$rowcache", "v$latch", "v$mutex_sleep", "v$system_event", "v$sys_time_model")
"""What the peers read: the same rows as ours."""


def plain(view: str, renamed: Mapping[str, str] = {}) -> str:
    """The statement of a peer: every column of a view, under names that metrics can have."""
    named = ((column.name, column.name.replace("#", "_number")) for column in collectors()[view].columns)
    listed = ", ".join(f"{column} as {renamed.get(name, name)}" for column, name in named)
    return f"select /* peer {view} */ {listed} from {view}"


@dataclass
class Lacking(Film):
    """A film whose account may not read some views."""

    refused: frozenset[str] = frozenset()

    def at(self, frame: int, sql: str, binds: Mapping[str, object]) -> Answer:
        if views_of(sql) & self.refused:
            raise OracleError(942)
        return super().at(frame, sql, binds)


@dataclass
class Plain:
    """The rows that our poll reads, for statements that a peer sends.

    Whatever else it asks is one row with the text 1.1, which SQLAlchemy wants for its number; a block of PL/SQL gives nothing.
    """

    film: Film
    frame: int = 0
    answers: dict[tuple[int, str], Answer] = field(default_factory=dict)

    def answer(self, _service: str, sql: str, _binds: Mapping[str, object], /) -> Answer:
        view = next((view for view in VIEWS if f"/* peer {view} */" in sql), None)
        if sql.split(maxsplit=1)[0].lower() == "begin":
            return Answer()
        if view is None:
            return Answer([ResultColumn("VALUE", OracleType.VARCHAR2)], [["1.1"]])
        self.frame = (self.frame + (view == VIEWS[0])) % FRAMES
        if (self.frame, sql) not in self.answers:
            self.answers[self.frame, sql] = self._read(view, sql)
        return self.answers[self.frame, sql]

    def _read(self, view: str, sql: str) -> Answer:
        now = self.frame * STEP
        database = ScriptedDatabase(self.film.scenario, self.film.began, lambda: now)
        reading = poll("plain", database).readings[view]
        assert isinstance(reading, Rows), reading
        columns = collectors()[view].columns
        names = [named.rpartition(" as ")[2] for named in sql.rpartition(" from ")[0].split(", ")]
        shown = [
            ResultColumn(name.strip('"') if '"' in name else name.upper(), _type(column))
            for name, column in zip(names, columns, strict=True)
        ]
        cells = [[_cell(row.get(column.name), column) for column in columns] for row in reading.rows]
        return Answer(shown, Page(cells))


def _type(column: Column) -> OracleType:
    return OracleType.NUMBER if column.kind in FIGURES or column.name.endswith("#") else OracleType.VARCHAR2


def _cell(cell: Value, column: Column) -> Value:
    """A cell; peers have no word for an absent one."""
    number = _type(column) is OracleType.NUMBER
    return (0 if number else "-") if cell is None else cell if number else str(cell)


def real_size(scenario: Scenario) -> Scenario:
    """As many rows as a 19c database without load had: 72 caches and 30 events."""
    last = max(cache.child for cache in scenario.caches)
    more = [
        replace(
            scenario.caches[number % len(scenario.caches)],
            child=last + number,
            cache=200 + number,
            name=f"dc_more_{number}",
        )
        for number in range(1, 73 - len(scenario.caches))
    ]
    events = [f"enq: bench - {number}" for number in range(30 - len(scenario.events))]
    return replace(scenario, caches=(*scenario.caches, *more), events=(*scenario.events, *events))


def databases() -> dict[str, Backend]:
    """Every database by its name."""
    began = datetime.now(UTC)
    healthy, storm = steady("healthy-19c"), steady("undo-storm")
    calm = scenarios()["undo-storm"].ordinary
    ((_, worst),) = storm.loop
    optional = frozenset(view for view, collector in collectors().items() if collector.optional)
    kernel = frozenset(view for view in collectors() if view.startswith("x$"))
    films = {
        "healthy": Film(healthy, began),
        "healthy, real size": Film(real_size(healthy), began),
        "healthy, without SYS": Lacking(healthy, began, refused=kernel),
        "healthy, no optional grant": Lacking(healthy, began, refused=optional),
        "storm": Film(storm, began),
        "storm, real size": Film(real_size(storm), began),
        "storm, without SYS": Lacking(storm, began, refused=kernel),
        "storm that jumps": Film(replace(storm, loop=((STEP, worst), (STEP, calm))), began),
        "hang": Film(steady("ddl-hang"), began),
    }
    return {name: Player(film, 0.0) for name, film in films.items()} | {"plain": Plain(films["healthy"])}


DATABASES = tuple(name for name in databases() if name != "plain")


def main() -> None:
    """Serve."""
    calls.rows = encoded_once  # type: ignore[attr-defined]  # the name that calls has for it
    account = {USER: Account(PASSWORD)}
    with Listener(
        {
            name.replace(" ", "-").replace(",", ""): Service(backend, account, ORACLE_12_1)
            for name, backend in databases().items()
        }
    ) as listener:
        print(listener.port, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
