"""The grants script for each kind of database: what it grants, to whom, and what a user of it may do and is told."""

import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest
import sqlglot

from collectors.capabilities import Capabilities, capabilities
from collectors.demo.database import ScriptedDatabase
from collectors.demo.scenarios import scenarios
from collectors.errors import StatementError
from collectors.grants import (
    ALIASES,
    KINDS,
    ON_REQUEST,
    TRAITS,
    DatabaseKind,
    FoundKind,
    UnknownKind,
    detected,
    grant,
    grant_lines,
    grantee,
    grants_script,
    has_row_cache_latch,
    kind_named,
    privilege,
)
from collectors.model import Binds, Missing, Row, Rows, Snapshot, Value
from collectors.ondemand import blockers, holders
from collectors.ondemand.blockers import look_for_blockers
from collectors.ondemand.sampling import VIEW as SAMPLED
from collectors.ondemand.sampling import Burst
from collectors.poll import Answer, poll
from collectors.registry import collectors, groups
from collectors.release import as_sent, text_for
from tests.collectors.scripted import BEGAN, poll_at
from tests.oracle_standin.granted import GrantedBackend, granted_in, read_by

each = pytest.mark.parametrize("kind", KINDS)


@each
def test_grants_script_grants_what_is_polled_and_nothing_more(kind: DatabaseKind) -> None:
    text = grants_script("Latch_Scope", kind)
    said = "\n".join(line for line in text.splitlines() if not line.startswith("--"))
    assert not re.search(
        r"\b(dba|any|admin option|unlimited tablespace|resource|execute on|catalog_role)\b", said, re.IGNORECASE
    )
    assert "create session to" in said


@each
def test_grants_script_says_where_it_runs_and_what_stays_hidden(kind: DatabaseKind) -> None:
    text = grants_script("LATCHSCOPE", kind)
    assert TRAITS[kind].where in text.splitlines()[0] and f"Run it as {TRAITS[kind].run_as}," in text
    assert TRAITS[kind].beyond in text
    head = text.partition("create profile")[0]
    assert "invalidates the cursors" in head and "in a quiet hour, never during an incident" in head
    assert ("CDB$ROOT" in text) == (kind in ("cdb", "standby")), "it sends nobody to a root that they cannot reach"
    assert kind != "standby" or ("SYS on the primary" in text and "--for non-cdb" in text)


@each
def test_grants_script_ends_every_statement_with_its_line(kind: DatabaseKind) -> None:
    for line in grants_script("LATCHSCOPE", kind).splitlines():
        block = line == "/" or re.fullmatch(r"begin rdsadmin\..+; end;", line)
        command = re.match(r"(accept|set|undefine) [^;]+$", line)
        assert line.startswith("--") or block or command or (line.endswith(";") and line.count(";") == 1)
        assert not block or kind in ("rds", "rds-cdb")


@each
def test_password_is_asked_for_unseen_quoted_and_forgotten(kind: DatabaseKind) -> None:
    text = grants_script("LATCHSCOPE", kind)
    steps = (
        r"accept latchscope_password char prompt '[^']+' hide",
        "set verify off",
        r'create user \S+ identified by "&latchscope_password" .+;',
        "undefine latchscope_password",
    )
    assert re.search(r"\n(.+\n)*".join(f"^{step}$" for step in steps), text, re.MULTILINE)
    assert text.count("&") == 1, "nothing else is substituted"
    container = grants_script("LATCHSCOPE", kind, asks=False)
    assert "accept" not in container and 'identified by "&latchscope_password"' in container


@each
def test_grants_and_views_parse_as_oracle_reads_them(kind: DatabaseKind) -> None:
    lines = grants_script("LATCHSCOPE", kind).splitlines()
    for line in lines:
        if line.startswith(("grant select", "grant read", "create view")):
            (parsed,) = sqlglot.parse(line, read="oracle")
            assert isinstance(parsed, sqlglot.exp.Grant | sqlglot.exp.Create), line
    blocks = [at for at, line in enumerate(lines) if line.startswith("begin ")]
    assert [lines[at + 1] for at in blocks] == ["/"] * len(blocks), "SQL*Plus runs a block at its slash"


