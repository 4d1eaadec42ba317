"""A scripted database behind the Connection protocol."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from collectors.demo.database import ScriptedDatabase
from collectors.demo.scenarios import scenarios
from collectors.errors import StatementError, ViewRefused
from collectors.poll import Connection, poll
from collectors.registry import collectors
from collectors.release import text_for
from tests.collectors.scripted import BEGAN
from tests.collectors.shipped_sql import CONTAINER

SCENARIO = scenarios()["undo-storm"]


def statement(view: str) -> str:
    text = text_for(collectors()[view].statements, SCENARIO.release)
    assert text is not None
    return text


def test_scripted_database_is_a_connection() -> None:
    connection: Connection = ScriptedDatabase(SCENARIO, BEGAN, lambda: 0.0)
    connection.close()


def test_scripted_database_answers_one_poll_as_of_one_moment() -> None:
    moments = iter([10.0, 500.0])
    database = ScriptedDatabase(SCENARIO, BEGAN, lambda: next(moments))
    database.query(statement("v$instance"), {})
    before = database.query(statement("v$latch"), {}).rows
    assert database.query(statement("v$latch"), {}).rows == before
    database.query(statement("v$instance"), {})
    assert database.query(statement("v$latch"), {}).rows != before


def test_refused_view_answers_as_without_a_grant() -> None:
    database = ScriptedDatabase(SCENARIO, BEGAN, lambda: 0.0, refused=("x$kqrst",))
    with pytest.raises(ViewRefused, match="ORA-00942"):
        database.query(statement("x$kqrst"), {})
    assert database.query(statement("v$latch"), {}).rows


def test_unknown_statement_is_not_answered() -> None:
    with pytest.raises(StatementError, match="ORA-00900"):
        ScriptedDatabase(SCENARIO, BEGAN, lambda: 0.0).query("select * from v$latch", {})


def test_database_clock_is_utc_whatever_the_local_zone_is() -> None:
    elsewhere = datetime(2026, 3, 2, 14, 30, tzinfo=timezone(timedelta(hours=5, minutes=30)))
    database = ScriptedDatabase(SCENARIO, elsewhere, lambda: 7.0)
    assert poll("erp1", database).taken_at == datetime(2026, 3, 2, 9, 0, 7, tzinfo=UTC)


def test_clock_is_exact_though_the_start_is_told_in_whole_seconds() -> None:
    began = BEGAN.replace(microsecond=700_000)
    snapshot = poll("erp1", ScriptedDatabase(SCENARIO, began, lambda: 0.0))
    assert snapshot.taken_at == began, "the clock of the next process may be behind that of the last"
    assert snapshot.startup_time == poll("erp1", ScriptedDatabase(SCENARIO, BEGAN, lambda: 0.0)).startup_time


def test_columns_are_those_declared() -> None:
    database = ScriptedDatabase(SCENARIO, BEGAN, lambda: 0.0)
    for view, collector in collectors().items():
        if text_for(collector.statements, SCENARIO.release) is None:
            continue  # it needs a newer release
        answer = database.query(statement(view), {})
        assert set(answer.columns) <= {column.name for column in collector.columns}
        assert set(collector.key) - CONTAINER <= set(answer.columns)
        assert all(len(row) == len(answer.columns) for row in answer.rows)


def changes_of(view: str, at: float) -> list[dict[str, object]]:
    database = ScriptedDatabase(SCENARIO, BEGAN, lambda: at)
    database.query(statement("v$instance"), {})
    answer = database.query(statement(view), {})
    return [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]


def test_scripted_ddl_has_the_time_of_its_last_run_alone_and_statistics_have_each() -> None:
    assert changes_of("dba_objects", 15) == []
    loop = SCENARIO.length
    (table,) = changes_of("dba_objects", loop + 100)
    last, *runs = (f"{BEGAN + timedelta(seconds=second):%Y-%m-%d %H:%M:%S}" for second in (loop + 16, loop + 5, 5))
    assert (table["object_name"], table["happened_at"]) == ("STAGE_ORDERS", last)
    assert [row["happened_at"] for row in changes_of("dba_optstat_operations", loop + 100)] == runs
    older = changes_of("dba_optstat_operations", 100 * loop)
    assert len(older) == 4200 // loop, "no older ones than a reading asks for"


def test_scripted_parameter_has_a_new_value_from_its_second_on() -> None:
    values = [
        next(row["value"] for row in changes_of("v$parameter", at) if row["name"] == "undo_tablespace")
        for at in (139, 141, SCENARIO.length + 141)
    ]
    assert values == ["UNDOTBS1", "UNDOTBS2", "UNDOTBS3"]
