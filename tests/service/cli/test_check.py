"""`latchscope check` against a database on the stand-in: it names exactly the missing grant. With that grant, all is well."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from collectors.capture import delta_of
from collectors.demo.scenarios import scenarios
from collectors.grants import KINDS, TRAITS, DatabaseKind
from collectors.model import Delta, Value
from collectors.ondemand.check import CLOUD, SURROUNDINGS
from collectors.poll import Answer
from collectors.registry import collectors
from rules.engine import diagnose
from service.cli.check import as_text, run_check, take_capture
from service.cli.main import cli
from service.config.settings import DatabaseSettings, Settings
from tests.oracle_standin.accounts import Account
from tests.oracle_standin.databases import Service
from tests.oracle_standin.deadline import HANGS, within
from tests.oracle_standin.faults import Stage
from tests.oracle_standin.scripted import PASSWORD, USER, ScriptedBackend
from tests.oracle_standin.server import Listener
from tests.service.standin import QUICK, idle, unlisted

GRANTED = {view: one.granted_on for view, one in collectors().items() if one.granted_on and not one.optional}
OPTIONAL = [
    view
    for view, one in collectors().items()
    if one.granted_on and one.optional and not one.setting and "11.2" in one.statements
]
"""Of the release that the stand-in plays."""
_SQL = re.compile(r"^    grant (?:read|select) on (\S+) to (\S+);$", re.MULTILINE)


@dataclass
class Site:
    """One database on the stand-in and a configuration that names it."""

    listener: Listener
    folder: Path

    @property
    def backend(self) -> ScriptedBackend:
        backend = self.listener.services["erp"].backend
        assert isinstance(backend, ScriptedBackend)
        return backend

    def configure(self, patience: str = "30s", **changes: object) -> Path:
        """A configuration file for the database, with these members changed."""
        database = {"name": "erp", "dsn": self.listener.dsn("erp"), "user": USER, "password_env": "ERP_PASSWORD"}
        config = {"oracle": {"connect_timeout": patience}, "databases": [database | changes]}
        file = self.folder / "latchscope.yaml"
        file.write_text(yaml.safe_dump(config), encoding="utf-8")
        return file

    def check(self, *names: str, patience: str = "30s", **changes: object) -> tuple[int, str, str]:
        """Exit code, stdout and stderr of `latchscope check`."""
        config = self.configure(patience, **changes)
        result = within(HANGS, lambda: CliRunner().invoke(cli, ["check", *names, "--config", str(config)]))
        assert result.exception is None or isinstance(result.exception, SystemExit)
        return result.exit_code, result.stdout, result.stderr


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv("ERP_PASSWORD", PASSWORD)
    with Listener({"erp": idle("undo-storm")}) as listener:
        yield Site(listener, tmp_path)
        assert unlisted(listener.services) == set(), "texts that are not on the list of SQL"


def test_standin_check_is_green_with_every_grant(site: Site) -> None:
    code, told, errors = site.check()
    assert (code, errors) == (0, "")
    assert "everything needed can be read" in told and "guarded by child latches" in told
    assert all(view in told for view in collectors())


@pytest.mark.parametrize("view", GRANTED)
def test_standin_check_names_exactly_the_missing_grant(site: Site, view: str) -> None:
    site.backend.refused = {view}
    code, told, _ = site.check("erp")
    printed = _SQL.findall(told)
    assert (code, printed) == (1, [(GRANTED[view], USER)])
    assert f"REFUSED {view} " in told and collectors()[view].without in told
    opened = {one for one, granted_on in GRANTED.items() if granted_on in [name for name, _ in printed]}
    site.backend.refused -= opened  # the DBA runs the printed grants
    assert site.check("erp")[0] == 0


@pytest.mark.parametrize("view", OPTIONAL)
def test_standin_check_names_an_optional_grant_and_stays_green(site: Site, view: str) -> None:
    site.backend.refused = {view}
    code, told, _ = site.check("erp")
    assert code == 0 and "everything needed can be read" in told
    assert f"optional {view} " in told and collectors()[view].without in told
    assert (
        "Optional, for who blocks whom in a hang and for what changed. Run as" in told and len(_SQL.findall(told)) == 1
    )


def test_standin_check_without_any_grant_is_green_after_what_it_prints(site: Site) -> None:
    site.backend.refused = set(GRANTED)
    for expected in (1, 1, 0):  # v$latch_children comes only after v$latchname has given the latch number
        code, told, _ = site.check()
        assert code == expected
        opened = {name for name, _ in _SQL.findall(told)}
        site.backend.refused -= {view for view, granted_on in GRANTED.items() if granted_on in opened}
    assert not site.backend.refused


CONTAINERS: Mapping[str, tuple[Value, ...]] = {
    "11.2": (0, "ERP", None),
    "cdb": (1, "CDB$ROOT", "ERP"),
    "standby": (1, "CDB$ROOT", "ERP"),
    "pdb": (3, "SALES", "ERP"),
    "rds": (0, "ERP", None),
    "rds-cdb": (3, "SALES", "RDSCDB"),
    "autonomous": (3, "SALES", "ERP"),
}
_OPENED = re.compile(
    r"^    (?:grant (?:read|select) on sys\.(\S+) to|begin .*grant_sys_object\('(\S+)',)", re.MULTILINE
)


def make_it(backend: ScriptedBackend, kind: DatabaseKind) -> None:
    """Make the database look like one of that kind, with a closed X$ table if nobody can open it there."""
    role, rds = "PHYSICAL STANDBY" if kind == "standby" else "PRIMARY", int(kind in ("rds", "rds-cdb"))
    cloud = "OLTP" if kind == "autonomous" else None
    columns = ("db_unique_name", "con_id", "con_name", "cdb_name", "session_user")
    backend.instead = {
        "sys_context": Answer(columns, [("ERP", *CONTAINERS[kind], USER)]),
        SURROUNDINGS: Answer(("database_role", "rds_users"), [(role, rds)]),
        CLOUD: Answer(("cloud_service",), [(cloud,)]),
    }
    backend.refused = set() if TRAITS[kind].opens_x_tables else {"x$kqrst"}


@pytest.mark.parametrize("kind", KINDS)
def test_standin_check_finds_the_kind_and_is_green_with_its_grants(site: Site, kind: DatabaseKind) -> None:
    make_it(site.backend, kind)
    code, told, errors = site.check()
    assert (code, errors) == (0, "") and re.search(rf"^  kind {re.escape(kind)}\b.*, as ", told, re.M)
    assert ("  kind 11.2 (stands for any release without containers), as it has" in told) == (kind == "11.2")
    assert ("CLOSED  x$kqrst" in told) == ("everything that can be opened here" in told) == bool(site.backend.refused)
    assert ("connect to CDB$ROOT" in told) == (kind == "pdb"), "the advice sends nobody where they cannot go"
    assert ("made on the primary" in told) == (kind == "standby") and "create user" not in told


@pytest.mark.parametrize("kind", KINDS)
def test_standin_check_names_each_missing_grant_in_the_words_of_the_kind(site: Site, kind: DatabaseKind) -> None:
    make_it(site.backend, kind)
    beyond, openable = set(site.backend.refused), {view: name for view, name in GRANTED.items() if view != "x$kqrst"}
    thinned = list(openable.items())[::4]  # the words differ by kind, not by view
    for view, granted_on in thinned:
        site.backend.refused = beyond | {view}
        code, told, _ = site.check("erp")
        named = [(plain or block).lower() for plain, block in _OPENED.findall(told)]
        assert (code, named) == (1, [granted_on.removeprefix("sys.")]), view
        assert f"  Run as {TRAITS[kind].run_as}:" in told
    site.backend.refused = beyond
    assert site.check("erp")[0] == 0


def test_standin_check_takes_the_kind_it_is_told(site: Site) -> None:
    site.backend.refused = {"v$latch"}
    code, told, _ = site.check("--for", "rds")
    assert code == 1 and "kind rds, as --for says" in told and "grant_sys_object('V_$LATCH'," in told
    code, told, errors = site.check("--for", "rdb")
    assert (code, told) == (2, "") and "did you mean" in errors


def test_standin_check_says_when_it_assumes_a_kind(site: Site) -> None:
    make_it(site.backend, "pdb")
    del site.backend.instead[CLOUD]
    _, told, _ = site.check()
    assert "cannot tell the kind, assumed pdb: " in told and "give --for KIND if you know better" in told


def test_check_reports_a_database_without_a_session_in_one_line(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTHER", "wrong")
    port = site.listener.port
    for changes, expected in (
        ({"dsn": f"127.0.0.1:{port}/elsewhere"}, "ORA-12514"),
        ({"dsn": "nowhere.invalid:1521/x"}, "cannot be resolved"),
        ({"password_env": "OTHER"}, "ORA-01017"),
        ({"password_env": "NOT_SET"}, "no NOT_SET"),
    ):
        code, told, _ = site.check(**changes)
        assert code == 2 and told.count("\nstore ") == 1 and told.count("\n") == 2, told
        assert told.startswith("erp: no session: ") and expected in told
    site.listener.services["erp"].faults.hang(Stage.LOGIN)
    code, told, _ = site.check(patience="500ms")
    assert code == 2 and "no answer to the login within 0.5 s" in told


def test_check_looks_at_store_and_addresses_unless_databases_are_named(tmp_path: Path) -> None:
    (tmp_path / "good").write_text("slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ/#dba")
    (tmp_path / "bad").write_text("slak://T1JJ3T3L2/secret-word")
    file = tmp_path / "c.yaml"

    def told(store: str, address: str, *names: str) -> tuple[int, str]:
        notification = {"name": "chat", "url_file": str(tmp_path / address)}
        databases = [{"name": "a", "dsn": "demo:undo-storm"}]
        file.write_text(yaml.safe_dump({"store": store, "databases": databases, "notifications": [notification]}))
        result = CliRunner().invoke(cli, ["check", *names, "--config", str(file)])
        assert "secret-word" not in result.output and "TIiajk" not in result.output
        return result.exit_code, result.stdout

    well, nowhere = f"sqlite:///{tmp_path}/s.db", f"sqlite:///{tmp_path}/none/s.db"
    code, text = told(well, "good")
    assert code == 0 and "\nstore sqlite:///" in text and "does not exist yet; the first start creates it" in text
    assert text.endswith("notification chat: address of slack, nothing sent\n")
    assert not (tmp_path / "s.db").exists(), "a look changes nothing"
    code, text = told(well, "bad")
    assert code == 1 and "notification chat: url_file" in text and "has no address that Apprise knows" in text
    code, text = told(nowhere, "good")
    assert code == 2 and "cannot be created: there is no folder" in text
    code, text = told(nowhere, "bad", "a")
    assert code == 0 and "\nstore " not in text and "notification" not in text, (
        "with names, check looks only at those databases"
    )


def test_check_looks_at_the_audit_file(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    for audit, exit_code, said in (
        (tmp_path / "audit.jsonl", 0, "can be written"),
        (tmp_path / "none/audit.jsonl", 1, f"cannot be written: there is no folder {tmp_path}/none; create it"),
    ):
        settings = {"store": f"sqlite:///{tmp_path}/s.db", "auth": {"audit_file": str(audit)}}
        file.write_text(yaml.safe_dump({**settings, "databases": [{"name": "a", "dsn": "demo:undo-storm"}]}))
        told = CliRunner().invoke(cli, ["check", "--config", str(file)])
        assert told.exit_code == exit_code and f"\naudit file {audit}: {said}" in told.stdout, told.output
        assert not audit.exists()
        assert "audit file" not in CliRunner().invoke(cli, ["check", "a", "--config", str(file)]).output


@pytest.mark.slow
def test_standin_check_ends_even_if_the_database_hangs(site: Site) -> None:
    site.listener.services["erp"].faults.hang(Stage.LOGIN)
    command = [sys.executable, "-m", "service", "check", "--config", str(site.configure("2s"))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANGS, env=os.environ.copy())
    assert done.returncode == 2 and "no answer" in done.stdout


def test_standin_preflight_text_reads_well(site: Site) -> None:
    database = DatabaseSettings(name="erp", dsn=site.listener.dsn("erp"), user=USER, password_env="ERP_PASSWORD")
    site.backend.refused = {"v$latchname"}
    text = as_text(within(HANGS, lambda: run_check(database, Settings(oracle=QUICK, databases=[database]))))
    assert text.splitlines()[0] == "erp: Oracle 11.2.0.4.0, row cache guarded by child latches"
    assert "v$latch_children needs a latch number; v$latchname: ORA-00942" in text
    assert text.count("grant select on sys.v_$latchname to LATCHSCOPE;") == 1


def test_capture_includes_who_waited_between_its_snapshots() -> None:
    database = DatabaseSettings(name="mutexes", dsn="demo:users-mutex")
    taken = take_capture(database, Settings(databases=[database]), seconds=1.2)
    change = delta_of(taken)
    assert isinstance(change, Delta)
    assert {one.cache for one in diagnose(change).who} >= {"dc_users"}


def test_standin_check_reads_nothing_of_what_changed_while_sessions_hang(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ERP_PASSWORD", PASSWORD)
    now = [0.0]
    script = scenarios()["ddl-hang"]
    service = Service(ScriptedBackend(script, lambda: now[0]), {USER: Account(PASSWORD)})
    now[0] = (script.hangs[0].begin + script.hangs[0].end) / 2
    with Listener({"erp": service}) as listener:
        code, told, _ = Site(listener, tmp_path).check("erp")
        assert code == 0 and "no need dba_objects" in told
        assert not any("cdb_objects" in text for text in service.texts)