@pytest.mark.parametrize("kind", ["cdb", "standby"])
def test_grants_script_for_a_root_makes_a_common_user(kind: DatabaseKind) -> None:
    common = "C##LATCHSCOPE"
    for given, made in (("LATCHSCOPE", common), (common, common), (common.lower(), common.lower())):
        assert grantee(given, kind) == made
        text = grants_script(given, kind)
        assert "alter session set container = CDB$ROOT;" in text
        assert re.search(r"create user c##latchscope .*container = all;", text, re.IGNORECASE)
        assert "c##c##" not in text.lower()


@pytest.mark.parametrize("kind", ["11.2", "pdb", "rds", "rds-cdb", "autonomous"])
def test_grants_script_elsewhere_makes_a_local_user(kind: DatabaseKind) -> None:
    text = grants_script("LATCHSCOPE", kind)
    assert "create user LATCHSCOPE identified" in text and "c##" not in text.lower() and "container =" not in text
    assert grantee("LATCHSCOPE", kind) == "LATCHSCOPE"


@pytest.mark.parametrize("kind", ["rds", "rds-cdb"])
def test_grants_script_for_rds_goes_through_rdsadmin(kind: DatabaseKind) -> None:
    text = grants_script("latchscope", kind)
    assert "rdsadmin_util.grant_sys_object('V_$LATCH_CHILDREN', 'LATCHSCOPE', 'SELECT')" in text
    assert "grant select" not in text and "as SYS" not in text


def test_grants_script_for_autonomous_names_the_role_and_grants_it_not() -> None:
    text = grants_script("LATCHSCOPE", "autonomous")
    assert "-- them, and the whole dictionary" in text and "SELECT_CATALOG_ROLE" in text
    assert "grant read on sys.v_$latch to LATCHSCOPE;" in text and "write select for read" in text


@pytest.mark.parametrize(
    ("kind", "release", "granted"),
    [
        ("cdb", None, "read"),
        ("cdb", "19c", "read"),
        ("cdb", "12.2", "read"),
        ("cdb", "12.1.0.2", "read"),
        ("cdb", "12.1.0.1", "select"),
        ("cdb", "12.1", "read"),
        ("cdb", "12c", "read"),
        ("pdb", None, "read"),
        ("standby", None, "read"),
        ("autonomous", None, "read"),
        ("11.2", None, "select"),
        ("11.2", "11.2.0.4", "select"),
        ("11.2", "19.3.0.0.0", "read"),
        ("rds", "19.3.0.0.0", "select"),
    ],
)
def test_script_grants_read_from_the_release_that_has_it(kind: DatabaseKind, release: str | None, granted: str) -> None:
    text = grants_script("LATCHSCOPE", kind, release=release)
    other = {"read": "select", "select": "read"}[granted]
    assert privilege(kind, release) == granted and not re.search(rf"^grant {other} ", text, re.MULTILINE)
    assert (kind == "rds") or f"grant {granted} on sys.v_$latch to " in text
    assert f"It grants {granted.upper()}" in text


@each
def test_view_of_sys_is_for_releases_with_the_latch_and_says_so(kind: DatabaseKind) -> None:
    text = grants_script("LATCHSCOPE", kind)
    opens = TRAITS[kind].opens_x_tables
    view = "create view sys.latchscope_kqrst as select"
    for words in ("-- For releases up to 12.1 only.", "from x$kqrst;", view, "ORA-00955"):
        assert (words in text) == opens, words
    assert ("infers the child latch's cache" in text) == (not opens)
    assert "or replace" not in text.lower() and "x_$kqrst" not in text.lower(), "it replaces no view of anybody"
    without = grants_script("LATCHSCOPE", kind, latch=False)
    said = [line for line in without.splitlines() if not line.startswith("--")]
    assert not [line for line in said if "kqrst" in line] and "from 12.2 on mutexes guard the row cache" in without
    assert [line for line in text.splitlines() if not line.startswith("--") and "kqrst" not in line] == said


def test_grant_lines_take_any_object_of_sys() -> None:
    asked = ["v$sqlstats", "dba_tables", "sys.v_$latch", "CDB_USERS"]
    assert list(grant_lines(asked, "cdb", "C##L")) == [
        "grant read on sys.v_$sqlstats to C##L;",
        "grant read on sys.dba_tables to C##L;",
        "grant read on sys.v_$latch to C##L;",
        "grant read on sys.cdb_users to C##L;",
    ]
    assert list(grant_lines(["v$sqlstats"], "rds-cdb", "lscope")) == [
        "begin rdsadmin.rdsadmin_util.grant_sys_object('V_$SQLSTATS', 'LSCOPE', 'SELECT'); end;\n/"
    ]


