"""The grants script for each kind of database: what it grants, which user gets it, and that SQL*Plus can run it unchanged."""

import re

import pytest
import sqlglot

from collectors.grants import (
    ALIASES,
    KINDS,
    TRAITS,
    DatabaseKind,
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
from collectors.model import Row, Rows, Snapshot, Value
from collectors.registry import collectors
from collectors.release import text_for

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
    assert ("CDB$ROOT" in text) == (kind in ("cdb", "standby")), (
        "the script sends nobody to a root that they cannot reach"
    )


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


@each
def test_user_has_a_profile_under_which_no_password_expires(kind: DatabaseKind) -> None:
    common = TRAITS[kind].common_user
    name, everywhere = ("C##LATCHSCOPE_PROFILE", " container = all") if common else ("LATCHSCOPE_PROFILE", "")
    text = grants_script("LATCHSCOPE", kind)
    made = f"create profile {name} limit password_life_time unlimited sessions_per_user 5{everywhere};"
    assert made in text
    assert re.search(rf"^create user .+ profile {re.escape(name)}{everywhere};$", text.partition(made)[2], re.MULTILINE)


def test_script_for_a_container_asks_nobody() -> None:
    text = grants_script("LATCHSCOPE", "11.2", asks=False)
    assert "accept" not in text and 'identified by "&latchscope_password"' in text


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
    for given in ("LATCHSCOPE", "C##LATCHSCOPE", "c##latchscope"):
        text = grants_script(given, kind)
        assert "alter session set container = CDB$ROOT;" in text
        assert re.search(r"create user c##latchscope .*container = all;", text, re.IGNORECASE)
        assert "c##c##" not in text.lower()


@pytest.mark.parametrize("kind", ["11.2", "pdb", "rds", "rds-cdb", "autonomous"])
def test_grants_script_elsewhere_makes_a_local_user(kind: DatabaseKind) -> None:
    text = grants_script("LATCHSCOPE", kind)
    assert "create user LATCHSCOPE identified" in text and "c##" not in text.lower() and "container =" not in text


def test_grants_script_for_a_standby_sends_to_the_primary() -> None:
    text = grants_script("LATCHSCOPE", "standby")
    assert "SYS on the primary" in text and "--for non-cdb" in text


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
def test_script_says_what_grants_do_to_cursors_and_when_to_run_them(kind: DatabaseKind) -> None:
    head = grants_script("LATCHSCOPE", kind).partition("create profile")[0]
    assert "invalidates the cursors" in head and "in a quiet hour, never during an incident" in head


@each
def test_grants_script_makes_a_view_of_sys_where_somebody_can(kind: DatabaseKind) -> None:
    text = grants_script("LATCHSCOPE", kind)
    assert ("from x$kqrst;" in text) == TRAITS[kind].opens_x_tables
    assert ("infers the child latch's cache" in text) == (not TRAITS[kind].opens_x_tables)


@each
def test_view_of_sys_is_for_releases_with_the_latch_and_says_so(kind: DatabaseKind) -> None:
    text = grants_script("LATCHSCOPE", kind)
    assert ("-- For releases up to 12.1 only." in text) == TRAITS[kind].opens_x_tables
    without = grants_script("LATCHSCOPE", kind, latch=False)
    said = [line for line in without.splitlines() if not line.startswith("--")]
    assert not [line for line in said if "kqrst" in line] and "from 12.2 on mutexes guard the row cache" in without
    assert [line for line in text.splitlines() if not line.startswith("--") and "kqrst" not in line] == said


@each
def test_grants_script_replaces_no_view_of_anybody(kind: DatabaseKind) -> None:
    text = grants_script("LATCHSCOPE", kind).lower()
    assert "or replace" not in text and "x_$kqrst" not in text
    assert ("ora-00955" in text) == ("create view sys.latchscope_kqrst as select" in text)


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
    ],
)
def test_kind_is_told_by_its_marks(snapshot: Snapshot, asked: Row, kind: str, why: str) -> None:
    found = detected(snapshot, asked)
    assert (found.kind, found.certain) == (kind, True) and why in found.why
    assert str(found) == f"kind {kind}{STANDS_FOR.get(kind, '')}, as {found.why}"


@pytest.mark.parametrize(
    ("snapshot", "asked", "kind"),
    [
        (OLD, {}, "11.2"),
        (PDB, PRIMARY, "pdb"),
        (polled(None), PRIMARY, "11.2"),
        (polled("19.0.0.0.0"), PRIMARY, "11.2"),
        (Snapshot("erp1", None, {}), {}, "11.2"),
    ],
)
def test_kind_that_cannot_be_told_is_assumed_and_said_to_be(snapshot: Snapshot, asked: Row, kind: str) -> None:
    found = detected(snapshot, asked)
    assert (found.kind, found.certain) == (kind, False)
    assert str(found).startswith(f"cannot tell the kind, assumed {kind}{STANDS_FOR.get(kind, '')}: ")


def test_replica_on_rds_is_granted_as_rds_and_made_on_its_primary() -> None:
    found = detected(NONE, {"database_role": "PHYSICAL STANDBY", "rds_users": 1})
    assert found.kind == "rds" and found.standby


def test_kind_has_traits_and_is_named_by_its_own_name() -> None:
    assert set(TRAITS) == set(KINDS) >= set(ALIASES.values())
    for kind in KINDS:
        assert kind_named(kind) == kind_named(f" {kind.upper()} ") == kind
        assert TRAITS[kind].where and TRAITS[kind].run_as


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        *((word, "11.2") for word in ("11g", "11", "11.2.0.4", "11gR2", "10.2", "non-cdb")),
        *((word, "cdb") for word in ("12c", "12.1", "12.2.0.1", "18c", "19c", "19", "21c", "23ai", "26ai")),
        *(("ADB", "autonomous"), ("adg", "standby"), ("rds_cdb", "rds-cdb")),
    ],
)
def test_kind_can_be_named_by_a_release_or_an_alias(word: str, kind: str) -> None:
    assert kind_named(word) == kind


@pytest.mark.parametrize(
    ("word", "meant"),
    [("cbd", "did you mean cdb?"), ("rdscdb", "did you mean rds-cdb?"), ("autonomus", "did you mean autonomous?")],
)
def test_unknown_kind_lists_the_kinds_and_the_nearest(word: str, meant: str) -> None:
    with pytest.raises(UnknownKind) as error:
        kind_named(word)
    assert repr(word) in str(error.value) and meant in str(error.value)
    assert all(kind in str(error.value) for kind in KINDS)


def test_only_releases_from_12_2_on_are_known_to_have_no_row_cache_latch() -> None:
    later = ("12.2", "12.2.0.1", "18c", "19C", " 21c", "23ai")
    assert [word for word in (*KINDS, *ALIASES, "11g", "12c", "12.1", *later) if not has_row_cache_latch(word)] == [
        *later
    ]


def test_unknown_kind_like_no_other_is_not_guessed_at() -> None:
    with pytest.raises(UnknownKind) as error:
        kind_named("xyzzy")
    assert "did you mean" not in str(error.value)


def test_user_is_a_common_one_where_the_root_is_watched() -> None:
    for given in ("LATCHSCOPE", "C##LATCHSCOPE"):
        assert grantee(given, "cdb") == grantee(given, "standby") == "C##LATCHSCOPE"
    assert grantee("c##latchscope", "cdb") == "c##latchscope"
    assert {grantee("LATCHSCOPE", kind) for kind in ("11.2", "pdb", "rds", "rds-cdb", "autonomous")} == {"LATCHSCOPE"}


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
