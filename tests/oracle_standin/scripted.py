"""The demo's scripted databases behind the listener. They answer only our own statements, by their exact text."""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from time import monotonic

from collectors.demo.database import ScriptedDatabase
from collectors.demo.load import Scenario
from collectors.demo.scenarios import scenarios
from collectors.errors import StatementError, ViewRefused
from collectors.model import Binds
from collectors.ondemand import blockers, check, holders
from collectors.poll import Answer as Polled
from collectors.registry import views_of

from .accounts import Account
from .backend import Answer, OracleError, OracleType, ResultColumn, UnknownStatementError
from .databases import Service
from .profiles import ORACLE_12_1, Profile

CONFIRMING = "/* latchscope confirm */"
USER, PASSWORD = "LATCHSCOPE", "latchscope"


class ScriptedBackend:
    """One scripted database.

    `restart` begins a new instance life; `refused` has the views without a grant. `instead` has other answers by view or
    statement, for kinds of database that no scenario plays.
    """

    def __init__(self, scenario: Scenario, clock: Callable[[], float] = monotonic) -> None:
        self._scenario = scenario
        self._clock = clock
        self.refused: set[str] = set()
        self.instead: dict[str, Polled] = {}
        self.polls = 0
        self.restart()

    def restart(self) -> None:
        """Counters begin again, with a new startup_time."""
        zero = self._clock()
        self._database = ScriptedDatabase(self._scenario, datetime.now(UTC), lambda: self._clock() - zero)

    def answer(self, _service: str, sql: str, binds: Mapping[str, object], /) -> Answer:
        """The rows of the view this statement reads, at this moment of the script."""
        views = views_of(sql)
        if len(views) > 1 and views & self.instead.keys():
            raise OracleError(942)  # the query that replaces a view comes alone
        if instead := self.instead.get(next(iter(views), sql)):
            return _answer(instead)
        if sql == check.CLOUD:
            raise OracleError(2003)
        scripted = (holders.STATEMENT, blockers.ELSEWHERE, blockers.COORDINATOR, check.SURROUNDINGS)
        if not views and sql not in scripted and CONFIRMING not in sql:
            raise UnknownStatementError(sql)
        if views & self.refused:
            raise OracleError(942)
        self.polls += "v$instance" in views
        try:
            return _answer(self._database.query(sql, _binds(binds)))
        except ViewRefused:
            raise OracleError(942) from None
        except StatementError as error:
            raise OracleError(900, str(error)) from None


def demo_services(names: Iterable[str] = (), profile: Profile = ORACLE_12_1) -> dict[str, Service]:
    """A service per scripted database. 11.2 scripts are behind a 12.1 listener, which thin mode can reach."""
    chosen = list(names) or list(scenarios())
    return {name: Service(ScriptedBackend(scenarios()[name]), {USER: Account(PASSWORD)}, profile) for name in chosen}


def _binds(given: Mapping[str, object]) -> Binds:
    """The binds with the types of our own code: numbers come off the wire as decimals."""
    return {name: value if isinstance(value, str) else int(str(value)) for name, value in given.items()}


def _answer(polled: Polled) -> Answer:
    columns = [_column(name, [row[place] for row in polled.rows]) for place, name in enumerate(polled.columns)]
    return Answer(columns, polled.rows)


def _column(name: str, cells: list[object]) -> ResultColumn:
    sample = next((cell for cell in cells if cell is not None), None)
    if isinstance(sample, datetime):
        return ResultColumn(name.upper(), OracleType.TIMESTAMP)
    return ResultColumn(name.upper(), OracleType.VARCHAR2 if isinstance(sample, str) else OracleType.NUMBER)