PRIMARY: Row = {"database_role": "PRIMARY", "rds_users": 0}
STANDS_FOR = {"11.2": " (stands for any release without containers)"}


def polled(release: str | None, **session: Value) -> Snapshot:
    """A poll of that release whose session is in this container."""
    return Snapshot(
        "erp1",
        None,
        {
            "v$instance": Rows("v$instance", ({"version": release},)),
            "sys_context": Rows("sys_context", ({"db_unique_name": "ERP", **session},)),
        },
    )


OLD = polled("11.2.0.4.0")
NONE = polled("19.0.0.0.0", con_id=0, con_name="ERP", cdb_name=None)
ROOT = polled("19.0.0.0.0", con_id=1, con_name="CDB$ROOT", cdb_name="ERP")
PDB = polled("19.0.0.0.0", con_id=3, con_name="SALES", cdb_name="ERP")
RDS_PDB = polled("19.0.0.0.0", con_id=3, con_name="ORCL", cdb_name="RDSCDB")


@pytest.mark.parametrize(
    ("snapshot", "asked", "kind", "why"),
    [
        (OLD, PRIMARY, "11.2", "no containers"),
        (NONE, PRIMARY, "11.2", "no containers"),
        (ROOT, PRIMARY, "cdb", "in CDB$ROOT"),
        (OLD, {**PRIMARY, "rds_users": 1}, "rds", "RDSADMIN"),
        (NONE, {**PRIMARY, "rds_users": 1}, "rds", "RDSADMIN"),
        (RDS_PDB, {}, "rds-cdb", "RDSCDB"),
        (PDB, {**PRIMARY, "rds_users": 1}, "rds-cdb", "RDSADMIN"),
        *((PDB, {**PRIMARY, "cloud_service": name}, "autonomous", name) for name in ("OLTP", "DWCS", "JDCS", "APEX")),
        (PDB, {**PRIMARY, "cloud_service": None}, "pdb", "no cloud service"),
        (PDB, {**PRIMARY, "cloud_service": "PAAS"}, "pdb", "no cloud service"),
        (ROOT, {**PRIMARY, "database_role": "PHYSICAL STANDBY"}, "standby", "PHYSICAL STANDBY"),
        (OLD, {**PRIMARY, "database_role": "SNAPSHOT STANDBY"}, "standby", "SNAPSHOT STANDBY"),
        (ROOT, {**PRIMARY, "database_role": "LOGICAL STANDBY"}, "cdb", "in CDB$ROOT"),
        (OLD, {}, "11.2", None),
        (PDB, PRIMARY, "pdb", None),
        (polled(None), PRIMARY, "11.2", None),
        (polled("19.0.0.0.0"), PRIMARY, "11.2", None),
        (Snapshot("erp1", None, {}), {}, "11.2", None),
    ],
)
def test_kind_is_told_by_its_marks_or_assumed_and_said_to_be(
    snapshot: Snapshot, asked: Row, kind: str, why: str | None
) -> None:
    found, named = detected(snapshot, asked), f"{kind}{STANDS_FOR.get(kind, '')}"
    assert (found.kind, found.certain) == (kind, why is not None) and (why or "") in found.why
    assert str(found) == (
        f"kind {named}, as {found.why}" if why else f"cannot tell the kind, assumed {named}: {found.why}"
    )


def test_replica_on_rds_is_granted_as_rds_and_made_on_its_primary() -> None:
    found = detected(NONE, {"database_role": "PHYSICAL STANDBY", "rds_users": 1})
    assert found.kind == "rds" and found.standby


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        *((word, "11.2") for word in ("11g", "11", "11.2.0.4", "11gR2", "10.2", "non-cdb")),
        *((word, "cdb") for word in ("12c", "12.1", "12.2.0.1", "18c", "19c", "19", "21c", "23ai", "26ai")),
        *(("ADB", "autonomous"), ("adg", "standby"), ("rds_cdb", "rds-cdb")),
        *((word, kind) for kind in KINDS for word in (kind, f" {kind.upper()} ")),
    ],
)
def test_kind_can_be_named_by_itself_a_release_or_an_alias(word: str, kind: str) -> None:
    assert kind_named(word) == kind


