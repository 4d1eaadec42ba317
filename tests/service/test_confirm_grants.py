"""With the printed grants every confirming query runs.

Without one of them, exactly the queries fail that are listed as needing it.
"""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from collectors.ondemand import changes
from collectors.oracle import ConnectTarget, OracleConnection, prepare
from collectors.registry import collectors
from rules.cause import Cause, catalogue
from service.bill import texts
from service.cli.main import cli
from service.state.episodes import ConfirmationRefused, run
from tests.collectors.shipped_sql import VERSIONS
from tests.collectors.sqlplus.sqlplus_standin import LONGEST_LINE
from tests.oracle_standin.accounts import Account
from tests.oracle_standin.databases import Service
from tests.oracle_standin.granted import GrantedBackend, granted_in
from tests.oracle_standin.server import Listener

PAGE = Path(__file__).resolve().parents[2] / "docs" / "oracle.md"
ROW = re.compile(r"^\| `([a-z0-9-]+)` \| ([^|]+) \| ([^|]+) \|", re.MULTILINE)


def printed(kind: str, *more: str) -> str:
    told = CliRunner().invoke(cli, ["grants", "--for", kind, *more])
    assert told.exit_code == 0, told.output
    return told.stdout


def asked_on(release: str) -> list[Cause]:
    """The causes whose query is for a release."""
    version = VERSIONS[release][-1]
    return [cause for cause in catalogue().values() if cause.confirm and cause.releases.include(version)]


def named_in_the_page(view: str, release: str) -> set[str]:
    """The causes beside a view in the table, limited to queries with that text on the release."""
    beside = {cause for cause, _, views in ROW.findall(PAGE.read_text(encoding="utf-8")) if f"`{view}`" in views}
    here = {cause.id: cause.confirm for cause in asked_on(release)}
    return {cause for cause in beside if (query := here.get(cause)) and view in query.views(VERSIONS[release][-1])}


@pytest.fixture(scope="module")
def backend() -> GrantedBackend:
    return GrantedBackend(())


@pytest.fixture(scope="module")
def connection(backend: GrantedBackend):  # type: ignore[no-untyped-def]
    prepare("thin")
    with Listener({"erp": Service(backend, {"LATCHSCOPE": Account("secret")})}) as listener:
        target = ConnectTarget(listener.dsn("erp"), "LATCHSCOPE", "secret")
        opened = OracleConnection("erp", target, accepted=texts())
        yield opened
        opened.close()


def refused(connection: OracleConnection, release: str) -> set[str]:
    """The causes whose query, or whose query for names, a release refuses."""
    found = set()
    for cause in asked_on(release):
        try:
            result = run(cause, connection, None, VERSIONS[release][-1], names=True)
        except ConfirmationRefused:
            found.add(cause.id)
            continue
        assert result.value == 1 and result.unnamed is None, (cause.id, result)
    return found


KINDS = [
    ("cdb", "12.1"),
    ("cdb", "12.2"),
    ("cdb", "19"),
    ("11.2", "11.2"),
    ("non-cdb", "11.2"),
    ("non-cdb", "19"),
    ("pdb", "19"),
]


@pytest.mark.parametrize(("kind", "release"), KINDS)
def test_every_confirming_query_runs_with_the_printed_grants(
    kind: str, release: str, backend: GrantedBackend, connection: OracleConnection
) -> None:
    backend.granted = GrantedBackend(granted_in(printed(kind, "--confirm"))).granted
    assert refused(connection, release) == set()


@pytest.mark.parametrize(
    ("kind", "release", "every"),
    [
        ("cdb", "19", 7),
        pytest.param("cdb", "19", 1, marks=pytest.mark.slow),
        ("cdb", "12.1", 7),
        ("11.2", "11.2", 7),
    ],
)
def test_without_one_grant_just_the_causes_are_refused_that_the_page_names(
    kind: str, release: str, every: int, backend: GrantedBackend, connection: OracleConnection
) -> None:
    """Each view in turn where the texts are newest; for older texts, only some."""
    granted = granted_in(printed(kind, "--confirm"))
    read = {view for cause in asked_on(release) if cause.confirm for view in cause.confirm.views(VERSIONS[release][-1])}
    for view in sorted(read)[::every]:
        backend.granted = GrantedBackend(granted - {view}).granted
        assert refused(connection, release) == named_in_the_page(view, release) != set(), view


def test_queries_of_the_dictionary_are_refused_without_the_part_for_them(
    backend: GrantedBackend, connection: OracleConnection
) -> None:
    backend.granted = GrantedBackend(granted_in(printed("cdb"))).granted
    closed = refused(connection, "19")
    assert "undo-online-storm" in closed and "hard-parse-storm" in closed
    assert "row-cache-lock-hang" not in closed and "starved-host" not in closed


@pytest.mark.parametrize("kind", ["11.2", "non-cdb", "cdb", "pdb", "rds", "rds-cdb", "autonomous", "standby"])
def test_part_for_confirming_queries_follows_the_grants_of_the_polls(kind: str) -> None:
    whole, polls = printed(kind, "--confirm"), printed(kind)
    assert whole.startswith(polls) and "-- For confirming queries" in whole.removeprefix(polls)
    granted = [line for line in whole.splitlines() if line.startswith(("grant ", "begin "))]
    assert len(granted) == len(set(granted)), "what the polls' part grants is not granted again"
    assert "objects (granted above): ddl-invalidation" in whole


def test_part_for_confirming_queries_has_only_views_of_the_release() -> None:
    whole = printed("11.2", "--confirm")
    assert "cdb_" not in whole and "v_$pdbs" not in whole and "audit_unified" not in whole and "ORA-00942" not in whole
    assert "cdb_sequences" in printed("non-cdb", "--confirm")


@pytest.mark.parametrize("kind", ["cdb", "11.2"])
def test_part_for_confirming_queries_is_what_sqlplus_takes_line_by_line(kind: str) -> None:
    part = printed(kind, "--confirm").removeprefix(printed(kind)).splitlines()
    for line in part:
        assert len(line) <= LONGEST_LINE and line.isascii() and "&" not in line and not line.endswith("-"), line
        assert line.startswith("--") or re.fullmatch(r"grant (?:read|select) on sys\.[\w$]+ to [\w#]+;", line), line
    grants = [line for line in part if line.startswith("grant")]
    assert len(grants) == len(set(grants)) > 20
    for place, line in enumerate(part):
        if line.startswith("grant"):
            view = line.split()[3].removeprefix("sys.").replace("v_$", "v$")
            head = next(
                part[above]
                for above in range(place - 1, -1, -1)
                if part[above].startswith(("-- cdb_", "-- dba_", "-- v$", "-- audit_"))
            )
            assert head.startswith(f"-- {view}: "), "a grant is below the causes that need it"


def test_each_view_is_told_with_the_causes_it_serves_and_what_polls_read_stands_above() -> None:
    optional = {collectors()[view].granted_on for view in ("running_jobs", *changes.views())}
    opened = {f"sys.{name}" for name in re.findall(r"cdb_\w+", printed("cdb"))}
    assert opened == {name.replace("dba_", "cdb_") for name in optional if "dba_" in name}
    assert "-- cdb_tab_privs: object-grants\ngrant read on sys.cdb_tab_privs to C##LATCHSCOPE;" in printed(
        "cdb", "--confirm"
    )
    text = " ".join(printed("cdb", "--confirm").split())
    assert "-- cdb_rollback_segs: undo-segments, undo-online-storm, undo-segment-floor grant read" in text
    assert "grant read on sys.v_$session" in printed("cdb") and "-- v$session:" not in text, "polled already"
