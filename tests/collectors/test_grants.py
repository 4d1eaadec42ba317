"""What a user may read, what is lost without it, and the SQL that opens it: one grant for one missing view."""

import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from collectors.errors import StatementError
from collectors.grants import Capabilities, capabilities, grants_script
from collectors.model import Binds, Missing, Rows, Snapshot
from collectors.ondemand.blockers import look_for_blockers
from collectors.ondemand.sampling import VIEW as SAMPLED
from collectors.ondemand.sampling import Burst
from collectors.poll import Answer, poll
from collectors.registry import collectors
from collectors.scenarios import scenarios
from collectors.simulator.database import ScriptedDatabase
from tests.collectors.scripted import BEGAN, poll_at

GRANTED = [view for view, one in collectors().items() if one.granted_on]


def of(name: str, *refused: str) -> Capabilities:
    """What one visit finds: a poll, and one look at the view that polls leave out."""
    polled = poll_at(name, 30.0, refused)
    look = Burst(polled.release, looks=1)
    database = ScriptedDatabase(scenarios()[name], BEGAN, lambda: 30.0, refused)
    look.look(database)
    blockers = look_for_blockers(database, polled.release)
    return capabilities(replace(polled, readings={**polled.readings, SAMPLED: look.taken(), **blockers}), "LATCHSCOPE")


def changed(snapshot: Snapshot, view: str, **cells: object) -> Snapshot:
    """The snapshot with one row's cells changed."""
    row = {**next(iter(snapshot.rows(view)), {}), **cells}
    return Snapshot(snapshot.database, snapshot.taken_at, {**snapshot.readings, view: Rows(view, (row,))})  # type: ignore[dict-item]


@pytest.mark.parametrize("view", GRANTED)
def test_missing_grant_is_the_only_sql_named(view: str) -> None:
    found = of("undo-storm", view)
    assert view in {one.view for one in found.lacking}
    (sql,) = {one.sql for one in found.lacking}
    assert sql is not None and f"grant select on {collectors()[view].granted_on} to LATCHSCOPE;" in sql
    assert all(one.without for one in found.lacking)


def test_capabilities_with_every_grant_lack_nothing() -> None:
    for name in scenarios():
        assert of(name).lacking == ()
        assert {one.view for one in of(name).views if one.status == "read"} >= {"v$latch", SAMPLED}


def test_x_kqrst_is_opened_through_a_view_of_sys() -> None:
    (lacking,) = of("undo-storm", "x$kqrst").lacking
    assert lacking.sql == (
        "create or replace view sys.x_$kqrst as select kqrstcln, kqrstcid, kqrsttyp, kqrstsno from x$kqrst;\n"
        "grant select on sys.x_$kqrst to LATCHSCOPE;"
    )


def test_broken_statement_is_lacking_without_a_grant() -> None:
    class Broken(ScriptedDatabase):
        def query(self, sql: str, binds: Binds) -> Answer:
            if "v$osstat" in sql:
                raise StatementError("ORA-00904: invalid identifier")
            return super().query(sql, binds)

    snapshot = poll("x", Broken(scenarios()["undo-storm"], datetime(2026, 3, 2, tzinfo=UTC), lambda: 5.0))
    (lacking,) = capabilities(snapshot, "LATCHSCOPE").lacking
    assert (lacking.view, lacking.status, lacking.sql) == ("v$osstat", "failed", None)


def test_mechanism_is_told_by_the_event_and_only_then_by_the_release() -> None:
    latch = poll_at("undo-storm", 30.0)
    assert capabilities(latch, "U").mechanism == "latch"
    assert capabilities(changed(latch, "v$event_name", name="row cache mutex"), "U").mechanism == "mutex"
    assert capabilities(changed(latch, "v$instance", version="19.0.0.0.0"), "U").mechanism == "latch"
    unread = poll_at("undo-storm", 30.0, ("v$event_name",))
    assert capabilities(unread, "U").mechanism == "latch"
    assert capabilities(changed(unread, "v$instance", version="19.0.0.0.0"), "U").mechanism == "mutex"
    nothing = Snapshot("x", None, {"v$instance": Missing("v$instance", "refused", "no", "grant")})
    assert (capabilities(nothing, "U").mechanism, capabilities(nothing, "U").cluster) == (None, None)


@pytest.mark.parametrize(
    ("con_id", "inside", "container"),
    [(0, False, None), (1, False, "CDB$ROOT"), (3, True, "SALES"), (None, False, None)],
)
def test_connection_inside_a_pdb_says_what_it_cannot_see(
    con_id: int | None, inside: bool, container: str | None
) -> None:
    snapshot = changed(poll_at("undo-storm", 30.0), "sys_context", con_id=con_id, con_name=container)
    found = capabilities(snapshot, "U")
    assert (found.inside_pdb, found.container) == (inside, container)
    assert any("connect to CDB$ROOT as a common user" in note for note in found.notes) == inside


def test_cluster_instance_is_noted_as_such() -> None:
    alone = poll_at("undo-storm", 30.0)
    assert capabilities(alone, "U").cluster is False and capabilities(alone, "U").notes == ()
    (note,) = capabilities(changed(alone, "v$instance", parallel="YES"), "U").notes
    assert "every instance with a connection of its own" in note


def test_grants_script_grants_what_is_polled_and_nothing_more() -> None:
    for kind in ("11.2", "cdb", "rds"):
        text = grants_script("Latch_Scope", kind)  # type: ignore[arg-type]
        assert not re.search(r"\b(dba|any|admin option|unlimited|resource|execute on)\b", text, re.IGNORECASE)
        assert "identified by &password" in text, "the password is asked for, never part of the script"
        assert "create session to" in text


def test_grants_script_ends_every_statement_with_its_line() -> None:
    for kind in ("11.2", "cdb"):
        for line in grants_script("LATCHSCOPE", kind).splitlines():  # type: ignore[arg-type]
            assert line.startswith("--") or (line.endswith(";") and line.count(";") == 1)


def test_grants_script_for_a_container_database_makes_a_common_user() -> None:
    for given in ("LATCHSCOPE", "C##LATCHSCOPE", "c##latchscope"):
        text = grants_script(given, "cdb")
        assert "alter session set container = CDB$ROOT;" in text
        assert re.search(r"create user c##latchscope ", text, re.IGNORECASE)
        assert "c##c##" not in text.lower()


def test_grants_script_for_rds_says_why_x_kqrst_is_missing() -> None:
    text = grants_script("latchscope", "rds")
    assert "rdsadmin_util.grant_sys_object('V_$LATCH_CHILDREN', 'LATCHSCOPE', 'SELECT')" in text
    assert "create or replace view" not in text and "cannot be opened on RDS" in text
