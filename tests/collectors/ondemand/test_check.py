"""A confirming query is sent bounded and marked. Its answer is one number, or a plain sentence that there is none."""

from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest

from collectors.demo.database import ScriptedDatabase
from collectors.demo.scenarios import scenarios
from collectors.errors import SessionError, StatementError, ViewRefused
from collectors.model import Binds, Rows, Snapshot, Value
from collectors.ondemand.check import CLOUD, SURROUNDINGS, ask_for_kind, counted, first_names, limited
from collectors.poll import Answer
from rules.cause import catalogue
from tests.collectors.scripted import BEGAN
from tests.collectors.shipped_sql import RELEASES, mistakes

SQL = "select count(*) from dba_rollback_segs"


@dataclass
class Session:
    """Gives one answer, and records the statements."""

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


@pytest.mark.parametrize("rows", [[], [()], [(None,)], [("14838",)], [(datetime(2026, 3, 2, tzinfo=UTC),)]])
def test_counted_rejects_an_answer_that_is_not_a_number(rows: list[tuple[Value, ...]]) -> None:
    with pytest.raises(StatementError, match="the query gave no number"):
        counted(giving(*rows), SQL, None)


@pytest.mark.parametrize("error", [ViewRefused("ORA-00942: no"), SessionError("ORA-03113: end of file")])
def test_counted_passes_an_error_on_unchanged(error: Exception) -> None:
    with pytest.raises(type(error), match=str(error)):
        counted(Session(error), SQL, None)


def test_limited_is_marked_has_a_row_limit_and_asks_for_the_container_where_there_are_any() -> None:
    assert limited(SQL).startswith("select /* latchscope confirm */ ")
    assert f"({SQL})" in limited(SQL) and limited(SQL).endswith("where rownum <= 1")
    assert "con_name" not in limited(SQL) and "con_name" not in limited(SQL, "11.2.0.4.0")
    assert "sys_context('userenv', 'con_name') as con_name" in limited(SQL, "12.1.0.2.0")


@pytest.mark.parametrize(
    ("cells", "release", "place"),
    [
        ((37, "CDB$ROOT", 1), "19.0.0.0.0", ("CDB$ROOT", 1)),
        ((37, "ERP1", 3), "12.1.0.2.0", ("ERP1", 3)),
        ((37,), "11.2.0.4.0", (None, None)),
        ((37,), None, (None, None)),
    ],
)
def test_counted_tells_where_the_query_ran(
    cells: tuple[Value, ...], release: str | None, place: tuple[str | None, int | None]
) -> None:
    session = giving(cells)
    told = counted(session, SQL, release)
    assert (told.number, told.container, told.con_id) == (37.0, *place) and isinstance(told.number, float)
    assert session.asked == [(limited(SQL, release), {})]


def test_first_names_are_five_rows_at_most() -> None:
    session = Session(Answer(("owner", "segments"), [("APP", place) for place in range(7)]))
    names = first_names(session, SQL)
    assert names == tuple({"owner": "APP", "segments": float(place)} for place in range(5))
    ((sent, _),) = session.asked
    assert sent.endswith("where rownum <= 5")


def test_scripted_databases_answer_the_queries_of_their_causes() -> None:
    for name, cause in (
        ("undo-storm", "undo-segments"),
        ("nocache-sequence-1", "sequence-nocache"),
        ("parse-storm", "hard-parse-storm"),
    ):
        scenario = scenarios()[name]
        database = ScriptedDatabase(scenario, BEGAN, lambda: 60.0)
        query = catalogue()[cause].confirm
        assert query is not None
        text, naming = query.text(scenario.release), query.naming(scenario.release)
        assert text and naming
        assert counted(database, text, scenario.release).number > 0
        assert 1 < len(first_names(database, naming)) <= 5
    assert counted(database, text, scenario.release).container == "CDB$ROOT"


def test_scripted_database_answers_a_confirming_query_it_knows() -> None:
    database = ScriptedDatabase(scenarios()["undo-storm"], BEGAN, lambda: 60.0)
    assert counted(database, "select count(*) from dba_rollback_segs", None).number == 14838
    with pytest.raises(StatementError, match="does not know this statement"):
        counted(database, "select count(*) from dba_users", None)


class DatabaseKindSession:
    """Answers the two statements with one value each. Without a role, or with an error, the statement fails."""

    def __init__(self, role: str | None = "PRIMARY", cloud: Value | StatementError = None) -> None:
        self.role, self.cloud = role, cloud
        self.asked: list[str] = []

    def query(self, sql: str, binds: Binds) -> Answer:
        self.asked.append(sql)
        if sql == SURROUNDINGS and self.role:
            return Answer(("database_role", "rds_users"), [(self.role, 0)])
        if sql == CLOUD and not isinstance(self.cloud, StatementError):
            return Answer(("cloud_service",), [(self.cloud,)])
        raise StatementError("ORA-02003: invalid USERENV parameter")

    def close(self) -> None:
        """Nothing to give back."""


def polled(con_id: int) -> Snapshot:
    instance, session = {"version": "19.0.0.0.0"}, {"con_id": con_id, "cdb_name": "ERP"}
    return Snapshot(
        "erp1",
        None,
        {"v$instance": Rows("v$instance", (instance,)), "sys_context": Rows("sys_context", (session,))},
    )


@pytest.mark.parametrize("release", RELEASES)
def test_statements_fit_every_release_and_carry_our_mark(release: str) -> None:
    for sql in (SURROUNDINGS, CLOUD):
        assert mistakes(sql, release, polled=False) == [] and "/* latchscope kind */" in sql


def test_cloud_is_asked_for_inside_a_pdb_only() -> None:
    session = DatabaseKindSession(cloud="OLTP")
    assert ask_for_kind(session, polled(1)).kind == "cdb" and session.asked == [SURROUNDINGS]
    assert ask_for_kind(session, polled(3)).kind == "autonomous" and session.asked[1:] == [SURROUNDINGS, CLOUD]


def test_statement_that_fails_leaves_the_kind_assumed() -> None:
    found = ask_for_kind(DatabaseKindSession(cloud=StatementError("ORA-02003")), polled(3))
    assert (found.kind, found.certain) == ("pdb", False)
    found = ask_for_kind(DatabaseKindSession(role=None), polled(0))
    assert (found.kind, found.certain) == ("11.2", False)
    assert ask_for_kind(DatabaseKindSession(role="PHYSICAL STANDBY"), polled(1)).kind == "standby"