@pytest.mark.parametrize(
    ("word", "meant"),
    [("cbd", "cdb"), ("rdscdb", "rds-cdb"), ("autonomus", "autonomous"), ("xyzzy", None)],
)
def test_unknown_kind_lists_the_kinds_and_the_nearest(word: str, meant: str | None) -> None:
    with pytest.raises(UnknownKind) as error:
        kind_named(word)
    assert repr(word) in str(error.value) and (f"did you mean {meant}?" if meant else "") in str(error.value)
    assert ("did you mean" in str(error.value)) == (meant is not None)
    assert all(kind in str(error.value) for kind in KINDS)


def test_only_releases_from_12_2_on_are_known_to_have_no_row_cache_latch() -> None:
    later = ("12.2", "12.2.0.1", "18c", "19C", " 21c", "23ai")
    words = (*KINDS, *ALIASES, "11g", "12c", "12.1", *later)
    assert tuple(word for word in words if not has_row_cache_latch(word)) == later


@pytest.mark.parametrize(("kind", "named"), [("cdb", "cdb_objects"), ("pdb", "cdb_objects"), ("11.2", "dba_objects")])
def test_script_opens_what_changed_as_an_optional_block(kind: DatabaseKind, named: str) -> None:
    text = grants_script("LATCHSCOPE", kind)
    block = text.partition("for what changed before the waits began")[2]
    assert f" on sys.{named} to " in block and "Leave them out" in block
    assert text.count(f" on sys.{named} to ") == 1


def test_script_for_11_2_opens_what_a_newer_release_without_containers_reads_too() -> None:
    older, newer = grants_script("LATCHSCOPE", "11.2").split("From 12.1 on these are read.")
    assert (
        "sys.cdb_" not in older and " on sys.cdb_optstat_operations to " in newer and "ORA-00942 is expected" in newer
    )
    assert "From 12.1 on these are read." not in grants_script("LATCHSCOPE", "11.2", release="11.2.0.4")


@pytest.mark.parametrize("release", ["11.2", "11g", "11.2.0.4"])
def test_script_for_a_release_before_containers_names_nothing_of_later_ones(release: str) -> None:
    text = grants_script("LATCHSCOPE", "11.2", release=release)
    at = "11.2" if release == "11g" else release
    later = {one.granted_on for one in collectors().values() if text_for(one.statements, at) is None} - {""}
    assert len(later) >= 5 and not [name for name in later if name in text]
    assert "cdb_" not in text and "12.2" not in text and "ORA-00942" not in text
    everywhere = grants_script("LATCHSCOPE", "11.2")
    assert all(name in everywhere for name in later), "where the release is open they are there"


@each
def test_script_grants_each_object_once(kind: DatabaseKind) -> None:
    lines = grants_script("LATCHSCOPE", kind).splitlines()
    granted = [line for line in lines if line.startswith(("grant ", "begin "))]
    assert len(granted) == len(set(granted)) > 20
    assert any("SCHEDULER_RUNNING_JOBS" in line.upper() for line in granted), "two collectors read it"


@pytest.mark.parametrize(
    ("release", "sql"),
    [
        ("11.2.0.4.0", "grant select on sys.dba_objects to U;"),
        ("12.1.0.1.0", "grant select on sys.cdb_objects to U;"),
        ("19.0.0.0.0", "grant read on sys.cdb_objects to U;"),
    ],
)
def test_grant_opens_the_view_that_the_release_reads(release: str, sql: str) -> None:
    assert grant(collectors()["dba_objects"], "U", release=release) == sql


# What a user may do with these grants: every query of a poll, with READ or SELECT.


READABLE = granted_in(grants_script("LATCHSCOPE", "cdb"), ["read"])
SELECTABLE = granted_in(grants_script("LATCHSCOPE", "11.2"), ["select"])
TEXTS = [
    *(as_sent(text) for one in collectors().values() if not one.setting for text in one.statements.values()),
    *(text.sql for group in groups().values() for text in group.texts.values()),
    *(blockers.ELSEWHERE, holders.STATEMENT),
]


def tables(sql: str) -> frozenset[str]:
    return frozenset(name for name in read_by(sql)[0] if "$" in name or name == "latchscope_kqrst")


def in_one_container(names: frozenset[str]) -> frozenset[str]:
    """With containers a CDB_ view is opened in place of the DBA_ view."""
    return frozenset(name.replace("cdb_", "dba_") for name in names)


def test_both_scripts_open_the_same_views() -> None:
    assert in_one_container(READABLE) == in_one_container(SELECTABLE) >= set(ON_REQUEST)


