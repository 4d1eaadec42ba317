"""What a user may read, what is lost without it, and the SQL that opens it: one grant for one missing view."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from collectors.capabilities import Capabilities, capabilities
from collectors.demo.database import ScriptedDatabase
from collectors.demo.scenarios import scenarios
from collectors.errors import StatementError
from collectors.grants import KINDS, TRAITS, DatabaseKind, FoundKind, grant_lines
from collectors.model import Binds, Missing, Rows, Snapshot
from collectors.ondemand.blockers import look_for_blockers
from collectors.ondemand.sampling import VIEW as SAMPLED
from collectors.ondemand.sampling import Burst
from collectors.poll import Answer, poll
from collectors.registry import collectors
from tests.collectors.scripted import BEGAN, poll_at

GRANTED = [view for view, one in collectors().items() if one.granted_on and not one.optional]


def of(name: str, *refused: str) -> Capabilities:
    """The results of one visit: a poll, and one look at the view that polls leave out."""
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
        "create view sys.latchscope_kqrst as select kqrstcln, kqrstcid, kqrsttyp, kqrstsno from x$kqrst;\n"
        "grant select on sys.latchscope_kqrst to LATCHSCOPE;"
    )


def test_x_kqrst_is_not_missed_where_mutexes_guard_the_row_cache() -> None:
    found = of("users-mutex", "x$kqrst")
    (kqrst,) = [view for view in found.views if view.view == "x$kqrst"]
    assert (found.lacking, kqrst.status, kqrst.sql) == ((), "not_asked", None)
    assert "x$kqrst is not needed: mutexes guard the row cache" in kqrst.why


def test_x_kqrst_that_nobody_needs_is_refused_once_per_start() -> None:
    class Counting(ScriptedDatabase):
        asked = 0

        def query(self, sql: str, binds: Binds) -> Answer:
            self.asked += "kqrst" in sql
            return super().query(sql, binds)

    for name, asked in {
        "users-mutex": 1,
        "undo-storm": 3,
    }.items():  # 11.2 tries the older name of the view once as well
        database = Counting(scenarios()[name], BEGAN, lambda: 30.0, ("x$kqrst",))
        poll(name, database, poll(name, database))
        assert database.asked == asked, name


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


@pytest.mark.parametrize("kind", ["rds-cdb", "autonomous"])
def test_pdb_whose_root_nobody_reaches_is_not_sent_there(kind: DatabaseKind) -> None:
    snapshot = changed(poll_at("users-mutex", 30.0), "sys_context", con_id=3, con_name="SALES")
    note, bases = capabilities(snapshot, "U", FoundKind(kind, "it was said")).notes
    assert "inside the PDB SALES" in note and "CDB$ROOT" not in note and "nobody reaches the root" in note
    assert "figures of the PDB" in bases and "whole CDB" in bases and "no share of DB time" in bases


def test_pdb_of_rds_is_known_by_its_cdb_without_a_question() -> None:
    snapshot = changed(poll_at("users-mutex", 30.0), "sys_context", con_id=3, con_name="ORCL", cdb_name="RDSCDB")
    assert capabilities(snapshot, "U").kind.kind == "rds-cdb"


def test_standby_says_where_its_users_are_made() -> None:
    found = FoundKind("standby", "its role is PHYSICAL STANDBY", role="PHYSICAL STANDBY")
    (note,) = capabilities(poll_at("undo-storm", 30.0), "U", found).notes
    assert note == "a physical standby: users and grants are made on the primary"


@pytest.mark.parametrize("kind", KINDS)
def test_missing_grant_is_in_the_words_of_the_kind(kind: DatabaseKind) -> None:
    found = capabilities(poll_at("undo-storm", 30.0, ("v$latchname",)), "lscope", FoundKind(kind, "it was said"))
    (sql,) = {view.sql for view in found.lacking}
    assert sql == next(grant_lines(["v$latchname"], kind, "lscope", "11.2.0.4.0"))


@pytest.mark.parametrize("kind", KINDS)
def test_x_kqrst_is_lacking_only_where_somebody_can_open_it(kind: DatabaseKind) -> None:
    found = capabilities(poll_at("undo-storm", 30.0, ("x$kqrst",)), "U", FoundKind(kind, "it was said"))
    (kqrst,) = [view for view in found.views if view.view == "x$kqrst"]
    if TRAITS[kind].opens_x_tables:
        assert found.lacking == (kqrst,) and kqrst.sql and "create view sys.latchscope_kqrst" in kqrst.sql
    else:
        assert (kqrst.status, kqrst.sql, found.lacking) == ("closed", None, ())
        assert TRAITS[kind].where in kqrst.why and kqrst.without


def test_cluster_instance_is_noted_as_such() -> None:
    alone = poll_at("undo-storm", 30.0)
    assert capabilities(alone, "U").cluster is False and capabilities(alone, "U").notes == ()
    (note,) = capabilities(changed(alone, "v$instance", parallel="YES"), "U").notes
    assert "every instance with a connection of its own" in note
