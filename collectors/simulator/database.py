"""A scripted or recorded database behind the Connection protocol, for the demo and for tests."""

import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime

from collectors.errors import StatementError, ViewRefused
from collectors.groups.group import group_text_of, views_of
from collectors.model import Binds, Row, Value, number
from collectors.ondemand import blockers, chains, database_kind, holders
from collectors.ondemand.confirm import MOST_NAMES, limited
from collectors.poll import Answer
from collectors.registry import collectors
from collectors.simulator import hangs, waits
from collectors.simulator.scenario import Scenario, ScenarioState
from collectors.simulator.views import table


class ScriptedDatabase:
    """Answers our statements, by their exact text, with the rows of a scenario at the time of the poll.

    `clock` gives seconds since `began`. The instance says in whole seconds when it started, as a real one does; its clock is
    exact, so that it never goes back from one process to the next. Views in `refused` answer ORA-00942, as without a grant.
    """

    def __init__(
        self, scenario: Scenario, began: datetime, clock: Callable[[], float], refused: Iterable[str] = ()
    ) -> None:
        self.scenario = scenario
        self._began = began.astimezone(UTC).replace(microsecond=0)
        self._late = began.microsecond / 1e6
        self._clock = clock
        self._refused = frozenset(refused)
        self._now = 0.0

    def query(self, sql: str, binds: Binds) -> Answer:
        """The rows of the view that this statement reads; see Connection."""
        views = views_of(sql)
        if not views:
            return self._asked_once(sql, binds)
        if views & self._refused:
            raise ViewRefused("ORA-00942: table or view does not exist")
        if "v$instance" in views:
            self._now = self._elapsed()
        of = {view: self.view(view) for view in views}
        group = group_text_of(sql)
        columns, rows = (
            (group.columns, group.united({view: _as_rows(*of[view]) for view in of})) if group else of.popitem()[1]
        )
        return Answer(columns, rows)

    def _elapsed(self) -> float:
        return self._clock() + self._late

    def view(self, name: str) -> tuple[tuple[str, ...], list[tuple[Value, ...]]]:
        """Columns and rows of a view at the time of the poll."""
        return table(self.scenario, name, self._now, self._began, collectors()[name].key)

    def _asked_once(self, sql: str, binds: Binds) -> Answer:
        """The answer to an action or a preflight: holders of the latch, the kind, or the number of a confirming query."""
        if sql == database_kind.SURROUNDINGS:
            return Answer(("database_role", "rds_users"), [("PRIMARY", 0)])
        now = ScenarioState(self.scenario, self._elapsed(), self._began)
        if sql == holders.STATEMENT:
            looks = int(number(binds.get("looks")) or 0)
            time.sleep(looks * waits.SECONDS_PER_LOOK)
            rows = waits.holders(now, looks)
            return Answer(tuple(rows[0]) if rows else ("sid", "laddr"), [tuple(row.values()) for row in rows])
        if sql == blockers.ELSEWHERE:
            rows = hangs.elsewhere(now, binds.get("instance"), binds.get("sid"))
            return Answer(tuple(rows[0]) if rows else ("instance", "sid"), [tuple(row.values()) for row in rows])
        if sql == chains.COORDINATOR:
            return Answer(("sid",), [])
        columns, (cells,) = table(self.scenario, "sys_context", now.at, self._began, ())
        place = dict(zip(columns, cells, strict=True))
        container_columns = {name: place[name] for name in ("con_name", "con_id") if name in place}
        for asked, answer in now.load.answers.items():
            if sql == limited(asked, self.scenario.release):
                return Answer(("answer", *container_columns), [(answer, *container_columns.values())])
        for asked, named in now.load.names.items():
            if sql == limited(asked, rows=MOST_NAMES):
                return Answer(tuple(named[0]), [tuple(row.values()) for row in named])
        raise StatementError("ORA-00900: the scripted database does not know this statement")

    def close(self) -> None:
        """There is nothing to close."""


def _as_rows(columns: tuple[str, ...], rows: list[tuple[Value, ...]]) -> list[Row]:
    return [dict(zip(columns, row, strict=True)) for row in rows]