@pytest.mark.parametrize("user", [GrantedBackend(READABLE), GrantedBackend((), SELECTABLE)])
def test_every_text_runs_with_read_alone_and_with_select_alone(user: GrantedBackend) -> None:
    twins = {name for sql in TEXTS for name in read_by(sql)[0] if name.startswith(("dba_", "cdb_"))}
    other = twins - user.granted
    assert in_one_container(frozenset(other)) <= in_one_container(frozenset(twins - other)), "one of each two is opened"
    for sql in TEXTS:
        if other & read_by(sql)[0]:
            continue  # the text for the other kind of database
        assert tables(sql) <= user.granted, sql
        user.answer("erp1", sql, {})


# What a user may read, what is lost without it, and the SQL that opens it: one grant for one missing view.


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


def test_x_kqrst_that_nobody_needs_is_refused_once_per_start() -> None:
    class Counting(ScriptedDatabase):
        asked = 0

        def query(self, sql: str, binds: Binds) -> Answer:
            self.asked += "kqrst" in sql
            return super().query(sql, binds)

    for name, asked in (("users-mutex", 1), ("undo-storm", 3)):  # 11.2 tries the older name of the view once as well
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


@each
def test_missing_grant_is_in_the_words_of_the_kind(kind: DatabaseKind) -> None:
    found = capabilities(poll_at("undo-storm", 30.0, ("v$latchname",)), "lscope", FoundKind(kind, "it was said"))
    (sql,) = {view.sql for view in found.lacking}
    assert sql == next(grant_lines(["v$latchname"], kind, "lscope", "11.2.0.4.0"))


@each
def test_x_kqrst_is_lacking_only_where_somebody_can_open_it_and_needs_it(kind: DatabaseKind) -> None:
    found = capabilities(poll_at("undo-storm", 30.0, ("x$kqrst",)), "U", FoundKind(kind, "it was said"))
    (kqrst,) = [view for view in found.views if view.view == "x$kqrst"]
    if TRAITS[kind].opens_x_tables:
        view = "create view sys.latchscope_kqrst as select kqrstcln, kqrstcid, kqrsttyp, kqrstsno from x$kqrst;"
        assert found.lacking == (kqrst,) and (kqrst.sql or "").startswith(
            f"{view}\ngrant select on sys.latchscope_kqrst to "
        )
    else:
        assert (kqrst.status, kqrst.sql, found.lacking) == ("closed", None, ())
        assert TRAITS[kind].where in kqrst.why and kqrst.without
    mutexes = capabilities(poll_at("users-mutex", 30.0, ("x$kqrst",)), "U", FoundKind(kind, "it was said"))
    (kqrst,) = [view for view in mutexes.views if view.view == "x$kqrst"]
    assert (mutexes.lacking, kqrst.status, kqrst.sql) == ((), "not_asked", None)


@pytest.mark.parametrize(
    ("changes", "kind", "notes"),
    [
        ({}, FoundKind("11.2", "-"), []),
        ({"parallel": "YES"}, FoundKind("11.2", "-"), ["every instance with a connection of its own"]),
        ({}, FoundKind("standby", "-", role="PHYSICAL STANDBY"), ["a physical standby: users and grants are made on"]),
        ({"con_id": 1, "con_name": "CDB$ROOT"}, FoundKind("cdb", "-"), []),
        ({"con_id": 3, "con_name": "S"}, FoundKind("cdb", "-"), ["inside the PDB S: ", "are figures of the PDB"]),
        ({"con_id": 3, "con_name": "S"}, FoundKind("pdb", "-"), ["connect to CDB$ROOT as", "no share of DB time here"]),
        ({"con_id": 3, "con_name": "S"}, FoundKind("rds-cdb", "-"), ["nobody reaches the root", "whole CDB"]),
        ({"con_id": 3, "con_name": "S"}, FoundKind("autonomous", "-"), ["nobody reaches the root", "whole CDB"]),
    ],
)
def test_connection_to_a_part_of_a_database_says_what_it_cannot_see(
    changes: dict[str, Value], kind: FoundKind, notes: list[str]
) -> None:
    view = "v$instance" if "parallel" in changes else "sys_context"
    found = capabilities(changed(poll_at("undo-storm", 30.0), view, **changes), "U", kind)
    assert all(words in note for words, note in zip(notes, found.notes, strict=True))
    assert found.inside_pdb == (changes.get("con_id") == 3) and found.container == changes.get("con_name")
    assert found.cluster is ("parallel" in changes)
