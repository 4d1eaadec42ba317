"""A confirming query is sent bounded and marked. Its answer is one number, or a plain sentence that there is none."""

from datetime import UTC, datetime

import pytest

from collectors.demo.database import ScriptedDatabase
from collectors.demo.scenarios import scenarios
from collectors.errors import SessionError, StatementError, ViewRefused
from collectors.model import Rows, Snapshot, Value
from collectors.ondemand.check import CLOUD, SURROUNDINGS, ask_for_kind, counted, first_names, limited
from collectors.poll import Answer
from rules.cause import catalogue
from tests.collectors.scripted import BEGAN, Asked, Given, one_row
from tests.collectors.shipped_sql import RELEASES, mistakes

SQL = "select count(*) from dba_rollback_segs"


def giving(*rows: tuple[Value, ...]) -> Asked:
    return Asked(other=Answer(("count(*)",), list(rows)))


@pytest.mark.parametrize("rows", [[], [()], [(None,)], [("14838",)], [(datetime(2026, 3, 2, tzinfo=UTC),)]])
def test_counted_rejects_an_answer_that_is_not_a_number(rows: list[tuple[Value, ...]]) -> None:
    with pytest.raises(StatementError, match="the query gave no number"):
        counted(giving(*rows), SQL, None)


@pytest.mark.parametrize("error", [ViewRefused("ORA-00942: no"), SessionError("ORA-03113: end of file")])
def test_counted_passes_an_error_on_unchanged(error: Exception) -> None:
    with pytest.raises(type(error), match=str(error)):
        counted(Asked(other=error), SQL, None)


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
    assert session.sent == [(limited(SQL, release), {})]


def test_first_names_are_five_rows_at_most() -> None:
    session = Asked(other=Answer(("owner", "segments"), [("APP", place) for place in range(7)]))
    names = first_names(session, SQL)
    assert names == tuple({"owner": "APP", "segments": float(place)} for place in range(5))
    ((sent, _),) = session.sent
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
    with pytest.raises(StatementError, match="does not know this statement"):
        counted(database, "select count(*) from dba_users", None)


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


UNKNOWN = StatementError("ORA-02003: invalid USERENV parameter")


def of_kind(role: str = "PRIMARY", cloud: Given = UNKNOWN) -> Asked:
    """A session that answers what its database is."""
    return Asked({SURROUNDINGS: one_row({"database_role": role, "rds_users": 0}), CLOUD: cloud})


def test_cloud_is_asked_for_inside_a_pdb_only() -> None:
    session = of_kind(cloud=one_row({"cloud_service": "OLTP"}))
    assert ask_for_kind(session, polled(1)).kind == "cdb" and session.asked == [SURROUNDINGS]
    assert ask_for_kind(session, polled(3)).kind == "autonomous" and session.asked[1:] == [SURROUNDINGS, CLOUD]
    assert ask_for_kind(of_kind("PHYSICAL STANDBY"), polled(1)).kind == "standby"


@pytest.mark.parametrize(("session", "con_id", "kind"), [(of_kind(), 3, "pdb"), (Asked(other=UNKNOWN), 0, "11.2")])
def test_statement_that_fails_leaves_the_kind_assumed(session: Asked, con_id: int, kind: str) -> None:
    found = ask_for_kind(session, polled(con_id))
    assert (found.kind, found.certain) == (kind, False)
