"""A confirming query: sent bounded and marked, and one number or a plain word that there is none."""

from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest

from collectors.errors import SessionError, StatementError, ViewRefused
from collectors.model import Binds, Value
from collectors.ondemand.confirm import limited, one_number
from collectors.poll import Answer
from collectors.scenarios import scenarios
from collectors.simulator.database import ScriptedDatabase
from tests.collectors.scripted import BEGAN

SQL = "select count(*) from dba_rollback_segs"


@dataclass
class Session:
    """Gives one answer, and remembers what it was asked."""

    answer: Answer | Exception
    asked: list[tuple[str, Binds]] = field(default_factory=list)

    def query(self, sql: str, binds: Binds) -> Answer:
        self.asked.append((sql, binds))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def close(self) -> None:
        raise AssertionError("the session is not its own to close")


def giving(*rows: tuple[Value, ...]) -> Session:
    return Session(Answer(("count(*)",), list(rows)))


def test_one_number_sends_the_query_once_marked_and_with_a_row_limit() -> None:
    session = giving((14838,))
    one_number(session, SQL)
    ((sent, binds),) = session.asked
    assert binds == {}
    assert sent == limited(SQL)
    assert sent.startswith("select /* latchscope confirm */ ")
    assert f"({SQL})" in sent and sent.endswith("where rownum <= 1")


@pytest.mark.parametrize(("value", "number"), [(14838, 14838.0), (0, 0.0), (2.5, 2.5), (-1, -1.0)])
def test_one_number_is_the_first_cell(value: Value, number: float) -> None:
    found = one_number(giving((value,)), SQL)
    assert (found, type(found)) == (number, float)


@pytest.mark.parametrize(
    "rows",
    [[], [()], [(None,)], [("14838",)], [(datetime(2026, 3, 2, tzinfo=UTC),)]],
    ids=["no row", "no cell", "NULL", "text", "a date"],
)
def test_one_number_rejects_an_answer_that_is_not_a_number(rows: list[tuple[Value, ...]]) -> None:
    with pytest.raises(StatementError, match="the query gave no number"):
        one_number(giving(*rows), SQL)


@pytest.mark.parametrize("error", [ViewRefused("ORA-00942: no"), SessionError("ORA-03113: end of file")])
def test_one_number_passes_an_error_on_unchanged(error: Exception) -> None:
    with pytest.raises(type(error), match=str(error)):
        one_number(Session(error), SQL)


def test_scripted_database_answers_a_confirming_query_it_knows() -> None:
    database = ScriptedDatabase(scenarios()["undo-storm"], BEGAN, lambda: 60.0)
    assert one_number(database, "select count(*) from dba_rollback_segs") == 14838
    with pytest.raises(StatementError, match="does not know this statement"):
        one_number(database, "select count(*) from dba_users")
