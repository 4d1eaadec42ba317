"""With the printed grants every confirming query runs.

Without one of them, exactly the queries fail that are listed as needing it.
"""

import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from collectors.errors import UnlistedStatement
from collectors.ondemand import changes
from collectors.ondemand.check import MOST_NAMES, limited
from collectors.oracle import ConnectTarget, OracleConnection, prepare
from collectors.registry import collectors
from rules.cause import Cause, catalogue
from service.cli.main import cli
from service.sql_list import LOGIN, statements, texts
from service.state.episodes import ConfirmationRefused, run
from tests.collectors.shipped_sql import VERSIONS
from tests.collectors.sql_proof import faults, known_view, views_of_tree
from tests.collectors.sqlplus.sqlplus_standin import LONGEST_LINE
from tests.oracle_standin.accounts import Account
from tests.oracle_standin.backend import Answer, DictBackend, ResultColumn
from tests.oracle_standin.databases import Service
from tests.oracle_standin.deadline import HANGS, within
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


# The whole list of SQL: each statement of it only reads, and a session lets nothing else through to the database

OURS = [one for one in statements() if one is not LOGIN]
AT_LEAST = 2000
RELEASES = (None, *(version for patched in VERSIONS.values() for version in patched))


@pytest.mark.parametrize("number", range(len(OURS)))
def test_each_statement_is_one_query_over_listed_views_with_listed_functions(number: int) -> None:
    one = OURS[number]
    assert [view for view in one.reads if not known_view(view)] == []
    assert faults(one.text, one.reads) == [] and views_of_tree(one.text) == set(one.reads), one.name


@pytest.mark.parametrize("release", RELEASES)
def test_bill_has_every_confirming_query_as_it_is_sent(release: str | None) -> None:
    sent = set()
    for cause in catalogue().values():
        if cause.confirm and (release is None or cause.releases.include(release)):
            number, names = cause.confirm.text(release), cause.confirm.naming(release)
            sent |= {limited(number, release)} if number else set()
            sent |= {limited(names, rows=MOST_NAMES)} if names else set()
    assert sent and sent <= texts()


def test_each_confirming_query_has_a_row_limit_and_the_name_of_its_cause() -> None:
    confirming = [one for one in OURS if one.kind == "confirm"]
    assert {name for one in confirming for name in one.name.split(", ")} == {
        cause.id for cause in catalogue().values() if cause.confirm
    }
    assert {one.most_rows for one in confirming} == {1, MOST_NAMES}
    assert len({one.text for one in statements()}) == len(statements())


def mutated(text: str) -> Iterator[str]:
    """Texts that nearly are this one."""
    chance = random.Random(text)
    for _ in range(6):
        place = chance.randrange(len(text))
        other = chance.choice([sign for sign in "abcxyz019_$# ,()'\n;@\0\x7f" if sign != text[place]])
        yield text[:place] + other + text[place + 1 :]
        yield text[:place] + text[place + 1 :]
        yield text[:place] + other + text[place:]
    for end in (len(text) - 1, len(text) // 2, text.rindex(" "), 6):
        yield text[:end]
    tails = (
        " for update",
        "\nfor update nowait",
        ";",
        " ",
        "\n",
        "\0",
        " --",
        "--",
        " /* */",
        "/**/",
        "@remote",
        "\ufeff",
    )
    yield from (text + tail for tail in tails)
    block = "with function f return number is begin return 1; end;\n"
    yield from (head + text for head in (" ", "\n", "/**/ ", "explain plan for ", block, "\ufeff"))
    for pattern, instead in (
        (r"/\* latchscope", "/*latchscope"),
        (r"/\* latchscope", "/*+ latchscope"),
        (r"/\*.*?\*/ ?", ""),
        (r"\*/", "*//**/"),
        (r" ", "  "),
        (r" ", "\t"),
        (r" ", "\u00a0"),
        (r" ", "/**/"),
        (r"e", "\u0435"),
        (r"select", "SELECT"),
        (r"from", "FROM"),
        (r"from ", "from sys."),
    ):
        yield re.sub(pattern, instead, text, count=1)
    yield from (text.upper(), text.swapcase(), text.replace("\n", "\r\n"), text.replace("\n", " "), text[::-1])
    yield f"{text};{text}"


def test_mutated_texts_are_refused_before_the_socket() -> None:
    prepare("thin")
    first = OURS[0].text
    service = Service(DictBackend({first: Answer([ResultColumn("ONE")], [(1,)])}), {"LATCHSCOPE": Account("secret")})
    with Listener({"erp": service}) as listener:
        target = ConnectTarget(listener.dsn("erp"), "LATCHSCOPE", "secret")
        connection = within(HANGS, lambda: OracleConnection("erp", target, accepted=texts()))
        trips, at_login, refused = service.counters.round_trips, set(service.texts), 0
        for one in OURS:
            for text in {*mutated(one.text), LOGIN.text} - {one.text}:
                assert text not in texts(), "a mutation of one statement is another; this is no test of it"
                with pytest.raises(UnlistedStatement):
                    connection.query(text, {})
                refused += 1
        seen = service.counters.round_trips - trips, service.counters.statements, service.texts - at_login
        assert within(HANGS, lambda: connection.query(first, {})).rows == [(1,)], "the session is as good as before"
        connection.close()
    assert seen == (0, 0, set()), "something reached the stand-in"
    assert refused >= AT_LEAST
    assert not listener.problems
    print(f"{refused} mutated texts of {len(OURS)} statements refused")  # noqa: T201  the figure is there to be read


def test_driver_sends_at_login_what_the_bill_says_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORA_SDTZ", "+00:00")
    prepare("thin")
    service = Service(DictBackend({}), {"LATCHSCOPE": Account("secret")})
    with Listener({"erp": service}) as listener:
        target = ConnectTarget(listener.dsn("erp"), "LATCHSCOPE", "secret")
        connection = within(HANGS, lambda: OracleConnection("erp", target, accepted=texts()))
        connection.close()
    assert service.texts == {LOGIN.text} and service.counters.statements == 0
